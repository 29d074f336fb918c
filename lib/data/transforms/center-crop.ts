/** torchvision's CenterCrop. */

import { ops } from '../../autograd/tuples';
import { upTo } from '../../errors/arity';
import { ownScope } from '../../lifetimes/scope';
import type { Tensor } from '../../tensor/tensor';
import { centered, type Size, sizeOf } from './geometry';
import { cropped, imageOf, sizeIn, type Transform } from './image';

const FN = 'utils.data.transforms.CenterCrop';

/** The centre of an image; a smaller image gets zeros around it. */
export class CenterCrop implements Transform {
  readonly size: readonly [height: number, width: number];

  constructor(size: Size);
  constructor(...passed: [size: Size]) {
    const [size] = upTo(FN, 1, passed);
    this.size = sizeOf(FN, 'size', size);
  }

  forward(given: Tensor): Tensor {
    const [height, width] = this.size;
    return ownScope(() => {
      let image = imageOf(FN, given);
      let [h, w] = sizeIn(image);
      if (height > h || width > w) {
        const [down, across] = [Math.max(0, height - h), Math.max(0, width - w)];
        const pad = [across >> 1, (across + 1) >> 1, down >> 1, (down + 1) >> 1];
        image = ops().constantPadNd!(image, pad, 0);
        [h, w] = sizeIn(image);
      }
      return cropped(image, centered(h - height), centered(w - width), height, width);
    });
  }
}
