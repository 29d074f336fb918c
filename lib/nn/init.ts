/** torch.nn.init: fills tensors, with the same draws of random numbers as Python. Each gives the tensor itself. */
import { byName } from '../addon/options';
import { inGradMode } from '../autograd/mode';
import { warn } from '../call/warnings';
import { argumentError } from '../errors/errors';
import { ownScope } from '../lifetimes/scope';
import { asGiven, bare } from '../tensor/second-name';
import { isTensor, type Tensor } from '../tensor/tensor';
import { fans } from './fans';
import { isSkipping } from './filling';
import { aten, linalg } from './ops';
import { truncatesByDrawing } from './release';

type Mode = 'fanIn' | 'fanOut' | 'fan_in' | 'fan_out';

const linearKinds = [
  'linear',
  'conv1d',
  'conv2d',
  'conv3d',
  'conv_transpose1d',
  'conv_transpose2d',
  'conv_transpose3d',
  'sigmoid',
];

/** What follows a layer, in Python's spelling or in that of JavaScript. */
export type Nonlinearity =
  | 'linear'
  | `conv${1 | 2 | 3}d`
  | `conv_transpose${1 | 2 | 3}d`
  | `convTranspose${1 | 2 | 3}d`
  | 'sigmoid'
  | 'tanh'
  | 'relu'
  | 'leaky_relu'
  | 'leakyRelu'
  | 'selu';

/** The factor by which a nonlinearity shrinks values. `param` is the slope of 'leaky_relu'. */
export function calculateGain(nonlinearity: Nonlinearity, param?: number | null | { param?: number | null }): number;
export function calculateGain(...passed: unknown[]): number {
  const given = byName('nn.init.calculateGain', ['nonlinearity', 'param'], 1, passed);
  const { nonlinearity, param = null } = given as { nonlinearity: string; param?: number | null };
  if (typeof nonlinearity !== 'string') {
    throw argumentError('nn.init.calculateGain', 'nonlinearity', 'a string', nonlinearity);
  }
  const kind = nonlinearity === 'leakyRelu' ? 'leaky_relu' : nonlinearity.replace('convTranspose', 'conv_transpose');
  if (linearKinds.includes(kind)) return 1;
  switch (kind) {
    case 'tanh':
      return 5 / 3;
    case 'relu':
      return Math.sqrt(2);
    case 'leaky_relu':
      if (param !== null && typeof param !== 'number') {
        throw argumentError('nn.init.calculateGain', 'param', 'a number or null', param);
      }
      return Math.sqrt(2 / (1 + (param ?? 0.01) ** 2));
    case 'selu':
      return 3 / 4;
    default: {
      const expected = `one of ${[...linearKinds, 'tanh', 'relu', 'leaky_relu', 'selu'].join(', ')}`;
      throw argumentError('nn.init.calculateGain', 'nonlinearity', expected, nonlinearity);
    }
  }
}

/** The values of a function's arguments: positional, or by name in a trailing object. */
function given(fn: string, names: readonly string[], defaults: readonly unknown[], passed: readonly unknown[]): any[] {
  const at = `nn.init.${fn}`;
  const byNames = byName(at, names, 0, passed);
  const values = names.map((name, i) => byNames[name] ?? defaults[i]);
  if (!isTensor(values[0])) throw argumentError(at, names[0]!, 'a Tensor', values[0]);
  values.forEach((value, i) => {
    const like = defaults[i];
    if (like === undefined || typeof value === typeof like) return;
    throw argumentError(at, names[i]!, `a ${typeof like}`, value);
  });
  values[0] = bare(values[0]); // a Proxy runs code of the program whenever it is accessed
  return values;
}

/** Runs `fill` without recording gradients, and gives the tensor. */
function filled(tensor: Tensor, fill: () => void): Tensor {
  if (isSkipping()) return tensor;
  inGradMode(false, () => ownScope(fill));
  return asGiven(tensor) as Tensor;
}

function demandDims(fn: string, tensor: Tensor, dims: readonly number[]): void {
  if (dims.includes(tensor.ndim)) return;
  throw argumentError(`nn.init.${fn}`, 'tensor', `a Tensor of ${dims.join(', ')} dimensions`, tensor);
}

