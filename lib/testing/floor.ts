/** Decides whether a series of figures, one before the measured calls and one after each round, shows a leak. */

/** The minimum from each round on: the level to which garbage and caches that replace their entries return. */
function floorOf(series: readonly number[]): number[] {
  const floor = [...series];
  for (let i = floor.length - 2; i >= 0; i--) floor[i] = Math.min(floor[i]!, floor[i + 1]!);
  return floor;
}

/** The number of rounds in which a figure must grow: at least half of them, and at least two if there are two. */
const enough = (rounds: number) => Math.max(Math.min(2, rounds), Math.ceil(rounds / 2));

/**
 * Whether the floor rises in enough rounds, including the last quarter. Tensors that are created once and kept raise it only
 * once; a full cache no longer raises it.
 */
export function rises(series: readonly number[]): boolean {
  const floor = floorOf(series);
  const rounds = floor.length - 1;
  const last = floor.indexOf(floor[rounds]!);
  return grows(floor) && last > rounds - Math.ceil(rounds / 4);
}

/** Whether the figure itself grows in enough rounds, even if it falls in others. */
export function grows(series: readonly number[]): boolean {
  const steps = series.filter((value, round) => round > 0 && value > series[round - 1]!);
  return steps.length >= enough(series.length - 1);
}
