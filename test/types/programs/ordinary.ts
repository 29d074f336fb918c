/** Ordinary programs, which the compiler accepts at any strictness: never run. */

import type { Tensor } from 'libtorch-node';
import * as torch from 'libtorch-node';

const F = torch.nn.functional;
const labels = ['cat', 'dog', 'bird'];

/** The label of the largest score. */
export function label(scores: Tensor): string | undefined {
  return labels[scores.argmax().item()];
}

/** A mean by hand, with the sizes in arithmetic. */
export function tail(x: Tensor): number[] {
  const rest: number[] = [];
  for (let i = 1; i <= x.size(0); i++) rest.push(x.size(0) - i, x.stride(0) * i);
  return rest;
}

/** A training loop by hand. */
export function train(batches: Iterable<{ x: Tensor; y: Tensor }>, weights: Tensor[]): number {
  let total = 0;
  let seen = 0;
  for (const { x, y } of batches) {
    let hidden: Tensor = x;
    for (const weight of weights) hidden = hidden.matmul(weight).relu();
    const loss = F.mseLoss(hidden, y);
    loss.backward();
    total += loss.item();
    total += F.crossEntropy(hidden, y).item() * x.size(0);
    seen += hidden.argmax(1).eq(y).sum().item();
    torch.noGrad(() => {
      for (const weight of weights) if (weight.grad) weight.sub_(weight.grad, { alpha: 0.1 });
    });
  }
  return total / Math.max(seen, 1);
}

/** Attention over previous positions. */
export function attend(x: Tensor, past?: readonly [Tensor, Tensor]): Tensor {
  let [q, k, v] = x.unbind(0);
  if (past !== undefined) {
    k = torch.cat([past[0], k], 2);
    v = torch.cat([past[1], v], 2);
  }
  q = q.div(Math.sqrt(q.size(-1)));
  return q.matmul(k.transpose(-2, -1)).softmax(-1).matmul(v);
}

/** The three of one product. */
export function project(x: Tensor, weight: Tensor): Tensor {
  const [q, k, v] = x.matmul(weight).chunk(3, -1);
  return q.matmul(k.mT).softmax(-1).matmul(v);
}

/** Parts of several sizes, and the places of a mask. */
export function separate(x: Tensor, mask: Tensor): Tensor {
  const [head, tail] = x.split(4, { dim: 1 });
  const [rows, columns] = torch.where(mask);
  const [far, near] = torch.meshgrid([rows, columns], { indexing: 'ij' });
  return head.add(tail).at(rows, columns).add(far.sub(near).sum());
}

/** Python's ModuleDict of several classes. */
export class Encoder extends torch.nn.Module {
  parts = new torch.nn.ModuleDict({
    tokens: new torch.nn.Embedding(65, 32),
    layers: new torch.nn.ModuleList<torch.nn.Linear>(Array.from({ length: 2 }, () => new torch.nn.Linear(32, 32))),
  });
  head = new torch.nn.Sequential(new torch.nn.Linear(32, 32), new torch.nn.ReLU(), new torch.nn.Linear(32, 65));
  constructor() {
    super();
    this.parts.tokens.weight = this.head.at(2).weight;
    torch.nn.init.normal_(this.head.at(0).weight, { mean: 0, std: 0.02 });
  }
  override forward(ids: Tensor): Tensor {
    let h: Tensor = this.parts.tokens.forward(ids);
    for (const layer of this.parts.get('layers')) h = layer.forward(h);
    return this.head.forward(h);
  }
}

/** A layer, or nothing in its place. */
export class Residual extends torch.nn.Module {
  readonly skip;
  readonly norm;
  readonly drop;
  constructor(inputs: number, outputs: number, share: number) {
    super();
    this.skip = inputs === outputs ? new torch.nn.Identity() : new torch.nn.Conv2d(inputs, outputs, 1);
    this.norm = outputs > 8 ? new torch.nn.Sequential(new torch.nn.BatchNorm2d(outputs)) : new torch.nn.Identity();
    this.drop = share > 0 ? new torch.nn.Dropout(share) : new torch.nn.Identity();
  }
  override forward(x: Tensor): Tensor {
    return this.drop.forward(this.norm.forward(this.skip.forward(x)));
  }
}

