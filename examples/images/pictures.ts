/** Writes handwritten digits as PNG files: FOLDER/training/7/12.png is one of the sevens that are learned from. */
import { mkdirSync } from 'node:fs';
import * as path from 'node:path';
import sharp from 'sharp';
import { loadDigits, PIXELS } from '../digits/data';

export const PARTS = ['training', 'validation'] as const;
const SIDE = Math.sqrt(PIXELS);
/** Files that are written at the same time. */
const MAX_OPEN = 64;

/** At most `most` images of each part. */
export async function makeImages(folder: string, most: number): Promise<void> {
  const { training, heldOut } = loadDigits();
  for (const [part, { pixels, labels }] of [[PARTS[0], training] as const, [PARTS[1], heldOut] as const]) {
    for (const label of new Set(labels)) mkdirSync(path.join(folder, part, String(label)), { recursive: true });
    const count = Math.min(most, labels.length);
    // The digits are in the order of their labels: every n-th of them has all.
    const chosen = Array.from({ length: count }, (_, i) => Math.floor((i * labels.length) / count));
    const write = (i: number) => {
      const bytes = Uint8Array.from(pixels.subarray(i * PIXELS, (i + 1) * PIXELS), (value) => Math.round(255 * value));
      const image = sharp(bytes, { raw: { width: SIDE, height: SIDE, channels: 1 } }).png();
      return image.toFile(path.join(folder, part, String(labels[i]), `${i}.png`));
    };
    for (let i = 0; i < count; i += MAX_OPEN) await Promise.all(chosen.slice(i, i + MAX_OPEN).map(write));
  }
}
