/**
 * How many new bytes may await the next scavenge. A scavenge has a fixed cost (25 to 100 µs: code and data of V8 that large tensors
 * have pushed out of the processor's caches), so few bytes are expensive; the garbage of many bytes is no longer in the caches
 * when its blocks are reused, so many are expensive too. The balance depends on the machine, the heap and the ops, so it follows
 * what the last scavenges cost and freed.
 */

const MIB = 1024 * 1024;
export const MIN_YOUNG_BYTES = 2 * MIB;
/** What a thread keeps of freed blocks (native/accounting/large_blocks.h): beyond it they are fresh memory again. */
export const MAX_YOUNG_BYTES = 16 * MIB;

/** Scavenges per decision: of their times the medians count, so that one that waited for the processor does not decide. */
const WINDOW = 8;
/**
 * The shares of the time that scavenges may take: measured, see bench/PROFILES.md. Twice as many bytes halve the share, and each op
 * takes longer, by a fourth to a half where the bytes leave a cache. HIGH is more than twice LOW, so that it settles.
 */
const HIGH = 0.5;
const LOW = 0.22;

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

export class YoungBytes {
  #bytes = MIN_YOUNG_BYTES;
  #count = 0;
  readonly #elapsed = new Float64Array(WINDOW);
  readonly #cost = new Float64Array(WINDOW);
  #grown = 0;
  #freed = 0;

  get bytes(): number {
    return this.#bytes;
  }

  add({ elapsed, cost, grown, freed }: Scavenged): void {
    this.#elapsed[this.#count] = elapsed;
    this.#cost[this.#count] = cost;
    this.#grown += Math.max(0, grown);
    this.#freed += Math.max(0, freed);
    if (++this.#count < WINDOW) return;
    const usual = median(this.#cost);
    const share = usual / (usual + median(this.#elapsed));
    // Most of it is in use: an earlier scavenge would find even less.
    const survives = this.#freed < this.#grown / 2;
    if (survives || share > HIGH) this.#bytes = Math.min(MAX_YOUNG_BYTES, 2 * this.#bytes);
    else if (share < LOW) this.#bytes = Math.max(MIN_YOUNG_BYTES, this.#bytes / 2);
    this.#count = 0;
    this.#grown = 0;
    this.#freed = 0;
  }
}
