/** The generated functions by namespace. Names with a leading underscore are only for lib/public. */

import { makeFunctions } from '../addon/wrappers';
import { callFunction, f, functionSite } from './runtime';
import { wrapperNames } from './wrapper-names';

export const spaces = makeFunctions(f, { ...wrapperNames, callFunction, functionSite });
