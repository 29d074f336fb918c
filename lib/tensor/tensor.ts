/** The Tensor class: a handle, its properties, and dispose. lib/public/methods.ts adds the ops. */
import type { Turned, TurnedEnd } from '../../types/algebra/view';
import type { Device, DType, Layout, Shape } from '../../types/base';
import type { TensorMethods } from '../../types/generated/methods';
import { dtypeName, layoutName } from '../addon/enums';
import { native } from '../addon/native';
import { shapeOf, stridesOf } from '../addon/shape';
import { markCopy } from '../errors/copies';
import { argumentError, codedError, disposedError } from '../errors/errors';
import { Flag, RecordingMode } from '../generated/codes';
import { countGuarded } from '../memory/collector';
import { captureSite } from '../observe/recording';

const { flags, result: lastResult } = native;
const inspect = Symbol.for('nodejs.util.inspect.custom');

/** Shared by all copies of the library that use one addon (Jest loads one per test file), so that they accept each other's tensors. */
native.tensorMark ??= Symbol(
  'torch.Tensor: pass t.share() to another thread and call torch.fromShared there; t.clone() copies',
);
const mark = native.tensorMark;

/**
 * A tensor of libtorch. It belongs to the scope in which it was made, or outside every scope to the garbage collector;
 * `dispose()` frees it immediately. Every use after that throws `ERR_TORCH_DISPOSED`.
 *
 * The compiler knows its dtype and shape: `Tensor<'float32', [2, 3]>`. A size can be `number`, and `Tensor` alone is any
 * tensor. See docs/types.md.
 */
export class Tensor<out D extends DType = DType, out S extends Shape = Shape> {
  /**
   * The first property, with a value that cannot be cloned: structuredClone, postMessage and v8.serialize, which would make
   * a plain object without a tensor, throw a DataCloneError with this symbol's text.
   */
  readonly _mark: symbol = mark;
  /** Slot and generation in the native table. Not for use outside the library. */
  readonly _handle: number;
  /** Frees the slot when this object is collected; undefined while a scope owns the tensor. */
  _guard: unknown = undefined;

  /** Proxies and objects that merely have this prototype lack it. Testing for it runs no user code. */
  readonly #genuine = true;
  /** @internal */
  static _isGenuine(value: unknown): value is Tensor {
    return typeof value === 'object' && value !== null && #genuine in value;
  }

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
  get shape(): S {
    return shapeOf(handleOf(this, 'shape')) as S;
  }

  /** Rows: the size of the first dimension, like Python's `len(t)`; undefined without dimensions. */
  get length(): number {
    return shapeOf(handleOf(this, 'length'))[0] as number;
  }

  /** The distance in elements of one step along each dimension. */
  get strides(): number[] {
    return stridesOf(handleOf(this, 'strides'));
  }

  get dtype(): D {
    return dtypeName(native.dtype(handleOf(this, 'dtype'))) as D;
  }

  get device(): Device {
    return native.device(handleOf(this, 'device'));
  }

  get layout(): Layout {
    return layoutName(native.layout(handleOf(this, 'layout')));
  }

  /** Number of elements. */
  get numel(): number {
    return native.numel(handleOf(this, 'numel'));
  }

  /** Number of dimensions. */
  get ndim(): number {
    return native.ndim(handleOf(this, 'ndim'));
  }

  /** Bytes of the elements: numel × item size. */
  get nbytes(): number {
    const handle = handleOf(this, 'nbytes');
    return native.numel(handle) * native.itemSize(handle);
  }

  /** Bytes of the whole storage behind the tensor, which a view shares with its base. */
  get storageBytes(): number {
    return native.storageBytes(handleOf(this, 'storageBytes'));
  }

  get requiresGrad(): boolean {
    return native.requiresGrad(handleOf(this, 'requiresGrad'));
  }

  set requiresGrad(value: boolean) {
    const handle = handleOf(this, 'requiresGrad');
    if (flags[Flag.Recording] === RecordingMode.Off) native.setRequiresGrad(handle, value);
    else this.requiresGrad_(value); // recorded in order with the other ops
  }

  /** The gradient that `backward` accumulated, or null. */
  get grad(): Tensor<D, S> | null {
    return wrap(native.grad(handleOf(this, 'grad'))) as Tensor<D, S> | null;
  }

  set grad(value: Tensor | null) {
    if (value !== null && !isTensor(value)) throw argumentError('grad', 'value', 'a Tensor or null', value);
    if (value?.disposed) throw disposedError('grad', value._handle, 'value');
    native.setGrad(handleOf(this, 'grad'), value === null ? 0 : value._handle);
  }

