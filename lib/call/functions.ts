/** The generated functions by namespace. Names with a leading underscore are only for lib/public. */

import { makeFunctions } from '../addon/wrappers';
import { Tensor, wrap } from '../tensor/tensor';
import { callPublic, publicSite } from './define';
import { ints, intsOf, numbers, numberTensor } from './packed';
import { callFunction, f, functionSite, results } from './runtime';

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
