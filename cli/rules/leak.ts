/**
 * Memory that is freed later is not a leak, so the rule uses the *floor*: at each round, the minimum from there on.
 * Sawteeth (garbage between collections, caches that are cleared) have a flat floor. A floor that rises after warm-up with
 * 99% confidence (Theil–Sen), by a minimum amount and in many steps, is a leak, unless it flattens: then it is a filling
 * cache. The values themselves must rise with the same confidence.
 */
import type { Evidence } from './evidence';
import { steady } from './steady';
import type { Judgement } from './verdict';

/** Share of the maximum before a collection that must survive it. */
const MIN_SURVIVED = 0.5;

export function leak(evidence: Evidence): Judgement | undefined {
  const { trends, options } = evidence;
  const { bytes, tensors, sizes } = trends;
  if (![bytes, tensors, sizes].some(({ kind }) => kind === 'rising')) return undefined;
  const held = isProved(evidence) || (options.mixed !== true && evidence.tensorsGrow);
  if (!held) return steady(evidence);
  // Three tests: bytes, tensors, sizes.
  const p = Math.min(1, 3 * Math.min(bytes.p, tensors.p, sizes.p));
  return { verdict: 'leak', kind: 'leak', ...evidence.growth, p };
}

/**
 * All growth since the last full collection may be garbage. So the series must have grown until that collection, or most of
 * it must have survived the collection.
 */
function isProved({ history, options, judge }: Evidence): boolean {
  const { lastCollectionRound: round, lastCollectionMs: _, ...rest } = history;
  if (round === undefined || round >= history.ms.length - 1) return true;
  const upTo = (values: number[]) => values.slice(0, round + 1);
  const survived = (values: number[]) =>
    values[round]! > 0 &&
    values[round]! >= MIN_SURVIVED * upTo(values).reduce((most, value) => Math.max(most, value), 0);
  if (options.mixed !== true && (survived(history.liveBytes) || survived(history.liveTensors))) return true;
  const until = {
    ...rest,
    ms: upTo(rest.ms),
    liveBytes: upTo(rest.liveBytes),
    liveTensors: upTo(rest.liveTensors),
    ...(rest.work === undefined ? {} : { work: upTo(rest.work) }),
  };
  return judge(until, options).verdict === 'leak';
}
