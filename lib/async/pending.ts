/**
 * What stands for the result of an op that was recorded (lib/async/strand.ts) and has not run. A pending tensor is a tensor
 * whose handle is the result's code; its methods record. Both kinds can be awaited.
 */
import { types } from 'node:util';
import type { Device, DType } from '../../types/base';
import { dtypeName } from '../enums';
import { argumentError, codedError } from '../errors';
import { native } from '../native';
import { readArguments } from '../reading';
import { setPending, Tensor } from '../tensor';
import { restoring } from '../turn';

const { flags } = native;

/** `Flags::recording` of native/handles/slot_table.h. */
export const OFF = 0;
export const TENSOR_OPS = 1;
export const ALL_OPS = 2;
export const RECORDED_VALUE = 3;
export const BODY = 4;

/** What a pending result asks of the strand that it belongs to. */
export interface Recorder {
  readonly id: number;
  record(fn: () => unknown, op?: string): unknown;
  /** Native code records into it again, after others did. */
  enter(): void;
  valueOf(pending: PendingTensor | PendingValue): Promise<unknown>;
  /** A value that is a promise until it is there was given out. */
  gave(value: PendingValue): void;
}

/** The recorder in whose `record`, or in whose torch.run's function, the code is. */
let now: Recorder | null = null;
/** Whose torch.run's function is in progress, whatever it calls. */
let body: Recorder | null = null;

/** Runs `fn` so that its ops are recorded. Returns what it returns, with pending results for real ones. */
export function recordInto(recorder: Recorder, fn: () => unknown, op?: string): unknown {
  const [mode, before] = [flags[5]!, now];
  const undo = () => {
    flags[5] = mode;
    now = before;
  };
  return restoring(undo, () => {
    // What the library's own functions call goes on with tensors; only the outermost call may give anything else.
    flags[5] = mode === OFF || mode === BODY ? ALL_OPS : TENSOR_OPS;
    now = recorder;
    const result = fn();
    if (flags[5] !== RECORDED_VALUE && !(result instanceof PendingValue)) return result;
    const value = result instanceof PendingValue ? result : new PendingValue(native.result[0]!, -1, []);
    value.op ??= op;
    recorder.gave(value);
    return value;
  });
}

/**
 * Runs the function of torch.run, or a part of it: what it calls is recorded as if it were called on what torch.run hands
 * over, but that it can go on with tensors only.
 */
export function recordBody<T>(recorder: Recorder, fn: () => T): T {
  const [mode, before, outer] = [flags[5]!, now, body];
  const undo = () => {
    flags[5] = mode;
    now = before;
    body = outer;
    if (mode !== OFF) before?.enter();
  };
  return restoring(undo, () => {
    flags[5] = BODY;
    now = recorder;
    body = recorder;
    recorder.enter();
    return fn();
  });
}

/** Whose function's own code runs, if any: not what a function of the library calls. */
export const bodyNow = (): Recorder | null => (flags[5] === BODY ? now : null);

/** For lib/async/continuations.ts, which knows when code begins and ends that goes on in the same function. */
export interface Recording {
  readonly mode: number;
  readonly recorder: Recorder | null;
  readonly body: Recorder | null;
}
export const NOTHING: Recording = { mode: OFF, recorder: null, body: null };
export const bodyOf = (recorder: Recorder): Recording => ({ mode: BODY, recorder, body: recorder });
export const recordingNow = (): Recording => ({ mode: flags[5]!, recorder: now, body });
export function switchTo({ mode, recorder, body: inProgress }: Recording): void {
  flags[5] = mode;
  now = recorder;
  body = inProgress;
  if (mode !== OFF) recorder?.enter();
}

/** Runs a function of the library that is made of ops, not an op itself: it can go on with tensors only. */
export function withTensorsOnly<T>(fn: () => T): T {
  const mode = flags[5]!;
  if (mode === OFF) return fn();
  const undo = () => {
    flags[5] = mode;
  };
  return restoring(undo, () => {
    flags[5] = TENSOR_OPS;
    return fn();
  });
}

/** Runs code of the program that a function of the library calls: its ops run at once, or are recorded where it says. */
export function withoutRecording<T>(fn: () => T): T {
  const mode = flags[5]!;
  if (mode === OFF) return fn();
  const before = now;
  flags[5] = OFF;
  now = null;
  try {
    return fn();
  } finally {
    flags[5] = mode;
    now = before;
    before?.enter();
  }
}

/** Every way in which JavaScript would take a value for one that is there. */
function notAwaited(value: PendingValue, use: string): never {
  const op = value.op ?? 'the op';
  value.heard = true; // of an error
  throw codedError(
    TypeError,
    'ERR_TORCH_PENDING',
    `${op}: expected \`await\` before ${use}: in torch.run the value is a promise until the ops before it have run`,
  );
}

/** Reads values of a tensor that is there: at once, where no op that waits will write to it. */
export function readNow<T>({ _handle }: Tensor, fn: () => T): T {
  if (flags[5] === OFF) return fn();
  native.strandRequireRead(_handle);
  return withoutRecording(fn);
}

