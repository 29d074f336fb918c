/**
 * Many sites, one verdict: with 1% of error each, one of a hundred innocent sites would be called a leak. Benjamini and
 * Hochberg's adjustment bounds the share of false ones among those that are called leaks instead.
 */

/** For each probability the least share of false finds at which it would still be one. */
export function falseDiscovery(probabilities: readonly number[]): number[] {
  const order = Array.from(probabilities.keys()).sort((a, b) => probabilities[a]! - probabilities[b]!);
  const adjusted = new Array<number>(probabilities.length);
  let least = 1;
  for (let rank = order.length; rank >= 1; rank--) {
    const i = order[rank - 1]!;
    least = Math.min(least, (probabilities[i]! * order.length) / rank);
    adjusted[i] = least;
  }
  return adjusted;
}
