/** torchvision's Normalize. */

import { tensor } from '../../elements/create';
import { upTo } from '../../errors/arity';
import { argumentError } from '../../errors/errors';
import { ownScope } from '../../lifetimes/scope';
import { isTensor, type Tensor } from '../../tensor/tensor';
import { isFloat, type Transform } from './image';

const FN = 'utils.data.transforms.Normalize';

const isNumber = (value: unknown): value is number => typeof value === 'number';

/** (image - mean) / std of each channel. */
export class Normalize implements Transform {
  readonly mean: readonly number[];
  readonly std: readonly number[];

  constructor(mean: readonly number[], std: readonly number[]);
  constructor(...passed: [mean: readonly number[], std: readonly number[]]) {
    const [mean, std] = upTo(FN, 2, passed);
    if (!Array.isArray(mean) || mean.length === 0 || !mean.every(isNumber)) {
      throw argumentError(FN, 'mean', 'a list of numbers', mean);
    }
    if (!Array.isArray(std) || std.length !== mean.length || !std.every((value) => isNumber(value) && value !== 0)) {
      throw argumentError(FN, 'std', `a list of ${mean.length} numbers other than 0`, std);
    }
    this.mean = [...mean];
    this.std = [...std];
  }

  forward(image: Tensor): Tensor {
    if (!isTensor(image) || image.ndim < 3 || !isFloat(image)) {
      throw argumentError(FN, 'image', 'a Tensor [..., channels, height, width] of floats', image);
    }
    const channels = image.shape.at(-3)!;
    const { mean, std } = this;
    if (mean.length !== 1 && mean.length !== channels) {
      throw argumentError(FN, 'image', `${mean.length} channels`, image);
    }
    return ownScope(() => {
      const options = { dtype: image.dtype, device: image.device } as const;
      const of = (values: readonly number[]) => tensor([...values], options).view([-1, 1, 1]);
      return image.sub(of(mean) as Tensor).div_(of(std) as Tensor) as Tensor;
    });
  }
}
