/** What neither leaks nor fills: steady, or a sawtooth. */
import { type Evidence, MIN_BYTES, MIN_TENSORS } from './evidence';
import { teeth } from './statistics/shape';
import { least } from './statistics/trend';
import { type Judgement, NO_GROWTH, type SiteHistory } from './verdict';

/** No tensor is live at the end. */
export const freed = ({ history, warmup, isGone }: Evidence): Judgement | undefined =>
  isGone ? { ...shapeOf(history, warmup), ...NO_GROWTH } : undefined;

export const steady = ({ history, warmup, growth }: Evidence): Judgement => ({
  ...shapeOf(history, warmup),
  ...growth,
});

/** A series is a sawtooth if it rises and falls at least twice by half its range and by a minimum amount. */
function shapeOf(history: SiteHistory, warmup: number): { verdict: 'steady'; kind: 'sawtooth' | 'steady' } {
  const toothed = (values: number[], minHeight: number) => {
    const after = values.slice(warmup);
    const range = after.reduce((a, b) => Math.max(a, b), 0) - least(after);
    return range >= minHeight && teeth(values, range / 2).length >= 2;
  };
  const sawtooth = toothed(history.liveBytes, MIN_BYTES) || toothed(history.liveTensors, MIN_TENSORS);
  return { verdict: 'steady', kind: sawtooth ? 'sawtooth' : 'steady' };
}
