/** A cache that became full only at the end of the recording, in the rounds whose floor is not judged. */
import type { Series, Tick } from '../capture/records';
import type { RuleOptions } from '../rules/verdict';
import { warmupRounds } from '../rules/warmup';
import { firstRound, totalOf } from './sites';

/** The rounds after the warm-up are compared in this many parts, and the last of these is not judged otherwise. */
const PARTS = 8;
const MIN_ROUNDS = 4;
/** In the last part the values vary by at most this share of the mean growth of a part. */
const MAX_VARIATION = 0.1;
/** No earlier part grew by less than this share of that mean: growth in bursts often pauses. */
const MIN_GROWTH = 0.5;
/** The site makes at least this share of its tensors per time in the last part: a program that becomes idle proves nothing. */
const MIN_PACE = 0.75;

/** Whether the site grew steadily until the last eighth of the rounds before `end`, and then released as many tensors as it made. */
export function hasFilled(ticks: readonly Tick[], its: Series[], end: number, options: RuleOptions): boolean {
  const first = Math.max(0, firstRound(its));
  const begin = first + warmupRounds(end - first, options);
  const last = end - 1;
  const size = Math.floor((last - begin) / PARTS);
  if (size < MIN_ROUNDS) return false;
  const flat = last - size;
  const bounds = Array.from({ length: PARTS }, (_, part) => flat - (PARTS - 1 - part) * size);
  const made = totalOf(its, ticks.length, ({ allocatedTensors }) => allocatedTensors);
  const pace = (from: number, to: number) => (made[to]! - made[from]!) / (ticks[to]!.ms - ticks[from]!.ms);
  if (pace(flat, last) < MIN_PACE * pace(bounds[0]!, flat)) return false;
  const grown = [(one: Series) => one.liveTensors, (one: Series) => one.liveBytes]
    .map((of) => totalOf(its, ticks.length, of))
    .filter((values) => values[flat]! > values[bounds[0]!]!);
  return grown.length > 0 && grown.every((values) => stopped(values, bounds, end));
}

function stopped(values: readonly number[], bounds: readonly number[], end: number): boolean {
  const flat = bounds.at(-1)!;
  const growth = bounds.slice(1).map((bound, i) => values[bound]! - values[bounds[i]!]!);
  const mean = (values[flat]! - values[bounds[0]!]!) / growth.length;
  const ends = values.slice(flat, end);
  return Math.min(...growth) >= MIN_GROWTH * mean && Math.max(...ends) - Math.min(...ends) <= MAX_VARIATION * mean;
}
