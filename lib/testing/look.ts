/** Reads the live tensors of this thread during a watch, which records where each was made. Holds no tensors itself. */
import { dtypeName } from '../addon/enums';
import { native } from '../addon/native';
import { shapeOf } from '../addon/shape';

/** A number of tensors and their bytes. */
export interface Held {
  tensors: number;
  /** Bytes of their storages, each counted once, at its oldest tensor. */
  bytes: number;
}

export interface SiteHeld extends Held {
  /** How many of them an open scope owns. */
  inScopes: number;
  /** An example, such as 'float32[2, 3]'. */
  example: string;
}

export interface Look extends Held {
  /** Tensors made since the measurement began. */
  readonly young: Held;
  /** By the watch's site number; 0 for tensors made before the watch. */
  readonly sites: ReadonlyMap<number, SiteHeld>;
  /** Bytes that libtorch holds without a tensor; null if other threads have tensors, because then it is unknown. */
  readonly hiddenBytes: number | null;
  readonly allocatedBytes: number;
  /** Nodes of autograd graphs that the tensors reach; null while the pool computes, because then it is unknown. */
  readonly nodes: number | null;
  /** The watch's number of the line whose tensor reaches most of them; 0 if unknown. */
  readonly carrier: number;
  /** That tensor is from before the measurement. */
  readonly isCarrierOlder: boolean;
}

/** Columns of native.watchRead(): handle, dtype, device, age, site, first storage, storages. */
const COLUMNS = 7;

/** The number of live tensors and their bytes, including garbage. */
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

/** The handles of the live tensors. Handles are never reused. */
export function handlesNow(): ReadonlySet<number> {
  const { tensors } = native.watchRead();
  const handles = new Set<number>();
  for (let at = 0; at < tensors.length; at += COLUMNS) handles.add(tensors[at]!);
  return handles;
}

/** `older`: the handles from before the measurement. */
export function look(older: ReadonlySet<number>): Look {
  const { tensors, storages } = native.watchRead();
  const order: number[] = [];
  for (let at = 0; at < tensors.length; at += COLUMNS) order.push(at);
  // Oldest first, preceded by those of unknown age, made before the watch.
  const age = (at: number) => (Number.isNaN(tensors[at + 3]!) ? Number.POSITIVE_INFINITY : tensors[at + 3]!);
  order.sort((a, b) => (age(a) === age(b) ? 0 : age(b) - age(a)));
  const seen = new Set<number>();
  const sites = new Map<number, SiteHeld>();
  const siteOf = new Map<number, number>();
  const young: Held = { tensors: 0, bytes: 0 };
  let all = 0;
  for (const at of order) {
    const handle = tensors[at]!;
    const held = sites.get(tensors[at + 4]!) ?? { tensors: 0, bytes: 0, inScopes: 0, example: '' };
    const isYoung = !older.has(handle);
    siteOf.set(handle, tensors[at + 4]!);
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
    held.example = exampleOf(handle, tensors[at + 1]!); // finally that of the youngest
    sites.set(tensors[at + 4]!, held);
  }
  const [nodes, carrier] = native.watchGraphs() ?? [null, 0];
  const memory = native.memory();
  const isAlone = memory.tensors === order.length;
  return {
    tensors: order.length,
    bytes: all,
    young,
    sites,
    hiddenBytes: isAlone ? memory.allocatedBytes - memory.bytes : null,
    allocatedBytes: memory.allocatedBytes,
    nodes,
    carrier: siteOf.get(carrier) ?? 0,
    isCarrierOlder: older.has(carrier),
  };
}

function exampleOf(handle: number, dtype: number): string {
  try {
    return `${dtypeName(dtype)}[${shapeOf(handle).join(', ')}]`;
  } catch {
    return dtypeName(dtype); // a nested tensor has no single shape
  }
}
