/** The options of the optimizers. Defaults are those of PyTorch of libtorch's release; they are named where they differ. */
import type { Tensor } from '../tensor/tensor';

/** A number, or a tensor of one element, whose value is read in each step. */
export type Rate = number | Tensor;

/** Options that several optimizers have. */
export interface CommonOptions {
  /** The learning rate. Default: 1e-3 (Adam, AdamW, RAdam, SparseAdam, SGD from libtorch 2 on), 2e-3 (Adamax, NAdam), 1e-2, or 1. */
  lr?: Rate | undefined;
  /** Accepted as in Python; the results are those of Python's loop over the parameters, its default on the CPU. */
  foreach?: boolean | null | undefined;
  /** Increase the objective instead of decreasing it. Default: false. NAdam and RAdam: from libtorch 2 on. */
  maximize?: boolean | undefined;
  /** Adds this multiple of the parameter to its gradient. Default: 0; AdamW: 0.01, where it shrinks the parameter itself. */
  weightDecay?: number | undefined;
}

/** Modes that only some optimizers have. */
export interface ModeOptions {
  /** Record gradients through the step. Default: false. */
  differentiable?: boolean | undefined;
  /** For CUDA graphs: parameters and steps must be on a GPU. Default: false. */
  capturable?: boolean | undefined;
  /**
   * One op changes all parameters, which must be floating-point and their gradients dense. Adam, AdamW, SGD and Adagrad, from
   * libtorch 2.4 on. Default: not fused.
   */
  fused?: boolean | null | undefined;
}

/** Options of the optimizers that estimate two moments of the gradient. */
export interface MomentOptions extends CommonOptions {
  /** How much of the averages of the gradient and of its square each step keeps. Default: [0.9, 0.999]. */
  betas?: readonly [number, number] | undefined;
  /** Added to the denominator. Default: 1e-8. */
  eps?: number | undefined;
}

/** torch/optim/sgd.py. */
export interface SGDOptions extends CommonOptions, Omit<ModeOptions, 'capturable'> {
  /** How much of the last step's direction is kept. Default: 0. */
  momentum?: number | undefined;
  /** How much less of the gradient enters the momentum. Default: 0. */
  dampening?: number | undefined;
  /** Nesterov's momentum, which needs a momentum and no dampening. Default: false. */
  nesterov?: boolean | undefined;
}

/** torch/optim/adam.py and adamw.py. */
export interface AdamOptions extends MomentOptions, ModeOptions {
  /** Use the largest average of squares so far (AMSGrad). Default: false. */
  amsgrad?: boolean | undefined;
  /** Shrink the parameter itself: from libtorch 2.7 on. */
  decoupledWeightDecay?: boolean | undefined;
}

/** torch/optim/adamax.py. */
export interface AdamaxOptions extends MomentOptions, Omit<ModeOptions, 'fused'> {}

/** torch/optim/nadam.py. */
export interface NAdamOptions extends MomentOptions, Omit<ModeOptions, 'fused'> {
  /** How fast the momentum approaches its final value. Default: 4e-3. */
  momentumDecay?: number | undefined;
  /** Shrink the parameter itself: from libtorch 2 on. */
  decoupledWeightDecay?: boolean | undefined;
}

/** torch/optim/radam.py. */
export interface RAdamOptions extends MomentOptions, Omit<ModeOptions, 'fused'> {
  /** Shrink the parameter itself: from libtorch 2 on. */
  decoupledWeightDecay?: boolean | undefined;
}

/** torch/optim/adagrad.py. */
export interface AdagradOptions extends CommonOptions, Omit<ModeOptions, 'capturable'> {
  /** How fast the learning rate decays with the steps. Default: 0. */
  lrDecay?: number | undefined;
  /** The first sum of squares. Default: 0. */
  initialAccumulatorValue?: number | undefined;
  /** Added to the denominator. Default: 1e-10. */
  eps?: number | undefined;
}

