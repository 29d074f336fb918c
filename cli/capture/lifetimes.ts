/**
 * When tensors that have died were made and freed, as counts per site: for what was allocated in a part of the recording and
 * was still live at its end.
 */
import { IdMap } from './id-map';
import type { Birth } from './live-tensors';

/** Counts of one process; above it, times are rounded up to twice as many milliseconds, until there are half as many. */
const MAX_COUNTS = 2 ** 17;
/** Sites on a device that have counts. Of more none is kept: coarser times cannot make them fewer. */
const MAX_PLACES = 2 ** 12;

/** Tensors of one site and device with about the same times, ms since the start of their process. */
export interface Lifetime {
  bornMs: number;
  /** From when the storage counts for them: later than their birth for views whose base was freed before them. */
  fromMs: number;
  /** Infinity if they are live. */
  diedMs: number;
  tensors: number;
  bytes: number;
}

export class Lifetimes {
  /** By site and device, then by the three times. */
  private all = new IdMap<Map<string, Lifetime>>();
  private count = 0;
  private step = 1;
  private full = false;
  /** Of storages with views: the ids of the live ones, the oldest first. */
  private views = new IdMap<Set<number>>();
  /** Views whose storage counts for them. */
  private owners = new IdMap<{ bytes: number; fromMs: number }>();

  /** Whether there are lifetimes of too many sites: then the counts are not complete. */
  get isFull(): boolean {
    return this.full;
  }

  born({ id, storage, isView }: Pick<Birth, 'id' | 'storage' | 'isView'>): void {
    if (!isView || this.full) return;
    let ids = this.views.get(storage);
    if (ids === undefined) {
      ids = new Set();
      this.views.set(storage, ids);
    }
    ids.add(id);
  }

  /** `roundMs`: the first round at which the tensor is not live. */
  died(birth: Birth, roundMs: number): void {
    if (this.full) return;
    const { id, storage, isView, weight } = birth;
    const held = this.heldBy(birth);
    if (isView) this.add(placeOf(birth), timesOf(birth, birth.birthMs, roundMs), weight, 0);
    if (held !== undefined)
      this.add(placeOf(birth), timesOf(birth, held.fromMs, roundMs), isView ? 0 : weight, held.bytes * weight);
    this.owners.delete(id);
    const ids = this.views.get(storage);
    if (ids === undefined) return;
    ids.delete(id);
    const [next] = ids;
    if (next === undefined) this.views.delete(storage);
    else if (held !== undefined) this.owners.set(next, { bytes: held.bytes, fromMs: roundMs });
  }

  /** By site and device. */
  *[Symbol.iterator](): Generator<[place: number, its: Iterable<Lifetime>]> {
    for (const [place, its] of this.all) yield [place, its.values()];
  }

  /** That of a live tensor; and of its storage, if that is not its own from the beginning. */
  live(birth: Birth): Lifetime[] {
    const { birthMs, isView, weight } = birth;
    const held = this.heldBy(birth);
    const end = Number.POSITIVE_INFINITY;
    const own = { ...timesOf(birth, birthMs, end), tensors: weight, bytes: isView ? 0 : birth.bytes * weight };
    if (!isView || held === undefined) return [own];
    return [own, { ...timesOf(birth, held.fromMs, end), tensors: 0, bytes: held.bytes * weight }];
  }

  private heldBy({ id, isView, bytes, birthMs }: Birth) {
    return isView ? this.owners.get(id) : { bytes, fromMs: birthMs };
  }

  private add(place: number, times: Times, tensors: number, bytes: number): void {
    let its = this.all.get(place);
    if (its === undefined) {
      its = new Map();
      this.all.set(place, its);
    }
    if (put(its, times, this.step, tensors, bytes) && ++this.count > MAX_COUNTS) this.reduce();
  }

  private reduce(): void {
    while (this.all.size <= MAX_PLACES && this.count > MAX_COUNTS / 2) this.coarsen();
    if (this.all.size <= MAX_PLACES) return;
    this.full = true;
    this.count = 0;
    this.all = new IdMap();
    this.views = new IdMap();
    this.owners = new IdMap();
  }

  private coarsen(): void {
    this.step *= 2;
    this.count = 0;
    const before = this.all;
    this.all = new IdMap();
    for (const [place, its] of before) {
      const coarse = new Map<string, Lifetime>();
      for (const one of its.values()) if (put(coarse, one, this.step, one.tensors, one.bytes)) this.count++;
      this.all.set(place, coarse);
    }
  }
}

type Times = Pick<Lifetime, 'bornMs' | 'fromMs' | 'diedMs'>;

const timesOf = ({ birthMs }: Birth, fromMs: number, diedMs: number): Times => ({ bornMs: birthMs, fromMs, diedMs });

/** As in the rows of counters. */
export const placeOf = (birth: Pick<Birth, 'siteId' | 'deviceType' | 'deviceIndex'>): number =>
  birth.siteId * 0x10000 + (birth.deviceType & 0xff) + (birth.deviceIndex & 0xff) * 0x100;

/** Returns whether it is new. */
function put(its: Map<string, Lifetime>, times: Times, step: number, tensors: number, bytes: number): boolean {
  const up = (ms: number) => Math.ceil(Math.max(0, ms) / step) * step;
  const rounded = { bornMs: up(times.bornMs), fromMs: up(times.fromMs), diedMs: up(times.diedMs) };
  const key = `${rounded.bornMs} ${rounded.fromMs} ${rounded.diedMs}`;
  const known = its.get(key);
  if (known === undefined) its.set(key, { ...rounded, tensors, bytes });
  else {
    known.tensors += tensors;
    known.bytes += bytes;
  }
  return known === undefined;
}
