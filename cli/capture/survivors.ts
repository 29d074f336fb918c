/**
 * Tensors that are proved to have been held, and not merely uncollected: a scope owned them, or a full collection reached
 * them after their birth. Each counts from its birth until its last proof, which is known only in hindsight.
 */

import { IdMap } from './id-map';
import type { Tick } from './records';

/** Limit on changes (one site at one time) for all sites. Above it, survivors are not judged. */
const MAX_CHANGES = 2 ** 21;

interface Change {
  tensors: number;
  bytes: number;
}

export class Survivors {
  /** By site: changes by time in ms. */
  private readonly sites = new IdMap<Map<number, Change>>();
  private count = 0;

  /** Whether the limit is exceeded. */
  get isFull(): boolean {
    return this.count > MAX_CHANGES;
  }

  /** Adds tensors that were held in all rounds of `ticks` from `birthMs` to `provedMs`. */
  add(siteId: number, ticks: readonly Tick[], birthMs: number, provedMs: number, tensors: number, bytes: number): void {
    const from = firstFrom(ticks, birthMs);
    const to = firstFrom(ticks, provedMs + 1);
    if (from >= to || this.isFull) return;
    this.change(siteId, ticks[from]!.ms, tensors, bytes);
    if (to < ticks.length) this.change(siteId, ticks[to]!.ms, -tensors, -bytes);
  }

  /** The values at each round. */
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

/** The first round at or after `ms`; the number of rounds if there is none. */
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
