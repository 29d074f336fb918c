/** torchvision's RandomHorizontalFlip. */
import { upTo } from '../../errors/arity';
import { argumentError } from '../../errors/errors';
import type { Tensor } from '../../tensor/tensor';
import { imageOf, type Transform } from './image';
import { chance, type Drawing } from './random';

const FN = 'utils.data.transforms.RandomHorizontalFlip';

/** Exchanges left and right with probability `p`. */
export class RandomHorizontalFlip implements Transform {
  readonly p: number;

  constructor(p?: number);
  constructor(...passed: [p?: number]) {
    const [p = 0.5] = upTo(FN, 1, passed);
    if (!(typeof p === 'number' && p >= 0 && p <= 1)) throw argumentError(FN, 'p', 'a probability from 0 to 1', p);
    this.p = p;
  }

  forward(given: Tensor, context?: Drawing): Tensor {
    const image = imageOf(FN, given);
    return chance(this.p, context) ? (image.flip([-1]) as Tensor) : image;
  }
}
