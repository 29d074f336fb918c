/** Limits on the contents of a capture. Files are not trusted, and their size does not bound the memory they need. */
import { InvalidData } from '../errors/errors';

/** The size of a JSON packet, which takes many times as much memory when parsed. */
export const MAX_JSON_BYTES = 4 * 2 ** 20;
/** The frames of a stack. The recorder writes at most 64. */
export const MAX_FRAMES = 256;
/** The length of a text; the rest is cut off. */
export const MAX_CHARACTERS = 16_384;
/** The names in a set of labels. */
export const MAX_NAMES = 1000;
/** The dimensions of a shape. */
export const MAX_DIMENSIONS = 64;
/** The data that may come before the packet of its round. */
export const MAX_PENDING_BYTES = 512 * 2 ** 20;
/** Times: a hundred years. */
export const MAX_MS = 100 * 366 * 86_400_000;

/** For all processes of a file together, far above what real programs produce. */
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
  'opened scopes': 1_048_576,
} as const;

export type Countable = keyof typeof LIMITS;

/** The remaining budget of one file. */
export class Budget {
  private readonly used = new Map<Countable, number>();

  constructor(private readonly most: Readonly<Record<Countable, number>> = LIMITS) {}

  /** @throws {InvalidData} if the limit for `what` is exceeded; the reader adds the file's name */
  take(what: Countable, count = 1): void {
    const used = (this.used.get(what) ?? 0) + count;
    if (used > this.most[what])
      throw new InvalidData(`expected at most ${this.most[what].toLocaleString('en-US')} ${what}, got more`);
    this.used.set(what, used);
  }
}
