/** What both decoders use: attention, and the cache of its keys and values. */
import torch, { type Tensor } from 'libtorch-node';

/** The sizes of a decoder's cache, and the most tokens that it can read. */
export interface CacheSizes {
  layers: number;
  heads: number;
  headSize: number;
  positions: number;
}

/**
 * The keys and values of the tokens read so far, so that the next token costs one row of every product. The memory is made
 * once, for `positions` tokens: 2 × layers × heads × positions × headSize float32. `dispose()` frees it.
 */
export class KvCache {
  /** The number of tokens read. A decoder raises it after its last layer. */
  length = 0;
  readonly #pairs: [keys: Tensor, values: Tensor][] = [];

  constructor({ layers, heads, headSize }: CacheSizes, positions: number) {
    // No scope owns it: the cache outlives the scopes of the steps.
    const zeros = () => torch.zeros([1, heads, positions, headSize]);
    // All or nothing: without memory for the last layer those before it are freed.
    torch.scope(() => {
      for (let layer = 0; layer < layers; layer++) this.#pairs.push([zeros(), zeros()]);
      torch.keep(this.#pairs);
    });
  }

  /** Adds the keys and values of new tokens to a layer's, and returns all of them. */
  add(layer: number, keys: Tensor, values: Tensor): [keys: Tensor, values: Tensor] {
    const [allKeys, allValues] = this.#pairs[layer]!;
    const count = keys.shape[2]!;
    allKeys.narrow(2, this.length, count).copy_(keys);
    allValues.narrow(2, this.length, count).copy_(values);
    const end = this.length + count;
    return [allKeys.narrow(2, 0, end), allValues.narrow(2, 0, end)];
  }

  dispose(): void {
    torch.disposeAll(this.#pairs);
  }
}

/**
 * Attention of each token to itself and those before it: queries [B, heads, T, size], keys and values [B, groups, S, size]
 * of the last T and all tokens before; the result is [B, T, heads × size]. Consecutive heads share the keys and values of a
 * group. Their queries become rows of one product, so that nothing is copied.
 */
export function attend(queries: Tensor, keys: Tensor, values: Tensor): Tensor {
  const [batch, heads, length, size] = queries.shape as [number, number, number, number];
  const [, groups, total] = keys.shape as [number, number, number];
  const rows = [batch, groups, (heads / groups) * length, size];
  let scores = queries.reshape(rows).matmul(keys.transpose(2, 3)).div(Math.sqrt(size));
  if (length > 1) {
    const later = torch.ones([length, total], { dtype: 'bool' }).triu(total - length + 1);
    const byToken = scores.view([batch, heads, length, total]).maskedFill(later, Number.NEGATIVE_INFINITY);
    scores = byToken.view([batch, groups, rows[2]!, total]);
  }
  const mixed = scores.softmax(-1).matmul(values).view([batch, heads, length, size]);
  return mixed.transpose(1, 2).reshape([batch, length, heads * size]);
}

/** [B, T, heads × size] as [B, heads, T, size]. */
export function byHead(x: Tensor, heads: number): Tensor {
  const [batch, length, width] = x.shape as [number, number, number];
  return x.view([batch, length, heads, width / heads]).transpose(1, 2);
}
