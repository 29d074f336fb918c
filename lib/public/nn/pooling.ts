/** torch/nn/functional.py: pooling, and its reverse. */

import { composed, define, type Implementation } from '../../call/define';
import type { Tensor } from '../../tensor/tensor';
import { aten, nn } from '../ops';
import { refuse } from '../support';

type Sizes = number[];
type MaxPool = (
  input: Tensor,
  kernel: Sizes,
  stride: Sizes | null,
  padding: Sizes,
  dilation: Sizes,
  ceilMode: boolean,
  returnIndices: boolean,
) => unknown;

/** A pair of tensors without names, as in PyTorch. */
const pair = (results: readonly Tensor[]): Tensor[] => [results[0]!, results[1]!];

/** The default stride is the kernel size, which the op uses for an empty list. */
const maxPool =
  (dims: number): MaxPool =>
  (input, kernel, stride, padding, dilation, ceilMode, returnIndices) =>
    returnIndices
      ? maxPoolWithIndices(dims)(input, kernel, stride, padding, dilation, ceilMode, true)
      : aten[`maxPool${dims}d`]!(input, kernel, stride ?? [], padding, dilation, ceilMode);

const maxPoolWithIndices =
  (dims: number): MaxPool =>
  (input, kernel, stride, padding, dilation, ceilMode, _returnIndices) => {
    const name = `maxPool${dims}dWithIndices`;
    const op = dims === 1 ? aten[name]! : nn[name]!;
    return pair(op(input, kernel, stride ?? [], padding, dilation, ceilMode));
  };

/** Output sizes; null means the input's size. */
function outputSize(fn: string, input: Tensor, wanted: readonly (number | null)[], dims: number): Sizes {
  if (wanted.length !== dims) throw refuse(fn, 'outputSize', `${dims} sizes, or one for all`, wanted);
  if (input.ndim <= dims) throw refuse(fn, 'input', `a Tensor of more than ${dims} dimensions`, input);
  const own = input.shape.slice(-dims);
  return wanted.map((size, i) => size ?? own[i]!);
}

const adaptiveMax = (dims: number, indices: boolean | 'as asked'): Implementation => {
  const name = `adaptiveMaxPool${dims}d`;
  const op = dims === 1 ? aten[name]! : nn[name]!;
  const both = (input: Tensor, output: (number | null)[]) => pair(op(input, outputSize(name, input, output, dims)));
  const one = composed((input: Tensor, output: (number | null)[]) => both(input, output)[0]);
  return (input: Tensor, output: (number | null)[], returnIndices: boolean) =>
    (indices === true || returnIndices ? both : one)(input, output);
};

const adaptiveAverage = (dims: number) => (input: Tensor, output: (number | null)[]) => {
  const name = `adaptiveAvgPool${dims}d`;
  return nn[name]!(input, outputSize(name, input, output, dims));
};

function fractional(
  dims: number,
  input: Tensor,
  kernel: Sizes,
  output: Sizes | null,
  ratio: number[] | null,
  samples: Tensor | null,
): Tensor[] {
  const name = `fractionalMaxPool${dims}d`;
  if (output === null && ratio === null) throw refuse(name, 'outputSize', 'outputSize or outputRatio', null);
  const { shape } = input;
  const size = output ?? shape.slice(-dims).map((own, i) => Math.trunc(own * ratio![i]!));
  if (samples !== null) return pair(nn[name]!(input, kernel, size, samples));
  const batch = input.ndim === dims + 1 ? 1 : shape[0]!;
  const { dtype, device } = input;
  const random = aten.rand!([batch, shape[shape.length - dims - 1]!, dims], { dtype, device });
  return pair(nn[name]!(input, kernel, size, random));
}

const fractionalMax = (dims: number, always: boolean): Implementation =>
  composed(
    (
      input: Tensor,
      kernel: Sizes,
      output: Sizes | null,
      ratio: number[] | null,
      returnIndices: boolean,
      samples: Tensor | null,
    ) => {
      const both = fractional(dims, input, kernel, output, ratio, samples);
      return always || returnIndices ? both : both[0];
    },
  );

