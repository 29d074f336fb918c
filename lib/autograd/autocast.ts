/**
 * Autocast: ops run in a lower precision where that is safe, by libtorch's own lists. The modes belong to a region; libtorch
 * keeps those of the running code per thread. Python's torch/amp/autocast_mode.py.
 */
import type { Device, DType, DTypeLike } from '../../types/base';
import { dtypeCodes, dtypeName, givenDtypeCodes } from '../addon/enums';
import { native } from '../addon/native';
import { ownOptions } from '../addon/options';
import { warn } from '../call/warnings';
import { requireAtMost } from '../errors/arity';
import { argumentError } from '../errors/errors';
import { begin, end, ending, type Unfinished } from '../errors/restoring';
import { Carrier } from '../lifetimes/carrier';
import { isPending } from '../tensor/places';
import { isTensor } from '../tensor/tensor';

/** Options of `torch.autocast`. */
export interface AutocastOptions {
  /** The devices whose ops are cast: `'cpu'` (the default) or `'cuda'`; an index such as in `'cuda:0'` is ignored. */
  device?: Device | undefined;
  /** The lower precision: `'bfloat16'` or `'float16'`. Default: that of the enclosing region, else Python's for the device. */
  dtype?: DTypeLike | null | undefined;
  /** False switches autocast off in the region. Default: true. */
  enabled?: boolean | undefined;
  /** Whether a weight is cast once per outermost region. Default: as in the enclosing region, else true. */
  cacheEnabled?: boolean | null | undefined;
}

const NAMES = ['device', 'dtype', 'enabled', 'cacheEnabled'] as const;

interface OfDevice {
  readonly enabled: boolean;
  /** The code of the dtype. */
  readonly dtype: number;
}

/** libtorch's modes of a thread. */
export interface AutocastModes {
  readonly cpu: OfDevice;
  readonly cuda: OfDevice;
  readonly caches: boolean;
}
type Kind = 'cpu' | 'cuda';

/** The modes outside all regions: libtorch's defaults. */
const NONE: AutocastModes = {
  cpu: { enabled: false, dtype: dtypeCodes.get('bfloat16')! },
  cuda: { enabled: false, dtype: dtypeCodes.get('float16')! },
  caches: true,
};

/** The region of the running code; it may have ended, in code that it did not wait for. */
let current: Region | null = null;

const openOf = (region: Region | null): Region | null => {
  let open = region;
  while (open?.ended) open = open.outer;
  return open;
};

function set({ cpu, cuda, caches }: AutocastModes): void {
  native.autocastSet(cpu.enabled, cpu.dtype, cuda.enabled, cuda.dtype, caches);
}

/** The region whose modes libtorch has. Undefined while they change: if that is cut off, the next one sets them again. */
let inForce: Region | null | undefined = null;

function enter(region: Region | null): void {
  const open = openOf(region);
  if (open === current && open === inForce) return;
  current = open;
  inForce = undefined;
  set(open === null ? NONE : open.modes);
  inForce = open;
}

/** From the call of `torch.autocast` to the end of its function, which may be asynchronous. */
class Region implements Unfinished {
  declare _below: Unfinished | null;
  readonly outer = openOf(current);
  ended = false;
  #follows = false;

  constructor(readonly modes: AutocastModes) {}

  enter(): void {
    carrier.follow(); // also for a plain function, which may return a promise
    this.#follows = true;
    enter(this);
  }

  /** Frees the casted weights at the end of the outermost region, or of one that outlived it. */
  end(): void {
    if (this.ended) return;
    this.ended = true;
    if (current === this) enter(this.outer);
    if (openOf(this.outer) === null) native.autocastClearCache();
  }