/** For functions that call the program's for each element. */
export function requireNoRecording(name: string): void {
  if (flags[5] === OFF) return;
  const message = `${name}: its function takes elements, which are not there in torch.run: expected a call outside it`;
  throw codedError(Error, 'ERR_TORCH_PENDING', message);
}

/** A function that the program passed: in torch.run its ops are recorded as those of the function there. */
export function asBody<T>(fn: () => T): T {
  return body === null ? withoutRecording(fn) : recordBody(body, fn);
}

/** The result of a recorded op that is not a tensor. It can be awaited, and used for nothing else. */
export class PendingValue {
  readonly recorder = now!;
  /** For messages. */
  op: string | undefined;
  /** Somebody awaited it, or has it as part of what torch.run resolves with. */
  heard = false;

  constructor(
    /** -(2^32 + strand * 2^20 + step * 16). */
    readonly code: number,
    /** The row whose results they are, -1 where the native value is the result. */
    readonly row: number,
    readonly given: readonly unknown[],
    /** Makes the result of the native value, where the row does not say how. */
    readonly read: (raw: unknown) => unknown = (raw) => raw,
  ) {}

  // biome-ignore lint/suspicious/noThenProperty: it stands for a value that comes later
  then(resolve?: (value: unknown) => unknown, reject?: (error: unknown) => unknown): Promise<unknown> {
    this.heard = true;
    return this.recorder.valueOf(this).then(resolve, reject);
  }
  catch(reject?: (error: unknown) => unknown): Promise<unknown> {
    return this.then(undefined, reject);
  }
  finally(end?: () => void): Promise<unknown> {
    return this.then().finally(end);
  }
  [Symbol.toPrimitive](): never {
    return notAwaited(this, 'an operator or a property takes it');
  }
  [Symbol.iterator](): never {
    return notAwaited(this, 'it is taken apart');
  }
  toJSON(): never {
    return notAwaited(this, 'it is written as JSON');
  }
  get [Symbol.toStringTag](): string {
    return 'Promise';
  }
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return 'Promise { <pending> }';
  }
}

/** A tensor that an op will give. */
export interface PendingTensor extends Tensor {
  readonly recorder: Recorder;
}

const prototype: Record<PropertyKey, unknown> = Object.create(Tensor.prototype);
// Found here, these are written without asking what is at the end of the prototypes (lib/misses.ts).
Object.assign(prototype, { _mark: undefined, _handle: undefined, _guard: undefined, recorder: undefined });

export const isPendingTensor = (value: unknown): value is PendingTensor => value instanceof Tensor && value._handle < 0;

function pendingOf(code: number, recorder: unknown): Tensor {
  const tensor = Object.create(prototype);
  tensor._mark = native.tensorMark;
  tensor._handle = code;
  tensor._guard = undefined;
  tensor.recorder = recorder;
  return tensor as Tensor;
}

/** What a program shows as one may be anything. */
const recorders = new WeakSet<object>();
export const noteRecorder = (recorder: Recorder): unknown => recorders.add(recorder);

setPending(
  (code) => {
    if (now === null) {
      throw codedError(
        Error,
        'ERR_TORCH_PENDING',
        'the op was recorded by the torch.run of another copy of the library',
      );
    }
    return pendingOf(code, now);
  },
  (code, recorder) => (recorders.has(recorder as object) ? pendingOf(code, recorder) : null),
);

/** Values that only a tensor that is there has. */
function notThere(name: string): never {
  throw codedError(
    Error,
    'ERR_TORCH_PENDING',
    `Tensor.${name}: the result is not there yet, and nothing is known of it beforehand: await it first`,
  );
}

/** What is known of a result: it follows from the arguments of the op, not from the elements. */
interface Known {
  readonly dtype: DType;
  readonly device: Device;
  readonly shape: number[];
}

function knownOf(pending: PendingTensor, name: string): Known {
  const found = native.strandShadow(pending.recorder.id, pending._handle);
  if (found === null) return notThere(name);
  const [dtype, device, ...shape] = found;
  return { dtype: dtypeName(dtype as number), device: device as Device, shape: shape as number[] };
}

const product = (shape: readonly number[]) => shape.reduce((all, size) => all * size, 1);

/** What tensors have as properties, and this module knows beforehand. */
const knownProperties: Record<string, (known: Known) => unknown> = {
  shape: ({ shape }) => shape,
  length: ({ shape }) => shape[0],
  dtype: ({ dtype }) => dtype,
  device: ({ device }) => device,
  ndim: ({ shape }) => shape.length,
  numel: ({ shape }) => product(shape),
  nbytes: ({ shape, dtype }) => product(shape) * bytesOf(dtype),
  layout: () => 'strided',
  isCpu: ({ device }) => device === 'cpu',
  isCuda: ({ device }) => device.startsWith('cuda'),
  isMeta: ({ device }) => device.startsWith('meta'),
  isSparse: () => false,
  isSparseCsr: () => false,
  isMkldnn: () => false,
  isQuantized: ({ dtype }) => /^qu?int/.test(dtype),
};