/** torch/optim/adadelta.py. */
export interface AdadeltaOptions extends CommonOptions, Omit<ModeOptions, 'fused'> {
  /** How much of the averages of squares each step keeps. Default: 0.9. */
  rho?: number | undefined;
  /** Added to the denominator. Default: 1e-6. */
  eps?: number | undefined;
}

/** torch/optim/rmsprop.py. */
export interface RMSpropOptions extends CommonOptions, Omit<ModeOptions, 'fused'> {
  /** How much of the average of squares each step keeps. Default: 0.99. */
  alpha?: number | undefined;
  /** Added to the denominator. Default: 1e-8. */
  eps?: number | undefined;
  /** How much of the last step's direction is kept. Default: 0. */
  momentum?: number | undefined;
  /** Divide by an estimate of the variance. Default: false. */
  centered?: boolean | undefined;
}

/** torch/optim/rprop.py. */
export interface RpropOptions extends Omit<CommonOptions, 'weightDecay'>, Omit<ModeOptions, 'fused'> {
  /** The factors that shrink and enlarge a step. Default: [0.5, 1.2]. */
  etas?: readonly [number, number] | undefined;
  /** The smallest and the largest step. Default: [1e-6, 50]. */
  stepSizes?: readonly [number, number] | undefined;
}

/** torch/optim/asgd.py. */
export interface ASGDOptions extends CommonOptions, Omit<ModeOptions, 'fused'> {
  /** Decay of the parameters. Default: 1e-4. */
  lambd?: number | undefined;
  /** The power of the learning rate's decay. Default: 0.75. */
  alpha?: number | undefined;
  /** The step at which averaging starts. Default: 1e6. */
  t0?: number | undefined;
}

/** torch/optim/sparse_adam.py. */
export interface SparseAdamOptions extends Omit<MomentOptions, 'foreach' | 'weightDecay'> {}

/** torch/optim/_adafactor.py, with every libtorch. */
export interface AdafactorOptions extends CommonOptions {
  /** How fast the average of squares comes to keep more of the past: a number of 0 or less. Default: -0.8. */
  beta2Decay?: number | undefined;
  /** The least variance, by default that of the dtype; and the least size of a parameter. Default: [null, 1e-3]. */
  eps?: readonly [number | null, number] | undefined;
  /** The largest size of a step before it is scaled: 1 or more. Default: 1. */
  d?: number | undefined;
}

/** torch/optim/_muon.py, with every libtorch. Its weight decay is 0.1 by default. */
export interface MuonOptions extends Pick<CommonOptions, 'lr' | 'weightDecay'> {
  /** How much of the last direction is kept. Default: 0.95. */
  momentum?: number | undefined;
  /** Nesterov's momentum. Default: true. */
  nesterov?: boolean | undefined;
  /** The coefficients of the iteration. Default: [3.4445, -4.775, 2.0315]. */
  nsCoefficients?: readonly [number, number, number] | undefined;
  /** The least norm that a direction is divided by. Default: 1e-7. */
  eps?: number | undefined;
  /** The number of iterations: below 100. Default: 5. */
  nsSteps?: number | undefined;
  /** How the learning rate depends on the matrix's shape. Default: 'original'. */
  adjustLrFn?: 'original' | 'match_rms_adamw' | 'spectral_unclamped' | null | undefined;
}

/** torch/optim/lbfgs.py. */
export interface LBFGSOptions {
  /** The learning rate. Default: 1. */
  lr?: Rate | undefined;
  /** The most iterations of a step. Default: 20. */
  maxIter?: number | undefined;
  /** The most calls of the closure in a step. Default: maxIter × 1.25. */
  maxEval?: number | null | undefined;
  /** A step ends when no gradient is larger. Default: 1e-7. */
  toleranceGrad?: number | undefined;
  /** A step ends when the loss or the parameters change less. Default: 1e-9. */
  toleranceChange?: number | undefined;
  /** How many directions are kept. Default: 100. */
  historySize?: number | undefined;
  /** The line search. Default: none. */
  lineSearchFn?: 'strong_wolfe' | null | undefined;
  /** Maximize the loss instead; from libtorch 2.14 on. Default: false. */
  maximize?: boolean | undefined;
}
