/**
 * A baseline of ratios, and the comparison of a run with it. Only ratios within a round are kept, because they depend less on
 * the machine than times, and each with the confidence interval of its median. Programs differ from run to run too (where their
 * memory lies, what the JIT saw), so a baseline is of several runs, and a ratio that looks worse is measured again.
 */
import os from 'node:os';

/** Ratios that differ by less count as equal. */
export const TOLERANCE = 0.1;
/** The same for a baseline of another processor, whose caches and prices differ. */
const TOLERANCE_ELSEWHERE = 0.25;

/** How often a baseline is measured, and at most a ratio that is slower. */
export const RUNS = 3;

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
 * @typedef {Record<string, number[]>} Rounds
 * @typedef {Record<string, { median: number, low: number, high: number }>} Ratios
 * @typedef {{ name: string, base?: number, now?: number, low?: number, high?: number,
 *   verdict: 'slower' | 'faster' | 'equal' | 'new' | 'gone' }} Compared
 */

const ratios = (figures, base, title) =>
  Object.fromEntries(
    Object.entries(figures).map(([name, values]) => [
      `${name}${title}`,
      values.map((value, round) => value / base(name)[round]),
    ]),
  );

/**
 * The ratios of the ops to C++, in CPU time, and of the forms of a call to the raw entry, in each round of a run.
 * @param {import('../measured.mjs').Measured} measured
 * @param {Record<string, Record<string, string>>} forms
 * @returns {Promise<Rounds>}
 */
export async function ratiosOf(measured, forms) {
  const { cpu } = await measured.ops();
  const { cpu: calls } = await measured.calls();
  /** @type {Rounds} */
  const all = {};
  for (const [program, figures] of Object.entries(cpu)) {
    if (program === 'cpp' || program === 'python') continue;
    Object.assign(
      all,
      ratios(figures, (op) => cpu.cpp[op], `, ${program} / cpp`),
    );
  }
  for (const [raw, others] of Object.entries(forms)) {
    const figures = Object.fromEntries(Object.keys(others).map((form) => [form, calls[form]]));
    Object.assign(
      all,
      ratios(figures, () => calls[raw], ` / ${raw}`),
    );
  }
  return all;
}

/** The intervals of the rounds of all runs together. @param {Rounds[]} runs @returns {Ratios} */
export const pooled = (runs) =>
  Object.fromEntries(
    Object.keys(runs[0]).map((name) => {
      const figures = Object.entries(medianInterval(runs.flatMap((run) => run[name])));
      return [name, Object.fromEntries(figures.map(([key, value]) => [key, Number(value.toFixed(4))]))];
    }),
  );

/** What ratios depend on besides the code. @param {string} libtorch its version */
export const placeOf = (libtorch) => ({
  processor: os.cpus()[0]?.model.trim() ?? os.arch(),
  node: process.version,
  libtorch,
});

/**
 * The tolerance for a baseline of that place.
 * @param {ReturnType<typeof placeOf>} base @param {ReturnType<typeof placeOf>} now
 */
export const toleranceFor = (base, now) => (base.processor === now.processor ? TOLERANCE : TOLERANCE_ELSEWHERE);

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

const isWorse = ({ verdict }) => verdict === 'slower' || verdict === 'gone';

/**
 * The comparison with a baseline. What is slower is slower in every one of up to RUNS runs: of several, the best counts.
 * @param {Ratios} base
 * @param {() => Promise<Rounds>} measure makes a run of its own each time
 * @param {number} tolerance
 * @returns {Promise<{ compared: Compared[], worse: string[], runs: number }>}
 */
export async function confirmed(base, measure, tolerance) {
  let compared = compare(base, pooled([await measure()]), tolerance);
  let runs = 1;
  for (; runs < RUNS && compared.some(({ verdict }) => verdict === 'slower'); runs++) {
    const again = new Map(compare(base, pooled([await measure()]), tolerance).map((one) => [one.name, one]));
    compared = compared.map((one) => (one.verdict === 'slower' ? (again.get(one.name) ?? one) : one));
  }
  return { compared, worse: compared.filter(isWorse).map(({ name }) => name), runs };
}
