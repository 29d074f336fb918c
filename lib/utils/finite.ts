/** torch.utils.assertFinite: stops a training at the step whose loss is NaN or infinite. Not in PyTorch. */
import { argumentError, codedError } from '../errors/errors';
import { bare } from '../tensor/second-name';
import { isTensor, type Tensor } from '../tensor/tensor';

const FN = 'utils.assertFinite';

/**
 * The loss as a number. Throws if it is NaN or infinite; the error names the step.
 *
 * @throws ERR_TORCH_NOT_FINITE, with `step`
 */
export function assertFinite(loss: Tensor | number, step?: number): number {
  if (step !== undefined && !Number.isInteger(step)) throw argumentError(FN, 'step', 'an integer', step);
  const given = bare(loss);
  let value: unknown = given;
  if (isTensor(given)) {
    if (given.numel !== 1 || given.isComplex())
      throw argumentError(FN, 'loss', 'a Tensor with one real element', given);
    value = Number(given.item());
  }
  if (typeof value !== 'number') throw argumentError(FN, 'loss', 'a Tensor or a number', given);
  if (Number.isFinite(value)) return value;
  const where = step === undefined ? '' : ` at step ${step}`;
  const error = codedError(Error, 'ERR_TORCH_NOT_FINITE', `${FN}: expected a finite loss${where}, got ${value}`);
  throw step === undefined ? error : Object.assign(error, { step });
}
