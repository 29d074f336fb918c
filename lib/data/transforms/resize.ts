/** torchvision's Resize. */

import { ownOptions } from '../../addon/options';
import { publicFunction } from '../../call/define';
import { upTo } from '../../errors/arity';
import { argumentError } from '../../errors/errors';
import { ownScope } from '../../lifetimes/scope';
import type { Tensor } from '../../tensor/tensor';
import { countOf, flagOf } from '../arguments';
import { type Size, sizeOf, withShortEdge } from './geometry';
import { imageOf, sizeIn, type Transform } from './image';

const FN = 'utils.data.transforms.Resize';

export interface ResizeOptions {
  interpolation?: 'nearest' | 'bilinear' | 'bicubic' | undefined;
  /** The most that the longer edge may be, if `size` is the shorter one. */
  maxSize?: number | undefined;
  /** Average when making smaller, as Pillow does. Default: true. */
  antialias?: boolean | undefined;
}

/** An image of another size: [height, width], or one number for the shorter edge. */
export class Resize implements Transform {
  readonly size: Size;
  readonly interpolation: 'nearest' | 'bilinear' | 'bicubic';
  readonly maxSize: number | undefined;
  readonly antialias: boolean;

  constructor(size: Size, options?: ResizeOptions);
  constructor(...passed: [size: Size, options?: ResizeOptions]) {
    const [size, options = {}] = upTo(FN, 2, passed);
    const given = ownOptions(FN, options, ['interpolation', 'maxSize', 'antialias']);
    const { interpolation = 'bilinear', maxSize } = given;
    sizeOf(FN, 'size', size);
    if (!['nearest', 'bilinear', 'bicubic'].includes(interpolation)) {
      throw argumentError(FN, 'interpolation', "'nearest', 'bilinear' or 'bicubic'", interpolation);
    }
    if (maxSize !== undefined && typeof size !== 'number') {
      throw argumentError(FN, 'maxSize', 'no value, because size has two numbers', maxSize);
    }
    if (maxSize !== undefined && countOf(FN, 'maxSize', maxSize) <= (size as number)) {
      throw argumentError(FN, 'maxSize', `a length above the size, ${size}`, maxSize);
    }
    this.size = size;
    this.interpolation = interpolation;
    this.maxSize = maxSize;
    this.antialias = flagOf(FN, 'antialias', given.antialias, true);
  }

  forward(given: Tensor): Tensor {
    const image = imageOf(FN, given);
    const [height, width] = sizeIn(image);
    if (height === 0 || width === 0) throw argumentError(FN, 'image', 'a Tensor of at least one pixel', given);
    const { size } = this;
    const to = typeof size === 'number' ? withShortEdge(height, width, size, this.maxSize) : [...size];
    if (to[0] === height && to[1] === width) return image;
    return ownScope(() => {
      const before = image.shape.slice(0, -2);
      const planes = image.reshape([1, before.reduce((all, n) => all * n, 1), height, width]) as Tensor;
      const made = this.#resized(planes, to);
      return made.reshape([...before, ...to]) as Tensor;
    });
  }

  #resized(planes: Tensor, size: number[]): Tensor {
    const { interpolation: mode } = this;
    const { dtype } = planes;
    const isInteger = /^u?int/.test(dtype);
    const options =
      mode === 'nearest' ? { size, mode } : { size, mode, alignCorners: false, antialias: this.antialias };
    let made = interpolate(planes.to(computedIn(dtype, mode)) as Tensor, options);
    // As torchvision: bicubic interpolation overshoots, but only the bounds of uint8 are those of an image.
    if (mode === 'bicubic' && dtype === 'uint8') made = made.clamp(0, 255) as Tensor;
    if (isInteger) made = made.round() as Tensor;
    return made.to(dtype) as Tensor;
  }
}

/** libtorch interpolates few dtypes: torchvision uses float32. Labels, which are copied, stay exact up to 2^53. */
function computedIn(dtype: string, mode: Resize['interpolation']): 'uint8' | 'float32' | 'float64' {
  if (dtype === 'float64' || dtype === 'float32') return dtype;
  if (mode !== 'nearest') return 'float32';
  return dtype === 'uint8' ? dtype : /^int(32|64)$/.test(dtype) ? 'float64' : 'float32';
}

const interpolate = publicFunction('nn.functional', 'interpolate') as (image: Tensor, options: object) => Tensor;
