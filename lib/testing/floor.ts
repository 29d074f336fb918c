/** When a series of figures, one before the measured calls and one after each round of them, is called a leak. */

/** The least that is there from each round on: where garbage and caches that replace their entries come back to. */
function floorOf(series: readonly number[]): number[] {
  const floor = [...series];
  for (let i = floor.length - 2; i >= 0; i--) floor[i] = Math.min(floor[i]!, floor[i + 1]!);
  return floor;
}

/** In so many of the rounds a figure must grow: in at least half of them, and in two, where there are two. */
const enough = (rounds: number) => Math.max(Math.min(2, rounds), Math.ceil(rounds / 2));

/**
 * Whether the floor rises in enough rounds, up to the end: in the last quarter of them as well. What is made once and kept,
 * late or early, rises once; a cache that is full rises no more.
 */
export function rises(series: readonly number[]): boolean {
  const floor = floorOf(series);
  const rounds = floor.length - 1;
  const last = floor.indexOf(floor[rounds]!);
  return grows(floor) && last > rounds - Math.ceil(rounds / 4);
}

/** Whether the figure itself grows in enough rounds, whatever it loses in the others. */
export function grows(series: readonly number[]): boolean {
  const steps = series.filter((value, round) => round > 0 && value > series[round - 1]!);
  return steps.length >= enough(series.length - 1);
}
