/** torchvision's RandomCrop. */

import { ownOptions } from '../../addon/options';
import { ops } from '../../autograd/tuples';
import { upTo } from '../../errors/arity';
import { argumentError, codedError } from '../../errors/errors';
import { ownScope } from '../../lifetimes/scope';
import type { Tensor } from '../../tensor/tensor';
import { flagOf } from '../arguments';
import { type Size, sizeOf } from './geometry';
import { cropped, imageOf, sizeIn, type Transform } from './image';
import { below, type Drawing } from './random';

const FN = 'utils.data.transforms.RandomCrop';

export interface RandomCropOptions {
  /** Added on all sides first, or [left and right, top and bottom], or [left, top, right, bottom]. Default: 0. */
  padding?: number | readonly number[] | undefined;
  /** Add as much as is missing to a smaller image. Default: false. */
  padIfNeeded?: boolean | undefined;
  /** The value of what is added. Default: 0. */
  fill?: number | undefined;
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

/** [left, right, top, bottom], the order of libtorch. */
function padsOf(padding: unknown): number[] {
  const list = isCount(padding) ? [padding] : padding;
  if (!Array.isArray(list) || ![1, 2, 4].includes(list.length) || !list.every(isCount)) {
    throw argumentError(FN, 'padding', '1, 2 or 4 integers of 0 or more', padding);
  }
  const [left, top = left, right = left, bottom = top] = list as number[];
  return [left!, right!, top!, bottom!];
}

/** A part at a random place. */
export class RandomCrop implements Transform {
  readonly size: readonly [height: number, width: number];
  readonly #pads: number[];
  readonly #padIfNeeded: boolean;
  readonly #fill: number;

  constructor(size: Size, options?: RandomCropOptions);
  constructor(...passed: [size: Size, options?: RandomCropOptions]) {
    const [size, options = {}] = upTo(FN, 2, passed);
    const { padding = 0, padIfNeeded, fill = 0 } = ownOptions(FN, options, ['padding', 'padIfNeeded', 'fill']);
    this.size = sizeOf(FN, 'size', size);
    this.#pads = padsOf(padding);
    this.#padIfNeeded = flagOf(FN, 'padIfNeeded', padIfNeeded, false);
    if (typeof fill !== 'number') throw argumentError(FN, 'fill', 'a number', fill);
    this.#fill = fill;
  }

  forward(given: Tensor, context?: Drawing): Tensor {
    const [height, width] = this.size;
    return ownScope(() => {
      let image = this.#padded(imageOf(FN, given), this.#pads);
      if (this.#padIfNeeded) {
        const across = Math.max(0, width - sizeIn(image)[1]);
        image = this.#padded(image, [across, across, 0, 0]);
        const down = Math.max(0, height - sizeIn(image)[0]);
        image = this.#padded(image, [0, 0, down, down]);
      }
      const [h, w] = sizeIn(image);
      if (h < height || w < width) {
        const message = `${FN}: expected an image of at least ${height} × ${width}, got ${h} × ${w}; see padIfNeeded`;
        throw Object.assign(codedError(TypeError, 'ERR_TORCH_ARGUMENT', message), { op: FN });
      }
      // As Python: nothing is drawn for the whole image.
      if (h === height && w === width) return image;
      const top = below(h - height + 1, context);
      return cropped(image, top, below(w - width + 1, context), height, width);
    });
  }

  #padded(image: Tensor, pads: number[]): Tensor {
    return pads.some((count) => count > 0) ? ops().constantPadNd!(image, pads, this.#fill) : image;
  }
}
