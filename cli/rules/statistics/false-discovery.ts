/**
 * Corrects for many sites: with an error of 1% each, one of a hundred sites that do not leak would be called a leak. The
 * Benjamini–Hochberg adjustment bounds the share of false leaks among the reported ones instead.
 */

/** For each p-value, the smallest false discovery rate at which it is still significant. */
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