function bytesOf(dtype: DType): number {
  const bits = Number(/\d+/.exec(dtype)?.[0] ?? 8);
  return bits / 8;
}

/** The same for methods that have no arguments. */
const knownMethods: Record<string, (known: Known) => unknown> = {
  dim: ({ shape }) => shape.length,
  ndimension: ({ shape }) => shape.length,
  nelement: ({ shape }) => product(shape),
  elementSize: ({ dtype }) => bytesOf(dtype),
  isFloatingPoint: ({ dtype }) => /^b?float/.test(dtype),
  isComplex: ({ dtype }) => dtype.startsWith('complex'),
  isSigned: ({ dtype }) => !/^(u|qu|bool)/.test(dtype),
};

/** `t.size()`, `t.size(dim)`. */
function sizeOf(this: PendingTensor, dim?: number | { dim?: number }): unknown {
  const { shape } = knownOf(this, 'size');
  const wanted = typeof dim === 'object' && dim !== null ? dim.dim : dim;
  if (wanted === undefined) return shape;
  const found = shape.at(wanted);
  if (!Number.isInteger(wanted) || found === undefined || wanted >= shape.length) {
    const range = `an integer from ${-shape.length} to ${shape.length - 1}`;
    throw argumentError('size', 'dim', range, wanted);
  }
  return found;
}

/** The `row` of what is read of a tensor when that is there. */
export const READ = -2;

/** The elements are there when the tensor is. */
function readLater(name: string) {
  const read = (tensor: unknown) => (tensor as Record<string, () => unknown>)[name]!();
  return function (this: PendingTensor): unknown {
    if (flags[5] === TENSOR_OPS) return notThere(name); // a function of the library, which goes on with the value
    // Of a tensor of its own, which nobody else takes.
    // A copy: ops after this one may write to it.
    return this.recorder.record(() => new PendingValue(this.detach().clone()._handle, READ, [], read), name);
  };
}

/** Once the methods of tensors are all there: those of pending ones record. */
export function definePendingMethods(): void {
  const own = (name: PropertyKey, descriptor: PropertyDescriptor) =>
    Object.defineProperty(prototype, name, { configurable: true, ...descriptor });
  for (const [name, take] of Object.entries(knownProperties)) {
    own(name, {
      get(this: PendingTensor) {
        return take(knownOf(this, name));
      },
    });
  }
  for (const [name, take] of Object.entries(knownMethods)) {
    own(name, {
      value(this: PendingTensor) {
        return take(knownOf(this, name));
      },
    });
  }
  own('size', { value: sizeOf });
  for (const name of ['toArray', 'toTypedArray', 'tolist', 'toJSON']) own(name, { value: readLater(name) });
  own(Symbol.iterator, {
    value(this: PendingTensor) {
      const { shape } = knownOf(this, '[Symbol.iterator]');
      if (shape.length === 0) throw argumentError('[Symbol.iterator]', 'this', 'a Tensor with dimensions', this);
      return (this.unbind(0) as readonly Tensor[])[Symbol.iterator]();
    },
  });
  for (let from: object = Tensor.prototype; !types.isProxy(from); from = Object.getPrototypeOf(from)) {
    for (const [name, { value, get }] of Object.entries(Object.getOwnPropertyDescriptors(from))) {
      if (name === 'constructor' || Object.hasOwn(prototype, name)) continue;
      if (get !== undefined) {
        own(name, {
          get(this: PendingTensor) {
            // T and mT are ops; shape is not.
            return this.recorder.record(() => Reflect.apply(get, this, []));
          },
        });
      } else if (typeof value === 'function') {
        own(name, {
          value(this: PendingTensor, ...args: unknown[]) {
            const given = readArguments(args);
            return this.recorder.record(() => Reflect.apply(value, this, given), String(name));
          },
        });
      }
    }
  }
  own('requiresGrad', {
    get: () => notThere('requiresGrad'),
    set(this: PendingTensor, value: boolean) {
      this.requiresGrad_(value);
    },
  });
  // What the graph decides, and writes that wait.
  for (const name of ['isLeaf', 'outputNr', 'retainsGrad', '_version']) own(name, { get: () => notThere(name) });
  // It is freed when nothing recorded needs it any more.
  own('dispose', { value() {} });
  own(Symbol.dispose, { value() {} });
  own('disposed', { get: () => false });
  own('_describe', { value: () => 'a pending Tensor' });
  own('toString', { value: () => 'Tensor { pending }' });
  own(Symbol.for('nodejs.util.inspect.custom'), { value: () => 'Tensor { pending }' });
  own('then', {
    value(this: PendingTensor, resolve: (value: unknown) => unknown, reject: (error: unknown) => unknown) {
      return this.recorder.valueOf(this).then(resolve, reject);
    },
  });
}
