/** The live tensors as samples of a profile: those of this thread by line, those of other threads as one sample. */
import { isMainThread, threadId } from 'node:worker_threads';
import { native } from '../addon/native';
import type { Labels } from '../addon/recorder';
import { original } from '../observe/audit/positions';
import type { Frame } from '../observe/audit/stack';
import { siteFacts } from '../observe/watch';
import type { ProfileFrame, ProfileSample } from './profile';

/** The sample types, in the order of `values`. */
export const SAMPLE_TYPES = [
  { type: 'inuse_objects', unit: 'count' },
  { type: 'inuse_space', unit: 'bytes' },
] as const;

/** Stands for the stack of tensors that have none. */
const standIn = (name: string): ProfileFrame[] => [{ file: name, line: 0, column: 0, function: name }];
const NOT_SAMPLED = standIn('(stack not recorded)');
const EARLIER = standIn('(made before the recording)');
const NO_STACK = standIn('(no JavaScript stack)');
const OTHER_THREADS = standIn('(tensors of other threads)');

const THREAD = isMainThread ? 'main' : `worker ${threadId}`;

/** Columns of native.watchRead(): handle, dtype, device, age, site, first storage, storages. */
const COLUMNS = 7;

/** A site that can be shown: through source maps, without Node's own frames. */
interface Shown {
  readonly frames: readonly ProfileFrame[];
  readonly labels: Labels | undefined;
}

/** By site, since reading source maps takes long. */
let shown = new Map<number, Shown>();
let epoch = 0;

const toFrame = (frame: Frame): ProfileFrame => ({
  ...original(frame),
  function: frame.function || '(top level)',
});

function show(site: number): Shown {
  let known = shown.get(site);
  if (known === undefined) {
    const facts = siteFacts(native, site);
    const frames = facts?.frames.filter(({ file }) => file !== '' && !file.startsWith('node:')).map(toFrame) ?? [];
    known = { frames: frames.length === 0 ? NO_STACK : frames, labels: facts?.labels };
    shown.set(site, known);
  }
  return known;
}

/** Tensors of one site and device. */
interface Cell {
  readonly site: number;
  readonly device: number;
  readonly isEarlier: boolean;
  tensors: number;
  bytes: number;
}

/** `labels`: those that every sample has. */
export function liveSamples(labels: Labels): ProfileSample[] {
  if (epoch !== (native.watchEpoch ?? 0)) {
    shown = new Map(); // the native side has forgotten its sites
    epoch = native.watchEpoch ?? 0;
  }
  const { tensors, storages, devices } = native.watchRead();
  const cells = new Map<number, Cell>();
  let lastKey = Number.NaN;
  let last: Cell | undefined;
  const cellOf = (at: number): Cell => {
    const site = tensors[at + 4]!;
    const device = tensors[at + 2]!;
    const isEarlier = Number.isNaN(tensors[at + 3]!);
    const key = (site * devices.length + device) * 2 + Number(isEarlier);
    if (key === lastKey) return last!;
    let cell = cells.get(key);
    if (cell === undefined) {
      cell = { site, device, isEarlier, tensors: 0, bytes: 0 };
      cells.set(key, cell);
    }
    lastKey = key;
    last = cell;
    return cell;
  };
  const counted = new RowOfStorage(storages.length / 2);
  for (let at = 0; at < tensors.length; at += COLUMNS) {
    const cell = cellOf(at);
    cell.tensors++;
    const first = tensors[at + 5]! * 2;
    const end = first + tensors[at + 6]! * 2;
    for (let i = first; i < end; i += 2) {
      const bytes = storages[i + 1]!;
      const place = counted.placeOf(storages[i]!);
      const other = counted.rows[place]!;
      if (other < 0) cell.bytes += bytes;
      else if (isOlder(tensors, at, other)) {
        // Views share a storage, which counts at the oldest tensor: the one that is closest to its allocation.
        cellOf(other).bytes -= bytes;
        cell.bytes += bytes;
      } else continue;
      counted.rows[place] = at;
    }
  }
  const samples = [...cells.values()].map((cell) => sampleOf(cell, devices, labels));
  addOtherThreads(samples, tensors.length / COLUMNS, labels);
  return samples;
}

/** The row at which each storage is counted. A Map of 100,000 numbers would take most of the time of a profile. */
class RowOfStorage {
  /** -1: not counted yet. */
  readonly rows: Int32Array;
  private readonly ids: Float64Array;
  private readonly mask: number;

  constructor(most: number) {
    const size = 2 ** Math.ceil(Math.log2(2 * most + 2));
    this.rows = new Int32Array(size).fill(-1);
    this.ids = new Float64Array(size);
    this.mask = size - 1;
  }

  /** The place in `rows` of a storage, by linear probing. */
  placeOf(id: number): number {
    let place = Math.imul(id | 0, 0x9e3779b1) & this.mask;
    while (this.rows[place]! >= 0 && this.ids[place] !== id) place = (place + 1) & this.mask;
    this.ids[place] = id;
    return place;
  }
}

/** Whether the tensor at row `a` was made before that at row `b`. Those of unknown age are from before the recording. */
function isOlder(tensors: Float64Array, a: number, b: number): boolean {
  const [ageA, ageB] = [tensors[a + 3]!, tensors[b + 3]!];
  if (Number.isNaN(ageA) !== Number.isNaN(ageB)) return Number.isNaN(ageA);
  return ageA > ageB || (!(ageA < ageB) && tensors[a]! < tensors[b]!);
}

function sampleOf({ site, device, isEarlier, tensors, bytes }: Cell, devices: string[], labels: Labels): ProfileSample {
  const { frames, labels: own } = site === 0 ? { frames: isEarlier ? EARLIER : NOT_SAMPLED } : show(site);
  return { frames, values: [tensors, bytes], labels: { ...own, ...labels, thread: THREAD, device: devices[device]! } };
}

/** What the process has and this thread does not. Another thread may make or free tensors meanwhile. */
function addOtherThreads(samples: ProfileSample[], tensorsHere: number, labels: Labels): void {
  const { tensors, bytes } = native.memory();
  const bytesHere = samples.reduce((sum, { values }) => sum + values[1]!, 0);
  const rest = [Math.max(0, tensors - tensorsHere), Math.max(0, bytes - bytesHere)];
  if (rest.every((value) => value === 0)) return;
  samples.push({ frames: OTHER_THREADS, values: rest, labels: { ...labels, thread: 'other' } });
}
