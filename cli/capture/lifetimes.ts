/**
 * When tensors that have died were made and freed, as counts per site: for what was allocated in a part of the recording and
 * was still live at its end.
 */
import { IdMap } from './id-map';
import { type Lifetime, LifetimeCounts } from './lifetime-counts';
import type { Birth } from './live-tensors';

/** Counts of one process; above it, times are rounded up to twice as many milliseconds, until there are half as many. */
const MAX_COUNTS = 2 ** 17;
/** Sites on a device that have counts. Of more none is kept: coarser times cannot make them fewer. */
const MAX_PLACES = 2 ** 12;

export class Lifetimes {
  private counts = new LifetimeCounts();
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
    const { id, storage, isView, weight, birthMs } = birth;
    const held = this.heldBy(birth);
    const place = placeOf(birth);
    if (isView) this.add(place, birthMs, birthMs, roundMs, weight, 0);
    if (held !== undefined) this.add(place, birthMs, held.fromMs, roundMs, isView ? 0 : weight, held.bytes * weight);
    this.owners.delete(id);
    const ids = this.views.get(storage);
    if (ids === undefined) return;
    ids.delete(id);
    const [next] = ids;
    if (next === undefined) this.views.delete(storage);
    else if (held !== undefined) this.owners.set(next, { bytes: held.bytes, fromMs: roundMs });
  }

  [Symbol.iterator](): Iterator<Lifetime> {
    return this.counts[Symbol.iterator]();
  }

  /** That of a live tensor; and of its storage, if that is not its own from the beginning. */
  live(birth: Birth): Lifetime[] {
    const { birthMs, isView, weight } = birth;
    const held = this.heldBy(birth);
    const own: Lifetime = {
      place: placeOf(birth),
      bornMs: birthMs,
      fromMs: birthMs,
      diedMs: Number.POSITIVE_INFINITY,
      tensors: weight,
      bytes: isView ? 0 : birth.bytes * weight,
    };
    if (!isView || held === undefined) return [own];
    return [own, { ...own, fromMs: held.fromMs, tensors: 0, bytes: held.bytes * weight }];
  }

  private heldBy({ id, isView, bytes, birthMs }: Birth) {
    return isView ? this.owners.get(id) : { bytes, fromMs: birthMs };
  }

  private add(place: number, bornMs: number, fromMs: number, diedMs: number, tensors: number, bytes: number): void {
    this.put(place, bornMs, fromMs, diedMs, tensors, bytes);
    if (this.counts.size > MAX_COUNTS) this.reduce();
  }

  private put(place: number, bornMs: number, fromMs: number, diedMs: number, tensors: number, bytes: number): void {
    const { step } = this;
    this.counts.add(place, up(bornMs, step), up(fromMs, step), up(diedMs, step), tensors, bytes);
  }

  private reduce(): void {
    while (this.counts.places <= MAX_PLACES && this.counts.size > MAX_COUNTS / 2) this.coarsen();
    if (this.counts.places <= MAX_PLACES) return;
    this.full = true;
    this.counts = new LifetimeCounts();
    this.views = new IdMap();
    this.owners = new IdMap();
  }

  private coarsen(): void {
    this.step *= 2;
    const before = this.counts;
    this.counts = new LifetimeCounts();
    for (const { place, bornMs, fromMs, diedMs, tensors, bytes } of before) {
      this.put(place, bornMs, fromMs, diedMs, tensors, bytes);
    }
  }
}

const up = (ms: number, step: number): number => Math.ceil(Math.max(0, ms) / step) * step;

/** As in the rows of counters. */
export const placeOf = (birth: Pick<Birth, 'siteId' | 'deviceType' | 'deviceIndex'>): number =>
  birth.siteId * 0x10000 + (birth.deviceType & 0xff) + (birth.deviceIndex & 0xff) * 0x100;
