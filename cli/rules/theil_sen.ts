/** The Theil–Sen slope: the median of all slopes between two points, deaf to outliers; with a lower bound. */

/** One-sided 99% of the normal distribution. */
const Z99 = 2.326;

export interface Slope {
  /** The median slope. */
  slope: number;
  /** With 99% confidence the slope is at least this (Sen's bound, from the variance of Kendall's statistic). */
  low: number;
}

/** Needs at least two points with different x; else both are 0. O(n²): give it at most a few hundred points. */
export function theilSen(x: ArrayLike<number>, y: ArrayLike<number>): Slope {
  const n = x.length;
  const slopes: number[] = [];
  for (let i = 0; i < n; i++) {
    for (let j = i + 1; j < n; j++) {
      const dx = x[j]! - x[i]!;
      if (dx > 0) slopes.push((y[j]! - y[i]!) / dx);
    }
  }
  if (slopes.length === 0) return { slope: 0, low: 0 };
  const sorted = Float64Array.from(slopes).sort();
  const spread = Z99 * Math.sqrt((n * (n - 1) * (2 * n + 5)) / 18);
  const rank = Math.floor((sorted.length - spread) / 2);
  return { slope: quantile(sorted), low: rank < 0 ? Number.NEGATIVE_INFINITY : sorted[rank]! };
}

function quantile(sorted: Float64Array): number {
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
