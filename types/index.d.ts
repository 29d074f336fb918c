/**
 * The package's types for CommonJS: the module is the value of `require`, and its own default import. ES modules use
 * index.d.mts.
 */
// Adds the hand-written methods to Tensor.
import '../lib/public/methods';

export type { TorchError } from '../lib/errors/errors';
// The same function as a guard.
export { isTensor } from '../lib/tensor/tensor';
export * from '../lib/torch';
// Hand-written functions take precedence over ops of the same name, except that `full` has the op's signature.
export { slice } from '../lib/torch';
export * from './async';
export type {
  ByteSource,
  ByteStream,
  Device,
  DeviceLike,
  DType,
  DTypeAliases,
  DTypeLike,
  FInfo,
  FileUrl,
  IInfo,
  Int,
  Layout,
  MemoryFormat,
  NamedTuple,
  NodeBuffer,
  Parts,
  RawOp,
  Scalar,
  Shape,
  Signal,
  Storage,
  TensorList,
} from './base';
export * from './constants';
export * from './generated/classes';
export * from './generated/exports';
export { full } from './generated/exports';
export type { Functions } from './generated/functions';
export type { TensorMethods } from './generated/methods';
export type { RawOps } from './generated/ops';
export * as nn from './nn';
