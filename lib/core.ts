/** What of the hand-written part of the public module is loaded with it. The rest: late.ts. */
import type { DType, DTypeLike, Scalar } from '../types/base';
import { dtypeName, givenDtypeCodes } from './addon/enums';
import { type MemoryReport, native } from './addon/native';
import { rows } from './call/rows';
import { callFunction, functionSite } from './call/runtime';
import { scalarDtype } from './elements/create';
import { argumentError } from './errors/errors';
import { seedOf } from './errors/seed';
import { demandThreads } from './errors/values';
import { optionsOf, readCall } from './tensor/reading';
import type { Tensor } from './tensor/tensor';

export type { MemoryReport, MemoryTotals } from './addon/native';
export * as autograd from './autograd';
export {
  type AutocastOptions,
  autocast,
  clearAutocastCache,
  getAutocastCpuDtype,
  getAutocastDtype,
  getAutocastGpuDtype,
  isAutocastCacheEnabled,
  isAutocastCpuEnabled,
  isAutocastEnabled,
} from './autograd/autocast';
export {
  type BackwardOptions,
  backward,
  enableGrad,
  inferenceMode,
  isGradEnabled,
  isInferenceModeEnabled,
  noGrad,
  setGradEnabled,
} from './autograd/backward';
export { type Captured, capture } from './capture';
export type { CudaMemory } from './cuda/index';
export * as cuda from './cuda/index';
export { fromTypedArray, type TensorData, type TensorOptions, type TypedArray, tensor } from './elements/create';
export { type Index, Slice, slice } from './elements/indexing';
export type { ErrorCode, TorchError } from './errors/errors';
export { Complex, Stream } from './errors/values';
export type { LoadLimits } from './files/limits';
export type { FilePath } from './files/paths';
export type { MapOptions } from './files/source';
export type { StreamOptions } from './files/stream';
export { disposeAll, keep } from './lifetimes/movable';
export { openScope, Scope, scope } from './lifetimes/scope';
export { tensors } from './lifetimes/walk';
export { type AllocationEvent, getAllocationThreshold, setAllocationThreshold } from './metrics/allocations';
export * as audit from './observe/audit/public';
export {
  type RunningTensorLogger,
  type TensorDetail,
  type TensorInfo,
  TensorLogger,
  type TensorLoggerOptions,
  type TensorReport,
} from './observe/logger';
export { type PrintChanges, type PrintOptions, setPrintOptions } from './print/options';
export type { Element, NestedArray } from './tensor/read';
export { fromShared, type SharedTensor, SharedToken } from './tensor/share';
export { Tensor } from './tensor/tensor';

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

/** Sets how many threads one op may use, for the process: 1 to 1024. */
export function setNumThreads(count: number): void {
  demandThreads('setNumThreads', 'count', count);
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
  const decided = value === undefined || (options.dtype ?? options.out ?? null) !== null;
  const dtype = decided ? {} : { dtype: scalarDtype('full', value as Scalar) };
  fullSite ??= functionSite('full', rows('full'));
  return callFunction(fullSite, [...positional, { ...options, ...dtype }]) as Tensor;
}
