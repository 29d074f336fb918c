/** torchvision's ToTensor. */
import { fromTypedArray } from '../../elements/create';
import { requireAtMost } from '../../errors/arity';
import { argumentError } from '../../errors/errors';
import { ownScope } from '../../lifetimes/scope';
import { isTensor, type Tensor } from '../../tensor/tensor';
import { imageOf, type Transform } from './image';

const FN = 'utils.data.transforms.ToTensor';

/** Pixels in rows: what sharp's `raw().toBuffer({ resolveWithObject: true })` gives. */
export interface RawImage {
  readonly data: Uint8Array;
  readonly info: { readonly width: number; readonly height: number; readonly channels: number };
}

/** An image as numbers from 0 to 1: uint8 divided by 255, [channels, height, width]. Floats stay as they are. */
export class ToTensor implements Transform<Tensor | RawImage> {
  constructor();
  constructor(...passed: []) {
    requireAtMost(FN, 0, passed);
  }

  forward(image: Tensor | RawImage): Tensor {
    return ownScope(() => {
      const pixels = isTensor(image) ? imageOf(FN, image) : fromRaw(image);
      return (pixels.dtype === 'uint8' ? pixels.to('float32').div(255) : pixels) as Tensor;
    });
  }
}

function fromRaw(image: RawImage): Tensor {
  const { data, info } = (image ?? {}) as Partial<RawImage>;
  if (!(data instanceof Uint8Array) || typeof info !== 'object' || info === null) {
    throw argumentError(FN, 'image', 'a Tensor, or { data, info } of sharp', image);
  }
  const { width, height, channels } = info;
  return fromTypedArray(data, [height, width, channels]).permute([2, 0, 1]).contiguous() as Tensor;
}
