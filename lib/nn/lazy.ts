/** Modules that take the number of input features from their first input. */
import { argumentError } from '../errors/errors';
import type { Tensor } from '../tensor/tensor';
import { type Args, factory, flag, float, int, orNull, read, type Spec, type Values } from './arguments';
import * as conv from './conv';
import { onFirstForward } from './first-forward';
import { demandDims, demandTensor, forwardOf } from './inputs';
import { type FactoryArgs, Linear } from './linear';
import type { Module } from './module';
import * as norm from './normalization';
import { UninitializedBuffer, UninitializedParameter } from './parameter';

type Names = 'weight' | 'bias' | 'runningMean' | 'runningVar';
interface Lazy extends Module {
  weight: Tensor | null;
  bias: Tensor | null;
  runningMean?: Tensor | null;
  runningVar?: Tensor | null;
  resetParameters(): void;
}

/** Replaces parameters and buffers with uninitialized ones. */
function makeUninitialized(module: Lazy, names: readonly Names[]): void {
  for (const name of names) {
    const before = module[name];
    if (before === null || before === undefined) continue;
    const cls = name === 'runningMean' || name === 'runningVar' ? UninitializedBuffer : UninitializedParameter;
    const { dtype, device } = before;
    (module as unknown as Record<string, unknown>)[name] = new cls({ dtype, device });
    before.dispose();
  }
}

const isEmpty = (tensor: unknown): tensor is UninitializedParameter | UninitializedBuffer =>
  tensor instanceof UninitializedParameter || tensor instanceof UninitializedBuffer;

/** Gives a parameter or buffer its shape. */
function materialize(tensor: Tensor | null | undefined, shape: readonly number[]): void {
  if (isEmpty(tensor)) tensor.materialize(shape);
}

/** Calls `infer` with the first input, then makes the module an ordinary one of class `like`. */
function inferOnFirstForward<M extends Lazy>(
  module: M,
  lazy: { prototype: Module },
  like: { prototype: Module },
  infer: (module: M, input: unknown) => void,
): void {
  onFirstForward(module, (called: M, input) => {
    const hasNoShape = [called.weight, called.bias, called.runningMean].some(isEmpty);
    infer(called, input);
    if (hasNoShape) called.resetParameters();
    // An instance of a program's subclass keeps its class.
    if (Object.getPrototypeOf(called) === lazy.prototype) Object.setPrototypeOf(called, like.prototype);
  });
}

/** Whether the number of inputs is known, also to be 0. In the constructor nothing is drawn or reported yet. */
const hasInputs = (module: Lazy & Module, count: number): boolean =>
  !isEmpty(module.weight) && (count !== 0 || module._state.firstForward !== null);

const lazyLinear = { outFeatures: int(), bias: flag(true), ...factory };

/** A Linear whose `inFeatures` come from its first input. */
export class LazyLinear extends Linear {
  constructor(...passed: Args<[outFeatures: number, bias?: boolean, ...FactoryArgs], typeof lazyLinear>) {
    const { outFeatures, ...others } = read('LazyLinear', lazyLinear, passed);
    super({ inFeatures: 0, outFeatures: 0, ...others });
    makeUninitialized(this, ['weight', 'bias']);
    this.outFeatures = outFeatures;
    inferOnFirstForward<Linear>(this, LazyLinear, Linear, (module, input) => {
      demandTensor(module, 'input', input);
      const features = input.shape.at(-1);
      if (features === undefined) {
        throw argumentError(forwardOf(module), 'input', 'a Tensor of 1 or more dimensions', input);
      }
      module.inFeatures = features;
      materialize(module.weight, [outFeatures, features]);
      materialize(module.bias, [outFeatures]);
    });
  }

  override resetParameters(): void {
    if (hasInputs(this, this.inFeatures)) super.resetParameters();
  }
}

type ConvClass = new (...args: any[]) => conv.ConvNd & { forward(input: Tensor, ...more: any[]): Tensor };
type ConvArgs<P extends unknown[]> = P extends [unknown, ...infer R] ? R : never;

export type LazyConvClass<P extends unknown[], S extends Spec> = new (
  ...args: Args<ConvArgs<P>, Omit<S, 'inChannels'> & Spec>
) => conv.ConvNd & { forward(input: Tensor, ...more: any[]): Tensor };

/** A convolution whose `inChannels` come from its first input. */
function lazyConv<P extends unknown[], S extends Spec>(name: string, Like: ConvClass, whole: S): LazyConvClass<P, S> {
  const { inChannels: _, ...spec } = whole;
  const cls = class extends Like {
    constructor(...passed: unknown[]) {
      const given = read(name, spec as Spec, passed) as Values<conv.ConvSpec>;
      super({ ...given, inChannels: 0, outChannels: 0 });
      const { outChannels, kernelSize, groups } = given;
      const transposed = 'outputPadding' in given;
      makeUninitialized(this, ['weight', 'bias']);
      this.outChannels = outChannels;
      inferOnFirstForward<conv.ConvNd>(this, cls, Like, (module, input) => {
        const count = kernelSize.length;
        demandDims(module, input, [count + 1, count + 2]);
        const channels = input.shape.at(-1 - count)!;
        if (channels % groups !== 0) {
          throw argumentError(forwardOf(module), 'input', `a multiple of ${groups} channels`, input);
        }
        module.inChannels = channels;
        const shape = transposed ? [channels, outChannels / groups] : [outChannels, channels / groups];
        materialize(module.weight, [...shape, ...kernelSize]);
        materialize(module.bias, [outChannels]);
      });
    }

    override resetParameters(): void {
      if (hasInputs(this, this.inChannels)) super.resetParameters();
    }
  };
  Object.defineProperty(cls, 'name', { value: name });
  return cls as unknown as new (
    ...args: Args<ConvArgs<P>, Omit<S, 'inChannels'> & Spec>
  ) => InstanceType<typeof cls>;
}

