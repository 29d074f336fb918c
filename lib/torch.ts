/** The hand-written part of the public module. The generated functions join it in index.ts. */
import type { DType, Scalar } from '../types/base';
import { scalarDtype } from './create';
import { dtypeCodes, dtypeName } from './enums';
import { argumentError } from './errors';
import { native, type MemoryReport } from './native';
import { callFunction } from './runtime';
import { rows } from './rows';
import type { Tensor } from './tensor';

export {
  backward,
  enableGrad,
  inferenceMode,
  isGradEnabled,
  isInferenceModeEnabled,
  noGrad,
  setGradEnabled,
  type BackwardOptions,
} from './autograd';
export { fromTypedArray, tensor, type TensorData, type TensorOptions, type TypedArray } from './create';
export type { ErrorCode, TorchError } from './errors';
export { slice, Slice, type Index } from './indexing';
export type { MemoryReport, MemoryTotals } from './native';
export { setPrintOptions, type PrintOptions } from './print/format';
export type { NestedArray, Element } from './read';
export { disposeAll, keep, openScope, scope, Scope } from './scopes/scope';
export { Tensor } from './tensor';
export { Complex, Stream } from './values';

/** What the process's live tensors hold, and what libtorch holds, in bytes. Counts all threads. */
export function memory(): MemoryReport {
  return native.memory();
}

/** Seeds the random number generators of all devices. */
export function manualSeed(seed: number | bigint): void {
  if (!Number.isInteger(seed) && typeof seed !== 'bigint') throw argumentError('manualSeed', 'seed', 'an integer', seed);
  native.manualSeed(seed);
}

/** Threads that one op may use. */
export const getNumThreads = (): number => native.getNumThreads();

/** Sets how many threads one op may use, for the process. */
export function setNumThreads(count: number): void {
  if (!Number.isInteger(count) || count < 1) throw argumentError('setNumThreads', 'count', 'an integer of 1 or more', count);
  native.setNumThreads(count);
}

/** The dtype of tensors made from numbers. */
export const getDefaultDtype = (): DType => dtypeName(native.getDefaultDtype());

/** Sets the dtype of tensors made from numbers: a floating-point one. For the process. */
export function setDefaultDtype(dtype: DType): void {
  const code = dtypeCodes.get(dtype);
  if (code === undefined) throw argumentError('setDefaultDtype', 'dtype', 'a floating-point dtype', dtype);
  native.setDefaultDtype(code);
}

/** The version in libtorch's headers, such as '1.13.0'. */
export const libtorchVersion: string = native.version();

type FullOptions = Record<string, unknown>;

/**
 * A tensor filled with one value. As in torch.tensor, the dtype follows the value's JS type: a number gives the default
 * dtype, also when it is an integer.
 */
export function full(size: readonly number[], fillValue: Scalar, options: FullOptions = {}): Tensor {
  const given = Array.from(arguments as ArrayLike<unknown>);
  const last = given.length === 3 ? options : {};
  const hasDtype = last.dtype !== undefined || last.out !== undefined;
  if (given.length < 2 || hasDtype) return callFunction('full', rows('full'), given) as Tensor;
  return callFunction('full', rows('full'), [size, fillValue, { ...last, dtype: scalarDtype('full', fillValue) }]) as Tensor;
}
