/** Statistics of the figures of several rounds: median and spread. */

/** Above this spread a figure depends as much on the machine's other work as on the measured program. */
const NOISY = 0.3;

/** @param {number[]} values */
export function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** The first, second and third quartile, interpolated. @param {number[]} values */
export function quartiles(values) {
  const sorted = values.toSorted((a, b) => a - b);
  return [0.25, 0.5, 0.75].map((share) => {
    const place = share * (sorted.length - 1);
    const below = Math.floor(place);
    return sorted[below] + (place - below) * (sorted[Math.ceil(place)] - sorted[below]);
  });
}

/** @typedef {{ median: number, min: number, max: number }} Summary */

/** @param {number[]} values @returns {Summary} */
export const summarise = (values) => ({ median: median(values), min: Math.min(...values), max: Math.max(...values) });

/** @param {Summary} summary the spread of the rounds, relative to their median */
export const spread = ({ median: middle, min, max }) => (max - min) / middle;

/**
 * The median of the ratios within each round: a temporary slowdown of the machine affects both sides of a round.
 * @param {number[]} values @param {number[]} base
 */
export const ratio = (values, base) => median(values.map((value, round) => value / base[round]));

/**
 * One line about the noise of the machine.
 * @param {[string, Summary][]} figures
 */
export function noise(figures) {
  const noisy = figures.filter(([, summary]) => spread(summary) > NOISY);
  const [worst, summary] = figures.reduce((a, b) => (spread(b[1]) > spread(a[1]) ? b : a));
  const percent = `${Math.round(100 * spread(summary))}%`;
  return noisy.length === 0
    ? `Steady: the spread of each figure's rounds is at most ${percent} of its median (${worst}).`
    : `**Noisy machine:** in ${noisy.length} of ${figures.length} figures the rounds spread by more than ` +
        `${100 * NOISY}% of the median, at worst by ${percent} (${worst}).`;
}
