/** `torch.nn`: modules, and the functions of `torch.nn.functional`. */
import type { NnFunctionalFunctions } from './generated/functions';

export * from '../lib/nn';
export declare const functional: NnFunctionalFunctions;
