/** Growth that flattens: a cache that fills, or is full. */
import { type Evidence, MIN_BYTES, MIN_TENSORS } from './evidence';
import { floorOf, steps } from './statistics/shape';
import type { Judgement, SiteHistory } from './verdict';

/** A cache that gained this share of its size in the last quarter is still filling. */
const MIN_FILLING_SHARE = 0.02;

export function cache({ history, trends, growth }: Evidence): Judgement | undefined {
  if (trends.bytes.kind !== 'saturated' && trends.tensors.kind !== 'saturated' && !filled(history)) return undefined;
  return { verdict: 'cache', kind: isFilling(history) ? 'filling-cache' : 'full-cache', ...growth };
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
