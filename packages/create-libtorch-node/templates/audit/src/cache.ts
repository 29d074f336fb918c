/** A cache of vectors with a limit: the entry that was used least recently is disposed of. */
import type { Tensor } from 'libtorch-node';

/** The most entries that the job's cache keeps. */
export const LIMIT = 64;

export class VectorCache {
  readonly #entries = new Map<string, Tensor>();

  constructor(readonly limit: number) {}

  get size(): number {
    return this.#entries.size;
  }

  /** The vector of a key. `make` makes it if there is none; the cache owns it from then on. */
  get(key: string, make: () => Tensor): Tensor {
    const found = this.#entries.get(key);
    const vector = found ?? make();
    this.#entries.delete(key); // a Map keeps the order of insertion
    this.#entries.set(key, vector);
    if (this.#entries.size > this.limit) {
      const [oldest, old] = this.#entries.entries().next().value!;
      this.#entries.delete(oldest);
      old.dispose();
    }
    return vector;
  }

  dispose(): void {
    for (const vector of this.#entries.values()) vector.dispose();
    this.#entries.clear();
  }
}
