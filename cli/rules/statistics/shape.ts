/** The shape of a series: floor, steps, teeth, saturation. */

/** The minimum of each value and all later ones. */
export function floorOf(values: readonly number[]): number[] {
  const floor = values.slice();
  for (let i = floor.length - 2; i >= 0; i--) floor[i] = Math.min(floor[i]!, floor[i + 1]!);
  return floor;
}

/** Steps are counted until they add up to this share of the rise. */
const SHARE_OF_RISE = 0.9;

/** How many of the largest steps make up SHARE_OF_RISE of the rise; few steps mean one-time allocations. */
export function steps(floor: readonly number[]): number {
  const up: number[] = [];
  for (let i = 1; i < floor.length; i++) if (floor[i]! > floor[i - 1]!) up.push(floor[i]! - floor[i - 1]!);
  up.sort((a, b) => b - a);
  let missing = SHARE_OF_RISE * (floor.at(-1)! - floor[0]!);
  let count = 0;
  while (missing > 0 && count < up.length) missing -= up[count++]!;
  return count;
}

/** A rise followed by a fall: indices of the begin, the top, and the end of the fall. */
export interface Tooth {
  begin: number;
  top: number;
  end: number;
}

/** The rises of at least `height` that were followed by a fall of at least `height`. */
export function teeth(values: readonly number[], height: number): Tooth[] {
  const found: Tooth[] = [];
  let low = 0;
  let top = -1; // -1: still looking for a rise
  for (let i = 1; i < values.length; i++) {
    const value = values[i]!;
    if (top < 0) {
      if (value <= values[low]!) low = i;
      else if (value - values[low]! >= height) top = i;
    } else if (value >= values[top]!) top = i;
    else if (values[top]! - value >= height) {
      found.push({ begin: low, top, end: i });
      [low, top] = [i, -1];
    }
  }
  return found;
}

/** Growth is saturating if its second half is below this share of its first. */
const MAX_SECOND_HALF = 0.45;
/** The same for the last quarter and the average quarter; lower, because fewer rounds are noisier. */
const MAX_LAST_QUARTER = 0.25;

/** Whether the growth per work in the last part is far below that in the first. */
export function isSaturated(work: readonly number[], floor: readonly number[]): boolean {
  const begin = work[0]!;
  const total = work.at(-1)! - begin;
  if (total <= 0) return false;
  const at = (share: number) => {
    const wanted = begin + total * share;
    const i = work.findIndex((w) => w >= wanted);
    const [w0, w1] = [work[i - 1] ?? begin, work[i]!];
    const part = w1 > w0 ? (wanted - w0) / (w1 - w0) : 1;
    const before = floor[i - 1] ?? floor[0]!;
    return before + (floor[i]! - before) * part;
  };
  const first = at(0.5) - floor[0]!;
  const second = floor.at(-1)! - at(0.5);
  const last = floor.at(-1)! - at(0.75);
  return second < MAX_SECOND_HALF * first || last < (MAX_LAST_QUARTER * (floor.at(-1)! - floor[0]!)) / 4;
}

/** A rise at the end is a usual wave if an earlier wave was at least this share as long, */
const MIN_WAVE_LENGTH = 2 / 3;
/** and at least this share as high. */
const MIN_WAVE_HEIGHT = 0.8;
/** If more than this share of the rise came before the last fall, it is not only a wave. */
const MAX_RISE_BEFORE = 0.25;

/**
 * Whether the floor rose by `rise` only because the series ends inside a wave: earlier waves of about that height and length
 * fell again, and the floor before the last of these falls was flat. `from`: the end of the warm-up.
 */
export function isUsualWave(values: readonly number[], floor: readonly number[], from: number, rise: number): boolean {
  const waves = teeth(values, MIN_WAVE_HEIGHT * rise);
  const last = waves.at(-1);
  if (last === undefined) return false;
  const length = values.length - 1 - last.end;
  const usual = waves.some((wave) => wave.top - wave.begin >= MIN_WAVE_LENGTH * length);
  return usual && floor[Math.max(from, last.end)]! - floor[from]! <= MAX_RISE_BEFORE * rise;
}
