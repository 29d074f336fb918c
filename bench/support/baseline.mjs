/**
 * A baseline of ratios, and the comparison of a run with it. Only ratios within a round are kept, because they depend less on
 * the machine than times, and each with the confidence interval of its median.
 */

/** Ratios that differ by less count as equal: a baseline comes from another machine. */
export const TOLERANCE = 0.1;

const CONFIDENCE = 0.95;

/**
 * The confidence interval of the median, from the order of the values alone: no distribution is assumed. The largest rank
 * whose binomial tail still leaves the confidence; with fewer than six values the whole range, which has less.
 * @param {number[]} values
 * @returns {{ median: number, low: number, high: number }}
 */
export function medianInterval(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const n = sorted.length;
  const middle = n >> 1;
  const median = n % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  let below = 0;
  let term = 0.5 ** n;
  let tail = 0;
  // Outside the ranks below+1 … n-below lies the median with the probability of 2 × the tail.
  for (let k = 0; k < middle; k++) {
    tail += term;
    if (2 * tail > 1 - CONFIDENCE) break;
    below = k + 1;
    term *= (n - k) / (k + 1);
  }
  const rank = Math.max(0, below - 1);
  return { median, low: sorted[rank], high: sorted[n - 1 - rank] };
}

/**
 * @typedef {Record<string, { median: number, low: number, high: number }>} Ratios
 * @typedef {{ name: string, base?: number, now?: number, low?: number, high?: number,
 *   verdict: 'slower' | 'faster' | 'equal' | 'new' | 'gone' }} Compared
 */

const intervals = (figures, base, title) =>
  Object.fromEntries(
    Object.entries(figures).map(([name, values]) => [
      `${name}${title}`,
      medianInterval(values.map((value, round) => value / base(name)[round])),
    ]),
  );

/**
 * The ratios of the ops to C++, in CPU time, and of the forms of a call to the raw entry.
 * @param {import('../measured.mjs').Measured} measured
 * @param {Record<string, Record<string, string>>} forms
 * @returns {Promise<Ratios>}
 */
export async function ratiosOf(measured, forms) {
  const { cpu } = await measured.ops();
  const calls = await measured.calls();
  /** @type {Ratios} */
  const all = {};
  for (const [program, figures] of Object.entries(cpu)) {
    if (program === 'cpp' || program === 'python') continue;
    Object.assign(
      all,
      intervals(figures, (op) => cpu.cpp[op], `, ${program} / cpp`),
    );
  }
  for (const [raw, others] of Object.entries(forms)) {
    const figures = Object.fromEntries(Object.keys(others).map((form) => [form, calls[form]]));
    Object.assign(
      all,
      intervals(figures, () => calls[raw], ` / ${raw}`),
    );
  }
  return all;
}

/**
 * A ratio got worse, or better, if that is so for every pair of values in the two intervals, by more than the tolerance.
 * @param {Ratios} base @param {Ratios} now @param {number} [tolerance]
 * @returns {Compared[]}
 */
export function compare(base, now, tolerance = TOLERANCE) {
  const names = [...new Set([...Object.keys(base), ...Object.keys(now)])];
  return names.map((name) => {
    const [before, after] = [base[name], now[name]];
    if (before === undefined) return { name, now: after.median, verdict: 'new' };
    if (after === undefined) return { name, base: before.median, verdict: 'gone' };
    const [low, high] = [after.low / before.high, after.high / before.low];
    const verdict = low > 1 + tolerance ? 'slower' : high < 1 / (1 + tolerance) ? 'faster' : 'equal';
    return { name, base: before.median, now: after.median, low, high, verdict };
  });
}