  /**
   * The name of the autograd node that made this tensor, such as 'AddBackward0', or null for a leaf. Nodes that are not generated
   * have a C++ namespace in their name (torch::autograd::CopySlices), which Python's classes of nodes leave out.
   */
  get gradFn(): string | null {
    return native.gradFnName(handleOf(this, 'gradFn')).split('::').at(-1) || null;
  }

  /** Whether the tensor was released: by dispose(), at the end of its scope, or with its thread. */
  get disposed(): boolean {
    return !native.isLive(handleOf(this, 'disposed'));
  }

  /** Releases the tensor now. Further calls do nothing. Views and gradients that share its memory keep the memory alive. */
  dispose(): void {
    native.free(handleOf(this, 'dispose'));
  }

  [Symbol.dispose](): void {
    native.free(handleOf(this, 'dispose'));
  }

  /** The storage as bytes: a uint8 tensor that shares all of its memory. */
  storage(): Tensor<'uint8', [number]> {
    return wrap(native.storage(handleOf(this, 'storage'))) as Tensor<'uint8', [number]>;
  }

  /** The transpose: `t()`. Of more than two dimensions, all in reverse order, with libtorch's warning that this is deprecated. */
  get T(): Tensor<D, Turned<S>> {
    const self = tensorOf(this, 'T');
    // The number of dimensions of a pending tensor may not be known yet.
    return (self._handle < 0 || self.ndim > 2 ? self.numpyT() : self.t()) as Tensor<D, Turned<S>>;
  }

  /** The conjugate transpose of a tensor with at most two dimensions. */
  get H(): Tensor<D, Turned<S>> {
    return tensorOf(this, 'H').matrixH() as Tensor<D, Turned<S>>;
  }

  /** The transpose of the last two dimensions. */
  get mT(): Tensor<D, TurnedEnd<S>> {
    return tensorOf(this, 'mT').transpose(-2, -1) as Tensor<D, TurnedEnd<S>>;
  }

  /** The conjugate transpose of the last two dimensions. */
  get mH(): Tensor<D, TurnedEnd<S>> {
    return tensorOf(this, 'mH').adjoint() as Tensor<D, TurnedEnd<S>>;
  }

  /** The names of the dimensions, null for one without. */
  get names(): (string | null)[] {
    return native.names(handleOf(this, 'names')).map((name) => (name === '*' ? null : name));
  }

  get isCpu(): boolean {
    return tensorOf(this, 'isCpu').device === 'cpu';
  }

  get isCuda(): boolean {
    return tensorOf(this, 'isCuda').device.startsWith('cuda');
  }

  get isMeta(): boolean {
    return tensorOf(this, 'isMeta').device.startsWith('meta');
  }

  get isSparse(): boolean {
    return tensorOf(this, 'isSparse').layout === 'sparse_coo';
  }

  get isSparseCsr(): boolean {
    return tensorOf(this, 'isSparseCsr').layout === 'sparse_csr';
  }

  get isMkldnn(): boolean {
    return tensorOf(this, 'isMkldnn').layout === '_mkldnn';
  }

  get isQuantized(): boolean {
    return /^qu?int/.test(tensorOf(this, 'isQuantized').dtype);
  }

  /** "float32[2, 3]", for messages. */
  _describe(): string {
    // As all methods, it may be called without a tensor.
    if (typeof this?._handle !== 'number') return "an object with Tensor's prototype, but without a tensor";
    if (this.disposed) return 'a disposed Tensor';
    return `a Tensor ${this.dtype}[${this.shape.join(', ')}]`;
  }

  [inspect](): string {
    if (typeof this._handle !== 'number') return 'Tensor {}';
    try {
      return this.disposed ? 'Tensor { disposed }' : this.toString();
    } catch (error) {
      // Logging a value must not fail: nested tensors, for example, have no sizes.
      return `Tensor { ${(error as Error).message.split('\n')[0]} }`;
    }
  }
}

/** Methods of every op with a `Tensor self`, and those of lib/public/methods.ts. */
// biome-ignore lint/correctness/noUnusedVariables: a merged declaration has the same type parameters
export interface Tensor<out D extends DType = DType, out S extends Shape = Shape> extends TensorMethods {}

markCopy(Tensor, mark);

/** For the subclasses of lib/nn. */
export const constructorKey: unique symbol = Symbol('Tensor');

