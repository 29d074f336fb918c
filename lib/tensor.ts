/** The Tensor class: a handle number, what can be asked of it, and its end. Its ops are added by lib/methods.ts. */
import type { Device, DType, Layout } from '../types/base';
import type { TensorMethods } from '../types/generated/methods';
import { captureSite } from './audit';
import { countGuarded } from './collector';
import { dtypeName, layoutName } from './enums';
import { argumentError, codedError } from './errors';
import { native } from './native';
import { currentAsyncScope } from './scopes/async-context';

const { flags, result: lastResult } = native;
const inspect = Symbol.for('nodejs.util.inspect.custom');

/**
 * A tensor of libtorch. It belongs to the scope in which it was made, or outside every scope to the garbage collector;
 * `dispose()` frees it at once. Every use of a tensor that is gone throws `ERR_TORCH_DISPOSED`.
 */
export class Tensor {
  /** Slot and generation in the native table. Not for use outside the library. */
  readonly _handle: number;
  /** What frees the slot when the collector drops this object; undefined while a scope owns it. */
  _guard: unknown = undefined;

  /** Without a private member every object of the same shape would be a Tensor, and editors would offer its members. */
  declare private readonly _nominal: true;

  /** @internal Tensors come from functions such as `torch.tensor` and `torch.zeros`. */
  constructor(handle: number, key: typeof constructorKey) {
    if (key !== constructorKey) {
      throw codedError(TypeError, 'ERR_TORCH_ARGUMENT', 'Tensor: use torch.tensor(data) to make a tensor');
    }
    this._handle = handle;
  }

  /** Sizes of the dimensions. */
  get shape(): number[] {
    return native.shape(this._handle);
  }

  /** Elements to step over for one step along each dimension. */
  get strides(): number[] {
    return native.strides(this._handle);
  }

  get dtype(): DType {
    return dtypeName(native.dtype(this._handle));
  }

  get device(): Device {
    return native.device(this._handle);
  }

  get layout(): Layout {
    return layoutName(native.layout(this._handle));
  }

  /** Number of elements. */
  get numel(): number {
    return native.numel(this._handle);
  }

  /** Number of dimensions. */
  get ndim(): number {
    return native.ndim(this._handle);
  }

  /** Bytes of the elements: numel × item size. */
  get nbytes(): number {
    return native.numel(this._handle) * native.itemSize(this._handle);
  }

  /** Bytes of the whole storage behind the tensor, which a view shares with its base. */
  get storageBytes(): number {
    return native.storageBytes(this._handle);
  }

  get requiresGrad(): boolean {
    return native.requiresGrad(this._handle);
  }

  set requiresGrad(value: boolean) {
    native.setRequiresGrad(this._handle, value);
  }

  /** The gradient that `backward` accumulated, or null. */
  get grad(): Tensor | null {
    return wrap(native.grad(this._handle));
  }

  set grad(value: Tensor | null) {
    if (value !== null && !(value instanceof Tensor)) throw argumentError('grad', 'value', 'a Tensor or null', value);
    native.setGrad(this._handle, value === null ? 0 : value._handle);
  }

  /** The name of the autograd node that made this tensor, such as 'AddBackward0', or null for a leaf. */
  get gradFn(): string | null {
    return native.gradFnName(this._handle) || null;
  }

  /** Whether the tensor was released: by dispose(), by the end of its scope, or with its thread. */
  get disposed(): boolean {
    return !native.isLive(this._handle);
  }

  /** Releases the tensor now. Further calls do nothing. Views and gradients that share its memory keep it. */
  dispose(): void {
    native.free(this._handle);
  }

  [Symbol.dispose](): void {
    native.free(this._handle);
  }

  /** The storage as bytes: a uint8 tensor that shares all of its memory. */
  storage(): Tensor {
    return wrap(native.storage(this._handle))!;
  }

  /** The transpose of a tensor with at most two dimensions: `t()`. */
  get T(): Tensor {
    return this.t();
  }

  /** "float32[2, 3]", for messages. */
  _describe(): string {
    if (this.disposed) return 'a disposed Tensor';
    return `a Tensor ${this.dtype}[${this.shape.join(', ')}]`;
  }

  [inspect](): string {
    if (this.disposed) return 'Tensor { disposed }';
    try {
      return this.toString();
    } catch (error) {
      // Showing a value in a log must not fail: nested tensors, say, have no sizes to print by.
      return `Tensor { ${(error as Error).message.split('\n')[0]} }`;
    }
  }
}

/** Methods of every op with a `Tensor self`, and those of lib/methods.ts. */
export interface Tensor extends TensorMethods {}

const constructorKey = Symbol('Tensor');

/**
 * The Tensor of a native result, or null for none. Its handle is in `native.result`; the result itself is nothing inside a
 * synchronous scope, which owns the tensor, and outside a guard. Elements of lists are handles.
 */
export function wrap(result: unknown): Tensor | null {
  let tensor: Tensor;
  if (result === undefined) {
    const handle = lastResult[0]!;
    if (handle === 0) return null;
    tensor = new Tensor(handle, constructorKey);
  } else if (typeof result === 'number') {
    if (result === 0) return null;
    tensor = new Tensor(result, constructorKey);
    if (flags[1] === 0) adopt(tensor, native.guard(result));
  } else {
    tensor = new Tensor(lastResult[0]!, constructorKey);
    adopt(tensor, result);
  }
  if (flags[0] !== 0) captureSite(native);
  return tensor;
}

/** No synchronous scope owns the tensor: the async scope of this continuation does, or else the collector. */
function adopt(tensor: Tensor, newGuard: unknown): void {
  tensor._guard = newGuard;
  const scope = currentAsyncScope();
  // The guard stays: a tensor that nobody can reach need not wait for the end of its scope.
  if (scope !== 0) native.scopeMove(tensor._handle, scope);
  countGuarded();
}

/** Hands a tensor to the garbage collector, whatever scope it is in. */
export function guard(tensor: Tensor): void {
  if (tensor._guard !== undefined) return;
  tensor._guard = native.guard(tensor._handle);
  countGuarded();
}
