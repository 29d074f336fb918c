/** Convolutions. */

import { argumentError } from '../errors/errors';
import { ownScope } from '../lifetimes/scope';
import type { Tensor } from '../tensor/tensor';
import { type Args, factory, flag, int, intList, ints, type Kind, nameOf, read, text, type Values } from './arguments';
import { fans } from './fans';
import { takesInputs } from './hooks';
import { forwardOf, further, type OrNamed } from './inputs';
import { parameter } from './layer';
import { type FactoryArgs, resetLike } from './linear';
import { Module } from './module';
import { F } from './ops';
import type { Parameter } from './parameter';
import { pythonNumbers } from './python';

export type PaddingMode = 'zeros' | 'reflect' | 'replicate' | 'circular';
type Size = number | number[];
type PaddingOf = 'same' | 'valid' | number[];

const paddingMode = text<PaddingMode>('zeros', ['zeros', 'reflect', 'replicate', 'circular']);

function paddingKind(count: number): Kind<PaddingOf> {
  const sizes = ints(count, 0);
  return {
    ...(sizes as Kind<any>),
    expected: `${sizes.expected}, 'same' or 'valid'`,
    convert: (value) => (value === 'same' || value === 'valid' ? value : sizes.convert(value)),
  };
}

const shared = (count: number) => ({
  inChannels: int(),
  outChannels: int(),
  kernelSize: ints(count),
  stride: ints(count, 1),
});
const convSpec = (count: number) => ({
  ...shared(count),
  padding: paddingKind(count),
  dilation: ints(count, 1),
  groups: int(1),
  bias: flag(true),
  paddingMode,
  ...factory,
});
const transposedSpec = (count: number) => ({
  ...shared(count),
  padding: ints(count, 0),
  outputPadding: ints(count, 0),
  groups: int(1),
  bias: flag(true),
  dilation: ints(count, 1),
  paddingMode,
  ...factory,
});
export type ConvSpec = ReturnType<typeof convSpec>;
export type TransposedSpec = ReturnType<typeof transposedSpec>;
type Given = Values<ConvSpec> | Values<TransposedSpec>;

export type ConvArgs = [
  inChannels: number,
  outChannels: number,
  kernelSize: Size,
  stride?: Size,
  padding?: Size | 'same' | 'valid',
  dilation?: Size,
  groups?: number,
  bias?: boolean,
  paddingMode?: PaddingMode,
  ...FactoryArgs,
];
export type TransposedArgs = [
  inChannels: number,
  outChannels: number,
  kernelSize: Size,
  stride?: Size,
  padding?: Size,
  outputPadding?: Size,
  groups?: number,
  bias?: boolean,
  dilation?: Size,
  paddingMode?: PaddingMode,
  ...FactoryArgs,
];

const outputSpec = {
  outputSize: {
    ...intList(),
    expected: 'a list of integers',
    convert: (value: unknown) => (Array.isArray(value) ? intList().convert(value) : undefined),
  },
};
export type OutputSize = OrNamed<'outputSize', readonly number[]>;

const filled = (list: readonly number[], value: number) => list.every((one) => one === value);

/** What all convolutions have in common. */
export abstract class ConvNd extends Module {
  inChannels: number;
  outChannels: number;
  kernelSize: number[];
  stride: number[];
  padding: PaddingOf;
  dilation: number[];
  outputPadding: number[];
  groups: number;
  paddingMode: PaddingMode;
  weight: Parameter;
  bias: Parameter | null;

  /** @internal */
  constructor(name: string, given: Given) {
    super();
    const transposed = 'outputPadding' in given;
    const { inChannels, outChannels, kernelSize, groups, padding, stride } = given;
    const at = nameOf(name);
    if (groups < 1) throw argumentError(at, 'groups', 'an integer of 1 or more', groups);
    if (inChannels % groups !== 0) throw argumentError(at, 'inChannels', `a multiple of groups, ${groups}`, inChannels);
    if (outChannels % groups !== 0) {
      throw argumentError(at, 'outChannels', `a multiple of groups, ${groups}`, outChannels);
    }
    if (padding === 'same' && !filled(stride, 1)) throw argumentError(at, 'stride', "1 with padding 'same'", stride);
    if (transposed && given.paddingMode !== 'zeros') {
      throw argumentError(at, 'paddingMode', "'zeros'", given.paddingMode);
    }
    this.inChannels = inChannels;
    this.outChannels = outChannels;
    this.kernelSize = kernelSize;
    this.stride = stride;
    this.padding = padding;
    this.dilation = given.dilation;
    this.outputPadding = transposed ? given.outputPadding : kernelSize.map(() => 0);
    this.groups = groups;
    this.paddingMode = given.paddingMode;
    const shape = transposed ? [inChannels, outChannels / groups] : [outChannels, inChannels / groups];
    this.weight = parameter([...shape, ...kernelSize], given);
    this.bias = given.bias ? parameter([outChannels], given) : null;
    this.resetParameters();
  }

  resetParameters(): void {
    resetLike(this.weight, this.bias, this.bias === null ? 0 : fans(this.constructor.name, this.weight)[0]);
  }

