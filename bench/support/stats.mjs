/** Figures of several rounds: their middle, and how far they lie apart. */

/** Above this spread a figure says as much about the machine's other work as about ours. */
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

/** @param {Summary} summary how far apart the rounds lie, as a share of their median */
export const spread = ({ median: middle, min, max }) => (max - min) / middle;

/**
 * The median of the rounds' own ratios: what slows the machine for a while slows both sides of a round.
 * @param {number[]} values @param {number[]} base
 */
export const ratio = (values, base) => median(values.map((value, round) => value / base[round]));

/**
 * One line that says how steady the machine was.
 * @param {[string, Summary][]} figures
 */
export function noise(figures) {
  const noisy = figures.filter(([, summary]) => spread(summary) > NOISY);
  const [worst, summary] = figures.reduce((a, b) => (spread(b[1]) > spread(a[1]) ? b : a));
  const percent = `${Math.round(100 * spread(summary))}%`;
  return noisy.length === 0
    ? `Steady: no figure's rounds lie further apart than ${percent} of its median (${worst}).`
    : `**Noisy machine:** the rounds of ${noisy.length} of ${figures.length} figures lie further apart than ` +
        `${100 * NOISY}% of their median, at worst ${percent} (${worst}).`;
}
