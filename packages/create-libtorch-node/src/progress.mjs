/** Shows each step on stderr: a line that counts seconds on a terminal, one line at its end elsewhere. */

/**
 * @template T
 * @param {string} name what the step does
 * @param {() => T | Promise<T>} work
 * @returns {Promise<T>}
 */
export async function step(name, work) {
  const start = Date.now();
  const live = Boolean(process.stderr.isTTY) && process.env.CI === undefined;
  const seconds = () => `${((Date.now() - start) / 1000).toFixed(1)} s`;
  const show = () => process.stderr.write(`\r\x1b[2K… ${name} ${seconds()}`);
  const clear = () => (live ? process.stderr.write('\r\x1b[2K') : undefined);
  if (live) show();
  const timer = live ? setInterval(show, 100) : undefined;
  try {
    const result = await work();
    clear();
    process.stderr.write(`✓ ${name} ${seconds()}\n`);
    return result;
  } catch (error) {
    clear();
    throw error;
  } finally {
    clearInterval(timer);
  }
}