/** Whether a value is a tensor made by this copy of the library, not a Proxy around it. */
export const isGenuine: (value: unknown) => value is Tensor = Tensor._isGenuine;

/** Methods whose names are properties in Python, where a program assigns to them. Here an assignment throws. */
export const assignedInPython = ['data', 'real', 'imag'] as const;

/** Whether a value is a tensor, of this copy of the library or another one that uses the same addon. */
export function isTensor(value: unknown): value is Tensor {
  return value instanceof Tensor || (isMarked(value) && value._mark === mark && typeof value.dispose === 'function');
}

/** Refuses a tensor that was disposed of, in the name of the function that was called. A pending tensor is not one. */
export function requireLive(fn: string, argument: string, tensor: Tensor): void {
  if (tensor._handle > 0 && !native.isLive(tensor._handle)) throw disposedError(fn, tensor._handle, argument);
}

/** Whether it looks like a tensor of any addon: a tensor of another addon, or a copy of a tensor's properties. */
export function isMarked(value: unknown): value is { _mark: symbol; dispose?: unknown } {
  return typeof value === 'object' && value !== null && typeof (value as { _mark?: unknown })._mark === 'symbol';
}

/** The handle of `this`, which may be any value, for example if a method is called without its tensor. */
function handleOf(self: Tensor, name: string): number {
  if (isTensor(self)) return self._handle;
  throw notThis(name, self);
}

/** `this` as a tensor, for getters. */
function tensorOf(self: Tensor, name: string): Tensor {
  if (isTensor(self)) return self;
  throw notThis(name, self);
}

/** The error of a method of `Tensor` whose `this` is something else. */
export function notThis(name: string, self: unknown): Error {
  return argumentError(`Tensor.${name}`, 'this', 'a Tensor', self);
}

/**
 * The Tensor of a native result, or null for none. The handle is in `native.result`; the native value is a guard outside
 * scopes, and nothing inside one, which owns the tensor. Native code decides, since another scope may be current by now.
 */
export function wrap(result: unknown): Tensor | null {
  let tensor: Tensor;
  if (result === undefined) {
    const handle = lastResult[0]!;
    if (handle <= 0) return handle === 0 ? null : makePending(handle);
    tensor = new Tensor(handle, constructorKey);
  } else {
    tensor = new Tensor(lastResult[0]!, constructorKey);
    adopt(tensor, result);
  }
  if (flags[Flag.AuditPending] !== 0) captureSite(native);
  return tensor;
}

/** The same for a tensor in a list or among several results: a handle if a scope owns it, else a guard with the handle. */
export function wrapElement(element: unknown): Tensor | null {
  let tensor: Tensor;
  if (typeof element === 'number') {
    if (element <= 0) return element === 0 ? null : makePending(element);
    tensor = new Tensor(element, constructorKey);
  } else {
    tensor = new Tensor((element as readonly [number])[0], constructorKey);
    adopt(tensor, element);
  }
  if (flags[Flag.AuditPending] !== 0) captureSite(native);
  return tensor;
}

/** A second object for the tensor of a handle; null if it is pending and `recorder` is not its recorder. */
export function secondName(handle: number, recorder: unknown): Tensor | null {
  if (handle < 0) return pendingName(handle, recorder);
  const tensor = Object.create(Tensor.prototype);
  tensor._mark = mark;
  tensor._handle = handle;
  tensor._guard = undefined;
  return tensor as Tensor;
}

/** For results of recorded ops, whose handles are negative codes. */
let makePending: (code: number) => Tensor;
let pendingName: (code: number, recorder: unknown) => Tensor | null;

/** Called by lib/tensor/pending.ts, which needs this module. */
export function setPending(make: typeof makePending, name: typeof pendingName): void {
  makePending = make;
  pendingName = name;
}

/** Makes the garbage collector the owner of a tensor. */
function adopt(tensor: Tensor, newGuard: unknown): void {
  tensor._guard = newGuard;
  countGuarded();
}

/** The guards of frozen tensors, which cannot get a property. */
const frozenGuards = new WeakMap<Tensor, unknown>();

/** Moves a tensor to the garbage collector, whichever scope owns it. False if it was disposed. */
export function guard(tensor: Tensor): boolean {
  if (tensor._guard === undefined && !frozenGuards.has(tensor)) {
    // Before the scope releases it, so that it always has an owner.
    const made = native.guard(tensor._handle);
    if (!Reflect.set(tensor, '_guard', made)) frozenGuards.set(tensor, made);
    countGuarded();
  }
  return native.scopeMove(tensor._handle, 0);
}
