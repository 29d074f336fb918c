/** Pooling. */
import { argumentError, refusal } from '../errors/errors';
import { ownScope } from '../lifetimes/scope';
import type { Tensor } from '../tensor/tensor';
import { buffer, flag, int, intOrInts, ints, type Kind, nameOf, num, numOrNums, orNull } from './arguments';
import { demandTensor } from './inputs';
import { type IndexingLayer, layer } from './layer';
import { type Module, name as pythonNames } from './module';
import { F } from './ops';

type Size = number | number[];

const maxPool = (dims: number) =>
  layer<
    [
      kernelSize: Size,
      stride?: Size | null,
      padding?: Size,
      dilation?: Size,
      returnIndices?: boolean,
      ceilMode?: boolean,
    ],
    IndexingLayer
  >()(
    `MaxPool${dims}d`,
    {
      kernelSize: intOrInts(dims),
      stride: orNull(intOrInts(dims)),
      padding: intOrInts(dims, 0),
      dilation: intOrInts(dims, 1),
      returnIndices: flag(false),
      ceilMode: flag(false),
    },
    {
      forward(input) {
        const { kernelSize, stride, padding, dilation, ceilMode } = this;
        const op = `maxPool${dims}d${this.returnIndices ? 'WithIndices' : ''}`;
        return F[op](input, kernelSize, stride, padding, dilation, ceilMode);
      },
      init(module) {
        module.stride ??= module.kernelSize;
      },
      extra: 'kernel_size={kernelSize}, stride={stride}, padding={padding}, dilation={dilation}, ceil_mode={ceilMode}',
    },
  );
export const MaxPool1d = maxPool(1);
export type MaxPool1d = InstanceType<typeof MaxPool1d>;
export const MaxPool2d = maxPool(2);
export type MaxPool2d = InstanceType<typeof MaxPool2d>;
export const MaxPool3d = maxPool(3);
export type MaxPool3d = InstanceType<typeof MaxPool3d>;

/** @internal Exported for the declarations of libraries. */
export interface UnpoolLayer extends Module {
  forward(input: Tensor, indices: Tensor, outputSize?: readonly number[] | null): Tensor;
}
const maxUnpool = (dims: number) =>
  layer<[kernelSize: Size, stride?: Size | null, padding?: Size], UnpoolLayer>()(
    `MaxUnpool${dims}d`,
    { kernelSize: ints(dims), stride: orNull(ints(dims)), padding: ints(dims, 0) },
    {
      forward(input, indices, outputSize = null) {
        return F[`maxUnpool${dims}d`](input, indices, this.kernelSize, this.stride, this.padding, outputSize);
      },
      inputs: 3,
      init(module) {
        module.stride ??= module.kernelSize;
      },
      extra: 'kernel_size={kernelSize}, stride={stride}, padding={padding}',
    },
  );
export const MaxUnpool1d = maxUnpool(1);
export type MaxUnpool1d = InstanceType<typeof MaxUnpool1d>;
export const MaxUnpool2d = maxUnpool(2);
export type MaxUnpool2d = InstanceType<typeof MaxUnpool2d>;
export const MaxUnpool3d = maxUnpool(3);
export type MaxUnpool3d = InstanceType<typeof MaxUnpool3d>;

const averages = 'kernel_size={kernelSize}, stride={stride}, padding={padding}';
export const AvgPool1d = layer<
  [kernelSize: Size, stride?: Size | null, padding?: Size, ceilMode?: boolean, countIncludePad?: boolean]
