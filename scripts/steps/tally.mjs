/** Adds up the parts of a test run. */
import { say } from './progress.mjs';

/** @typedef {{ passed: number, failed: number, skipped: number }} Counts */

/** @param {boolean} ok @returns {Counts} */
const asCounts = (ok) => ({ passed: ok ? 1 : 0, failed: ok ? 0 : 1, skipped: 0 });

export class Tally {
  #parts = [];
  /** In CI a skipped test is a failed one: nothing there may be missing. */
  #strict = Boolean(process.env.CI) && process.env.CI !== 'false';

  /**
   * Runs one part; one that cannot start counts as one failure, and the next part still runs.
   * @param {string} name
   * @param {() => Promise<Counts | boolean>} work
   */
  async part(name, work) {
    say(`\n=== ${name}`);
    /** @type {Counts} */
    let counts;
    try {
      const result = await work();
      counts = typeof result === 'boolean' ? asCounts(result) : result;
    } catch (error) {
      say(error.message ?? String(error));
      counts = asCounts(false);
    }
    if (this.#strict) counts = { ...counts, failed: counts.failed + counts.skipped, skipped: 0 };
    this.#parts.push({ name, ...counts });
    return counts.failed === 0;
  }

  /** Prints one line per part, then the totals alone on the last line. @returns {boolean} whether nothing failed */
  finish() {
    say('');
    const sum = (key) => this.#parts.reduce((total, part) => total + part[key], 0);
    for (const { name, passed, failed, skipped } of this.#parts) {
      const rest = skipped > 0 ? `, ${skipped} skipped` : '';
      say(`${failed > 0 ? '✗' : '✓'} ${name}: ${passed} passed, ${failed} failed${rest}`);
    }
    console.log(`${sum('passed')} passed, ${sum('failed')} failed`);
    return sum('failed') === 0;
  }
}
