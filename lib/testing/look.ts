/** One look at the live tensors of this thread, while the watch notes where each was made. Numbers only: it holds none. */
import { dtypeName } from '../enums';
import { native } from '../native';

/** What some of the tensors hold: those of one site, or all. */
export interface Held {
  tensors: number;
  /** Of their storages, each counted once: where its oldest tensor counts. */
  bytes: number;
}

export interface SiteHeld extends Held {
  /** How many of them an open scope owns. */
  inScopes: number;
  /** One of them, such as 'float32[2, 3]'. */
  example: string;
}

export interface Look extends Held {
  /** Those that were made since it began to measure. */
  readonly young: Held;
  /** By the watch's number of the site; 0 for tensors whose making nobody saw. */
  readonly sites: ReadonlyMap<number, SiteHeld>;
  /** What libtorch holds and no tensor shows; null where other threads have tensors, so that nobody can tell. */
  readonly hiddenBytes: number | null;
  readonly allocatedBytes: number;
}

/** Columns of native.watchRead(): handle, dtype, device, age, site, first storage, storages. */
const COLUMNS = 7;

/** How many tensors live, and their bytes, garbage included. */
export function countNow(): Held {
  const { tensors, storages } = native.watchRead();
  const seen = new Set<number>();
  let bytes = 0;
  for (let i = 0; i < storages.length; i += 2) {
    if (seen.has(storages[i]!)) continue;
    seen.add(storages[i]!);
    bytes += storages[i + 1]!;
  }
  return { tensors: tensors.length / COLUMNS, bytes };
}

/** The handles of what lives now. None is ever used again. */
export function handlesNow(): ReadonlySet<number> {
  const { tensors } = native.watchRead();
  const handles = new Set<number>();
  for (let at = 0; at < tensors.length; at += COLUMNS) handles.add(tensors[at]!);
  return handles;
}

/** `older`: the handles from before it began to measure. */
export function look(older: ReadonlySet<number>): Look {
  const { tensors, storages } = native.watchRead();
  const order: number[] = [];
  for (let at = 0; at < tensors.length; at += COLUMNS) order.push(at);
  // Oldest first, and before them those of unknown age: made before somebody looked.
  const age = (at: number) => (Number.isNaN(tensors[at + 3]!) ? Number.POSITIVE_INFINITY : tensors[at + 3]!);
  order.sort((a, b) => (age(a) === age(b) ? 0 : age(b) - age(a)));
  const seen = new Set<number>();
  const sites = new Map<number, SiteHeld>();
  const young: Held = { tensors: 0, bytes: 0 };
  let all = 0;
  for (const at of order) {
    const handle = tensors[at]!;
    const held = sites.get(tensors[at + 4]!) ?? { tensors: 0, bytes: 0, inScopes: 0, example: '' };
    const isYoung = !older.has(handle);
    held.tensors++;
    if (isYoung) young.tensors++;
    if (native.scopeOf(handle) !== 0) held.inScopes++;
    for (let i = 0; i < tensors[at + 6]!; i++) {
      const storage = (tensors[at + 5]! + i) * 2;
      if (seen.has(storages[storage]!)) continue;
      seen.add(storages[storage]!);
      held.bytes += storages[storage + 1]!;
      all += storages[storage + 1]!;
      if (isYoung) young.bytes += storages[storage + 1]!;
    }
    held.example = exampleOf(handle, tensors[at + 1]!); // in the end the youngest
    sites.set(tensors[at + 4]!, held);
  }
  const memory = native.memory();
  const isAlone = memory.tensors === order.length;
  return {
    tensors: order.length,
    bytes: all,
    young,
    sites,
    hiddenBytes: isAlone ? memory.allocatedBytes - memory.bytes : null,
    allocatedBytes: memory.allocatedBytes,
  };
}

function exampleOf(handle: number, dtype: number): string {
  try {
    return `${dtypeName(dtype)}[${native.shape(handle).join(', ')}]`;
  } catch {
    return dtypeName(dtype); // nested: it has no single shape
  }
}
