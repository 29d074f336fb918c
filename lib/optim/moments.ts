/** torch/optim/adamax.py, nadam.py, radam.py. */
import { ops } from '../autograd/tuples';
import type { Tensor } from '../tensor/tensor';
import { BuiltIn, decayed, nextStep, numberIn, plus, real, roundingOf, scalar, towards, zerosLike } from './built-in';
import { pow } from './c-math';
import { isForeach, nadamForeach, radamForeach } from './foreach';
import type { Arguments, ParamGroup, Params } from './groups';
import type { AdamaxOptions, NAdamOptions, RAdamOptions } from './options';
import { adamaxNorm, approach, nadamNext, root, takesComplexMoments } from './release';
import type { ParamState } from './state-dict';

/** Adam with the largest gradient in place of the average of squares. */
export class Adamax extends BuiltIn<AdamaxOptions> {
  constructor(params: Params<AdamaxOptions>, options?: AdamaxOptions);
  constructor(...passed: Arguments<AdamaxOptions>) {
    super('Adamax', ...passed);
  }

  protected override begin(parameter: Tensor): ParamState {
    return { step: scalar(0), exp_avg: zerosLike(parameter), exp_inf: zerosLike(parameter) };
  }

  protected override update(
    parameter: Tensor,
    gradient: Tensor,
    state: ParamState,
    group: ParamGroup<AdamaxOptions>,
  ): void {
    const { lr, betas, eps, weightDecay, maximize, differentiable } = group;
    const round = roundingOf(group);
    const [beta1, beta2] = betas!;
    const step = nextStep(state);
    const isComplex = parameter.isComplex();
    const grad = real(isComplex, decayed(towards(gradient, maximize), parameter, weightDecay!));
    const average = real(isComplex, state.exp_avg);
    const norm = real(isComplex, state.exp_inf);
    approach(average, grad, beta1);
    const both = [norm.mul_(beta2), (grad.abs() as Tensor).add_(eps!)] as const;
    if (differentiable) norm.copy_(ops().stack!([...both], 0).amax([0]) as Tensor);
    else adamaxNorm(...both);
    const rate = round(lr! / round(1 - pow(beta1, step)));
    real(isComplex, parameter).addcdiv_(average, norm, { value: -rate });
  }
}

/** Adam with Nesterov's momentum. */
export class NAdam extends BuiltIn<NAdamOptions> {
  constructor(params: Params<NAdamOptions>, options?: NAdamOptions);
  constructor(...passed: Arguments<NAdamOptions>) {
    super('NAdam', ...passed);
  }

  override _scalars(): readonly string[] {
    return ['step', 'mu_product'];
  }

  protected override begin(parameter: Tensor): ParamState {
    return { step: scalar(0), mu_product: scalar(1), exp_avg: zerosLike(parameter), exp_avg_sq: zerosLike(parameter) };
  }

  protected override update(
    parameter: Tensor,
    gradient: Tensor,
    state: ParamState,
    group: ParamGroup<NAdamOptions>,
  ): void {
    const { betas, weightDecay, momentumDecay, differentiable } = group;
    const [beta1, beta2] = betas!;
    const round = roundingOf(group);
    const lr = group.lr!;
    const step = nextStep(state);
    const isComplex = takesComplexMoments && parameter.isComplex();
    const target = real(isComplex, parameter);
    let grad = real(isComplex, towards(gradient, group.maximize));
    if (group.decoupledWeightDecay) target.mul_(round(1 - round(lr * round(weightDecay!))));
    else grad = decayed(grad, target, weightDecay!);
    const average = real(isComplex, state.exp_avg);
    const squares = real(isComplex, state.exp_avg_sq);
    const mu = beta1 * (1 - 0.5 * pow(0.96, step * momentumDecay!));
    const muNext = beta1 * (1 - 0.5 * pow(0.96, (step + 1) * momentumDecay!));
    const product = state.mu_product as Tensor;
    if (isForeach(group)) {
      const moments = { target, grad, average, squares, step };
      nadamForeach(moments, { lr, beta1, beta2, eps: group.eps! }, { product, mu, muNext });
      return;
    }
    product.mul_(mu);
    approach(average, grad, beta1);
    squares.mul_(beta2).addcmul_(grad, grad, { value: 1 - beta2 });
    const corrected = (squares.div(1 - pow(beta2, step)) as Tensor).sqrt() as Tensor;
    const denominator = plus(corrected, group.eps!, differentiable);
    const [ofGrad, ofAverage] = [round(-lr * round(1 - mu)), round(-lr * round(muNext))];
    if (differentiable) {
      const scale = (given: Tensor, rate: number): Tensor =>
        (given.neg() as Tensor).add(1).reciprocal().mul(rate) as Tensor;
      target.addcdiv_(grad.mul(scale(product, ofGrad)) as Tensor, denominator);
      target.addcdiv_(average.mul(scale(product.mul(muNext) as Tensor, ofAverage)) as Tensor, denominator);
      return;
    }
    target.addcdiv_(grad, denominator, { value: round(ofGrad / round(1 - numberIn(product))) });
    target.addcdiv_(average, denominator, { value: round(ofAverage / round(1 - nadamNext(product, mu, muNext))) });
  }
}

/** Adam without the large steps of its beginning. */
export class RAdam extends BuiltIn<RAdamOptions> {
  constructor(params: Params<RAdamOptions>, options?: RAdamOptions);
  constructor(...passed: Arguments<RAdamOptions>) {
    super('RAdam', ...passed);
  }

  protected override begin(parameter: Tensor): ParamState {
    return { step: scalar(0), exp_avg: zerosLike(parameter), exp_avg_sq: zerosLike(parameter) };
  }

  protected override update(
    parameter: Tensor,
    gradient: Tensor,
    state: ParamState,
    group: ParamGroup<RAdamOptions>,
  ): void {
    const { betas, weightDecay, differentiable } = group;
    const [beta1, beta2] = betas!;
    const round = roundingOf(group);
    const lr = group.lr!;
    const step = nextStep(state);
    const isComplex = takesComplexMoments && parameter.isComplex();
    const target = real(isComplex, parameter);
    let grad = real(isComplex, towards(gradient, group.maximize));
    if (group.decoupledWeightDecay) target.mul_(round(1 - round(lr * round(weightDecay!))));
    else grad = decayed(grad, target, weightDecay!);
    const average = real(isComplex, state.exp_avg);
    const squares = real(isComplex, state.exp_avg_sq);
    if (isForeach(group)) {
      radamForeach({ target, grad, average, squares, step }, { lr, beta1, beta2, eps: group.eps! }, group);
      return;
    }
    const correction1 = 1 - pow(beta1, step);
    const correction2 = 1 - pow(beta2, step);
    approach(average, grad, beta1);
    squares.mul_(beta2).addcmul_(grad, grad, { value: 1 - beta2 });
    const scaled = (average.div(correction1) as Tensor).mul(lr) as Tensor;
    const rhoInf = 2 / (1 - beta2) - 1;
    const rho = rhoInf - (2 * step * pow(beta2, step)) / correction2;
    if (rho <= 5) {
      target.add_(scaled, { alpha: -1 });
      return;
    }
    const rectified = root(((rho - 4) * (rho - 2) * rhoInf) / ((rhoInf - 4) * (rhoInf - 2) * rho));
    const deviation = plus(squares.sqrt() as Tensor, group.eps!, differentiable);
    const adaptive = (deviation.reciprocal() as Tensor).mul(root(correction2)) as Tensor;
    target.add_((scaled.mul(adaptive) as Tensor).mul(rectified) as Tensor, { alpha: -1 });
  }
}
