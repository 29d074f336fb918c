/** torchvision's Compose. */
import { upTo } from '../../errors/arity';
import { isOfLibrary } from '../../errors/copies';
import { argumentError } from '../../errors/errors';
import { scope } from '../../lifetimes/scope';
import { isPromise } from '../read-each';
import type { Transform } from './image';
import type { Drawing } from './random';

const FN = 'utils.data.transforms.Compose';

/** A transform, or a function of the image and the context of the sample; it may return a promise. */
export type Step = Transform<any, any> | ((image: any, context?: Drawing) => unknown);

/** Steps one after the other. Tensors between them are released. */
export class Compose implements Transform<any, any> {
  readonly transforms: readonly Step[];

  constructor(transforms: readonly Step[]);
  constructor(...passed: [transforms: readonly Step[]]) {
    const [transforms] = upTo(FN, 1, passed);
    if (!Array.isArray(transforms)) throw argumentError(FN, 'transforms', 'a list of transforms', transforms);
    transforms.forEach((step, i) => {
      if (typeof step !== 'function' && typeof step?.forward !== 'function') {
        throw argumentError(FN, `transforms[${i}]`, 'a function, or an object with forward(image)', step);
      }
    });
    this.transforms = [...transforms];
  }

  /** The result, or a promise of it if a step returns one. */
  forward(image: any, context?: Drawing): any {
    return scope(() =>
      this.transforms.reduce<unknown>((value, step) => {
        const apply = (to: unknown) => {
          if (typeof step === 'function') return step(to, context);
          // A layer of torch.nn takes its input alone.
          return isOfLibrary(step) && step.forward.length === 1 ? step.forward(to) : step.forward(to, context);
        };
        return isPromise(value) ? value.then(apply) : apply(value);
      }, image),
    );
  }
}
