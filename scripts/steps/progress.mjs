/**
 * Progress on stderr: on a terminal one live line per step with its elapsed seconds, elsewhere one plain line at the start
 * of a step and one at its end.
 */
import { printable } from './printable.mjs';

const live = Boolean(process.stderr.isTTY) && process.env.CI === undefined;

const seconds = (since) => `${Math.round((Date.now() - since) / 1000)} s`;

/** @param {string} text */
export const say = (text) => process.stderr.write(`${printable(text)}\n`);

/**
 * Runs one long step.
 * @template T
 * @param {string} title
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function step(title, work) {
  const start = Date.now();
  const draw = () => {
    const line = `… ${printable(title)} (${seconds(start)})`;
    const width = process.stderr.columns || 80; // a wrapped line could not be redrawn
    process.stderr.write(
      `\r\x1b[2K${line.length < width ? line : `${line.slice(0, width - 14)}… (${seconds(start)})`}`,
    );
  };
  if (live) draw();
  else say(`… ${title}`);
  const timer = live ? setInterval(draw, 1000) : undefined;
  const end = (mark) => {
    clearInterval(timer);
    if (live) process.stderr.write('\r\x1b[2K');
    say(`${mark} ${title} (${seconds(start)})`);
  };
  try {
    const result = await work();
    end('✓');
    return result;
  } catch (error) {
    end('✗');
    throw error;
  }
}