  override extraRepr(): string {
    const { padding, dilation, outputPadding, groups, bias, paddingMode: mode } = this;
    const parts = [`${this.inChannels}, ${this.outChannels}, kernel_size=${pythonNumbers(this.kernelSize)}`];
    parts.push(`stride=${pythonNumbers(this.stride)}`);
    if (typeof padding === 'string') parts.push(`padding=${padding}`);
    else if (!filled(padding, 0)) parts.push(`padding=${pythonNumbers(padding)}`);
    if (!filled(dilation, 1)) parts.push(`dilation=${pythonNumbers(dilation)}`);
    if (!filled(outputPadding, 0)) parts.push(`output_padding=${pythonNumbers(outputPadding)}`);
    if (groups !== 1) parts.push(`groups=${groups}`);
    if (bias === null) parts.push('bias=False');
    if (mode !== 'zeros') parts.push(`padding_mode=${mode}`);
    return parts.join(', ');
  }

  /** @internal */
  _conv(op: string, input: Tensor): Tensor {
    const { weight, bias, stride, padding, dilation, groups, paddingMode: mode } = this;
    if (mode === 'zeros') return F[op](input, weight, bias, stride, padding, dilation, groups);
    const none = stride.map(() => 0);
    return ownScope(() => F[op](F.pad(input, this._around(), mode), weight, bias, stride, none, dilation, groups));
  }

  /** The padding for `F.pad`: from the last dimension to the first, at both ends. */
  private _around(): number[] {
    const { padding, dilation, kernelSize } = this;
    if (padding === 'valid') return kernelSize.flatMap(() => [0, 0]);
    if (padding !== 'same') return [...padding].reverse().flatMap((size) => [size, size]);
    const around = kernelSize.map((size, i) => {
      const total = dilation[i]! * (size - 1);
      const left = Math.floor(total / 2);
      return [left, total - left];
    });
    return around.reverse().flat();
  }

  /** @internal */
  _transposed(op: string, input: Tensor, more: unknown[]): Tensor {
    const [outputSize] = further(forwardOf(this), outputSpec, more) as [number[] | null];
    const { weight, bias, stride, padding, groups, dilation } = this;
    return F[op](input, weight, bias, stride, padding, this._missing(input, outputSize), groups, dilation);
  }

  /** The output padding that gives an output of `outputSize`. */
  private _missing(input: Tensor, outputSize: readonly number[] | null): number[] {
    if (outputSize === null) return this.outputPadding;
    const count = this.kernelSize.length;
    const batched = input.ndim === count + 2;
    const wanted = outputSize.length === count ? outputSize : outputSize.slice(batched ? 2 : 1);
    const at = forwardOf(this);
    if (wanted.length !== count) throw argumentError(at, 'outputSize', `${count} sizes`, outputSize);
    const sizes = input.shape.slice(batched ? 2 : 1);
    return wanted.map((size, i) => {
      const { stride, padding, kernelSize, dilation } = this;
      const least =
        (sizes[i]! - 1) * stride[i]! - 2 * (padding as number[])[i]! + dilation[i]! * (kernelSize[i]! - 1) + 1;
      if (size < least || size > least + stride[i]! - 1) {
        throw argumentError(at, `outputSize[${i}]`, `a size from ${least} to ${least + stride[i]! - 1}`, size);
      }
      return size - least;
    });
  }
}

export const specs = {
  conv: [1, 2, 3].map(convSpec),
  transposed: [1, 2, 3].map(transposedSpec),
};

export class Conv1d extends ConvNd {
  constructor(...passed: Args<ConvArgs, ConvSpec>) {
    super('Conv1d', read('Conv1d', specs.conv[0]!, passed));
  }

  override forward(input: Tensor): Tensor {
    return this._conv('conv1d', input);
  }
}

export class Conv2d extends ConvNd {
  constructor(...passed: Args<ConvArgs, ConvSpec>) {
    super('Conv2d', read('Conv2d', specs.conv[1]!, passed));
  }

  override forward(input: Tensor): Tensor {
    return this._conv('conv2d', input);
  }
}

export class Conv3d extends ConvNd {
  constructor(...passed: Args<ConvArgs, ConvSpec>) {
    super('Conv3d', read('Conv3d', specs.conv[2]!, passed));
  }

  override forward(input: Tensor): Tensor {
    return this._conv('conv3d', input);
  }
}

export class ConvTranspose1d extends ConvNd {
  constructor(...passed: Args<TransposedArgs, TransposedSpec>) {
    super('ConvTranspose1d', read('ConvTranspose1d', specs.transposed[0]!, passed));
  }

  override forward(input: Tensor, ...more: [outputSize?: OutputSize]): Tensor {
    return this._transposed('convTranspose1d', input, more);
  }
}

export class ConvTranspose2d extends ConvNd {
  constructor(...passed: Args<TransposedArgs, TransposedSpec>) {
    super('ConvTranspose2d', read('ConvTranspose2d', specs.transposed[1]!, passed));
  }

  override forward(input: Tensor, ...more: [outputSize?: OutputSize]): Tensor {
    return this._transposed('convTranspose2d', input, more);
  }
}

export class ConvTranspose3d extends ConvNd {
  constructor(...passed: Args<TransposedArgs, TransposedSpec>) {
    super('ConvTranspose3d', read('ConvTranspose3d', specs.transposed[2]!, passed));
  }

  override forward(input: Tensor, ...more: [outputSize?: OutputSize]): Tensor {
    return this._transposed('convTranspose3d', input, more);
  }
}

for (const cls of [Conv1d, Conv2d, Conv3d]) takesInputs(cls);
