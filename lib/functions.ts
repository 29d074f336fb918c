/** The generated functions by namespace. Names with a leading underscore are only for lib/public. */
import { ints, intsOf, numbers, numberTensor } from './packed';
import { callPublic, publicSite } from './public/define';
import { callFunction, f, functionSite, results } from './runtime';
import { Tensor, wrap } from './tensor';
import { makeFunctions } from './wrappers';

export const spaces = makeFunctions(f, {
  Tensor,
  wrap,
  results,
  ints,
  intsOf,
  numbers,
  numberTensor,
  callFunction,
  callPublic,
  functionSite,
  publicSite,
});