  endNow(): void {
    this.end();
    if (this.#follows) carrier.unfollow();
    this.#follows = false;
  }

  _undo(): void {
    enter(this.outer);
    this.endNow();
  }
}

const carrier = new Carrier<Region, Region | null>('torch.autocast', {
  taken: () => current,
  now: () => current,
  placeOf: (region) => region,
  switchTo: enter,
  nothing: null,
});

const isPromise = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' &&
  value !== null &&
  !isTensor(value) && // a pending tensor can be awaited, but its op was recorded with its modes
  typeof (value as { then?: unknown }).then === 'function' &&
  !isPending(value);

function inRegion<T>(modes: AutocastModes, fn: () => T): T {
  const region = new Region(modes);
  let waits = false;
  begin(region);
  try {
    region.enter();
    const result = fn();
    if (!isPromise(result)) return result;
    const settled = carrier.until(result, () => region.endNow()) as T;
    waits = true;
    return settled;
  } finally {
    ending(region);
    if (waits) enter(region.outer);
    else region._undo();
    end(region);
  }
}

function kindOf(fn: string, device: unknown): Kind {
  const kind = typeof device === 'string' ? /^(cpu|cuda)(?::\d+)?$/.exec(device)?.[1] : undefined;
  if (kind === undefined) throw argumentError(fn, 'device', "'cpu' or 'cuda'", device);
  return kind as Kind;
}

/** The dtypes that a device casts to, as in the release's Python. float16 is there on the CPU from libtorch 2.4 on. */
const supported: Readonly<Record<Kind, readonly DType[]>> = {
  cpu: native.autocastHasHalf() ? ['bfloat16', 'float16'] : ['bfloat16'],
  cuda: ['bfloat16', 'float16'],
};

/** `place`: the device by position. */
function modesOf(options: AutocastOptions, place: string | undefined): AutocastModes {
  const known = place === undefined ? NAMES : NAMES.slice(1);
  const given: AutocastOptions = ownOptions('autocast', options, known);
  const { device = place ?? 'cpu', dtype = null, enabled = true, cacheEnabled = null } = given;
  const kind = kindOf('autocast', device);
  if (typeof enabled !== 'boolean') throw argumentError('autocast', 'enabled', 'a boolean', enabled);
  if (cacheEnabled !== null && typeof cacheEnabled !== 'boolean') {
    throw argumentError('autocast', 'cacheEnabled', 'a boolean or null', cacheEnabled);
  }
  const before = currentModes();
  const code = dtype === null ? before[kind].dtype : givenDtypeCodes.get(dtype);
  if (code === undefined) throw argumentError('autocast', 'dtype', "'bfloat16' or 'float16'", dtype);
  const fits = supported[kind].includes(dtypeName(code));
  const runs = kind === 'cpu' || native.cudaDeviceCount() > 0;
  if (enabled && !fits)
    warn(`autocast: disabled: ${kind} has ${supported[kind].join(' and ')}, got ${dtypeName(code)}`);
  else if (enabled && !runs) warn('autocast: disabled: CUDA is not available');
  const changed = { enabled: enabled && fits && runs, dtype: fits ? code : before[kind].dtype };
  return { ...before, [kind]: changed, caches: cacheEnabled ?? before.caches };
}

/**
 * Runs `fn` with autocast: ops that are safe in a lower precision get their floating-point inputs in `dtype`, others in
 * float32, by libtorch's own lists for the device. `fn` may be async; other code that runs meanwhile is not affected. The
 * modes of the enclosing region come back on every way out. Returns what `fn` returns, or a promise of what its promise gives.
 *
 * A dtype that the device has no kernels for, and CUDA without a device, switch autocast off with a warning, as in Python.
 * Python's `torch.autocast`.
 */
export function autocast<T>(options: AutocastOptions, fn: () => T): T;
/** The same with the device by position, as in Python. */
export function autocast<T>(device: Device, fn: () => T): T;
export function autocast<T>(device: Device, options: Omit<AutocastOptions, 'device'>, fn: () => T): T;
export function autocast<T>(...passed: unknown[]): T {
  const [first] = passed;
  const isDevice = typeof first === 'string';
  if (!isDevice) requireAtMost('autocast', 2, passed);
  const [options, fn] = isDevice && passed.length > 2 ? passed.slice(1) : [isDevice ? {} : first, passed[1]];
  const modes = modesOf(options as AutocastOptions, isDevice ? first : undefined);
  if (!isFunction<T>(fn)) throw argumentError('autocast', 'fn', 'a function', fn);
  return inRegion(modes, fn);
}

const isFunction = <T>(value: unknown): value is () => T => typeof value === 'function';

/** The modes of the running code. */
export const currentModes = (): AutocastModes => openOf(current)?.modes ?? NONE;

/** Calls a synchronous function later in modes of before: in a region of its own. */
export const inAutocastModes = <T>(modes: AutocastModes, fn: () => T): T =>
  modes === currentModes() ? fn() : inRegion(modes, fn);

/** Whether autocast is on for a device. Like Python's, the default is `'cuda'`. */
export const isAutocastEnabled = (device: Device = 'cuda'): boolean =>
  native.autocastEnabled(kindOf('isAutocastEnabled', device) === 'cuda');

/** Whether autocast is on for the CPU. */
export const isAutocastCpuEnabled = (): boolean => native.autocastEnabled(false);

/** The lower precision of a device. */
export const getAutocastDtype = (device: Device): DType =>
  dtypeName(native.autocastDtype(kindOf('getAutocastDtype', device) === 'cuda'));

/** The lower precision of the CPU. */
export const getAutocastCpuDtype = (): DType => dtypeName(native.autocastDtype(false));

/** The lower precision of CUDA devices. */
export const getAutocastGpuDtype = (): DType => dtypeName(native.autocastDtype(true));

/** Whether weights are cast once per outermost region. */
export const isAutocastCacheEnabled = (): boolean => native.autocastCaches();

/** Frees the casted weights. A region that changes its weights needs this afterwards; each outermost region ends with it. */
export const clearAutocastCache = (): void => native.autocastClearCache();
