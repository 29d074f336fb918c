/** Llama. Properties have the names of Hugging Face's files, and options those of its config.json. */
import torch, { type Tensor } from 'libtorch-node';
import { attend, byHead, type CacheSizes, type KvCache } from './attention';

const { Embedding, Linear, Module, ModuleList, RMSNorm } = torch.nn;
const F = torch.nn.functional;

export interface LlamaConfig {
  model_type: 'llama';
  vocab_size: number;
  max_position_embeddings: number;
  hidden_size: number;
  intermediate_size: number;
  num_hidden_layers: number;
  num_attention_heads: number;
  /** Groups of heads that share keys and values. */
  num_key_value_heads: number;
  rms_norm_eps: number;
  rope_theta: number;
  /** Whether the embedding is the weight of the last layer too. */
  tie_word_embeddings: boolean;
}

const linear = (size: number, out: number) => new Linear(size, out, false) as torch.nn.Linear;
const norm = ({ hidden_size, rms_norm_eps }: LlamaConfig) => new RMSNorm(hidden_size, rms_norm_eps);

/** The cosines and sines by which each position turns queries and keys. */
type Turns = [cosines: Tensor, sines: Tensor];

/** Turns pairs of elements, which are half a head apart. The sines of the first half are negative (`turnsOf`). */
const turn = (x: Tensor, [cosines, sines]: Turns): Tensor =>
  x.mul(cosines).add(x.roll([x.shape[3]! / 2], [3]).mul(sines));

function turnsOf({ max_position_embeddings: positions, rope_theta }: LlamaConfig, size: number): Turns {
  const frequencies = torch.arange(0, size, 2, { dtype: 'float32' }).div(size).neg();
  const speeds = torch.pow(rope_theta, frequencies);
  const angles = torch.outer(torch.arange(positions, { dtype: 'float32' }), speeds);
  const [cosines, sines] = [angles.cos(), angles.sin()];
  return [torch.cat([cosines, cosines], 1), torch.cat([sines.neg(), sines], 1)];
}

class Attention extends Module {
  q_proj: torch.nn.Linear;
  k_proj: torch.nn.Linear;
  v_proj: torch.nn.Linear;
  o_proj: torch.nn.Linear;
  constructor(
    readonly heads: number,
    readonly groups: number,
    width: number,
  ) {
    super();
    const shared = (width / heads) * groups;
    this.q_proj = linear(width, width);
    this.k_proj = linear(width, shared);
    this.v_proj = linear(width, shared);
    this.o_proj = linear(width, width);
  }
  override forward(x: Tensor, turns: Turns, layer: number, cache?: KvCache): Tensor {
    const queries = turn(byHead(this.q_proj.forward(x), this.heads), turns);
    const keys = turn(byHead(this.k_proj.forward(x), this.groups), turns);
    const values = byHead(this.v_proj.forward(x), this.groups);
    return this.o_proj.forward(attend(queries, ...(cache?.add(layer, keys, values) ?? [keys, values])));
  }
}

class Mlp extends Module {
  gate_proj: torch.nn.Linear;
  up_proj: torch.nn.Linear;
  down_proj: torch.nn.Linear;
  constructor({ hidden_size: width, intermediate_size: wide }: LlamaConfig) {
    super();
    this.gate_proj = linear(width, wide);
    this.up_proj = linear(width, wide);
    this.down_proj = linear(wide, width);
  }
  override forward(x: Tensor): Tensor {
    return this.down_proj.forward(F.silu(this.gate_proj.forward(x)).mul(this.up_proj.forward(x)));
  }
}

class Block extends Module {
  input_layernorm: torch.nn.RMSNorm;
  self_attn: Attention;
  post_attention_layernorm: torch.nn.RMSNorm;
  mlp: Mlp;
  constructor(config: LlamaConfig) {
    super();
    this.input_layernorm = norm(config);
    this.self_attn = new Attention(config.num_attention_heads, config.num_key_value_heads, config.hidden_size);
    this.post_attention_layernorm = norm(config);
    this.mlp = new Mlp(config);
  }
  override forward(x: Tensor, turns: Turns, layer: number, cache?: KvCache): Tensor {
    const seen = x.add(this.self_attn.forward(this.input_layernorm.forward(x), turns, layer, cache));
    return seen.add(this.mlp.forward(this.post_attention_layernorm.forward(seen)));
  }
}

/** The layers, whose names begin with `model.` in files. */
class Layers extends Module {
  embed_tokens: torch.nn.Embedding;
  layers: torch.nn.ModuleList;
  norm: torch.nn.RMSNorm;
  constructor(config: LlamaConfig) {
    super();
    this.embed_tokens = new Embedding(config.vocab_size, config.hidden_size);
    torch.nn.init.normal_(this.embed_tokens.weight, 0, 0.02);
    this.layers = new ModuleList(Array.from({ length: config.num_hidden_layers }, () => new Block(config)));
    this.norm = norm(config);
    const size = config.hidden_size / config.num_attention_heads;
    const [cosines, sines] = torch.scope(() => turnsOf(config, size));
    this.registerBuffer('cosines', cosines, { persistent: false });
    this.registerBuffer('sines', sines, { persistent: false });
  }
  declare cosines: Tensor;
  declare sines: Tensor;
  override forward(ids: Tensor, cache?: KvCache): Tensor {
    const [start, count] = [cache?.length ?? 0, ids.shape[1]!];
    const turns: Turns = [this.cosines.narrow(0, start, count), this.sines.narrow(0, start, count)];
    let x: Tensor = this.embed_tokens.forward(ids);
    for (const [layer, block] of [...this.layers].entries()) x = block.forward(x, turns, layer, cache);
    if (cache !== undefined) cache.length += count;
    return this.norm.forward(x);
  }
}

export class Llama extends Module {
  readonly cacheSizes: CacheSizes;
  model: Layers;
  lm_head: torch.nn.Linear | null;

  constructor(readonly config: LlamaConfig) {
    super();
    const { hidden_size: width, num_attention_heads: heads, num_key_value_heads: groups } = config;
    const positions = config.max_position_embeddings;
    this.cacheSizes = { layers: config.num_hidden_layers, heads: groups, headSize: width / heads, positions };
    this.model = new Layers(config);
    this.lm_head = config.tie_word_embeddings ? null : linear(width, config.vocab_size);
  }

  /** The scores [B, T, vocabulary] of the token after each of `ids` [B, T], which follow those in the cache. */
  override forward(ids: Tensor, cache?: KvCache): Tensor {
    const x = this.model.forward(ids, cache);
    return this.lm_head?.forward(x) ?? F.linear(x, this.model.embed_tokens.weight);
  }
}
