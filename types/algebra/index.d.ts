/**
 * The algebra of dtypes and shapes. The signatures of ops are made of these types: codegen/spec/types.yaml says which. A type
 * named by a noun is the shape of a result; its verb (Broadcast and Broadcasts) is `unknown`, or an error where it does not fit.
 */
export type * from './at';
export type * from './broadcast';
export type {
  AsIndices,
  AsMask,
  Floating,
  FloatingUnless,
  IntoDType,
  IntoNumber,
  Positive,
  Sizes,
  Targets,
  Within,
} from './checks';
export type * from './conv';
export type { AtLeastOne, DTypeOf, FirstOf, Fits, OutOr, ShapeError, ShapeOf, TensorOf } from './core';
export type * from './create';
export type * from './data';
export type { SizesOf } from './dims';
export type * from './dtype';
export type { AnyParts, Cat, Cats, Chunk, PromoteAll, Split, Splits, Stack, Stacks, Unbind } from './join';
export type {
  HasRule,
  LayerGives,
  LayerRule,
  LayerTakes,
  Same,
  SameFloat,
  StatesGiven,
  StepsGiven,
} from './layers';
export type { Multiplied, Multiplies } from './matmul';
export type { Product } from './number';
export type * from './reduce';
export type { Linked } from './sequential';
export type * from './view';
