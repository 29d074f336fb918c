/** Moving modules to devices, and converting their dtypes. */
import type { DeviceLike, DType, DTypeLike, MemoryFormat } from '../../types/base';
import { canonicalDtype, dtypeCodes, memoryFormats } from '../addon/enums';
import { byName, flagOf, isPlainObject } from '../addon/options';
import { inGradMode } from '../autograd/mode';
import { argumentError, describe, refusal } from '../errors/errors';
import { isTensor, type Tensor } from '../tensor/tensor';
import type { Module } from './module';
import { Parameter, setData, type UninitializedParameter } from './parameter';
import { isOfModel } from './registration';
import { isLazy, replacement, setMember } from './state';

export interface ToOptions<D extends string = string> {
  device?: DeviceLike<D> | null | undefined;
  /** For parameters and buffers of floating-point and complex dtypes. */
  dtype?: DTypeLike | null | undefined;
  /** Whether copies between the CPU and a GPU may still run when the call returns. */
  nonBlocking?: boolean | undefined;
  /** For parameters and buffers of 4 or 5 dimensions. */
  memoryFormat?: MemoryFormat | null | undefined;
}

/** What `Module.to` takes, by position, by name or both. */
export type ToArguments<D extends string = string> =
  | [options: ToOptions<D>]
  | [target: Tensor | DTypeLike, nonBlocking?: boolean | ToOptions<D>]
  | [device: DeviceLike<D>, dtype?: DTypeLike | null, nonBlocking?: boolean]
  | [device: DeviceLike<D>, options: ToOptions<D>]
  | [device: DeviceLike<D>, dtype: DTypeLike | null, options: ToOptions<D>];

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

/**
 * Replaces the memory of parameters, their gradients, and buffers; where `convert` gives null it stays. libtorch's set_data does
 * not go from or to 'meta': there a new object takes the place of the old one, as in Python. One of several places stays one.
 */
export function replaceData<M extends Module>(
  module: M,
  convert: (tensor: Tensor) => Tensor | null,
  recurse = true,
): M {
  const done = new Map<Tensor, Tensor>();
  /** The tensor with its new memory. */
  const applied = (of: Module, tensor: Tensor): Tensor => {
    const plain = tensor.detach() as Tensor;
    let next: Tensor | null = null;
    try {
      next = convert(plain);
      if (next === null || next === plain) return tensor;
      if ((next.device === 'meta') !== (tensor.device === 'meta') && !isOfModel(of))
        return isLazy(tensor) ? emptyLike(tensor, next.device) : replacement(tensor, next);
      setData(tensor, next);
      return tensor;
    } finally {
      if (next !== plain) next?.dispose();
      plain.dispose();
    }
  };
  /** The same for its gradient, which `result` gets. */
  const applyToGrad = (of: Module, tensor: Tensor, grad: Tensor, result: Tensor): void => {
    try {
      const changed = applied(of, grad);
      if (result !== tensor) result.grad = changed;
      if (changed !== grad) changed.dispose();
    } finally {
      grad.dispose();
    }
  };
  inGradMode(false, () => {
    const modules = recurse ? module.modules() : [module];
    for (const of of modules) {
      for (const [name, tensor] of [...of._ownParameters(), ...of._ownBuffers()]) {
        let result = done.get(tensor);
        if (result === undefined) {
          result = applied(of, tensor);
          const grad = tensor instanceof Parameter ? tensor.grad : null;
          if (grad !== null) applyToGrad(of, tensor, grad, result);
          done.set(tensor, result);
        }
        if (result !== tensor) setMember(of, name, result);
      }
    }
  });
  return module;
}

/** A parameter or buffer without a shape, on another device. */
function emptyLike(tensor: Tensor, device: string): Tensor {
  const { dtype, requiresGrad } = tensor;
  return new (tensor.constructor as typeof UninitializedParameter)({ dtype, device, requiresGrad });
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
  // By position Python has another argument there, which a module ignores.
  const last = passed[names.length - 1];
  if (last !== undefined && !isPlainObject(last))
    throw refusal('to', 'memoryFormat', 'a value by name', describe(last));
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
