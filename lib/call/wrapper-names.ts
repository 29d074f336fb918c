/** The names that the generated wrappers use; codegen/bindings/emit writes functions that take them as one object. */
import { givenDtypeCodes } from '../addon/enums';
import { readValue } from '../tensor/reading';
import { Tensor, wrap } from '../tensor/tensor';
import { callPublic, publicSite } from './define';
import { named, names } from './named';
import { gathered, ints, intsOf, numbers, numberTensor } from './packed';
import { results } from './runtime';

/** Those of wrappers that take arguments by position alone: `torch.ops`. */
export const positionalNames = { Tensor, wrap, results, ints, intsOf, numbers, numberTensor };

/** Those of functions and methods, which also take options. */
export const wrapperNames = {
  ...positionalNames,
  gathered,
  dtypes: givenDtypeCodes,
  readValue,
  named,
  names,
  callPublic,
  publicSite,
};
