/** The generated functions by namespace. Names with a leading underscore are only for lib/public. */

import { givenDtypeCodes } from '../addon/enums';
import { makeFunctions } from '../addon/wrappers';
import { readValue } from '../tensor/reading';
import { Tensor, wrap } from '../tensor/tensor';
import { callPublic, publicSite } from './define';
import { named, names } from './named';
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
  dtypes: givenDtypeCodes,
  readValue,
  named,
  names,
  callFunction,
  callPublic,
  functionSite,
  publicSite,
});
