/** Whether the number of tensors that are proved to have been held rises from collection to collection (docs/verdicts.md, 12). */
import { least } from '../rules/statistics/trend';
import type { RuleOptions } from '../rules/verdict';
import { MIN_WARMUP } from '../rules/warmup';

/** Collections that a judgement by survivors needs. */
const MIN_COLLECTIONS = 3;
/** In tensors, or as many bytes; other rules require a larger rise in bytes anyway. */
const MIN_EXACT_RISE = 4;
/** With fewer collections, the rise must be at least MIN_RISE_OF_FEW of the last value: few values often rise by chance. */
const MANY_COLLECTIONS = 8;
const MIN_RISE_OF_FEW = 0.25;
/** Share of pairs of collections in which the later one must have the larger count; */
const MIN_RISING_PAIRS = 0.9;
/** a smaller one suffices if also the tensors that outlive two collections become more at that share. */
const MIN_RISING_PAIRS_OF_BOTH = 0.8;
/** Share of the rise that must come in its second half; a smaller one suffices for a doubt. */
const MIN_LATE_RISE = 0.25;
const MIN_DOUBTFUL_LATE_RISE = 0.15;
const MIN_DOUBTFUL_STEPS = 2;
/** Collections, and the share of the rise that each third of them must bring, for a doubt about growth over a large base. */
const MIN_STEADY_COLLECTIONS = 12;
const MIN_THIRD = 0.15;
/** Share of the rise of what stays that must come before the last collection, because no later round shows what left since. */
const MIN_DOUBTFUL_EARLY_RISE = 0.25;
/** Share of the rise that must also be among the tensors that outlive the next collection. */
const MIN_OUTLIVING_RISE = 0.5;

/**
 * Between collections the count of proved tensors is too low: what a full cache drops before the next collection does not
 * count. It is exact right before each collection, so the counts there are compared, in all pairs. A short run has few
 * collections, so only those of the first rounds are skipped; late growth shows that it is not a cache that filled.
 */
export function rises(counts: number[], exact: number[], from: number, options: RuleOptions): boolean {
  return risesBy(
    judgedOf(exact, from, options).map((round) => counts[round]!),
    MIN_RISING_PAIRS,
  );
}

/**
 * Whether most of the rise is among the tensors that outlive the next collection. A buffer that is emptied a little less often
 * than collections come is fuller at each of them, but what one finds is gone at the next.
 */
function outlives(counts: number[], judged: number[], values: number[]): boolean {
  const outliving = judged.slice(0, -1).map((round) => counts[round + 1]!);
  return outliving.at(-1)! - outliving[0]! >= MIN_OUTLIVING_RISE * (values.at(-2)! - values[0]!);
}

const judgedOf = (exact: number[], from: number, options: RuleOptions) =>
  exact.filter((round) => round >= from + Math.min(MIN_WARMUP, options.warmup ?? MIN_WARMUP));

/**
 * Of a cache whose tensors wait for the collector there are more or fewer right before a collection, by chance. Right after it,
 * only those count that the next one proves too.
 */
export function outlivingRise(counts: number[], exact: number[], from: number, options: RuleOptions): boolean {
  const judged = judgedOf(exact, from, options);
  const outlive = judged.slice(0, -1).map((round) => counts[round + 1]!);
  return (
    risingPairs(judged.map((round) => counts[round]!)) >= MIN_RISING_PAIRS_OF_BOTH && risesBy(outlive, MIN_RISING_PAIRS)
  );
}

function risesBy(values: number[], minPairs: number): boolean {
  if (values.length < MIN_COLLECTIONS) return false;
  const rise = values.at(-1)! - values[0]!;
  if (rise < MIN_EXACT_RISE) return false;
  if (values.length < MANY_COLLECTIONS && rise < MIN_RISE_OF_FEW * values.at(-1)!) return false;
  const middle = values[values.length >> 1]!;
  return risingPairs(values) >= minPairs && values.at(-1)! - middle >= MIN_LATE_RISE * rise;
}

