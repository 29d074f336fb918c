/** Linear layers. */

import type { LayerGives, LayerTakes } from '../../types/algebra';
import type { DType } from '../../types/base';
import { argumentError } from '../errors/errors';
import type { Tensor } from '../tensor/tensor';
import { type Args, type Factory, factory, flag, int, intList, type Named, read } from './arguments';
import { takesInputs } from './hooks';
import { kaimingUniform_, uniform_ } from './init';
import { demandTensor } from './inputs';
import { filledIn, layer, listed, parameter } from './layer';
import { Module } from './module';
import { F } from './ops';
import type { Parameter } from './parameter';

export type FactoryArgs = [device?: string | null, dtype?: Factory['dtype']];

const linear = { inFeatures: int(), outFeatures: int(), bias: flag(true), ...factory };

/** Python's default for weights and biases of linear and convolutional layers. The bias of a layer without inputs is 0. */
export function resetLike(weight: Tensor, bias: Tensor | null, fanIn: number): void {
  kaimingUniform_(weight, Math.sqrt(5));
  if (bias === null) return;
  const bound = fanIn > 0 ? 1 / Math.sqrt(fanIn) : 0;
  uniform_(bias, -bound, bound);
}

type LinearRule<In extends number, Out extends number> = readonly ['linear', `Linear(${In}, ${Out})`, In, Out];

/** `input @ weight.T + bias`. */
export class Linear<In extends number = number, Out extends number = number> extends Module {
  inFeatures: In;
  outFeatures: Out;
  weight: Parameter<DType, [Out, In]>;
  bias: Parameter<DType, [Out]> | null;
  /** For the compiler: what `forward` does with shapes. */
  declare readonly _rule?: LinearRule<In, Out>;

  constructor(inFeatures: In, outFeatures: Out, bias?: boolean, ...more: FactoryArgs);
  constructor(inFeatures: In, outFeatures: Out, options: Named<typeof linear>);
  constructor(inFeatures: In, outFeatures: Out, bias: boolean, options: Named<typeof linear>);
  constructor(options: Named<typeof linear> & { inFeatures: In; outFeatures: Out });
  constructor(...passed: unknown[]) {
    super();
    const given = read('Linear', linear, passed);
    const { inFeatures, outFeatures } = given;
    this.inFeatures = inFeatures as In;
    this.outFeatures = outFeatures as Out;
    this.weight = parameter([outFeatures, inFeatures], given) as Parameter<DType, [Out, In]>;
    this.bias = given.bias ? (parameter([outFeatures], given) as Parameter<DType, [Out]>) : null;
    this.resetParameters();
  }

  resetParameters(): void {
    resetLike(this.weight, this.bias, this.inFeatures);
  }

  override forward<T extends Tensor>(
    input: T & LayerTakes<T, LinearRule<In, Out>>,
  ): LayerGives<T, LinearRule<In, Out>> {
    return F.linear(input, this.weight, this.bias);
  }

  override extraRepr(): string {
    const has = this.bias === null ? 'False' : 'True';
    return `${filledIn(listed('inFeatures', 'outFeatures'), linear, this)}, bias=${has}`;
  }
}

const bilinear = { in1Features: int(), in2Features: int(), outFeatures: int(), bias: flag(true), ...factory };

/** `x1 @ weight @ x2 + bias`. */
export class Bilinear extends Module {
  in1Features: number;
  in2Features: number;
  outFeatures: number;
  weight: Parameter;
  bias: Parameter | null;

  constructor(
    ...passed: Args<
      [in1Features: number, in2Features: number, outFeatures: number, bias?: boolean, ...FactoryArgs],
      typeof bilinear
    >
  ) {
    super();
    const given = read('Bilinear', bilinear, passed);
    this.in1Features = given.in1Features;
    this.in2Features = given.in2Features;
    this.outFeatures = given.outFeatures;
    this.weight = parameter([given.outFeatures, given.in1Features, given.in2Features], given);
    this.bias = given.bias ? parameter([given.outFeatures], given) : null;
    this.resetParameters();
  }

  resetParameters(): void {
    const bound = 1 / Math.sqrt(this.weight.shape[1]!);
    uniform_(this.weight, -bound, bound);
    if (this.bias !== null) uniform_(this.bias, -bound, bound);
  }

  override forward(input1: Tensor, input2: Tensor): Tensor {
    return F.bilinear(input1, input2, this.weight, this.bias);
  }

  override extraRepr(): string {
    const { in1Features, in2Features, outFeatures, bias } = this;
    const sizes = `in1_features=${in1Features}, in2_features=${in2Features}, out_features=${outFeatures}`;
    return `${sizes}, bias=${bias === null ? 'False' : 'True'}`;
  }
}

/** Joins the dimensions from `startDim` (1) to `endDim` (-1). */
export const Flatten = layer<[startDim?: number, endDim?: number]>()(
  'Flatten',
  { startDim: int(1), endDim: int(-1) },
  {
    forward(input) {
      demandTensor(this, 'input', input);
      return input.flatten(this.startDim, this.endDim) as Tensor;
    },
    extra: listed('startDim', 'endDim'),
  },
);
export type Flatten = InstanceType<typeof Flatten>;

/** Splits a dimension into several. */
export const Unflatten = layer<[dim: number, unflattenedSize: number[]]>()(
  'Unflatten',
  { dim: int(), unflattenedSize: intList() },
  {
    forward(input) {
      demandTensor(this, 'input', input);
      if (this.dim < -input.ndim || this.dim >= input.ndim) {
        throw argumentError('nn.Unflatten', 'input', `a Tensor with a dimension ${this.dim}`, input);
      }
      return input.unflatten(this.dim, this.unflattenedSize) as Tensor;
    },
    extra: listed('dim', 'unflattenedSize'),
  },
);
export type Unflatten = InstanceType<typeof Unflatten>;

/** Passes its input on. Takes any arguments. */
export class Identity extends Module {
  /** For the compiler: what `forward` does with shapes. */
  declare readonly _rule?: readonly ['same', 'Identity'];

  constructor(..._passed: unknown[]) {
    super();
  }

  /** In the form of the other layers: the compiler joins signatures of `c ? new Conv2d(…) : new Identity()` only if at most one is unlike. */
  override forward<T extends Tensor>(input: T): T;
  override forward(input: any): any;
  override forward(input: unknown): unknown {
    return input;
  }
}

for (const cls of [Linear, Bilinear, Identity]) takesInputs(cls);
