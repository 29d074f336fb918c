/** Sizes and places of images, by torchvision's formulas. */
import { argumentError } from '../../errors/errors';

/** The edge of a square or, for `resize`, the shorter edge; or [height, width]. */
export type Size = number | readonly [height: number, width: number];

const isEdge = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) > 0;

/** [height, width]: one number is both. */
export function sizeOf(fn: string, name: string, size: unknown): [height: number, width: number] {
  if (isEdge(size)) return [size, size];
  if (Array.isArray(size) && size.length === 2 && size.every(isEdge)) return [size[0], size[1]];
  throw argumentError(fn, name, 'an integer above 0, or [height, width]', size);
}

/** The size of an image whose shorter edge becomes `edge`; `most` limits the longer one. */
export function withShortEdge(height: number, width: number, edge: number, most?: number): [number, number] {
  let short = edge;
  let long = Math.trunc((edge * Math.max(height, width)) / Math.min(height, width));
  if (most !== undefined && long > most) {
    short = Math.trunc((most * short) / long);
    long = most;
  }
  return width <= height ? [long, short] : [short, long];
}

/** Where a part begins that leaves `room`: Python's `round(room / 2)`, whose halves go to even numbers. */
export function centered(room: number): number {
  const half = room / 2;
  return Number.isInteger(half) ? half : 2 * Math.round(half / 2);
}
