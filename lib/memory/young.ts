/**
 * How many new bytes may await the next scavenge. A scavenge has a fixed cost (25 to 100 µs: code and data of V8 that large
 * tensors have pushed out of the processor's caches), so few bytes are expensive; the garbage of many bytes is no longer in the
 * caches when its blocks are reused, so many are expensive too. The balance depends on the machine, the heap and the ops. So twice
 * as many bytes and half as many are tried now and then, and kept where the program takes less time for each new byte.
 */

const MIB = 1024 * 1024;
export const MIN_YOUNG_BYTES = 2 * MIB;
/** What a thread keeps of freed blocks (native/accounting/large_blocks.h): beyond it they are fresh memory again. */
export const MAX_YOUNG_BYTES = 16 * MIB;

/** Scavenges per window: of their times the medians count, so that one that waited for the processor does not decide. */
const WINDOW = 8;
/** A trial is kept if it takes less than this share of the time per byte of both windows around it. */
const GAIN = 0.95;
/** Windows between two trials: more after each trial that is not kept. */
const MAX_PAUSE = 64;
/** A change of the time per byte by more than this share of it. */
const CHANGED = 0.5;
/** Where scavenges take a smaller share of the time, more of them cost little, and save memory. */
const LOW = 0.05;

/** One scavenge: times in any unit, bytes of libtorch. */
export interface Scavenged {
  /** Between the end of the last one and the start of this one. */
  readonly elapsed: number;
  readonly cost: number;
  /** By how much the bytes had grown since the end of the last one, and by how much this one lowered them. */
  readonly grown: number;
  readonly freed: number;
}

/** The upper one of the two in the middle. */
const median = (values: Float64Array): number => values.slice().sort()[values.length >> 1]!;

/** What the scavenges of a window took. */
class Window {
  readonly #elapsed = new Float64Array(WINDOW);
  readonly #cost = new Float64Array(WINDOW);
  #count = 0;
  #grown = 0;
  #freed = 0;

  /** Whether the window is full. */
  add({ elapsed, cost, grown, freed }: Scavenged): boolean {
    if (this.#count === WINDOW) this.#count = this.#grown = this.#freed = 0;
    this.#elapsed[this.#count] = elapsed;
    this.#cost[this.#count] = cost;
    this.#grown += Math.max(0, grown);
    this.#freed += Math.max(0, freed);
    return ++this.#count === WINDOW;
  }

  /** Of one scavenge. */
  get grown(): number {
    return this.#grown / WINDOW;
  }

  /** Whether most of the bytes are in use: an earlier scavenge would find even less. */
  get survives(): boolean {
    return this.#freed < this.#grown / 2;
  }

  /** The scavenges' share of the time. */
  get share(): number {
    const cost = median(this.#cost);
    return cost / (cost + median(this.#elapsed));
  }

  get perByte(): number {
    return (median(this.#elapsed) + median(this.#cost)) / this.grown;
  }
}

export class YoungBytes {
  #bytes = MIN_YOUNG_BYTES;
  readonly #window = new Window();
  /** What is not a trial, and its time per byte in the last window. */
  #usual = MIN_YOUNG_BYTES;
  #before = Number.NaN;
  /** The last trial and its time per byte; NaN if it is decided. */
  #tried = MIN_YOUNG_BYTES;
  #during = Number.NaN;
  #factor = 2;
  #pause = 1;
  #untilTrial = 1;

  get bytes(): number {
    return this.#bytes;
  }

  add(scavenged: Scavenged): void {
    const window = this.#window;
    if (!window.add(scavenged)) return;
    // Scavenges that come by the number of tensors say nothing about bytes.
    if (!(window.grown >= this.#bytes / 2)) {
      this.#settle(this.#usual);
      return;
    }
    if (window.survives) this.#settle(2 * this.#bytes);
    else if (this.#bytes !== this.#usual) this.#endTrial();
    else this.#decide();
  }

  #settle(bytes: number): void {
    this.#usual = Math.min(MAX_YOUNG_BYTES, Math.max(MIN_YOUNG_BYTES, bytes));
    this.#bytes = this.#usual;
    this.#before = Number.NaN;
    this.#during = Number.NaN;
  }

  #endTrial(): void {
    const { perByte, share } = this.#window;
    this.#tried = this.#bytes;
    // What would be halved again at once is not kept.
    this.#during = this.#bytes > this.#usual && share < LOW ? Number.POSITIVE_INFINITY : perByte;
    this.#bytes = this.#usual;
  }

  /** After a window that was not a trial. */
  #decide(): void {
    const { perByte, share } = this.#window;
    if (!Number.isNaN(this.#during)) {
      const isKept = this.#during < GAIN * Math.min(this.#before, perByte);
      this.#during = Number.NaN;
      if (isKept) {
        this.#pause = this.#untilTrial = 1;
        this.#settle(this.#tried);
        return;
      }
      this.#pause = this.#untilTrial = Math.min(MAX_PAUSE, 2 * this.#pause);
      this.#factor = 1 / this.#factor;
    }
    if (share < LOW && this.#usual > MIN_YOUNG_BYTES) {
      this.#settle(this.#usual / 2);
      return;
    }
    // Other ops than before: the trials that were not kept say nothing about them.
    if (Math.abs(perByte - this.#before) > CHANGED * this.#before) this.#pause = this.#untilTrial = 1;
    this.#before = perByte;
    if (--this.#untilTrial > 0) return;
    const next = this.#usual * this.#factor;
    if (next < MIN_YOUNG_BYTES || next > MAX_YOUNG_BYTES) this.#factor = 1 / this.#factor;
    this.#bytes = this.#usual * this.#factor;
  }
}
