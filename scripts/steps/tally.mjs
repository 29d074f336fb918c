/** Adds up the parts of a test run. */
import { say } from './progress.mjs';

/** @typedef {{ passed: number, failed: number, skipped: number }} Counts */

/** @param {boolean} ok @returns {Counts} */
const asCounts = (ok) => ({ passed: ok ? 1 : 0, failed: ok ? 0 : 1, skipped: 0 });

export class Tally {
  #parts = [];
  /** The part whose failure stopped the later ones. */
  #stoppedBy = undefined;
  /** In CI a skipped test counts as a failure, because its prerequisites must not be missing there. */
  #strict = Boolean(process.env.CI) && process.env.CI !== 'false';

  /**
   * Runs one part, which returns its counts, or true or undefined for a pass. A part that throws, or that cannot run
   * because a needed part before it failed, counts as one failure. Parts may run at the same time.
   * @param {string} name
   * @param {() => Promise<Counts | boolean | void>} work
   * @param {{ needed?: boolean }} [options]
   */
  async part(name, work, { needed = false } = {}) {
    const part = { name, passed: 0, failed: 0, skipped: 0 };
    this.#parts.push(part); // now, so that the order is that of the starts
    const { passed, failed, skipped } = await this.#run(name, work);
    Object.assign(part, { passed, failed: this.#strict ? failed + skipped : failed, skipped });
    if (needed && part.failed > 0) this.#stoppedBy ??= name;
  }

  async #run(name, work) {
    if (this.#stoppedBy !== undefined) return asCounts(false);
    say(`\n=== ${name}`);
    try {
      const result = await work();
      return typeof result === 'object' ? result : asCounts(result !== false);
    } catch (error) {
      say(error.message ?? String(error));
      return asCounts(false);
    }
  }

  /** The sums. @returns {Counts} */
  totals() {
    const sum = (key) => this.#parts.reduce((total, part) => total + part[key], 0);
    return { passed: sum('passed'), failed: sum('failed'), skipped: sum('skipped') };
  }

  /** Prints one line per part, then only the totals on the last line. @returns {boolean} whether all parts passed */
  finish() {
    say('');
    const { passed, failed: failures } = this.totals();
    const skips = this.#strict ? ', each counted as a failure in CI' : '';
    for (const { name, passed, failed, skipped } of this.#parts) {
      const left = skipped > 0 ? ` (${skipped} skipped${skips})` : '';
      say(`${failed > 0 ? '✗' : '✓'} ${name}: ${passed} passed, ${failed} failed${left}`);
    }
    if (this.#stoppedBy !== undefined) say(`"${this.#stoppedBy}" failed, so the parts after it were not run.`);
    console.log(`${passed} passed, ${failures} failed`);
    return failures === 0;
  }
}
