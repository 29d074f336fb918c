/** Layers that rearrange or resize images. */
import { argumentError } from '../errors/errors';
import { flag, int, intOrInts, type Kind, nameOf, numOrNums, orNull, text } from './arguments';
import { layer } from './layer';
import { F } from './ops';
import { pythonFloat, pythonNumbers, pythonText, pythonTuple } from './python';

type Size = number | number[];

export const PixelShuffle = layer<[upscaleFactor: number]>()(
  'PixelShuffle',
  { upscaleFactor: int() },
  {
    forward(input) {
      return F.pixelShuffle(input, this.upscaleFactor);
    },
    extra: 'upscale_factor={upscaleFactor}',
  },
);
export type PixelShuffle = InstanceType<typeof PixelShuffle>;
export const PixelUnshuffle = layer<[downscaleFactor: number]>()(
  'PixelUnshuffle',
  { downscaleFactor: int() },
  {
    forward(input) {
      return F.pixelUnshuffle(input, this.downscaleFactor);
    },
    extra: 'downscale_factor={downscaleFactor}',
  },
);
export type PixelUnshuffle = InstanceType<typeof PixelUnshuffle>;
export const ChannelShuffle = layer<[groups: number]>()(
  'ChannelShuffle',
  { groups: int() },
  {
    forward(input) {
      return F.channelShuffle(input, this.groups);
    },
    extra: 'groups={groups}',
  },
);
export type ChannelShuffle = InstanceType<typeof ChannelShuffle>;

export type UpsampleMode = 'nearest' | 'linear' | 'bilinear' | 'bicubic' | 'trilinear' | 'nearest-exact' | 'area';
/** Factors are numbers that Python converts to floats. */
const factors = orNull({
  ...numOrNums(),
  text: (value: Size) => (typeof value === 'number' ? pythonFloat(value) : pythonTuple(value.map(pythonFloat))),
} as Kind<Size>);
const size = orNull(intOrInts(3));

interface Resized {
  readonly size: Size | null;
  readonly scaleFactor: Size | null;
}

function resizedText({ size, scaleFactor }: Resized, mode: string): string {
  const sizes = size === null ? 'None' : pythonNumbers(size);
  const by = scaleFactor === null ? `size=${sizes}` : `scale_factor=${factors.text(scaleFactor)}`;
  return `${by}, mode=${pythonText(mode)}`;
}

export const Upsample = layer<
  [
    size?: Size | null,
    scaleFactor?: Size | null,
    mode?: UpsampleMode,
    alignCorners?: boolean | null,
    recomputeScaleFactor?: boolean | null,
  ]
>()(
  'Upsample',
  {
    size,
    scaleFactor: factors,
    mode: text<UpsampleMode>('nearest'),
    alignCorners: orNull(flag()),
    recomputeScaleFactor: orNull(flag()),
  },
  {
    forward(input) {
      const { scaleFactor, mode, alignCorners, recomputeScaleFactor } = this;
      return F.interpolate(input, this.size, scaleFactor, mode, alignCorners, recomputeScaleFactor);
    },
    extra: (values) => resizedText(values, values.mode),
  },
);
export type Upsample = InstanceType<typeof Upsample>;

const upsampling = (name: string, mode: UpsampleMode, alignCorners: boolean | null) =>
  layer<[size?: Size | null, scaleFactor?: Size | null]>()(
    name,
    { size, scaleFactor: factors },
    {
      forward(input) {
        return F.interpolate(input, this.size, this.scaleFactor, mode, alignCorners);
      },
      extra: (values) => resizedText(values, mode),
    },
  );
export const UpsamplingNearest2d = upsampling('UpsamplingNearest2d', 'nearest', null);
export type UpsamplingNearest2d = InstanceType<typeof UpsamplingNearest2d>;
export const UpsamplingBilinear2d = upsampling('UpsamplingBilinear2d', 'bilinear', true);
export type UpsamplingBilinear2d = InstanceType<typeof UpsamplingBilinear2d>;

const windows = {
  kernelSize: intOrInts(2),
  dilation: intOrInts(2, 1),
  padding: intOrInts(2, 0),
  stride: intOrInts(2, 1),
};
const windowText = 'kernel_size={kernelSize}, dilation={dilation}, padding={padding}, stride={stride}';
type WindowArgs = [kernelSize: Size, dilation?: Size, padding?: Size, stride?: Size];

export const Fold = layer<[outputSize: Size, ...WindowArgs]>()(
  'Fold',
  { outputSize: intOrInts(2), ...windows },
  {
    forward(input) {
      return F.fold(input, this.outputSize, this.kernelSize, this.dilation, this.padding, this.stride);
    },
    extra: `output_size={outputSize}, ${windowText}`,
    init({ outputSize }) {
      if (Array.isArray(outputSize) && outputSize.length !== 2) {
        throw argumentError(nameOf('Fold'), 'outputSize', 'an integer or a list of 2', outputSize);
      }
    },
  },
);
export type Fold = InstanceType<typeof Fold>;
export const Unfold = layer<WindowArgs>()('Unfold', windows, {
  forward(input) {
    return F.unfold(input, this.kernelSize, this.dilation, this.padding, this.stride);
  },
  extra: windowText,
});
export type Unfold = InstanceType<typeof Unfold>;
