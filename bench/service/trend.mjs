/** The trend of a series: the slope of a straight line fitted to it, with a confidence interval. */

/** Two-sided 95% of a normal distribution; the series have dozens of points. */
const SIGMAS = 1.96;

/**
 * Least squares.
 * @param {{ at: number, value: number }[]} points
 * @returns {{ slope: number, margin: number }} value per unit of `at`; 95% lie within slope ± margin
 */
export function trend(points) {
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const at = mean(points.map((point) => point.at));
  const value = mean(points.map((point) => point.value));
  const spread = points.reduce((sum, point) => sum + (point.at - at) ** 2, 0);
  if (points.length < 3 || spread === 0) throw new Error(`expected three points in time or more, got ${points.length}`);
  const slope = points.reduce((sum, point) => sum + (point.at - at) * (point.value - value), 0) / spread;
  const rest = points.reduce((sum, point) => sum + (point.value - value - slope * (point.at - at)) ** 2, 0);
  return { slope, margin: SIGMAS * Math.sqrt(rest / (points.length - 2) / spread) };
}
