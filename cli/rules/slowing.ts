/**
 * Growth that becomes ever slower: a cache of keys of which some are rare fills for very long, and looks like a leak until then.
 * It is not called a leak before a longer recording shows whether it stops.
 */
import type { Evidence } from './evidence';
import { floorOf } from './statistics/shape';
import { theilSen } from './statistics/theil-sen';
import type { Judgement } from './verdict';

/** The p-value of a decline of the growth per work, by the Mann–Kendall test. */
const MAX_P = 0.02;
/** The second half of the judged rounds has at most this share of the growth of the first half, */
const MAX_SECOND_HALF = 0.7;
/** and the warm-up grew at least this many times as fast as the first half. */
const MIN_WARMUP_RATE = 1.5;
/**
 * A warm-up that grew this many times as fast as the second half shows the decline without the test, which misses it if the floor
 * rises only at collections.
 */
const MIN_FALL = 5;

export function slowing(evidence: Evidence): Judgement | undefined {
  const { trends, history, growth } = evidence;
  const rising = [
    ...(trends.bytes.kind === 'rising' ? [history.liveBytes] : []),
    ...(trends.tensors.kind === 'rising' ? [history.liveTensors] : []),
  ];
  if (rising.length === 0 || trends.sizes.kind === 'rising') return undefined;
  if (!rising.every((values) => slows(evidence, values))) return undefined;
  return { verdict: 'insufficient', kind: 'insufficient', ...growth };
}

function slows(evidence: Evidence, values: readonly number[]): boolean {
  const { history, warmup, provedRounds } = evidence;
  const work = history.work ?? history.ms;
  const floor = floorOf(values);
  const end = provedRounds - 1;
  const half = work.findIndex((done) => done >= (work[warmup]! + work[end]!) / 2);
  const rate = (from: number, to: number) => (floor[to]! - floor[from]!) / Math.max(1e-9, work[to]! - work[from]!);
  const [before, first, second] = [rate(0, warmup), rate(warmup, half), rate(half, end)];
  if (before < MIN_WARMUP_RATE * first || second > MAX_SECOND_HALF * first) return false;
  return before >= MIN_FALL * second || isDeclining(evidence, values, MAX_P);
}

/** Whether the floor rises less and less per work after the warm-up, with a p-value of at most `maxP`. */
export function isDeclining(
  { history, picked, provedRounds }: Evidence,
  values: readonly number[],
  maxP: number,
): boolean {
  const work = history.work ?? history.ms;
  const floor = floorOf(values);
  const [at, decline]: [number[], number[]] = [[], []];
  const proved = picked.filter((round) => round < provedRounds);
  for (const [i, round] of proved.entries()) {
    const before = proved[i - 1] ?? round;
    const done = work[round]! - work[before]!;
    if (!(done > 0)) continue;
    at.push(work[round]!);
    decline.push((floor[before]! - floor[round]!) / done);
  }
  return theilSen(at, decline).p <= maxP;
}