interface Uniform {
  a?: number;
  b?: number;
}

/** Uniform values from `a` (0) to `b` (1). */
export function uniform_(tensor: Tensor, a?: number | Uniform, b?: number | Uniform): Tensor;
export function uniform_(...passed: unknown[]): Tensor {
  const [tensor, a, b] = given('uniform_', ['tensor', 'a', 'b'], [undefined, 0, 1], passed);
  return filled(tensor, () => tensor.uniform_(a, b));
}

interface Normal {
  mean?: number;
  std?: number;
}

/** Normally distributed values. */
export function normal_(tensor: Tensor, mean?: number | Normal, std?: number | Normal): Tensor;
export function normal_(...passed: unknown[]): Tensor {
  const [tensor, mean, std] = given('normal_', ['tensor', 'mean', 'std'], [undefined, 0, 1], passed);
  return filled(tensor, () => tensor.normal_(mean, std));
}

/** The error function, as precise as Python's `math.erf`. */
const erf = (x: number): number => ownScope(() => Number(aten.erf(aten.full([], x, { dtype: 'float64' })).item()));

/** The share of a normal distribution below `x`. */
const below = (x: number): number => (1 + erf(x / Math.sqrt(2))) / 2;

/** Calls `draw` with the tensor, and with each of its results, until there is none; the last result becomes the tensor's values. */
function drawUntil(tensor: Tensor, draw: (values: Tensor) => Tensor | null): void {
  let values = tensor;
  for (;;) {
    const next = ownScope(() => draw(values));
    if (next === null) break;
    if (values !== tensor) values.dispose();
    values = next;
  }
  if (values !== tensor) tensor.copy_(values);
}

/** Draws normal numbers again where they are outside, as Python 2.14 does where many are inside. */
function drawInside(tensor: Tensor, mean: number, std: number, a: number, b: number): void {
  const bound = (value: number) => aten.full([], value, { dtype: tensor.dtype }).item() as number;
  const [low, high] = [bound(a), bound(b)];
  tensor.normal_(mean, std);
  drawUntil(tensor, (values) => {
    const outside = (values.lt(low) as Tensor).logicalOr(values.gt(high) as Tensor) as Tensor;
    if (outside.any().item() === false) return null;
    return aten.where(outside, aten.emptyLike(values).normal_(mean, std), values) as Tensor;
  });
}

/** Draws uniform numbers, and each again until it is accepted by its probability, as Python 2.14 does where few are inside. */
function drawAccepted(tensor: Tensor, mean: number, std: number, a: number, b: number): void {
  const mode = Math.max(a, Math.min(mean, b));
  const peak = -0.5 * ((mode - mean) / std) ** 2;
  const [candidates, chances] = [aten.emptyLike(tensor) as Tensor, aten.emptyLike(tensor) as Tensor];
  const refused = () => {
    candidates.sub_(mean).div_(std).pow_(2).mul_(-0.5).sub_(peak);
    return chances.uniform_().log_().gt(candidates) as Tensor;
  };
  tensor.uniform_(a, b);
  candidates.copy_(tensor);
  const pending = refused();
  drawUntil(tensor, (values) => {
    if (pending.any().item() === false) return null;
    candidates.uniform_(a, b);
    const next = aten.where(pending, candidates, values) as Tensor;
    const still = aten.where(pending, refused(), pending) as Tensor;
    pending.copy_(still);
    return next;
  });
}

interface TruncNormal extends Normal, Uniform {}

/** Normally distributed values, drawn again where they are outside `a` (-2) to `b` (2). */
export function truncNormal_(tensor: Tensor, options?: TruncNormal): Tensor;
export function truncNormal_(tensor: Tensor, mean?: number, std?: number, a?: number, b?: number): Tensor;
export function truncNormal_(...passed: unknown[]): Tensor {
  const names = ['tensor', 'mean', 'std', 'a', 'b'];
  const [tensor, mean, std, a, b] = given('truncNormal_', names, [undefined, 0, 1, -2, 2], passed);
  if (mean < a - 2 * std || mean > b + 2 * std) {
    warn('nn.init.truncNormal_: mean is more than 2 std from [a, b]. The distribution of values may be incorrect.');
  }
  return filled(tensor, () => {
    const [low, high] = [below((a - mean) / std), below((b - mean) / std)];
    if (truncatesByDrawing) {
      if (tensor.device === 'meta') return;
      const draw = high - low > 0.3 ? drawInside : drawAccepted;
      draw(tensor, mean, std, a, b);
      return;
    }
    tensor.uniform_(2 * low - 1, 2 * high - 1);
    tensor.erfinv_();
    tensor.mul_(std * Math.sqrt(2));
    tensor.add_(mean);
    tensor.clamp_({ min: a, max: b });
  });
}

