/**
 * Tensors that are proved to have been held, not merely not collected yet: a scope owned them, or a full collection reached
 * them after their birth. Of each, from its birth until the last such proof; that is known only in hindsight.
 */
import type { Tick } from './capture';
import { IdMap } from './id_map';

/** Of all sites together: changes of one site at one time. What passes this is not judged by survivors. */
const MAX_CHANGES = 2 ** 21;

interface Change {
  tensors: number;
  bytes: number;
}

export class Survivors {
  /** Of each site: what changes when, by ms. */
  private readonly sites = new IdMap<Map<number, Change>>();
  private count = 0;

  /** Too many to be told apart. */
  get isFull(): boolean {
    return this.count > MAX_CHANGES;
  }

  /** Held in all rounds of `ticks` from `birthMs` to `provedMs`. */
  add(siteId: number, ticks: readonly Tick[], birthMs: number, provedMs: number, tensors: number, bytes: number): void {
    const from = firstFrom(ticks, birthMs);
    const to = firstFrom(ticks, provedMs + 1);
    if (from >= to || this.isFull) return;
    this.change(siteId, ticks[from]!.ms, tensors, bytes);
    if (to < ticks.length) this.change(siteId, ticks[to]!.ms, -tensors, -bytes);
  }

  /** As they are in each round. */
  series(siteIds: Iterable<number>, ticks: readonly Tick[]): { tensors: number[]; bytes: number[] } {
    const [tensors, bytes] = [ticks.map(() => 0), ticks.map(() => 0)];
    for (const id of siteIds) {
      for (const [ms, change] of this.sites.get(id) ?? []) {
        const round = firstFrom(ticks, ms);
        if (round === ticks.length) continue;
        tensors[round]! += change.tensors;
        bytes[round]! += change.bytes;
      }
    }
    for (let i = 1; i < ticks.length; i++) {
      tensors[i]! += tensors[i - 1]!;
      bytes[i]! += bytes[i - 1]!;
    }
    return { tensors, bytes };
  }

  private change(siteId: number, ms: number, tensors: number, bytes: number): void {
    let changes = this.sites.get(siteId);
    if (changes === undefined) {
      changes = new Map();
      this.sites.set(siteId, changes);
    }
    const known = changes.get(ms);
    if (known === undefined) {
      changes.set(ms, { tensors, bytes });
      this.count++;
    } else {
      known.tensors += tensors;
      known.bytes += bytes;
    }
  }
}

/** The first round that is not before `ms`; their number where there is none. */
export function firstFrom(ticks: readonly Tick[], ms: number): number {
  let low = 0;
  let high = ticks.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ticks[middle]!.ms < ms) low = middle + 1;
    else high = middle;
  }
  return low;
}
