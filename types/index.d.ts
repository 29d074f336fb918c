/**
 * The package's types, as CommonJS has them: the module is what `require` gives, and its own default import. `import` in ES
 * modules has index.d.mts.
 */
// Adds the hand-written methods to Tensor.
import '../lib/methods';

export * from '../lib/torch';
// Where both have a name, the module has the hand-written one, but `full` takes what the op takes.
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
