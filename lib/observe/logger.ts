/**
 * torch.TensorLogger: periodic reports of this thread's live tensors. (After lamp's TensorLogger.) It reads numbers from the
 * native table, so it keeps no tensor and no error alive. Without a started logger nothing here runs.
 */

import type { Device, DType } from '../../types/base';
import { dtypeName } from '../addon/enums';
import { native } from '../addon/native';
import { isOptions, unknownOption } from '../addon/options';
import type { Demand } from '../addon/recorder';
import { shapeOf } from '../addon/shape';
import { argumentError } from '../errors/errors';
import { reportText } from './logger-text';
import { siteText, unwatch, watch } from './watch';

/** One live tensor, as `filter` sees it. It holds only numbers, not the tensor. */
export interface TensorInfo {
  readonly dtype: DType;
  readonly device: Device;
  /** Null for a nested tensor, which has no single shape. */
  readonly shape: number[] | null;
  /** Bytes of its storages, which its views share. */
  readonly storageBytes: number;
  /** Its age in ms; null for a tensor made while no logger ran. */
  readonly ageMs: number | null;
}

/** One of the oldest tensors. */
export interface TensorDetail {
  dtype: DType;
  device: Device;
  shape: number[] | null;
  storageBytes: number;
  ageMs: number;
  /** The lines of the stack of its creation, through source maps; null if it was not sampled. */
  stack: string | null;
}

export interface TensorReport {
  /** The tensors that pass `filter`, their distinct storages, and the bytes of those. */
  tensors: number;
  storages: number;
  bytes: number;
  /** Tensors and bytes by dtype and device, most bytes first. A storage counts in the group of its oldest tensor. */
  groups: { dtype: DType; device: Device; tensors: number; bytes: number }[];
  /** How many tensors are at least `fromMs` and less than `toMs` old (the last: Infinity). */
  ages: { fromMs: number; toMs: number; tensors: number }[];
  /** Tensors made while no logger ran. They are not in `ages` and `details`. */
  unknownAge: number;
  /** The `detailNum` oldest between `detailMinMs` and `detailMaxMs`, the oldest first. */
  details: TensorDetail[];
}

export interface TensorLoggerOptions {
  /** Ms between two reports (default 5000). */
  frequency?: number;
  /** Receives each report as text and as figures (default: writes the text to stderr). */
  logger?: (text: string, report: TensorReport) => void;
  /** Which tensors count (default: all). */
  filter?: (info: TensorInfo) => boolean;
  /** The least age in ms of a tensor in the details (default 0). */
  detailMinMs?: number;
  /** The greatest age in ms of a tensor in the details (default Infinity). */
  detailMaxMs?: number;
  /** The most tensors in the details (default 10). */
  detailNum?: number;
  /**
   * The average distance in bytes between sampled stacks (default 65536); a tensor counts 64 bytes more than its storage.
   * Larger tensors are always sampled. 0 samples every tensor, at a few microseconds each.
   */
  sampleBytes?: number;
}

type Options = Required<TensorLoggerOptions>;

export interface RunningTensorLogger {
  /** Stops the logger. Further calls do nothing. */
  cancel(): void;
  [Symbol.dispose](): void;
}

const defaults: Options = {
  frequency: 5000,
  logger: (text) => void process.stderr.write(`${text}\n`),
  filter: () => true,
  detailMinMs: 0,
  detailMaxMs: Number.POSITIVE_INFINITY,
  detailNum: 10,
  sampleBytes: 65_536,
};

/** Node's limit: a longer timer fires immediately. */
const MAX_TIMER_MS = 2 ** 31 - 1;

const checks: { [Name in keyof Options]: [expected: string, fits: (value: unknown) => boolean] } = {
  frequency: [
    `a number of ms from 1 to ${MAX_TIMER_MS}`,
    (value) => typeof value === 'number' && value >= 1 && value <= MAX_TIMER_MS,
  ],
  logger: ['a function', (value) => typeof value === 'function'],
  filter: ['a function', (value) => typeof value === 'function'],
  detailMinMs: ['a number of ms, 0 or more', (value) => typeof value === 'number' && value >= 0],
  detailMaxMs: ['a number of ms, 0 or more', (value) => typeof value === 'number' && value >= 0],
  detailNum: ['an integer of 0 or more', (value) => Number.isInteger(value) && (value as number) >= 0],
  sampleBytes: ['a number of bytes, 0 or more', (value) => Number.isFinite(value) && (value as number) >= 0],
};

