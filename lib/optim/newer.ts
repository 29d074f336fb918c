/** Optimizers of PyTorch 2.5 and later: torch/optim/_adafactor.py, _muon.py. They are available with every libtorch. */
import { ops } from '../call/raw';
import { refusal } from '../errors/errors';
import type { Tensor } from '../tensor/tensor';
import { BuiltIn, nextStep, numberIn, roundingOf, scalar, towards, zerosLike } from './built-in';
import { pow } from './c-math';
import type { Arguments, ParamGroup, Params } from './groups';
import { unfit } from './optimizer';
import type { AdafactorOptions, MuonOptions } from './options';
import type { ParamState } from './state-dict';

/** The Euclidean norm: of all elements, or along one dimension, which stays with size 1. */
function norm(tensor: Tensor, dim?: number): Tensor {
  const call = ops.aten!.linalg_vector_norm!.default as unknown as (...args: unknown[]) => Tensor;
  return call(tensor, 2, dim === undefined ? null : [dim], dim !== undefined);
}

/** The distance from 1 to the next number of a dtype. */
const epsilons: Readonly<Record<string, number>> = {
  float64: 2 ** -52,
  float32: 2 ** -23,
  float16: 2 ** -10,
  bfloat16: 2 ** -7,
};

/** The mean of the squares along a dimension. */
const meanOfSquares = (grad: Tensor, dim: number): Tensor => norm(grad, dim).square_().div_(grad.shape.at(dim)!);

/** Adam's second moment as a row and a column, which take less memory than the parameter. */
export class Adafactor extends BuiltIn<AdafactorOptions> {
  constructor(params: Params<AdafactorOptions>, options?: AdafactorOptions);
  constructor(...passed: Arguments<AdafactorOptions>) {
    super('Adafactor', ...passed);
  }

  override _accept(fn: string, parameter: Tensor, grad: Tensor, group: ParamGroup<AdafactorOptions>): void {
    if (parameter.isComplex()) throw unfit(fn, `expected real parameters, got ${parameter.dtype}`);
    super._accept(fn, parameter, grad, group);
  }

  protected override begin(_parameter: Tensor, _group: ParamGroup<AdafactorOptions>, grad: Tensor): ParamState {
    const { shape } = grad;
    if (shape.length < 2) return { step: scalar(0), variance: zerosLike(grad) };
    return {
      step: scalar(0),
      row_var: grad.newZeros([...shape.slice(0, -1), 1]),
      col_var: grad.newZeros([...shape.slice(0, -2), 1, ...shape.slice(-1)]),
    };
  }

  protected override update(
    parameter: Tensor,
    gradient: Tensor,
    state: ParamState,
    group: ParamGroup<AdafactorOptions>,
  ): void {
    const { lr, beta2Decay, eps, d, weightDecay, maximize } = group;
    const round = roundingOf(group);
    const grad = towards(gradient, maximize);
    const smallest = eps![0] ?? epsilons[parameter.dtype]!;
    const step = nextStep(state);
    const weight = pow(step, beta2Decay!);
    const size = pow(parameter.numel, 0.5);
    const rate = round(Math.max(eps![1], numberIn(norm(parameter)) / size) * Math.min(lr!, 1 / pow(step, 0.5)));
    if (weightDecay !== 0) parameter.mul_(round(1 - round(lr! * round(weightDecay!))));
    let estimate: Tensor;
    if (grad.ndim > 1) {
      const { row_var: rows, col_var: columns } = state as { row_var: Tensor; col_var: Tensor };
      rows.lerp_(meanOfSquares(grad, -1), weight);
      columns.lerp_(meanOfSquares(grad, -2), weight);
      estimate = rows.matmul(columns) as Tensor;
      estimate.div_((rows.mean(-2, { keepdim: true }) as Tensor).clamp_({ min: smallest }));
    } else {
      const variance = state.variance as Tensor;
      variance.lerp_(grad.mul(grad) as Tensor, weight);
      estimate = variance.clone() as Tensor;
    }
    const change = estimate
      .clamp_({ min: smallest * smallest })
      .rsqrt_()
      .mul_(grad);
    const clipped = Math.max(1, numberIn(norm(change)) / (pow(change.numel, 0.5) * d!));
    parameter.add_(change, { alpha: -round(rate / round(clipped)) });
  }
}

