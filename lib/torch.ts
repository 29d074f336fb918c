/** The hand-written part of the public module. The generated functions join it in index.ts. */
import type { DType, DTypeLike, Scalar } from '../types/base';
import { scalarDtype } from './create';
import { dtypeName, givenDtypeCodes } from './enums';
import { argumentError } from './errors';
import { type MemoryReport, native } from './native';
import { optionsOf, readCall } from './reading';
import { rows } from './rows';
import { callFunction, functionSite } from './runtime';
import { seedOf } from './seed';
import type { Tensor } from './tensor';

export { type AllocationEvent, getAllocationThreshold, setAllocationThreshold } from './allocations';
export * as audit from './audit/public';
export {
  type BackwardOptions,
  backward,
  enableGrad,
  inferenceMode,
  isGradEnabled,
  isInferenceModeEnabled,
  noGrad,
  setGradEnabled,
} from './autograd';
export { fromTypedArray, type TensorData, type TensorOptions, type TypedArray, tensor } from './create';
export type { CudaMemory } from './cuda';
export * as cuda from './cuda';
export type { ErrorCode, TorchError } from './errors';
export type { LoadLimits } from './files/limits';
export { type LoadNpyOptions, type LoadNpzOptions, npy, npz } from './files/npy';
export type { FilePath } from './files/paths';
export * as safetensors from './files/safetensors';
export type { MapOptions } from './files/source';
export type { StreamOptions } from './files/stream';
export {
  type LoadFileOptions,
  load,
  loadFromStream,
  save,
  saveToBuffer,
  saveToStream,
} from './files/torch-file';
export * as autograd from './gradients';
export { type Index, Slice, slice } from './indexing';
export * as inductor from './inductor';
export * as jit from './jit';
export {
  type RunningTensorLogger,
  type TensorDetail,
  type TensorInfo,
  TensorLogger,
  type TensorLoggerOptions,
  type TensorReport,
} from './logger';
export type { MemoryReport, MemoryTotals } from './native';
export { type PrintChanges, type PrintOptions, setPrintOptions } from './print/options';
export type { Element, NestedArray } from './read';
export { disposeAll, keep } from './scopes/movable';
export { openScope, Scope, scope } from './scopes/scope';
export { tensors } from './scopes/walk';
export { fromShared, type SharedTensor, SharedToken } from './share';
export { Tensor } from './tensor';
export * as utils from './utils';
export { Complex, Stream } from './values';

/** The memory of the process's live tensors and of libtorch, over all threads. */
export function memory(): MemoryReport {
  return native.memory();
}

/**
 * Limits `memory().devices.cpu.allocatedBytes` for the process; null removes the limit. An allocation that would exceed it
 * first forces a collection, then throws `ERR_TORCH_MEMORY_LIMIT`. See docs/memory-limits.md.
 */
export function setMemoryLimit(bytes: number | null): void {
  if (bytes !== null && (!Number.isInteger(bytes) || bytes < 0)) {
    throw argumentError('setMemoryLimit', 'bytes', 'an integer of 0 or more bytes, or null', bytes);
  }
  native.setMemoryLimit(bytes);
}

/** The limit of `setMemoryLimit` in bytes, or null. */
export function getMemoryLimit(): number | null {
  const limit = native.memoryLimit();
  return limit < 0 ? null : limit;
}

/** Seeds the random number generators of all devices: -2^63 to 2^64 - 1, negative seeds count back from 2^64. */
export function manualSeed(seed: number | bigint): void {
  native.manualSeed(seedOf('manualSeed', seed));
}

/** The number of threads that one op may use. */
export const getNumThreads = (): number => native.getNumThreads();

/** Sets how many threads one op may use, for the process. */
export function setNumThreads(count: number): void {
  if (!Number.isInteger(count) || count < 1)
    throw argumentError('setNumThreads', 'count', 'an integer of 1 or more', count);
  native.setNumThreads(count);
}

/** The dtype of tensors made from numbers. */
export const getDefaultDtype = (): DType => dtypeName(native.getDefaultDtype());

/** Sets the dtype of tensors made from numbers: a floating-point one. For the process. */
export function setDefaultDtype(dtype: DTypeLike): void {
  const code = givenDtypeCodes.get(dtype);
  if (code === undefined) throw argumentError('setDefaultDtype', 'dtype', 'a floating-point dtype', dtype);
  native.setDefaultDtype(code);
}

/** The version in libtorch's headers, such as '1.13.0'. */
export const libtorchVersion: string = native.version();

/** How this libtorch was built: compiler, BLAS, processor features. PyTorch's `torch.__config__.show()`. */
export const showConfig = (): string => native.config();

let fullSite: ReturnType<typeof functionSite> | undefined;

/**
 * A tensor filled with one value: `full(size, fillValue, options)`. As in torch.tensor, the dtype follows the value's JS
 * type: a number gives the default dtype, also when it is an integer.
 */
export function full(...passed: unknown[]): Tensor {
  const { positional, keys, values } = readCall(passed);
  const options = optionsOf(keys ?? [], values);
  const value = positional.length > 1 ? positional[1] : options.fillValue;
  const decided = value === undefined || options.dtype !== undefined || options.out !== undefined;
  const dtype = decided ? {} : { dtype: scalarDtype('full', value as Scalar) };
  fullSite ??= functionSite('full', rows('full'));
  return callFunction(fullSite, [...positional, { ...options, ...dtype }]) as Tensor;
}