>()(
  'AvgPool1d',
  {
    kernelSize: ints(1),
    stride: orNull(ints(1)),
    padding: ints(1, 0),
    ceilMode: flag(false),
    countIncludePad: flag(true),
  },
  {
    forward(input) {
      return F.avgPool1d(input, this.kernelSize, this.stride, this.padding, this.ceilMode, this.countIncludePad);
    },
    init(module) {
      module.stride ??= module.kernelSize;
    },
    extra: averages,
  },
);
export type AvgPool1d = InstanceType<typeof AvgPool1d>;
const avgPool = (dims: number) =>
  layer<
    [
      kernelSize: Size,
      stride?: Size | null,
      padding?: Size,
      ceilMode?: boolean,
      countIncludePad?: boolean,
      divisorOverride?: number | null,
    ]
  >()(
    `AvgPool${dims}d`,
    {
      kernelSize: intOrInts(dims),
      stride: orNull(intOrInts(dims)),
      padding: intOrInts(dims, 0),
      ceilMode: flag(false),
      countIncludePad: flag(true),
      divisorOverride: orNull(int()),
    },
    {
      forward(input) {
        const { kernelSize, stride, padding, ceilMode, countIncludePad, divisorOverride } = this;
        return F[`avgPool${dims}d`](input, kernelSize, stride, padding, ceilMode, countIncludePad, divisorOverride);
      },
      init(module) {
        module.stride ??= module.kernelSize;
      },
      extra: averages,
    },
  );
export const AvgPool2d = avgPool(2);
export type AvgPool2d = InstanceType<typeof AvgPool2d>;
export const AvgPool3d = avgPool(3);
export type AvgPool3d = InstanceType<typeof AvgPool3d>;

/** As Python composes it. */
function lpPool3d(input: Tensor, normType: number, kernelSize: Size, stride: Size | null, ceilMode: boolean): Tensor {
  const sizes = typeof kernelSize === 'number' ? new Array<number>(3).fill(kernelSize) : kernelSize;
  const count = sizes.reduce((all, size) => all * size, 1);
  return ownScope(() => {
    const means: Tensor = F.avgPool3d(input.pow(normType), kernelSize, stride ?? kernelSize, 0, ceilMode);
    const signed = means.sign().mul(means.abs().relu()) as Tensor;
    return signed.mul(count).pow(1 / normType) as Tensor;
  });
}

const lpPool = (dims: number) =>
  layer<[normType: number, kernelSize: Size, stride?: Size | null, ceilMode?: boolean]>()(
    `LPPool${dims}d`,
    {
      normType: num(),
      kernelSize: intOrInts(dims),
      stride: orNull(intOrInts(dims)),
      ceilMode: flag(false),
    },
    {
      forward(input) {
        const { normType, kernelSize, stride, ceilMode } = this;
        if (dims !== 3) return F[`lpPool${dims}d`](input, normType, kernelSize, stride, ceilMode);
        demandTensor(this, 'input', input);
        return lpPool3d(input, normType, kernelSize, stride, ceilMode);
      },
      extra: 'norm_type={normType}, kernel_size={kernelSize}, stride={stride}, ceil_mode={ceilMode}',
    },
  );
export const LPPool1d = lpPool(1);
export type LPPool1d = InstanceType<typeof LPPool1d>;
export const LPPool2d = lpPool(2);
export type LPPool2d = InstanceType<typeof LPPool2d>;
export const LPPool3d = lpPool(3);
export type LPPool3d = InstanceType<typeof LPPool3d>;

type OutputSize = number | null | (number | null)[];

/** The size of an adaptive pooling's output; null keeps that of the input. */
const outputSize = (dims: number): Kind<OutputSize> => ({
  ...(intOrInts(dims) as Kind<any>),
  expected: `an integer or a list of ${dims}, with null for sizes of the input`,
  convert: (value) => {
    const list: unknown[] = Array.isArray(value) ? value : [value];
    const hasOtherLength = Array.isArray(value) && value.length !== dims;
    return hasOtherLength || list.some((one) => one !== null && !Number.isInteger(one))
      ? undefined
      : (value as OutputSize);
  },
  text: (value) => {
    if (!Array.isArray(value)) return value === null ? 'None' : String(value);
    const parts = value.map((one) => (one === null ? 'None' : String(one)));
    return `(${parts.join(', ')}${parts.length === 1 ? ',' : ''})`;
  },
});

/** The sizes, with those of the input in place of null. */
function outputOf(module: Module & { outputSize: OutputSize }, input: Tensor, dims: number): number | number[] {
  const { outputSize: size } = module;
  if (typeof size === 'number') return size;
  demandTensor(module, 'input', input);
  const list = size === null ? new Array<null>(dims).fill(null) : size;
  const shape = input.shape.slice(-dims);
  return list.map((one, i) => one ?? shape[i]!);
}