function checked(given: unknown): Options {
  const fn = 'TensorLogger.start';
  if (!isOptions(given)) throw argumentError(fn, 'options', 'an object', given);
  const options: Options = { ...defaults };
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(checks, name)) throw unknownOption(fn, 'options', name, Object.keys(checks));
    if (value === undefined) continue;
    const [expected, fits] = checks[name as keyof Options];
    if (!fits(value)) throw argumentError(fn, name, expected, value);
    Object.assign(options, { [name]: value });
  }
  if (options.detailMinMs > options.detailMaxMs) {
    throw argumentError(fn, 'detailMinMs', `at most detailMaxMs (${options.detailMaxMs})`, options.detailMinMs);
  }
  return options;
}

/** One row of native.watchRead(). */
class Row implements TensorInfo {
  readonly dtype: DType;
  readonly ageMs: number | null;
  readonly storageBytes: number;
  readonly #handle: number;

  constructor(
    handle: number,
    dtype: number,
    readonly device: Device,
    ageMs: number,
    readonly site: number,
    /** id and bytes, alternating */
    readonly storages: Float64Array,
  ) {
    this.#handle = handle;
    this.dtype = dtypeName(dtype);
    this.ageMs = Number.isNaN(ageMs) ? null : ageMs;
    this.storageBytes = 0;
    for (let i = 1; i < storages.length; i += 2) this.storageBytes += storages[i]!;
  }

  get shape(): number[] | null {
    try {
      return shapeOf(this.#handle);
    } catch {
      return null; // nested, or disposed by the filter
    }
  }

  get age(): number {
    return this.ageMs ?? Number.POSITIVE_INFINITY;
  }
}

const COLUMNS = 7;

function readRows(filter: (info: TensorInfo) => boolean): Row[] {
  const { tensors, storages, devices } = native.watchRead();
  const rows: Row[] = [];
  for (let at = 0; at < tensors.length; at += COLUMNS) {
    const first = tensors[at + 5]! * 2;
    const own = storages.subarray(first, first + tensors[at + 6]! * 2);
    const device = devices[tensors[at + 2]!] as Device;
    const row = new Row(tensors[at]!, tensors[at + 1]!, device, tensors[at + 3]!, tensors[at + 4]!, own);
    if (filter(row)) rows.push(row);
  }
  return rows.sort((a, b) => (a.age === b.age ? 0 : b.age - a.age));
}

const AGE_STEPS_MS = [0, 1000, 10_000, 60_000, 600_000, 3_600_000, Number.POSITIVE_INFINITY];

function detail(row: Row): TensorDetail {
  const { dtype, device, shape, storageBytes, age, site } = row;
  return { dtype, device, shape, storageBytes, ageMs: age, stack: siteText(native, site) };
}

function look(options: Options): TensorReport {
  const rows = readRows(options.filter);
  const seen = new Set<number>();
  const groups = new Map<string, TensorReport['groups'][number]>();
  const ages = AGE_STEPS_MS.slice(1).map((toMs, i) => ({ fromMs: AGE_STEPS_MS[i]!, toMs, tensors: 0 }));
  let unknownAge = 0;
  let total = 0;
  for (const { dtype, device, ageMs, storages } of rows) {
    const key = `${dtype} ${device}`;
    let group = groups.get(key);
    if (group === undefined) {
      group = { dtype, device, tensors: 0, bytes: 0 };
      groups.set(key, group);
    }
    group.tensors++;
    for (let i = 0; i < storages.length; i += 2) {
      if (seen.has(storages[i]!)) continue;
      seen.add(storages[i]!);
      group.bytes += storages[i + 1]!;
      total += storages[i + 1]!;
    }
    if (ageMs === null) unknownAge++;
    else ages.find(({ toMs }) => ageMs < toMs)!.tensors++;
  }
  const details = rows
    .filter(({ ageMs }) => ageMs !== null && ageMs >= options.detailMinMs && ageMs <= options.detailMaxMs)
    .slice(0, options.detailNum)
    .map(detail);
  return {
    tensors: rows.length,
    storages: seen.size,
    bytes: total,
    groups: [...groups.values()].sort((a, b) => b.bytes - a.bytes || b.tensors - a.tensors),
    ages,
    unknownAge,
    details,
  };
}

/** Starts a logger for the tensors of this thread. It keeps neither the process nor any tensor alive. */
function start(given: TensorLoggerOptions = {}): RunningTensorLogger {
  const options = checked(given);
  const demand: Demand = { sampleBytes: options.sampleBytes, deaths: false };
  watch(native, demand);
  const timer = setInterval(() => {
    const report = look(options);
    options.logger(reportText(report), report);
  }, options.frequency);
  timer.unref();
  const cancel = () => {
    clearInterval(timer);
    unwatch(native, demand);
  };
  return { cancel, [Symbol.dispose]: cancel };
}

/** Reports this thread's live tensors every `frequency` ms, until cancelled. */
export const TensorLogger = Object.freeze({ start });
