/** Moving modules to devices, and converting their dtypes. */
import type { DType, DTypeLike, MemoryFormat } from '../../types/base';
import { canonicalDtype, dtypeCodes, memoryFormats } from '../addon/enums';
import { byName, flagOf, isPlainObject } from '../addon/options';
import { inGradMode } from '../autograd/mode';
import { argumentError } from '../errors/errors';
import { isTensor, type Tensor } from '../tensor/tensor';
import { setData } from './parameter';

export interface ToOptions {
  device?: string | null | undefined;
  /** For parameters and buffers of floating-point and complex dtypes. */
  dtype?: DTypeLike | null | undefined;
  /** Whether copies between the CPU and a GPU may still run when the call returns. */
  nonBlocking?: boolean | undefined;
  /** For parameters and buffers of 4 or 5 dimensions. */
  memoryFormat?: MemoryFormat | null | undefined;
}

/** What `Module.to` takes, by position, by name or both. */
export type ToArguments =
  | [options: ToOptions]
  | [target: Tensor | DTypeLike, nonBlocking?: boolean | ToOptions]
  | [device: string, dtype?: DTypeLike | null, nonBlocking?: boolean]
  | [device: string, options: ToOptions]
  | [device: string, dtype: DTypeLike | null, options: ToOptions];

/** The converted tensor; null for one that fits already. */
export const conversion =
  ({ device = null, dtype = null, memoryFormat = null, nonBlocking = false }: ToOptions) =>
  (tensor: Tensor): Tensor | null => {
    const converts = dtype !== null && (tensor.isFloatingPoint() || tensor.isComplex());
    const orders = memoryFormat !== null && (tensor.ndim === 4 || tensor.ndim === 5);
    if (!orders && (device === null || tensor.device === device) && (!converts || tensor.dtype === dtype)) return null;
    return tensor.to({
      ...(device === null ? {} : { device }),
      ...(converts ? { dtype } : {}),
      ...(orders ? { memoryFormat } : {}),
      nonBlocking,
    } as never) as Tensor;
  };

/** Converts tensors of floating-point dtypes. Complex ones stay, as with Python's `float()` and the like. */
export const cast =
  (dtype: DTypeLike) =>
  (tensor: Tensor): Tensor | null =>
    tensor.isFloatingPoint() && tensor.dtype !== dtype ? (tensor.to(dtype) as Tensor) : null;

/** Replaces the memory of parameters, their gradients, and buffers; where `convert` gives null it stays. */
export function replaceData(
  parameters: readonly Tensor[],
  buffers: readonly Tensor[],
  convert: (tensor: Tensor) => Tensor | null,
): void {
  const apply = (tensor: Tensor) => {
    const plain = tensor.detach() as Tensor;
    const next = convert(plain);
    if (next !== null && next !== plain) {
      setData(tensor, next);
      next.dispose();
    }
    plain.dispose();
  };
  inGradMode(false, () => {
    for (const parameter of parameters) {
      apply(parameter);
      const { grad } = parameter;
      if (grad === null) continue;
      apply(grad);
      grad.dispose();
    }
    for (const buffer of buffers) apply(buffer);
  });
}

const isDtype = (value: string) => dtypeCodes.has(canonicalDtype(value as DTypeLike));

/** A dtype, by its name or an alias. */
export function dtypeOf(fn: string, value: DTypeLike): DType {
  if (!isDtype(value)) throw argumentError(fn, 'dtype', "a dtype such as 'float32'", value);
  return canonicalDtype(value);
}

const shared = ['nonBlocking', 'memoryFormat'];
/** The names of the arguments of `Module.to`, by what comes first. */
function namesOf(first: unknown): string[] {
  if (isTensor(first)) return ['tensor', ...shared];
  if (typeof first === 'string') return isDtype(first) ? ['dtype', ...shared] : ['device', 'dtype', ...shared];
  if (isPlainObject(first)) return ['device', 'dtype', ...shared];
  throw argumentError('to', 'target', 'a device, a dtype, a Tensor or options', first);
}

/** The arguments of `Module.to`. */
export function targetOf(passed: readonly unknown[]): ToOptions {
  const names = namesOf(passed[0]);
  const { tensor, ...given } = byName('to', names, isPlainObject(passed[0]) ? 0 : 1, passed) as ToOptions & {
    tensor?: Tensor;
  };
  const format = given.memoryFormat ?? null;
  if (format !== null && !memoryFormats.includes(format)) {
    throw argumentError('to', 'memoryFormat', `one of ${memoryFormats.join(', ')}`, format);
  }
  const nonBlocking = flagOf('to', 'nonBlocking', given.nonBlocking, false);
  const target = { ...given, nonBlocking, ...(tensor === undefined ? {} : { device: tensor.device }) };
  const dtype = tensor?.dtype ?? given.dtype ?? null;
  if (dtype === null) return target;
  const name = canonicalDtype(dtype);
  if (!/^(float|bfloat|complex)/.test(name)) {
    if (tensor !== undefined)
      throw argumentError('to', 'tensor', 'a Tensor of a floating-point or complex dtype', tensor);
    throw argumentError('to', 'dtype', 'a floating-point or complex dtype', dtype);
  }
  return { ...target, dtype: name };
}
