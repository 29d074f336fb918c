/** Too few rounds for a verdict. A series that grew all the same is not called steady. */
import { type Evidence, MIN_BYTES, MIN_TENSORS, MINUTE } from './evidence';
import { floorOf, steps } from './statistics/shape';
import { MIN_STEPS } from './statistics/trend';
import { type Judgement, NO_GROWTH, type RuleOptions, type SiteHistory } from './verdict';
import { enoughRounds } from './warmup';

export function tooShort({ history, options, rounds, isGone }: Evidence): Judgement | undefined {
  if (enoughRounds(rounds, options)) return undefined;
  if (isGone) return { verdict: 'steady', kind: 'steady', ...NO_GROWTH };
  return { verdict: 'insufficient', kind: 'insufficient', ...youngGrowth(history, options) };
}

/**
 * The growth rate of a series that is too short to judge, if it grew in many steps and by a minimum amount: not proof of a
 * leak, but a reason not to call the program clean.
 */
function youngGrowth({ ms, liveBytes, liveTensors }: SiteHistory, options: RuleOptions): typeof NO_GROWTH {
  const perMinute = (values: number[], minRise: number) => {
    const floor = floorOf(values);
    const rise = floor.at(-1)! - floor[0]!;
    const time = ms.at(-1)! - ms[0]!;
    return time > 0 && rise >= minRise && steps(floor) >= MIN_STEPS ? (rise / time) * MINUTE : 0;
  };
  if (ms.length === 0) return NO_GROWTH;
  return {
    growthBytesPerMinute: perMinute(liveBytes, options.minBytes ?? MIN_BYTES),
    growthTensorsPerMinute: perMinute(liveTensors, MIN_TENSORS),
    lowBytesPerMinute: Number.NEGATIVE_INFINITY,
    highBytesPerMinute: Number.POSITIVE_INFINITY,
    p: 1,
  };
}
