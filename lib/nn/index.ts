/** torch.nn: modules. `torch.nn.functional` joins them in lib/index.ts. */
import { reportMissingNames } from '../call/misses';
import './counted';
import { elementsOf } from './containers';
import { Module } from './module';

export type { HookHandle, HookOptions } from '../tensor/hook-list';
export * from './activations';
export * from './adaptive';
export type { AttentionOptions } from './attention';
export { GRUCell, LSTMCell, RNNCell, RNNCellBase } from './cells';
export type { ToArguments, ToOptions } from './conversion';
export * from './distances';
export * from './dropout';
export { EmbeddingBag } from './embedding';
export type { EmptyOptions } from './emptied';
export type { ForwardHook, ForwardPreHook, FullBackwardHook } from './hooks';
export * as init from './init';
export * from './lazy';
export { Bilinear, Identity, Linear } from './linear';
export * from './losses';
export { Module } from './module';
export { LocalResponseNorm } from './normalization';
export * as parallel from './parallel';
export { SyncBatchNorm } from './parallel/sync-batch-norm';
export {
  Buffer,
  type BufferOptions,
  Parameter,
  type ParameterOptions,
  UninitializedBuffer,
  UninitializedParameter,
} from './parameter';
export { ParameterDict, ParameterList } from './parameter-containers';
export { RNNBase } from './recurrent';
export * from './shaped';
export * from './shaped-conv';
export * from './shaped-padding';
// Explicitly, because './activations' and './vision' export these names too, and two `export *` of one name cancel each other.
export { GLU, Upsample, UpsamplingBilinear2d, UpsamplingNearest2d } from './shaped-padding';
export * from './shaped-pooling';
export * from './shaped-sequences';
export type { SharedModule } from './shared';
export type {
  IncompatibleKeys,
  LoadOptions,
  LoadStateDictOptions,
  LoadStateDictPostHook,
  LoadStateDictPreHook,
  StateDict,
  StateDictHook,
  StateDictOptions,
} from './state';
export type { EncoderOptions, TransformerOptions } from './transformer';
export type { Activation, DecoderLayerOptions, EncoderLayerOptions } from './transformer-layers';
export * as utils from './utils';
export * from './vision';
export type { WalkOptions } from './walk';

/** `layer.in_features` and `net.state_dict()` name what was meant. */
reportMissingNames('nn.Module', Module.prototype, { fields: true, elements: elementsOf });
