/** Whether the floor of a series rises after the warm-up, and whether the rise flattens. */
import { MAX_FALSE_SHARE } from '../verdict';
import { floorOf, isSaturated, isUsualWave, steps } from './shape';
import { type Slope, theilSen } from './theil-sen';

/** A floor that rose in fewer steps may be a few one-time allocations. */
export const MIN_STEPS = 5;
/** Longer series are thinned out, because the number of pairs for a slope is quadratic. */
const MAX_POINTS = 120;
/** For the minima of blocks of rounds: at most this many blocks, each of at least MIN_BLOCK rounds. */
const BLOCKS = 24;
const MIN_BLOCK = 4;

/** How many of the last rounds are not proved by later rounds: what is live in them may be freed in the next one. */
export const unproved = (rounds: number): number => Math.max(1, Math.floor(rounds / 8));

export interface Trend extends Slope {
  kind: 'flat' | 'rising' | 'saturated';
}

export const FLAT: Trend = { kind: 'flat', slope: 0, low: 0, high: 0, p: 1 };

export function trend(ms: number[], work: number[], values: number[], picked: number[], minRise: number): Trend {
  const all = floorOf(values);
  const proved = picked.slice(0, picked.length - unproved(picked.length));
  const floor = proved.map((i) => all[i]!);
  const rise = floor.at(-1)! - floor[0]!;
  if (rise < minRise || steps(floor) < MIN_STEPS) return FLAT;
  const slope = theilSen(ms.slice(0, proved.length), floor);
  // Measured against work, not time, so that a program that becomes idle does not look like a full cache, and a varying
  // speed does not lower the confidence.
  const worked = work.slice(0, proved.length);
  if (isSaturated(worked, floor)) return { ...slope, kind: 'saturated' };
  if (theilSen(worked, floor).low <= 0 || isUsualWave(values, all, picked[0]!, rise)) return { ...slope, kind: 'flat' };
  // A floor never falls, so even the floor of noise seems to rise. The values themselves must rise as significantly, or,
  // if the site has much garbage, the minima of blocks of rounds.
  const raw = picked.map((i) => values[i]!);
  // Values of a timer rise with time, and a pace of work that drifts would count as autocorrelation. So the better of both
  // counts; it is still one test, because the order of the values is the same.
  const by = (x: number[]) => Math.min(theilSen(x, raw).p, theilSen(...lowsOf(x, raw)).p);
  const p = Math.min(1, 2 * Math.min(by(work), work === ms ? 1 : by(ms)));
  return { ...slope, kind: p <= MAX_FALSE_SHARE ? 'rising' : 'flat', p };
}

/** The minima of successive blocks, and the x at which the blocks begin. */
function lowsOf(x: number[], values: number[]): [number[], number[]] {
  const size = Math.max(MIN_BLOCK, Math.ceil(values.length / BLOCKS));
  const lows: number[] = [];
  const begins: number[] = [];
  for (let i = 0; i + size <= values.length; i += size) {
    lows.push(least(values.slice(i, i + size)));
    begins.push(x[i]!);
  }
  return [begins, lows];
}

// Not Math.min(...values), because a long capture has more rounds than a call takes arguments.
export const least = (values: readonly number[]) => values.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);

/** At most MAX_POINTS indices from `begin` on, evenly spread, always including the last. */
export function pickIndices(begin: number, end: number): number[] {
  const n = end - begin;
  const count = Math.min(n, MAX_POINTS);
  return Array.from({ length: count }, (_, k) => begin + Math.round((k * (n - 1)) / Math.max(1, count - 1)));
}