/** Lists that grow, and tables. */
export function collect(xs: Iterable<Tensor>): Tensor {
  const all: Tensor[] = [];
  const byName = new Map<string, Tensor>();
  for (const x of xs) {
    all.push(x.mean(0));
    byName.set(String(x.size(0)), x);
  }
  all.push(torch.rand([2, 3]));
  const record: Record<string, Tensor> = Object.fromEntries(byName);
  const found = byName.get('2') ?? record['3'];
  return torch.stack(all).add(found ?? all.reduce((sum, next) => sum.add(next)));
}

/** A layer of fields, by a default. */
export class Layer {
  readonly weight: Tensor;
  bias = torch.zeros([3], { requiresGrad: true });
  state: Tensor | undefined;
  constructor(rows = 4, scale: Tensor = torch.ones([1])) {
    this.weight = torch.randn([rows, 3]).mul(scale);
  }
  forward(x: Tensor, mask: Tensor = torch.ones([1])): Tensor {
    this.state = x.matmul(this.weight).add(this.bias).mul(mask);
    return this.state;
  }
}

/** A request's answer. */
export async function answer(body: { pixels: number[] }): Promise<{ label: string | undefined; share: number }> {
  const layer = new Layer(body.pixels.length);
  const x = torch.tensor(body.pixels).div(255).reshape(1, -1);
  const shares: ReturnType<typeof layer.forward> = layer.forward(x).softmax(1);
  const { values, indices } = shares.max(1);
  return { label: labels[indices.item()], share: values.item() };
}

/** Generic helpers, and exactly typed tensors passed to loosely typed functions. */
export const double = <T extends Tensor>(x: T): Tensor => x.mul(2);
export const doubled = [torch.rand([2]), torch.rand([3, 4])].map((x) => double(x));
const sizes = [2, 3] as const;
export const table = torch.zeros(sizes).add(torch.ones([...sizes]));

/** Options that may be undefined. */
export function make(options: {
  dtype?: torch.DType | undefined;
  device?: torch.Device | undefined;
  keepdim?: boolean;
}) {
  const x = torch.zeros([2, 3], { dtype: options.dtype, device: options.device, requiresGrad: undefined });
  const y = torch.tensor([1, 2, 3], { dtype: options.dtype, device: undefined });
  return x.sum(1, { keepdim: options.keepdim, dtype: undefined }).add(y.mean({ dim: 0, keepdim: undefined }));
}

/** PyTorch's names of dtypes. */
export const kinds = {
  double: torch.zeros([2], { dtype: 'double' }).dtype satisfies 'float64',
  long: torch.tensor([1], { dtype: 'long' }).dtype satisfies 'int64',
  half: torch.rand([2]).to('half').dtype satisfies 'float16',
  float: torch.arange(3).to({ dtype: 'float' }).dtype satisfies 'float32',
  sum: torch.ones([2]).sum({ dtype: 'double' }).dtype satisfies 'float64',
  constant: torch.zeros([1], { dtype: torch.short }).dtype satisfies 'int16',
};

/** Text, one token after the other. */
export function generate(step: (tokens: Tensor) => Tensor, prompt: number[], count: number): number[] {
  const ids = [...prompt];
  for (let i = 0; i < count; i++) {
    const scores = step(torch.tensor([ids], { dtype: 'long' }));
    const { values, indices } = scores.at(0, -1).topk(5);
    const chosen = torch.multinomial(values.softmax(-1), 1);
    ids.push(indices.at(chosen.item()).item());
  }
  return ids;
}