/** The factors of the learning rate, by the number of rows and of columns. */
const factors = {
  original: (rows: number, columns: number) => Math.sqrt(Math.max(1, rows / columns)),
  match_rms_adamw: (rows: number, columns: number) => 0.2 * Math.sqrt(Math.max(rows, columns)),
  spectral_unclamped: (rows: number, columns: number) => Math.sqrt(rows / columns),
};

/** The largest number of iterations, as in Python. */
const MOST_ITERATIONS = 99;

/** Steps along momenta that are made close to orthogonal. For matrices, such as the weights of hidden layers. */
export class Muon extends BuiltIn<MuonOptions> {
  constructor(params: Params<MuonOptions>, options?: MuonOptions);
  constructor(...passed: Arguments<MuonOptions>) {
    super('Muon', ...passed);
    for (const { params: all } of this.paramGroups) {
      const wrong = all.find(({ ndim }) => ndim !== 2);
      if (wrong === undefined) continue;
      throw refusal(this._name(), 'params', 'matrices', `shape [${wrong.shape.join(', ')}]`);
    }
  }

  override _accept(fn: string, parameter: Tensor, grad: Tensor, group: ParamGroup<MuonOptions>): void {
    if (parameter.isComplex()) throw unfit(fn, `expected real parameters, got ${parameter.dtype}`);
    if (grad.ndim !== 2) throw unfit(fn, `expected gradients that are matrices, got shape [${grad.shape.join(', ')}]`);
    if (group.nsSteps! > MOST_ITERATIONS) {
      throw unfit(fn, `nsSteps: expected at most ${MOST_ITERATIONS}, got ${group.nsSteps}`);
    }
    super._accept(fn, parameter, grad, group);
  }

  protected override begin(_parameter: Tensor, _group: ParamGroup<MuonOptions>, grad: Tensor): ParamState {
    return { momentum_buffer: zerosLike(grad) };
  }

  protected override update(parameter: Tensor, grad: Tensor, state: ParamState, group: ParamGroup<MuonOptions>): void {
    const { lr, weightDecay, momentum, nesterov, nsCoefficients, nsSteps, eps, adjustLrFn } = group;
    const buffer = state.momentum_buffer as Tensor;
    buffer.lerp_(grad, 1 - momentum!);
    const direction = nesterov ? (grad.lerp(buffer, momentum!) as Tensor) : buffer;
    const change = orthogonal(direction, nsCoefficients!, nsSteps!, eps!);
    const [rows, columns] = parameter.shape as [number, number];
    const factor = factors[adjustLrFn ?? 'original'](rows, columns);
    const round = roundingOf(group);
    parameter.mul_(round(1 - round(lr! * round(weightDecay!))));
    parameter.add_(change, { alpha: -round(lr! * round(factor)) });
  }
}

/** The closest matrix with singular values near 1, by Newton and Schulz's iteration in bfloat16. */
function orthogonal(
  direction: Tensor,
  [a, b, c]: readonly [number, number, number],
  iterations: number,
  eps: number,
): Tensor {
  const [rows, columns] = direction.shape as [number, number];
  const isTall = rows > columns;
  let x = direction.to('bfloat16') as Tensor;
  if (isTall) x = x.t();
  x.div_(norm(x).clamp({ min: eps }) as Tensor);
  for (let n = 0; n < iterations; n++) {
    const gram = x.matmul(x.t()) as Tensor;
    const next = gram.addmm(gram, gram, { beta: b, alpha: c }) as Tensor;
    x = x.addmm(next, x, { beta: a }) as Tensor;
  }
  return isTall ? x.t() : x;
}
