/**
 * The hand-written part of the public module: its types, and what tests compare with the module. The generated functions join it
 * in index.ts, which loads everything outside core.ts late (late.ts).
 */
export * from './core';
export { type LoadNpyOptions, type LoadNpzOptions, npy, npz } from './files/npy';
export * as safetensors from './files/safetensors';
export {
  type LoadFileOptions,
  load,
  loadFromStream,
  save,
  saveToBuffer,
  saveToStream,
} from './files/torch-file';
export * as inductor from './inductor';
export * as jit from './jit';
export * as nn from './nn';
export * as optim from './nn/optim';
export * as amp from './optim/amp';
export * as distributed from './optim/distributed';
export * as utils from './utils';