/** A variable without a first value: what it holds is followed from line to line. */
export function reassigned(other: Tensor, deep: boolean) {
  // biome-ignore lint/suspicious/noImplicitAnyLet: the form that is tested
  let h;
  h = torch.rand([32, 784]);
  h = h.matmul(torch.zeros([784, 10]));
  h satisfies Tensor<'float32', [32, 10]>;
  h = h.matmul(torch.zeros([10, 5])).relu();
  h satisfies Tensor<'float32', [32, 5]>;
  if (deep) h = h.unsqueeze(0);
  h satisfies Tensor<'float32', [32, 5]> | Tensor<'float32', [1, 32, 5]>;
  h = h.sum(-1).to('float64');
  h satisfies Tensor<'float64', [32] | [1, 32]>;
  // biome-ignore lint/suspicious/noImplicitAnyLet: the form that is tested
  let best;
  best = F.mseLoss(h, h);
  if (deep) best = other;
  return best.add(h);
}

/** The same in loops: of one shape without a type, of several with it. */
export function looped(weights: readonly Tensor[], squares: readonly Tensor<'float32', [10, 10]>[]) {
  // biome-ignore lint/suspicious/noImplicitAnyLet: the form that is tested
  let h;
  h = torch.rand([32, 784]);
  h = h.matmul(torch.zeros([784, 10]));
  for (const square of squares) h = h.matmul(square).relu();
  h satisfies Tensor<'float32', [32, 10]>;
  let any: Tensor = h;
  for (const weight of weights) any = any.matmul(weight).relu();
  let tokens: Tensor<'int64', [1, number]> = torch.tensor([[7]], { dtype: 'int64' });
  while (tokens.size(1) < 4) tokens = torch.cat([tokens, torch.zeros([1, 1], { dtype: 'int64' })], 1);
  return any.sum().add(tokens.sum());
}

/** A device known only at run time. */
export async function place(weights: string, model: string) {
  const device = process.env.DEVICE ?? 'cpu';
  const x = torch.zeros([2, 3], { device });
  x satisfies Tensor<'float32', [2, 3]>;
  const y = torch.tensor([1, 2, 3], { device, dtype: 'float64' });
  y satisfies Tensor<'float64', [3]>;
  const z = torch.rand(2, 3, { device }).to(device).to({ device }).to(device, 'float64');
  z satisfies Tensor<'float64', [2, 3]>;
  const same = torch.zerosLike(x, { device: process.env.DEVICE }).add(torch.arange(3, { device, dtype: 'int64' }));
  same satisfies Tensor<'float32', [2, 3]>;
  const later = await torch.async.ones([2, 3], { device });
  later satisfies Tensor<'float32', [2, 3]>;
  const loaded = Object.values(torch.safetensors.load(weights, { device }));
  loaded.push(torch.npy.load(weights, { device }), ...Object.values(torch.npz.load(weights, { device })));
  torch.load(weights, { device });
  using module = torch.jit.load(model, { device });
  module.to(device).to('cpu');
  torch.cuda.memory(device);
  return torch.cat([x.flatten(), later.to(x.device).flatten(), ...loaded]);
}

/** States that are null before the first step: docs/types.md, "A variable that changes its shape". */
export function steps(xs: Iterable<Tensor>): unknown[] {
  const gru = new torch.nn.GRU(3, 4);
  let h = null as Tensor | null;
  const lstm: torch.nn.LSTM = new torch.nn.LSTM(3, 4);
  let state = null as [Tensor, Tensor] | null;
  let parts = null as [Tensor, Tensor] | null;
  let cache = null as Tensor | null;
  let best = null as Tensor | null;
  let largest: Tensor | null = null;
  for (const x of xs) {
    const [y, hn] = gru.forward(x, h);
    y.sum().backward();
    h = hn.detach();
    const [, next] = lstm.forward(x, state);
    state = next;
    const [, [hidden, cell]] = lstm.forward(x, parts);
    parts = [hidden.detach(), cell.detach()];
    const k = cache === null ? x : torch.cat([cache, x], 0);
    cache = k;
    const v = best ? torch.maximum(best, x) : x;
    best = v;
    largest = largest ? torch.maximum(largest, x) : x;
  }
  return [h, state, parts, cache, best, largest];
}

