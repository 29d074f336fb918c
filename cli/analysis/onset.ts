/** Since when a series grows: the point at which a constant followed by a line fits it best. */
import { floorOf } from '../rules/statistics/shape';
import { unproved } from '../rules/statistics/trend';

/** Each candidate takes time linear in the points. */
const MAX_POINTS = 240;
/** The break must explain at least this share of what a single line leaves unexplained. */
const EXPLAINED = 0.5;
/** A break in the first or last part of the series is not distinguishable from none. */
const MARGIN = 0.05;

/** The index at which the growth begins; null if it grows from the beginning. */
export function onsetOf(ms: readonly number[], values: readonly number[]): number | null {
  // What came after the last fall may be garbage: a rise only at the end is not an onset.
  const proved = ms.length - unproved(ms.length);
  const step = Math.max(1, Math.ceil(proved / MAX_POINTS));
  const picked = [...ms.keys()].filter((i) => i < proved && (i % step === 0 || i === proved - 1));
  const floor = floorOf(values);
  const t = picked.map((i) => ms[i]!);
  const y = picked.map((i) => floor[i]!);
  const begin = Math.max(1, Math.ceil(MARGIN * t.length));
  const end = t.length - begin;
  const line = errorOf(t, y, 0);
  let [best, least] = [-1, EXPLAINED * line];
  for (let k = begin; k < end; k++) {
    const error = errorOf(t, y, k);
    if (error < least) [best, least] = [k, error];
  }
  return best === -1 ? null : picked[best]!;
}

/** The squared error of the best constant until `k` with a line from there. */
function errorOf(t: readonly number[], y: readonly number[], k: number): number {
  const n = t.length;
  const x = (i: number) => Math.max(0, t[i]! - t[k]!);
  let [sx, sy] = [0, 0];
  for (let i = 0; i < n; i++) {
    sx += x(i);
    sy += y[i]!;
  }
  const [mx, my] = [sx / n, sy / n];
  let [sxx, sxy, syy] = [0, 0, 0];
  for (let i = 0; i < n; i++) {
    const [dx, dy] = [x(i) - mx, y[i]! - my];
    sxx += dx * dx;
    sxy += dx * dy;
    syy += dy * dy;
  }
  return sxx === 0 || sxy <= 0 ? syy : syy - (sxy * sxy) / sxx;
}