export function constant_(tensor: Tensor, val: number): Tensor;
export function constant_(...passed: unknown[]): Tensor {
  const [tensor, val] = given('constant_', ['tensor', 'val'], [undefined, undefined], passed);
  if (typeof val !== 'number') throw argumentError('nn.init.constant_', 'val', 'a number', val);
  return filled(tensor, () => tensor.fill_(val));
}

export function ones_(tensor: Tensor): Tensor;
export function ones_(...passed: unknown[]): Tensor {
  const [tensor] = given('ones_', ['tensor'], [undefined], passed);
  return filled(tensor, () => tensor.fill_(1));
}

export function zeros_(tensor: Tensor): Tensor;
export function zeros_(...passed: unknown[]): Tensor {
  const [tensor] = given('zeros_', ['tensor'], [undefined], passed);
  return filled(tensor, () => tensor.zero_());
}

/** The identity matrix. */
export function eye_(tensor: Tensor): Tensor;
export function eye_(...passed: unknown[]): Tensor {
  const [tensor] = given('eye_', ['tensor'], [undefined], passed);
  demandDims('eye_', tensor, [2]);
  return filled(tensor, () => tensor.copy_(aten.eye(...(tensor.shape as [number, number]))));
}

/** A convolution's weight that passes channels on. */
export function dirac_(tensor: Tensor, groups?: number | { groups?: number }): Tensor;
export function dirac_(...passed: unknown[]): Tensor {
  const [tensor, groups] = given('dirac_', ['tensor', 'groups'], [undefined, 1], passed);
  demandDims('dirac_', tensor, [3, 4, 5]);
  const [out, ...rest] = tensor.shape as number[];
  if (out! % groups !== 0) throw argumentError('nn.init.dirac_', 'groups', `a divisor of ${out}`, groups);
  const each = out! / groups;
  const middle = rest.slice(1).map((size) => Math.floor(size / 2));
  return filled(tensor, () => {
    tensor.zero_();
    for (let group = 0; group < groups; group++) {
      for (let d = 0; d < Math.min(each, rest[0]!); d++) tensor.at(group * each + d, d, ...middle).fill_(1);
    }
  });
}

interface Gain {
  gain?: number;
}

/** Uniform values whose variance fits layers of these sizes (Glorot). */
export function xavierUniform_(tensor: Tensor, gain?: number | Gain): Tensor;
export function xavierUniform_(...passed: unknown[]): Tensor {
  const [tensor, gain] = given('xavierUniform_', ['tensor', 'gain'], [undefined, 1], passed);
  const [fanIn, fanOut] = fans('xavierUniform_', tensor);
  const bound = Math.sqrt(3) * (gain * Math.sqrt(2 / (fanIn + fanOut)));
  return filled(tensor, () => tensor.uniform_(-bound, bound));
}

export function xavierNormal_(tensor: Tensor, gain?: number | Gain): Tensor;
export function xavierNormal_(...passed: unknown[]): Tensor {
  const [tensor, gain] = given('xavierNormal_', ['tensor', 'gain'], [undefined, 1], passed);
  const [fanIn, fanOut] = fans('xavierNormal_', tensor);
  return filled(tensor, () => tensor.normal_(0, gain * Math.sqrt(2 / (fanIn + fanOut))));
}

function fanOf(fn: string, tensor: Tensor, mode: string): number {
  const [fanIn, fanOut] = fans(fn, tensor);
  if (mode === 'fan_in' || mode === 'fanIn') return fanIn;
  if (mode === 'fan_out' || mode === 'fanOut') return fanOut;
  throw argumentError(`nn.init.${fn}`, 'mode', "'fan_in' or 'fan_out'", mode);
}