const { conv: convSpecs, transposed } = conv.specs;
export const LazyConv1d = lazyConv<conv.ConvArgs, conv.ConvSpec>('LazyConv1d', conv.Conv1d, convSpecs[0]!);
export const LazyConv2d = lazyConv<conv.ConvArgs, conv.ConvSpec>('LazyConv2d', conv.Conv2d, convSpecs[1]!);
export const LazyConv3d = lazyConv<conv.ConvArgs, conv.ConvSpec>('LazyConv3d', conv.Conv3d, convSpecs[2]!);
export const LazyConvTranspose1d = lazyConv<conv.TransposedArgs, conv.TransposedSpec>(
  'LazyConvTranspose1d',
  conv.ConvTranspose1d,
  transposed[0]!,
);
export const LazyConvTranspose2d = lazyConv<conv.TransposedArgs, conv.TransposedSpec>(
  'LazyConvTranspose2d',
  conv.ConvTranspose2d,
  transposed[1]!,
);
export const LazyConvTranspose3d = lazyConv<conv.TransposedArgs, conv.TransposedSpec>(
  'LazyConvTranspose3d',
  conv.ConvTranspose3d,
  transposed[2]!,
);

type NormClass = new (...args: any[]) => norm.BatchNorm | norm.InstanceNorm;
/** The defaults of a lazy InstanceNorm are those of BatchNorm too, as in Python. */
const normArguments = {
  eps: float(1e-5),
  momentum: orNull(float(0.1)),
  affine: flag(true),
  trackRunningStats: flag(true),
  ...factory,
  bias: flag(true),
};
type NormArgs = ConvArgs<norm.NormArgs>;

export type LazyNormClass = new (
  ...args: Args<NormArgs, typeof normArguments>
) => norm.NormBase & { forward(input: Tensor): Tensor };

/** A normalization whose `numFeatures` come from its first input, of `dims` dimensions. */
function lazyNorm(name: string, Like: NormClass, isInstance: boolean, dims: readonly number[]): LazyNormClass {
  const cls = class extends (Like as new (...args: any[]) => norm.NormBase) {
    constructor(...passed: unknown[]) {
      super({ ...read(name, normArguments, passed), numFeatures: 0 });
      makeUninitialized(this, ['weight', 'bias', 'runningMean', 'runningVar']);
      inferOnFirstForward<norm.NormBase>(this, cls, Like as unknown as { prototype: Module }, (module, input) => {
        demandDims(module, input, dims);
        module.numFeatures = input.shape[isInstance && input.ndim === dims[0] ? 0 : 1]!;
        for (const tensor of [module.weight, module.bias, module.runningMean, module.runningVar]) {
          materialize(tensor, [module.numFeatures]);
        }
      });
    }

    override resetParameters(): void {
      if (![this.weight, this.runningMean].some(isEmpty) && this.numFeatures !== 0) super.resetParameters();
    }
  };
  Object.defineProperty(cls, 'name', { value: name });
  return cls as unknown as new (
    ...args: Args<NormArgs, typeof normArguments>
  ) => norm.NormBase & {
    forward(input: Tensor): Tensor;
  };
}

export const LazyBatchNorm1d = lazyNorm('LazyBatchNorm1d', norm.BatchNorm1d, false, [2, 3]);
export const LazyBatchNorm2d = lazyNorm('LazyBatchNorm2d', norm.BatchNorm2d, false, [4]);
export const LazyBatchNorm3d = lazyNorm('LazyBatchNorm3d', norm.BatchNorm3d, false, [5]);
export const LazyInstanceNorm1d = lazyNorm('LazyInstanceNorm1d', norm.InstanceNorm1d, true, [2, 3]);
export const LazyInstanceNorm2d = lazyNorm('LazyInstanceNorm2d', norm.InstanceNorm2d, true, [3, 4]);
export const LazyInstanceNorm3d = lazyNorm('LazyInstanceNorm3d', norm.InstanceNorm3d, true, [4, 5]);
export type LazyConv1d = InstanceType<typeof LazyConv1d>;
export type LazyConv2d = InstanceType<typeof LazyConv2d>;
export type LazyConv3d = InstanceType<typeof LazyConv3d>;
export type LazyConvTranspose1d = InstanceType<typeof LazyConvTranspose1d>;
export type LazyConvTranspose2d = InstanceType<typeof LazyConvTranspose2d>;
export type LazyConvTranspose3d = InstanceType<typeof LazyConvTranspose3d>;
export type LazyBatchNorm1d = InstanceType<typeof LazyBatchNorm1d>;
export type LazyBatchNorm2d = InstanceType<typeof LazyBatchNorm2d>;
export type LazyBatchNorm3d = InstanceType<typeof LazyBatchNorm3d>;
export type LazyInstanceNorm1d = InstanceType<typeof LazyInstanceNorm1d>;
export type LazyInstanceNorm2d = InstanceType<typeof LazyInstanceNorm2d>;
export type LazyInstanceNorm3d = InstanceType<typeof LazyInstanceNorm3d>;