/** The size before pooling: the one that follows from the other arguments, or a requested one near it. */
function unpooledSize(
  fn: string,
  input: Tensor,
  kernel: Sizes,
  stride: Sizes,
  padding: Sizes,
  wanted: Sizes | null,
): Sizes {
  const dims = kernel.length;
  const own = input.shape.slice(-dims);
  // A size may be a bigint.
  const usual = own.map((size, d) => (size - 1) * Number(stride[d]!) + Number(kernel[d]!) - 2 * Number(padding[d]!));
  if (wanted === null) return usual;
  const size = wanted.length === dims + 2 ? wanted.slice(2) : wanted;
  if (size.length !== dims) throw refuse(fn, 'outputSize', `${dims} or ${dims + 2} sizes`, wanted);
  size.forEach((one, d) => {
    const [low, high] = [usual[d]! - Number(stride[d]!), usual[d]! + Number(stride[d]!)];
    if (one <= low || one >= high) throw refuse(fn, 'outputSize', `between ${low} and ${high} at [${d}]`, one);
  });
  return size;
}

const unpool =
  (dims: number) =>
  (
    input: Tensor,
    indices: Tensor,
    kernel: Sizes,
    stride: Sizes | null,
    padding: Sizes,
    output: Sizes | null,
  ): Tensor => {
    const step = stride ?? kernel;
    const size = unpooledSize(`maxUnpool${dims}d`, input, kernel, step, padding, output);
    if (dims === 3) return nn.maxUnpool3d!(input, indices, size, step, padding);
    if (dims === 2) return nn.maxUnpool2d!(input, indices, size);
    const flat: Tensor = nn.maxUnpool2d!(input.unsqueeze(-1), indices.unsqueeze(-1), [...size, 1]);
    return flat.squeeze(-1);
  };

/** Sums of powers over windows, computed from averages. */
const powerAverage =
  (dims: number) =>
  (input: Tensor, normType: number, kernel: Sizes, stride: Sizes | null, ceilMode: boolean): Tensor => {
    const average = dims === 1 ? aten.avgPool1d! : nn[`avgPool${dims}d`]!;
    const out: Tensor = average(input.pow(normType), kernel, stride ?? [], 0, ceilMode);
    const count = kernel.reduce((all, size) => all * Number(size), 1); // a size may be a bigint
    const powers = out.sign().mul(out.abs().relu()).mul(count);
    // The exponent is a float, also where its value is an integer: the root of integers is a float.
    const isExact = powers.isFloatingPoint() || powers.isComplex();
    return (isExact ? powers : powers.div(1)).pow(1 / normType);
  };

define(['nn.functional'], {
  maxPool1d: maxPool(1),
  maxPool2d: maxPool(2),
  maxPool3d: maxPool(3),
  maxPool1dWithIndices: maxPoolWithIndices(1),
  maxPool2dWithIndices: maxPoolWithIndices(2),
  maxPool3dWithIndices: maxPoolWithIndices(3),
  adaptiveAvgPool2d: adaptiveAverage(2),
  adaptiveAvgPool3d: adaptiveAverage(3),
  adaptiveMaxPool1d: adaptiveMax(1, 'as asked'),
  adaptiveMaxPool2d: adaptiveMax(2, 'as asked'),
  adaptiveMaxPool3d: adaptiveMax(3, 'as asked'),
  adaptiveMaxPool1dWithIndices: adaptiveMax(1, true),
  adaptiveMaxPool2dWithIndices: adaptiveMax(2, true),
  adaptiveMaxPool3dWithIndices: adaptiveMax(3, true),
  fractionalMaxPool2d: fractionalMax(2, false),
  fractionalMaxPool3d: fractionalMax(3, false),
  fractionalMaxPool2dWithIndices: fractionalMax(2, true),
  fractionalMaxPool3dWithIndices: fractionalMax(3, true),
  lpPool1d: composed(powerAverage(1)),
  lpPool2d: composed(powerAverage(2)),
  maxUnpool1d: composed(unpool(1)),
  maxUnpool2d: unpool(2),
  maxUnpool3d: unpool(3),
});