interface Kaiming {
  a?: number;
  mode?: Mode;
  nonlinearity?: Nonlinearity;
}
const kaimingNames = ['tensor', 'a', 'mode', 'nonlinearity'];
const kaimingDefaults = [undefined, 0, 'fan_in', 'leaky_relu'];

/** Uniform values whose variance fits a layer of this size before a ReLU (He). `a`: the slope of 'leaky_relu'. */
export function kaimingUniform_(tensor: Tensor, options?: Kaiming): Tensor;
export function kaimingUniform_(tensor: Tensor, a?: number, mode?: Mode, nonlinearity?: string): Tensor;
export function kaimingUniform_(...passed: unknown[]): Tensor {
  const [tensor, a, mode, nonlinearity] = given('kaimingUniform_', kaimingNames, kaimingDefaults, passed);
  if ((tensor.shape as number[]).includes(0)) {
    warn('nn.init.kaimingUniform_: Initializing zero-element tensors is a no-op');
    return asGiven(tensor) as Tensor;
  }
  const std = calculateGain(nonlinearity, a) / Math.sqrt(fanOf('kaimingUniform_', tensor, mode));
  const bound = Math.sqrt(3) * std;
  return filled(tensor, () => tensor.uniform_(-bound, bound));
}

export function kaimingNormal_(tensor: Tensor, options?: Kaiming): Tensor;
export function kaimingNormal_(tensor: Tensor, a?: number, mode?: Mode, nonlinearity?: string): Tensor;
export function kaimingNormal_(...passed: unknown[]): Tensor {
  const [tensor, a, mode, nonlinearity] = given('kaimingNormal_', kaimingNames, kaimingDefaults, passed);
  if ((tensor.shape as number[]).includes(0)) {
    warn('nn.init.kaimingNormal_: Initializing zero-element tensors is a no-op');
    return asGiven(tensor) as Tensor;
  }
  const std = calculateGain(nonlinearity, a) / Math.sqrt(fanOf('kaimingNormal_', tensor, mode));
  return filled(tensor, () => tensor.normal_(0, std));
}

/** A matrix with orthogonal rows or columns. */
export function orthogonal_(tensor: Tensor, gain?: number | Gain): Tensor;
export function orthogonal_(...passed: unknown[]): Tensor {
  const [tensor, gain] = given('orthogonal_', ['tensor', 'gain'], [undefined, 1], passed);
  if (tensor.ndim < 2) {
    throw argumentError('nn.init.orthogonal_', 'tensor', 'a Tensor of 2 or more dimensions', tensor);
  }
  if (tensor.numel === 0) return asGiven(tensor) as Tensor;
  const rows = tensor.shape[0];
  const columns = tensor.numel / rows;
  return filled(tensor, () => {
    const flat = aten.empty([rows, columns], { dtype: tensor.dtype, device: tensor.device });
    flat.normal_(0, 1);
    if (rows < columns) flat.t_();
    const [q, r] = linalg.qr(flat);
    q.mul_(aten.diag(r, 0).sign());
    if (rows < columns) q.t_();
    tensor.viewAs(q).copy_(q);
    tensor.mul_(gain);
  });
}

interface Sparse {
  sparsity?: number;
  std?: number;
}

/** Normally distributed values, of which a share is set to zero in each column. */
export function sparse_(tensor: Tensor, sparsity: number | Sparse, std?: number | Sparse): Tensor;
export function sparse_(...passed: unknown[]): Tensor {
  const [tensor, sparsity, std] = given('sparse_', ['tensor', 'sparsity', 'std'], [undefined, undefined, 0.01], passed);
  demandDims('sparse_', tensor, [2]);
  if (!(typeof sparsity === 'number' && sparsity >= 0 && sparsity <= 1))
    throw argumentError('nn.init.sparse_', 'sparsity', 'a number from 0 to 1', sparsity);
  const [rows, columns] = tensor.shape;
  const zeros = Math.ceil(sparsity * rows);
  return filled(tensor, () => {
    tensor.normal_(0, std);
    for (let column = 0; column < columns; column++) {
      const chosen = aten.randperm(rows).slice(0, 0, zeros);
      tensor.select(1, column).indexFill_(0, chosen, 0);
    }
  });
}
