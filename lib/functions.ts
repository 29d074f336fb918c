/** The generated functions by namespace. Names with an underscore in front are for lib/public alone. */
import { callPublic } from './public/define';
import { callFunction, f, isInts, isNumbers, numberTensor, packed, results } from './runtime';
import { Tensor, wrap } from './tensor';
import { makeFunctions } from './wrappers';

export const spaces = makeFunctions(f, {
  Tensor,
  wrap,
  results,
  isInts,
  isNumbers,
  numberTensor,
  packed,
  callFunction,
  callPublic,
});