const adaptiveAvg = (dims: number) =>
  layer<[outputSize: OutputSize]>()(
    `AdaptiveAvgPool${dims}d`,
    { outputSize: outputSize(dims) },
    {
      forward(input) {
        return F[`adaptiveAvgPool${dims}d`](input, outputOf(this, input, dims));
      },
      extra: 'output_size={outputSize}',
    },
  );
export const AdaptiveAvgPool1d = adaptiveAvg(1);
export type AdaptiveAvgPool1d = InstanceType<typeof AdaptiveAvgPool1d>;
export const AdaptiveAvgPool2d = adaptiveAvg(2);
export type AdaptiveAvgPool2d = InstanceType<typeof AdaptiveAvgPool2d>;
export const AdaptiveAvgPool3d = adaptiveAvg(3);
export type AdaptiveAvgPool3d = InstanceType<typeof AdaptiveAvgPool3d>;

const adaptiveMax = (dims: number) =>
  layer<[outputSize: OutputSize, returnIndices?: boolean], IndexingLayer>()(
    `AdaptiveMaxPool${dims}d`,
    { outputSize: outputSize(dims), returnIndices: flag(false) },
    {
      forward(input) {
        const op = `adaptiveMaxPool${dims}d${this.returnIndices ? 'WithIndices' : ''}`;
        return F[op](input, outputOf(this, input, dims));
      },
      extra: 'output_size={outputSize}',
    },
  );
export const AdaptiveMaxPool1d = adaptiveMax(1);
export type AdaptiveMaxPool1d = InstanceType<typeof AdaptiveMaxPool1d>;
export const AdaptiveMaxPool2d = adaptiveMax(2);
export type AdaptiveMaxPool2d = InstanceType<typeof AdaptiveMaxPool2d>;
export const AdaptiveMaxPool3d = adaptiveMax(3);
export type AdaptiveMaxPool3d = InstanceType<typeof AdaptiveMaxPool3d>;

const fractional = (dims: number) => {
  const name = `FractionalMaxPool${dims}d`;
  const cls = layer<
    [
      kernelSize: Size,
      outputSize?: Size | null,
      outputRatio?: number | number[] | null,
      returnIndices?: boolean,
      randomSamples?: Tensor | null,
    ],
    IndexingLayer
  >()(
    name,
    {
      kernelSize: ints(dims),
      outputSize: orNull(ints(dims)),
      outputRatio: orNull(numOrNums()),
      returnIndices: flag(false),
      _randomSamples: buffer,
    },
    {
      forward(input) {
        const op = `fractionalMaxPool${dims}d${this.returnIndices ? 'WithIndices' : ''}`;
        const { kernelSize, outputSize: size, outputRatio, returnIndices } = this;
        return F[op](input, kernelSize, size, outputRatio, returnIndices, this._randomSamples);
      },
      init(module) {
        const { outputSize: size, outputRatio: ratio } = module;
        const at = nameOf(name);
        if ((size === null) === (ratio === null)) {
          throw refusal(
            at,
            'outputSize',
            'exactly one of outputSize and outputRatio',
            size === null ? 'neither' : 'both',
          );
        }
        const ratios = typeof ratio === 'number' ? new Array<number>(dims).fill(ratio) : ratio;
        if (ratios?.some((one) => !(one > 0 && one < 1))) {
          throw argumentError(at, 'outputRatio', 'numbers between 0 and 1', ratio);
        }
        module.outputRatio = ratios;
      },
    },
  );
  pythonNames(cls, { _randomSamples: '_random_samples' });
  return cls;
};
export const FractionalMaxPool2d = fractional(2);
export type FractionalMaxPool2d = InstanceType<typeof FractionalMaxPool2d>;
export const FractionalMaxPool3d = fractional(3);
export type FractionalMaxPool3d = InstanceType<typeof FractionalMaxPool3d>;
