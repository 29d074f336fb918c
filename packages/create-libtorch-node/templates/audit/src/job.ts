/** The work: compares documents by their vectors. */
import torch, { type Tensor } from 'libtorch-node';
import { VectorCache } from './cache.js';

const DIMENSIONS = 256;

/** A vector of length 1: how often each letter pair occurs, by a hash. */
export function embed(text: string): Tensor {
  const counts = new Float32Array(DIMENSIONS);
  for (let i = 0; i + 1 < text.length; i++) {
    const pair = text.charCodeAt(i) * 31 + text.charCodeAt(i + 1);
    counts[pair % DIMENSIONS]! += 1;
  }
  // The scope frees the counts and the norm, and passes the vector on.
  return torch.scope(() => {
    const vector = torch.tensor(counts);
    return vector.div(vector.norm().clamp({ min: 1 }));
  });
}

/** Answers how similar documents are, from 0 to 1. */
export class Comparer {
  readonly #cache: VectorCache;

  /** @param limit the most vectors that are kept */
  constructor(limit: number) {
    this.#cache = new VectorCache(limit);
  }

  similarity(a: string, b: string): number {
    const vectors = [a, b].map((text) => this.#cache.get(text, () => torch.keep(embed(text))));
    return torch.scope(() => vectors[0]!.dot(vectors[1]!).item());
  }

  get cached(): number {
    return this.#cache.size;
  }

  dispose(): void {
    this.#cache.dispose();
  }
}
