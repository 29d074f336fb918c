/**
 * The Theil–Sen slope: the median of all slopes between two points, robust against outliers; with confidence bounds and the
 * p-value of the Mann–Kendall test. Both use the variance of Kendall's statistic, corrected for ties and, after Hamed and
 * Rao, for autocorrelation: tensors that are live in one round are mostly live in the next, so sixty rounds carry far less
 * information than sixty independent values.
 */
import { upperTail } from './normal';
import { select } from './select';

/** One-sided 99% of the normal distribution. */
const Z99 = 2.326;
/** Autocorrelations within this many standard deviations of 0 are ignored. */
const SIGNIFICANT = 1.96;

export interface Slope {
  /** The median slope. */
  slope: number;
  /** Lower bound of the slope, with 99% confidence. */
  low: number;
  /** Upper bound of the slope, with 99% confidence. */
  high: number;
  /** The p-value: the probability of such a rise without a trend. */
  p: number;
}

/** Needs at least two points with different x; else the slope is 0. O(n²), so pass at most a few hundred points. */
export function theilSen(x: ArrayLike<number>, y: ArrayLike<number>): Slope {
  const n = x.length;
  const slopes = new Float64Array((n * (n - 1)) / 2);
  let count = 0;
  let rising = 0;
  for (let i = 0; i < n; i++) {
    for (let j = i + 1; j < n; j++) {
      const dx = x[j]! - x[i]!;
      if (!(dx > 0)) continue;
      const dy = y[j]! - y[i]!;
      rising += Math.sign(dy);
      slopes[count++] = dy / dx;
    }
  }
  if (count === 0) return { slope: 0, low: 0, high: 0, p: 1 };
  const found = slopes.subarray(0, count);
  const slope = median(found);
  const deviation = Math.sqrt(kendallVariance(y) * autocorrelationFactor(x, y, slope));
  const spread = Z99 * deviation;
  const lowest = Math.floor((count - spread) / 2);
  const highest = Math.ceil((count + spread) / 2);
  return {
    slope,
    low: lowest < 0 ? Number.NEGATIVE_INFINITY : select(found, lowest),
    high: highest >= count ? Number.POSITIVE_INFINITY : select(found, highest),
    // Continuity correction: the statistic changes in steps of two.
    p: deviation === 0 ? 1 : upperTail((rising - Math.sign(rising)) / deviation),
  };
}

/** Reorders the values. */
function median(values: Float64Array): number {
  const middle = values.length >> 1;
  const upper = select(values, middle);
  return values.length % 2 === 1 ? upper : (select(values, middle - 1, 0, middle - 1) + upper) / 2;
}

/** The variance of Kendall's statistic for independent values, corrected for ties. */
function kendallVariance(y: ArrayLike<number>): number {
  const term = (k: number) => k * (k - 1) * (2 * k + 5);
  const sorted = Float64Array.from(y).sort();
  let ties = 0;
  for (let i = 0; i < sorted.length; ) {
    let end = i + 1;
    while (end < sorted.length && sorted[end] === sorted[i]) end++;
    ties += term(end - i);
    i = end;
  }
  return (term(sorted.length) - ties) / 18;
}

/** The factor, at least 1, by which autocorrelation increases the variance, from the ranks of the residuals. */
function autocorrelationFactor(x: ArrayLike<number>, y: ArrayLike<number>, slope: number): number {
  const n = y.length;
  // Rounded to a billionth of the range, so that rounding errors around a straight line do not count as a pattern.
  const unit = extent(y) * 1e-9 || 1;
  const ranks = ranksOf(Float64Array.from(y, (value, i) => Math.round((value - slope * (x[i]! - x[0]!)) / unit)));
  const mean = (n - 1) / 2;
  let square = 0;
  for (const rank of ranks) square += (rank - mean) ** 2;
  if (square === 0 || n < 4) return 1;
  let sum = 0;
  for (let lag = 1; lag <= n >> 2; lag++) {
    let product = 0;
    for (let i = 0; i + lag < n; i++) product += (ranks[i]! - mean) * (ranks[i + lag]! - mean);
    const correlation = product / square;
    if (Math.abs(correlation) * Math.sqrt(n) > SIGNIFICANT) {
      sum += (n - lag) * (n - lag - 1) * (n - lag - 2) * correlation;
    }
  }
  return Math.max(1, 1 + (2 * sum) / (n * (n - 1) * (n - 2)));
}

function extent(y: ArrayLike<number>): number {
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let i = 0; i < y.length; i++) [least, most] = [Math.min(least, y[i]!), Math.max(most, y[i]!)];
  return most - least;
}

/** Ranks from 0; equal values share their mean rank. */
function ranksOf(values: Float64Array): Float64Array {
  const order = Array.from(values.keys()).sort((a, b) => values[a]! - values[b]!);
  const ranks = new Float64Array(values.length);
  for (let i = 0; i < order.length; ) {
    let end = i + 1;
    while (end < order.length && values[order[end]!] === values[order[i]!]) end++;
    for (let k = i; k < end; k++) ranks[order[k]!] = (i + end - 1) / 2;
    i = end;
  }
  return ranks;
}
