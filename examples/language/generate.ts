/** Continues a text token by token. */
import torch, { type Tensor } from 'libtorch-node';
import { type CacheSizes, KvCache } from './attention';
import type { Adapter } from './lora';
import { type Sampling, sampler } from './sampling';

/** A model of gpt2.ts or llama.ts. */
export interface Decoder extends torch.nn.Module {
  readonly cacheSizes: CacheSizes;
  forward(ids: Tensor, cache?: KvCache): Tensor;
}

export interface Wish extends Sampling {
  /** At most this many tokens; fewer if the model has no more positions. */
  maxTokens: number;
  /** Used during each step, so that other generations may use another one at the same time. */
  adapter?: Adapter | undefined;
}

/** How many tokens the cache needs positions for. @throws RangeError for a prompt that the model cannot read */
function lengthOf({ cacheSizes: { positions } }: Decoder, prompt: readonly number[], maxTokens: number): number {
  if (prompt.length === 0 || prompt.length >= positions)
    throw new RangeError(`prompt: expected from 1 to ${positions - 1} tokens, got ${prompt.length}`);
  if (!(maxTokens >= 1)) throw new RangeError(`maxTokens: expected at least 1, got ${maxTokens}`);
  // The last token is chosen but not read.
  return Math.min(positions, prompt.length + maxTokens - 1);
}

/** The scores after the last of the tokens. */
function lastScores(model: Decoder, ids: readonly number[], cache: KvCache, adapter?: Adapter): Tensor {
  const forward = () => model.forward(torch.tensor([[...ids]], { dtype: 'int64' }), cache);
  const scores = torch.noGrad(() => (adapter === undefined ? forward() : adapter.use(forward)));
  return scores.select(1, -1).select(0, 0);
}

/** The tokens after a prompt, computed while the loop asks for them. The cache is freed when the loop ends, however it ends. */
export function* tokens(model: Decoder, prompt: readonly number[], wish: Wish): Generator<number, void> {
  const choose = sampler(wish);
  const length = lengthOf(model, prompt, wish.maxTokens);
  const cache = new KvCache(model.cacheSizes, length);
  try {
    for (let next = prompt; cache.length < length; ) {
      next = [torch.scope(() => choose(lastScores(model, next, cache, wish.adapter)))];
      yield next[0]!;
    }
  } finally {
    cache.dispose();
  }
}

/** The same off the event loop: each step is one trip to a thread. An aborted signal rejects with its reason. */
export async function* stream(
  model: Decoder,
  prompt: readonly number[],
  wish: Wish,
  signal?: AbortSignal,
): AsyncGenerator<number, void> {
  const choose = sampler(wish);
  const length = lengthOf(model, prompt, wish.maxTokens);
  const cache = new KvCache(model.cacheSizes, length);
  const options = signal === undefined ? {} : { signal };
  try {
    for (let next = prompt; cache.length < length; ) {
      const ids = next;
      const token = await torch.scope(async () =>
        choose(await torch.run(() => lastScores(model, ids, cache, wish.adapter), options)),
      );
      next = [token];
      yield token;
    }
  } finally {
    cache.dispose();
  }
}
