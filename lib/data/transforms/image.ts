/** What transforms accept: images as tensors [..., channels, height, width]. */
import { argumentError } from '../../errors/errors';
import { isTensor, type Tensor } from '../../tensor/tensor';
import type { Drawing } from './random';

/** A step from one image to the next. */
export interface Transform<In = Tensor, Out = Tensor> {
  forward(image: In, context?: Drawing): Out;
}

export function imageOf(fn: string, image: unknown): Tensor {
  if (isTensor(image) && image.ndim >= 2) return image;
  throw argumentError(fn, 'image', 'a Tensor [..., height, width]', image);
}

/** Of 1 or 3 channels. */
export function coloursOf(fn: string, image: unknown): Tensor {
  if (isTensor(image) && image.ndim >= 3 && [1, 3].includes(image.shape.at(-3)!)) return image;
  throw argumentError(fn, 'image', 'a Tensor [..., 1 or 3 channels, height, width]', image);
}

export const isFloat = (image: Tensor): boolean => /^(float|bfloat)/.test(image.dtype);

export const sizeIn = (image: Tensor): [height: number, width: number] => [image.shape.at(-2)!, image.shape.at(-1)!];

/** A part of an image: a view. */
export const cropped = (image: Tensor, top: number, left: number, height: number, width: number): Tensor =>
  image.narrow(-2, top, height).narrow(-1, left, width) as Tensor;
