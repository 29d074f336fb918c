/** When a series of figures, one before the measured calls and one after each round of them, is called a leak. */

/** The least that is there from each round on: where garbage and caches that replace their entries come back to. */
function floorOf(series: readonly number[]): number[] {
  const floor = [...series];
  for (let i = floor.length - 2; i >= 0; i--) floor[i] = Math.min(floor[i]!, floor[i + 1]!);
  return floor;
}

/**
 * Whether the floor rises in at least half of the rounds (and in two, where there are two), up to the end: in the last
 * quarter of them as well. What is made once and kept, late or early, rises once; a cache that is full rises no more.
 */
export function rises(series: readonly number[]): boolean {
  const floor = floorOf(series);
  const rounds = floor.length - 1;
  let steps = 0;
  let last = 0;
  for (let round = 1; round <= rounds; round++) {
    if (floor[round]! <= floor[round - 1]!) continue;
    steps++;
    last = round;
  }
  return steps >= Math.max(Math.min(2, rounds), Math.ceil(rounds / 2)) && last > rounds - Math.ceil(rounds / 4);
}