/** The same in a parameter and in a property, and with cells, whose signature is neither generic nor overloaded. */
export class Memory {
  cache: Tensor | null = null;
  remember(xs: Iterable<Tensor>, h: Tensor | null = null): Tensor | null {
    const gru = new torch.nn.GRU(3, 4);
    const cell = new torch.nn.GRUCell(3, 4);
    let last: Tensor | null = null;
    for (const x of xs) {
      const [, hn] = gru.forward(x, h);
      h = hn.detach();
      const k = this.cache === null ? x : torch.cat([this.cache, x], 0);
      this.cache = k;
      const next = cell.forward(x, last);
      last = next.detach();
    }
    return last ?? h;
  }
}

/** Words that choose how an op computes. */
export function words(x: Tensor, image: Tensor, index: Tensor, reduction: torch.nn.Reduction): unknown[] {
  const options = { reduction } as const;
  return [
    new torch.nn.MSELoss(options).forward(x, x),
    new torch.nn.KLDivLoss({ reduction: 'batchmean', logTarget: true }).forward(x, x),
    F.mseLoss(x, x, { reduction: 'none' }),
    F.klDiv(x, x, { reduction: 'batchmean' }),
    F.ctcLoss(x, index, index, index, { reduction }),
    F.interpolate(image, { scaleFactor: 2, mode: 'nearest-exact' }),
    F.pad(x, [1, 1], { mode: 'circular' }),
    F.gridSample(image, x, { mode: 'nearest', paddingMode: 'border' }),
    x.div(2, { roundingMode: 'trunc' }),
    x.div_(x, { roundingMode: null }),
    x.floorDivide(x),
    torch.meshgrid([x, x], { indexing: 'ij' }),
    torch.fft.fft(x, { norm: 'ortho' }),
    torch.fft.rfft(x, null, -1, null),
    torch.searchsorted(x, x, { side: 'right' }),
    x.scatterReduce(0, index, x, 'amax'),
    x.scatter(0, index, x, { reduce: 'add' }),
    torch.linalg.qr(x, 'complete'),
  ];
}

/** A block of a transformer, whose masks may be missing. */
export function encode(x: Tensor, mask?: Tensor, padding?: Tensor): Tensor {
  const layer = new torch.nn.TransformerEncoderLayer(16, 4);
  const attention = new torch.nn.MultiheadAttention(16, 4);
  const whole = new torch.nn.Transformer(16, 4);
  const [y] = attention.forward(x, x, x, padding, undefined, mask);
  return whole.forward(layer.forward(y, mask, padding), y, mask, undefined, padding);
}

/** Rows of a tensor as samples. */
export function parts(x: Tensor): number {
  const { ConcatDataset, DataLoader, randomSplit, Subset } = torch.utils.data;
  const [train] = randomSplit(x, [0.8, 0.2]);
  const loader = new DataLoader(x, { batchSize: 4, shuffle: true });
  const { DistributedSampler, RandomSampler, TensorDataset } = torch.utils.data;
  const dataset = new TensorDataset(x);
  const rank = new DistributedSampler(dataset, 2, 0, { shuffle: false });
  const some = new RandomSampler(dataset, true, { numSamples: 3 });
  return new ConcatDataset([train!, new Subset(x, [0, 1]), x]).length + loader.length! + rank.length + some.length;
}

/** Groups of an optimizer, of which every option has a value. */
export function momenta(optimizer: torch.optim.Adam): number[] {
  return optimizer.paramGroups.flatMap(({ betas: [first, second], lr, eps }) => [first * lr, second + eps]);
}
