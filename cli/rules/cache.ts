/** Growth that flattens: a cache that fills, or is full. */
import { type Evidence, MIN_BYTES, MIN_TENSORS, MINUTE } from './evidence';
import { isDeclining } from './slowing';
import { floorOf, steps } from './statistics/shape';
import type { Judgement, SiteHistory } from './verdict';

/** A cache that gained this share of its size in the last quarter is still filling. */
const MIN_FILLING_SHARE = 0.02;

/** Fewer steps are one-time allocations. */
const MIN_STEPS = 4;
/** A leak falls by less than this share of its rise; noise and queues rise and fall. */
const MAX_FALLS = 0.5;
/** Above this p-value, a decline of the growth may be chance. */
const MAX_P = 0.05;

export function cache(evidence: Evidence): Judgement | undefined {
  const { history, trends, growth } = evidence;
  if (trends.bytes.kind !== 'saturated' && trends.tensors.kind !== 'saturated' && !filled(history)) return undefined;
  if (!isFilling(history)) return { verdict: 'cache', kind: 'full-cache', ...growth };
  if (mayBeLeak(evidence)) return { verdict: 'insufficient', kind: 'insufficient', ...growth, ...rise(evidence) };
  return { verdict: 'cache', kind: 'filling-cache', ...growth };
}

/** A leak in bursts may have none at the end by chance. It grows in many steps, hardly falls, and does not become slower. */
function mayBeLeak(evidence: Evidence): boolean {
  const { history, options, warmup, provedRounds } = evidence;
  const series: [values: number[], minRise: number][] = [
    [history.liveBytes, options.minBytes ?? MIN_BYTES],
    [history.liveTensors, MIN_TENSORS],
  ];
  return series.some(([values, minRise]) => {
    const judged = values.slice(warmup);
    const floor = floorOf(values).slice(warmup, provedRounds);
    const rise = floor.at(-1)! - floor[0]!;
    const falls = judged.map((value, i) => Math.max(0, (judged[i - 1] ?? value) - value)).sort((a, b) => b - a);
    const most = falls.slice(1).reduce((sum, fall) => sum + fall, 0); // the largest may end a one-time peak
    const isMuch = rise >= minRise && steps(floor) >= MIN_STEPS;
    return isMuch && most < MAX_FALLS * rise && !isDeclining(evidence, values, MAX_P);
  });
}

/** The growth of the floor after the warm-up, also if it has too few steps for a trend. */
function rise({ history, warmup, provedRounds }: Evidence) {
  const perMinute = (values: number[]) => {
    const floor = floorOf(values);
    const time = history.ms[provedRounds - 1]! - history.ms[warmup]!;
    return ((floor[provedRounds - 1]! - floor[warmup]!) / Math.max(1, time)) * MINUTE;
  };
  return {
    growthBytesPerMinute: perMinute(history.liveBytes),
    growthTensorsPerMinute: perMinute(history.liveTensors),
  };
}

/**
 * Whether the series grew step by step, mostly before the last quarter, and did not fall. One-time allocations do not
 * count, nor does garbage since the last collection.
 */
function filled(history: SiteHistory): boolean {
  const grew = (values: number[], minRise: number) => {
    const floor = floorOf(values);
    const early = floor.slice(0, Math.ceil(floor.length * 0.75));
    const rise = floor.at(-1)! - floor[0]!;
    return rise >= minRise && early.at(-1)! - floor[0]! >= rise / 2 && steps(early) >= 3;
  };
  return grew(history.liveBytes, MIN_BYTES) || grew(history.liveTensors, MIN_TENSORS);
}

function isFilling(history: SiteHistory): boolean {
  const grows = (values: number[]) => {
    const floor = floorOf(values);
    const begin = floor[Math.floor(floor.length * 0.75)]!;
    return floor.at(-1)! - begin > MIN_FILLING_SHARE * floor.at(-1)!;
  };
  return grows(history.liveBytes) || grows(history.liveTensors);
}