/** The share of pairs of values of which the later one is the larger. */
function risingPairs(values: number[]): number {
  let [up, pairs] = [0, 0];
  for (let i = 0; i < values.length; i++) {
    for (let k = i + 1; k < values.length; k++) {
      pairs++;
      if (values[k]! > values[i]!) up++;
    }
  }
  return up / pairs;
}

/**
 * The same with less evidence, not enough for a leak but too much for a clean verdict: the count doubled from its minimum in
 * the first half, in several steps and without a fall since. Held tensors are among the live ones, so these vary as much. What
 * stays is among the live ones of all later rounds too, so the count without those that were freed must rise as well, and so
 * must the count of those that outlive the next collection, unless all live ones rise (`liveRises`): between the flushes of a
 * queue, the collections may come ever later by chance.
 */
export function mayRise(
  counts: number[],
  live: number[],
  exact: number[],
  from: number,
  options: RuleOptions,
  liveRises: () => boolean,
): boolean {
  const rounds = judgedOf(exact, from, options);
  const all = rounds.map((round) => counts[round]!);
  const early = all.slice(0, Math.ceil(all.length / 2));
  const begin = early.lastIndexOf(Math.min(...early));
  if (all.length - begin < MIN_COLLECTIONS + 1) return false;
  const values = all.slice(begin);
  if (extent(live.slice(rounds[0])) < (values.at(-1)! - values[0]!) / 2) return false;
  if (!outlives(counts, rounds.slice(begin), values) && !liveRises()) return false;
  const kept = staying(all, live, rounds).slice(begin);
  return (
    doubled(values) && doubled(kept) && kept.at(-2)! - kept[0]! >= MIN_DOUBTFUL_EARLY_RISE * (kept.at(-1)! - kept[0]!)
  );
}

/**
 * A doubt where the count has not doubled, because much was there before: it rises from collection to collection, and each third
 * of many collections brings its share. A cache that fills brings ever less.
 */
export function risesSteadily(
  counts: number[],
  exact: number[],
  from: number,
  options: RuleOptions,
  minRise: number,
): boolean {
  const values = judgedOf(exact, from, options).map((round) => counts[round]!);
  if (values.length < MIN_STEADY_COLLECTIONS || !risesBy(values, MIN_RISING_PAIRS)) return false;
  const at = (third: number) => values[Math.round((third * (values.length - 1)) / 3)]!;
  const rise = at(3) - at(0);
  return rise >= minRise && [1, 2, 3].every((third) => at(third) - at(third - 1) >= MIN_THIRD * rise);
}

function doubled(values: number[]): boolean {
  const rise = values.at(-1)! - values[0]!;
  const late = values.at(-1)! - values[values.length >> 1]!;
  const changes = values.slice(1).map((value, i) => value - values[i]!);
  if (changes.some((change) => change < 0) || changes.filter((change) => change > 0).length < MIN_DOUBTFUL_STEPS)
    return false;
  return rise >= Math.max(2 * MIN_EXACT_RISE, values[0]!) && late >= MIN_DOUBTFUL_LATE_RISE * rise;
}

/** The most of each count that can still be live at the last of the rounds: as many as were live at each round between. */
function staying(counts: number[], live: number[], rounds: number[]): number[] {
  const most: number[] = [];
  let fewest = Number.POSITIVE_INFINITY;
  let round = rounds.at(-1) ?? 0;
  for (let i = rounds.length - 1; i >= 0; i--) {
    for (; round >= rounds[i]!; round--) fewest = Math.min(fewest, live[round] ?? fewest);
    most[i] = Math.min(counts[i]!, fewest);
  }
  return most;
}

const extent = (values: readonly number[]) => values.reduce((most, value) => Math.max(most, value), 0) - least(values);
