/** Growth of libtorch's memory that live tensors account for, though no line alone was judged to leak: a queue, for example. */

import { MIN_STEPS } from '../rules/statistics/trend';
import type { RuleOptions } from '../rules/verdict';
import { warmupRounds } from '../rules/warmup';
import type { Judged, Program } from './judging';
import { type Group, totalOf } from './sites';

/** Tensors account for the growth if theirs is at least this share of it. */
const MIN_SHARE = 0.5;
const MINUTE = 60_000;

export interface GrownTensors {
  group: Group;
  tensorsPerMinute: number;
  /** It made tensors in many rounds. What was made at once may be the result of what other lines collected. */
  isGradual: boolean;
}

/** The mean of the last third minus that of the first. */
function rise(values: readonly number[]): number {
  const third = Math.max(1, Math.floor(values.length / 3));
  const mean = (part: readonly number[]) => part.reduce((a, b) => a + b, 0) / part.length;
  return mean(values.slice(-third)) - mean(values.slice(0, third));
}

/** The line whose live tensors grew most, if live tensors account for the growth. `explained`: bytes of sites that grow anyway. */
export function grownTensors(
  { capture, groups }: Program,
  judged: readonly Judged[],
  explained: readonly number[],
  rounds: number,
  options: RuleOptions,
): GrownTensors | undefined {
  const begin = warmupRounds(rounds, options);
  const ticks = capture.ticks.slice(begin, rounds);
  if (ticks.length < 3 || capture.start?.mode === 'counters') return undefined;
  const all = rise(ticks.map(({ allocatedBytes }, i) => allocatedBytes - explained[begin + i]!));
  const seen = rise(ticks.map(({ bytes }, i) => bytes - explained[begin + i]!));
  if (all <= 0 || seen < MIN_SHARE * all) return undefined;
  let [best, most]: [Group | undefined, number] = [undefined, 0];
  const riseOf = (group: Group, of: 'liveBytes' | 'liveTensors') => {
    const its = group.members.map(({ series }) => series);
    return rise(totalOf(its, capture.ticks.length, (series) => series[of]).slice(begin, rounds));
  };
  for (const [i, group] of groups.entries()) {
    if (judged[i]!.judgement.verdict === 'leak') continue;
    const bytes = riseOf(group, 'liveBytes');
    if (bytes > most) [best, most] = [group, bytes];
  }
  if (best === undefined || most < MIN_SHARE * seen) return undefined;
  // Between the means of the first and the last third lie two thirds of the time.
  const minutes = ((2 / 3) * (ticks.at(-1)!.ms - ticks[0]!.ms)) / MINUTE;
  const its = best.members.map(({ series }) => series);
  const made = totalOf(its, capture.ticks.length, ({ allocatedTensors }) => allocatedTensors).slice(begin, rounds);
  return {
    group: best,
    tensorsPerMinute: minutes > 0 ? Math.max(0, riseOf(best, 'liveTensors') / minutes) : 0,
    isGradual: made.filter((n, i) => i > 0 && n > made[i - 1]!).length >= MIN_STEPS,
  };
}
