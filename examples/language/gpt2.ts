/** GPT-2. Properties have the names of Hugging Face's files, and options those of its config.json. */
import torch, { type Tensor } from 'libtorch-node';
import { attend, byHead, type CacheSizes, type KvCache } from './attention';

const { Embedding, LayerNorm, Module, ModuleList, Parameter } = torch.nn;
const F = torch.nn.functional;

export interface Gpt2Config {
  model_type: 'gpt2';
  vocab_size: number;
  n_positions: number;
  n_embd: number;
  n_layer: number;
  n_head: number;
  layer_norm_epsilon: number;
}

/** A linear layer whose weight is [in, out], as in GPT-2's files. */
class Conv1D extends Module {
  weight: Tensor;
  bias: Tensor;
  constructor(
    readonly inFeatures: number,
    readonly outFeatures: number,
  ) {
    super();
    this.weight = new Parameter(torch.randn([inFeatures, outFeatures]).mul_(0.02));
    this.bias = new Parameter(torch.zeros([outFeatures]));
  }
  override forward(x: Tensor): Tensor {
    return F.linear(x, this.weight.t(), this.bias);
  }
}

class Attention extends Module {
  c_attn: Conv1D;
  c_proj: Conv1D;
  constructor(
    { n_embd }: Gpt2Config,
    readonly heads: number,
  ) {
    super();
    this.c_attn = new Conv1D(n_embd, 3 * n_embd);
    this.c_proj = new Conv1D(n_embd, n_embd);
  }
  override forward(x: Tensor, layer: number, cache?: KvCache): Tensor {
    const parts = this.c_attn.forward(x).chunk(3, -1);
    const [queries, keys, values] = parts.map((part) => byHead(part, this.heads)) as [Tensor, Tensor, Tensor];
    return this.c_proj.forward(attend(queries, ...(cache?.add(layer, keys, values) ?? [keys, values])));
  }
}

class Mlp extends Module {
  c_fc: Conv1D;
  c_proj: Conv1D;
  constructor({ n_embd }: Gpt2Config) {
    super();
    this.c_fc = new Conv1D(n_embd, 4 * n_embd);
    this.c_proj = new Conv1D(4 * n_embd, n_embd);
  }
  override forward(x: Tensor): Tensor {
    return this.c_proj.forward(F.gelu(this.c_fc.forward(x), { approximate: 'tanh' }));
  }
}

class Block extends Module {
  ln_1: torch.nn.LayerNorm;
  attn: Attention;
  ln_2: torch.nn.LayerNorm;
  mlp: Mlp;
  constructor(config: Gpt2Config) {
    super();
    const norm = () => new LayerNorm(config.n_embd, { eps: config.layer_norm_epsilon });
    this.ln_1 = norm();
    this.attn = new Attention(config, config.n_head);
    this.ln_2 = norm();
    this.mlp = new Mlp(config);
  }
  override forward(x: Tensor, layer: number, cache?: KvCache): Tensor {
    const seen = x.add(this.attn.forward(this.ln_1.forward(x), layer, cache));
    return seen.add(this.mlp.forward(this.ln_2.forward(seen)));
  }
}

export class Gpt2 extends Module {
  readonly cacheSizes: CacheSizes;
  wte: torch.nn.Embedding;
  wpe: torch.nn.Embedding;
  h: torch.nn.ModuleList;
  ln_f: torch.nn.LayerNorm;

  constructor(readonly config: Gpt2Config) {
    super();
    const { n_layer: layers, n_head: heads, n_embd: width, n_positions: positions } = config;
    this.cacheSizes = { layers, heads, headSize: width / heads, positions };
    this.wte = new Embedding(config.vocab_size, width);
    this.wpe = new Embedding(positions, width);
    for (const { weight } of [this.wte, this.wpe]) torch.nn.init.normal_(weight, 0, 0.02);
    this.h = new ModuleList(Array.from({ length: layers }, () => new Block(config)));
    this.ln_f = new LayerNorm(width, { eps: config.layer_norm_epsilon });
  }

  /** The scores [B, T, vocabulary] of the token after each of `ids` [B, T], which follow those in the cache. */
  override forward(ids: Tensor, cache?: KvCache): Tensor {
    const [start, count] = [cache?.length ?? 0, ids.shape[1]!];
    let x: Tensor = this.wte.forward(ids).add(this.wpe.weight.narrow(0, start, count));
    for (const [layer, block] of [...this.h].entries()) x = block.forward(x, layer, cache);
    if (cache !== undefined) cache.length += count;
    return F.linear(this.ln_f.forward(x), this.wte.weight);
  }
}
