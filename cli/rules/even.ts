/**
 * Whether a series rises at one pace of time, as what a timer keeps does. A cache is filled by the work of the program: if that
 * becomes faster, so does the cache.
 */
import { MIN_BYTES, MIN_TENSORS } from './evidence';
import { floorOf } from './statistics/shape';
import { unproved } from './statistics/trend';
import type { RuleOptions, SiteHistory } from './verdict';
import { warmupRounds } from './warmup';

/** The rounds after the warm-up are compared in this many parts of equal duration. */
const PARTS = 4;
/** The fastest part rises at most this many times as much as the slowest. */
const MAX_VARIATION = 2;

export function risesEvenly({ ms, liveBytes, liveTensors }: SiteHistory, options: RuleOptions): boolean {
  const begin = warmupRounds(ms.length, options);
  const end = ms.length - 1 - unproved(ms.length - begin);
  const bounds = Array.from({ length: PARTS + 1 }, (_, part) => {
    const wanted = ms[begin]! + (part * (ms[end]! - ms[begin]!)) / PARTS;
    return ms.findIndex((time) => time >= wanted);
  });
  const isEven = (values: number[], minRise: number) => {
    const floor = floorOf(values);
    const rises = bounds.slice(1).map((bound, part) => floor[bound]! - floor[bounds[part]!]!);
    return floor[end]! - floor[begin]! >= minRise && Math.max(...rises) <= MAX_VARIATION * Math.min(...rises);
  };
  return isEven(liveBytes, options.minBytes ?? MIN_BYTES) || isEven(liveTensors, MIN_TENSORS);
}
