/** Moving modules to devices, and converting their dtypes. */
import type { DType, DTypeLike } from '../../types/base';
import { canonicalDtype, dtypeCodes } from '../addon/enums';
import { isPlainObject, ownOptions } from '../addon/options';
import { inGradMode } from '../autograd/mode';
import { argumentError } from '../errors/errors';
import { isTensor, type Tensor } from '../tensor/tensor';
import { setData } from './parameter';

export interface ToOptions {
  device?: string | null | undefined;
  /** For parameters and buffers of floating-point and complex dtypes. */
  dtype?: DTypeLike | null | undefined;
}

/** The converted tensor; null for one that fits already. */
export const conversion =
  ({ device = null, dtype = null }: ToOptions) =>
  (tensor: Tensor): Tensor | null => {
    const converts = dtype !== null && (tensor.isFloatingPoint() || tensor.isComplex());
    if ((device === null || tensor.device === device) && (!converts || tensor.dtype === dtype)) return null;
    return tensor.to({ ...(device === null ? {} : { device }), ...(converts ? { dtype } : {}) } as never) as Tensor;
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

/** The arguments of `Module.to`. */
export function targetOf(first: unknown, second: DTypeLike | undefined): ToOptions {
  const given: ToOptions = {};
  if (isTensor(first)) return { device: first.device, dtype: first.dtype };
  if (isPlainObject(first)) Object.assign(given, ownOptions('to', first as ToOptions, ['device', 'dtype']));
  else if (typeof first !== 'string')
    throw argumentError('to', 'target', 'a device, a dtype, a Tensor or options', first);
  else if (isDtype(first)) given.dtype = first as DTypeLike;
  else given.device = first;
  const dtype = second ?? given.dtype ?? null;
  if (dtype === null) return given;
  const name = canonicalDtype(dtype);
  if (!/^(float|bfloat|complex)/.test(name)) {
    throw argumentError('to', 'dtype', 'a floating-point or complex dtype', dtype);
  }
  return { ...given, dtype: name };
}
