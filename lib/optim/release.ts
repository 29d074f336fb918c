/** Everything in torch.optim that depends on the release of libtorch: options, their defaults, and steps of formulas. */
import { native } from '../addon/native';
import type { Tensor } from '../tensor/tensor';
import { pow } from './c-math';

const [major = 0, minor = 0] = native.version().split('.').map(Number);

/** Whether libtorch is of this release or newer. */
export const since = (wantedMajor: number, wantedMinor: number): boolean =>
  major > wantedMajor || (major === wantedMajor && minor >= wantedMinor);

const is2 = since(2, 0);
/** AdamW is Adam with one more option. */
export const hasOneAdam = since(2, 7);

/** LBFGS can maximize, and a line search counts towards its calls of the closure. */
export const lbfgsMaximizes = since(2, 14);

/** A scheduler leaves the rates as they are in the step of its constructor; before, in epoch 0. */
export const schedulersKnowFirstStep = since(2, 8);

/** A value that has no default. */
const required = undefined;

/** Only some releases have them. */
const from2 = (options: Record<string, unknown>) => (is2 ? options : {});

const adam = {
  lr: 1e-3,
  betas: [0.9, 0.999],
  eps: 1e-8,
  weightDecay: 0,
  amsgrad: false,
  maximize: false,
  foreach: null,
  capturable: false,
  differentiable: false,
  fused: is2 ? null : false,
};

const adamW = hasOneAdam
  ? { ...adam, weightDecay: 1e-2, decoupledWeightDecay: true }
  : {
      lr: 1e-3,
      betas: [0.9, 0.999],
      eps: 1e-8,
      weightDecay: 1e-2,
      amsgrad: false,
      foreach: null,
      maximize: false,
      capturable: false,
      ...from2({ differentiable: false, fused: null }),
    };

/** The options of each optimizer, in the order of its state dict, with the defaults of the release. */
export const defaults: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  SGD: {
    lr: is2 ? 1e-3 : required,
    momentum: 0,
    dampening: 0,
    weightDecay: 0,
    nesterov: false,
    maximize: false,
    foreach: null,
    differentiable: false,
    ...from2({ fused: null }),
  },
  Adam: { ...adam, ...(hasOneAdam ? { decoupledWeightDecay: false } : {}) },
  AdamW: adamW,
  Adamax: {
    lr: 2e-3,
    betas: [0.9, 0.999],
    eps: 1e-8,
    weightDecay: 0,
    foreach: null,
    maximize: false,
    ...from2({ differentiable: false, capturable: false }),
  },
  NAdam: {
    lr: 2e-3,
    betas: [0.9, 0.999],
    eps: 1e-8,
    weightDecay: 0,
    momentumDecay: 4e-3,
    ...(is2
      ? { decoupledWeightDecay: false, maximize: false, foreach: null, capturable: false, differentiable: false }
      : { foreach: null }),
  },
  RAdam: {
    lr: 1e-3,
    betas: [0.9, 0.999],
    eps: 1e-8,
    weightDecay: 0,
    ...(is2
      ? { maximize: false, foreach: null, capturable: false, decoupledWeightDecay: false, differentiable: false }
      : { foreach: null }),
  },
  Adagrad: {
    lr: 1e-2,
    lrDecay: 0,
    eps: 1e-10,
    weightDecay: 0,
    initialAccumulatorValue: 0,
    foreach: null,
    maximize: false,
    ...from2({ differentiable: false, fused: null }),
  },
  Adadelta: {
    lr: 1,
    rho: 0.9,
    eps: 1e-6,
    weightDecay: 0,
    maximize: false,
    ...(is2 ? { capturable: false, foreach: null, differentiable: false } : { foreach: null }),
  },
  RMSprop: {
    lr: 1e-2,
    momentum: 0,
    alpha: 0.99,
    eps: 1e-8,
    centered: false,
    weightDecay: 0,
    ...from2({ capturable: false }),
    foreach: null,
    maximize: false,
    differentiable: false,
  },
  Rprop: {
    lr: 1e-2,
    etas: [0.5, 1.2],
    stepSizes: [1e-6, 50],
    foreach: null,
    maximize: false,
    ...from2({ differentiable: false, capturable: false }),
  },
  ASGD: {
    lr: 1e-2,
    lambd: 1e-4,
    alpha: 0.75,
    t0: 1e6,
    weightDecay: 0,
    foreach: null,
    maximize: false,
    ...from2({ differentiable: false, capturable: false }),
  },
  LBFGS: {
    lr: 1,
    maxIter: 20,
    maxEval: null,
    toleranceGrad: 1e-7,
    toleranceChange: 1e-9,
    historySize: 100,
    lineSearchFn: null,
    ...(lbfgsMaximizes ? { maximize: false } : {}),
  },
  Adafactor: {
    lr: 1e-2,
    beta2Decay: -0.8,
    eps: [null, 1e-3],
    d: 1,
    weightDecay: 0,
    foreach: null,
    maximize: false,
  },
  Muon: {
    lr: 1e-3,
    weightDecay: 0.1,
    momentum: 0.95,
    nesterov: true,
    nsCoefficients: [3.4445, -4.775, 2.0315],
    eps: 1e-7,
    nsSteps: 5,
    adjustLrFn: null,
  },
  SparseAdam: { lr: 1e-3, betas: [0.9, 0.999], eps: 1e-8, maximize: false },
};

/** Optimizers that count steps in a tensor; the others use a number. */
export const countsInTensor = (name: string): boolean =>
  name === 'SparseAdam' ? false : is2 || !['Adadelta', 'RMSprop', 'Rprop'].includes(name);

/** SGD without momentum keeps an empty state for each parameter. */
export const keepsEmptyMomentum = !is2;

/** Parameters may be given with their names. */
export const takesNames = since(2, 6);

/** Complex parameters in LBFGS. */
export const lbfgsTakesComplex = is2;

/** Running averages move by `lerp_`; before, by `mul_().add_()`. */
export const lerps = is2;

/** The running average of gradients: `average` moves towards `grad` by `1 - beta`. */
export const approach: (average: Tensor, grad: Tensor, beta: number) => void = lerps
  ? (average, grad, beta) => {
      average.lerp_(grad, 1 - beta);
    }
  : (average, grad, beta) => {
      average.mul_(beta).add_(grad, { alpha: 1 - beta });
    };

/** Square roots of numbers are `** 0.5`; before, math.sqrt. */
export const rootsByPow = is2;

/** The square root of a bias correction: the last bit of the two may differ. */
export const root: (value: number) => number = rootsByPow ? (value) => pow(value, 0.5) : Math.sqrt;

/** NAdam and RAdam treat a complex parameter as two real ones; before, they divided by complex roots. */
export const takesComplexMoments = is2;

/** Adamax: the larger of two, into the first. Both forms give the same values, and NaN where either has it. */
export function adamaxNorm(norm: Tensor, grad: Tensor): void {
  norm.maximum(grad, { out: norm });
}

/** NAdam: the next product of momentum factors, in the tensor's precision or as a number. */
export function nadamNext(product: Tensor, mu: number, muNext: number): number {
  if (is2) return (product.item() as number) * muNext;
  return (product.mul(mu) as Tensor).mul(muNext).item() as number;
}
