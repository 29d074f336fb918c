/** How much of everything a capture may hold. A file is what somebody sent: its size alone says nothing about memory. */
import { InvalidData } from '../errors';

/** Of one packet of JSON: parsed, it takes many times as much. */
export const MAX_JSON_BYTES = 4 * 2 ** 20;
/** Of one stack. The recorder writes 64 at most. */
export const MAX_FRAMES = 256;
/** Of one text; the rest is cut off. */
export const MAX_CHARACTERS = 16_384;
/** Of one set of labels. */
export const MAX_NAMES = 1000;
/** Of one shape. */
export const MAX_DIMENSIONS = 64;
/** Of what waits for its round's own packet. */
export const MAX_PENDING_BYTES = 512 * 2 ** 20;
/** A hundred years. */
export const MAX_MS = 100 * 366 * 86_400_000;

/** Of all processes in a file together. Programs come nowhere near; what passes them was made to fill memory. */
const LIMITS = {
  processes: 16_384,
  sites: 262_144,
  'frames in stacks': 2_097_152,
  positions: 524_288,
  'characters in names': 64 * 2 ** 20,
  'series of counters': 262_144,
  shapes: 262_144,
  'sizes in shapes': 4_194_304,
  'sets of labels': 262_144,
  labels: 1_048_576,
  marks: 131_072,
  'ends of threads': 1_048_576,
} as const;

export type Countable = keyof typeof LIMITS;

/** What one file has used of its room. */
export class Budget {
  private readonly used = new Map<Countable, number>();

  constructor(private readonly most: Readonly<Record<Countable, number>> = LIMITS) {}

  /** Throws a InvalidData, which the reader gives the file's name, once there is no more room for `what`. */
  take(what: Countable, count = 1): void {
    const used = (this.used.get(what) ?? 0) + count;
    if (used > this.most[what])
      throw new InvalidData(`expected at most ${this.most[what].toLocaleString('en-US')} ${what}, got more`);
    this.used.set(what, used);
  }
}
