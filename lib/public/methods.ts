/** Defines the generated and the hand-written methods on Tensor.prototype. */
import type {
  ArrayOf,
  At,
  DTypeOf,
  ElementOf,
  Indexes,
  Nested,
  RowOf,
  ShapeOf,
  SliceOfArray,
  SliceOptions,
  TensorOf,
} from '../../types/algebra/index';
import type { DType, Int, Shape } from '../../types/base';
import { lateRow, makeMethods, publics } from '../addon/wrappers';
import * as autograd from '../autograd/backward';
import { type GradientHook, type HookHandle, registerHook, registerPostAccumulateGradHook } from '../autograd/hooks';
import { publicFunction } from '../call/define';
import { refuseOperators } from '../call/operators';
import { callMethod, f, methodSite, results } from '../call/runtime';
import { camelCase } from '../call/signature';
import { wrapperNames } from '../call/wrapper-names';
import { at, type Index, set } from '../elements/indexing';
import { requireAtMost } from '../errors/arity';
import { argumentError, refusal } from '../errors/errors';
import { format } from '../print/format';
import { moveRareNamesUp } from '../tensor/fast-object';
import { readNow } from '../tensor/pending';
import { toArray, toTypedArray } from '../tensor/read';
import { asGiven, bare } from '../tensor/second-name';
import { type SharedToken, share } from '../tensor/share';
import { isTensor, notThis, requireLive, Tensor } from '../tensor/tensor';

const prototype = Tensor.prototype as unknown as Record<string, unknown>;

function define(name: string, value: (...args: never[]) => unknown): void {
  Object.defineProperty(prototype, name, { value, writable: true, configurable: true });
}

/** The generated methods. */
export const methods: Readonly<Record<string, (...args: never[]) => unknown>> = makeMethods(f, {
  ...wrapperNames,
  callMethod,
  methodSite,
});
for (const name of Object.keys(methods)) define(name, methods[name]!);
for (const name of Object.keys(publics.Tensor!)) {
  if (methods[name] === undefined) define(name, publicFunction('Tensor', name));
}

/** Defines a hand-written method, which checks that `this` is a tensor. */
function defineOwn(name: string, method: (this: Tensor, ...args: never[]) => unknown, most = method.length): void {
  define(name, function (this: Tensor, ...args: never[]) {
    if (!isTensor(this)) throw notThis(name, this);
    if (args.length > most) requireAtMost(`Tensor.${name}`, most, args);
    return asGiven(method.apply(bare(this), args));
  });
}

/** The same for a method that reads the elements; a use after dispose names this method. */
function defineReader(name: string, method: (this: Tensor) => unknown, most = 0): void {
  defineOwn(
    name,
    function (this: Tensor) {
      requireLive(name, 'self', this);
      return method.call(this);
    },
    most,
  );
}

defineOwn(
  'at',
  function (this: Tensor, ...indices: Index[]) {
    return at(this, indices);
  },
  Number.POSITIVE_INFINITY,
);
defineOwn('set', function (this: Tensor, indices: Index | readonly Index[], value: unknown) {
  return set(this, indices, value);
});
defineOwn(
  'backward',
  function (this: Tensor, ...passed: [gradient?: Tensor, options?: autograd.BackwardOptions]) {
    autograd.backward(this, ...passed);
  },
  5,
);
defineOwn('registerHook', function (this: Tensor, hook: GradientHook) {
  return registerHook(this, hook);
});
defineOwn('registerPostAccumulateGradHook', function (this: Tensor, hook: (leaf: Tensor) => void) {
  return registerPostAccumulateGradHook(this, hook);
});
defineOwn('share', function (this: Tensor) {
  return share(this);
});
defineReader('toArray', function (this: Tensor) {
  return readNow(this, () => toArray(this));
});
defineReader('toTypedArray', function (this: Tensor) {
  return readNow(this, () => toTypedArray(this));
});
/** JSON.stringify's own error names no op. */
function refuseBigInts(value: unknown): void {
  if (Array.isArray(value)) value.forEach(refuseBigInts);
  if (typeof value === 'bigint')
    throw refusal('toJSON', 'self', 'integers within ±(2^53 - 1), which JSON has as numbers', `${value}n`);
}

// JSON.stringify passes the key.
defineReader(
  'toJSON',
  function (this: Tensor) {
    return readNow(this, () => {
      const array = toArray(this);
      if (this.dtype === 'int64' || this.dtype === 'uint64') refuseBigInts(array);
      return array;
    });
  },
  1,
);
defineReader('toString', function (this: Tensor) {
  return readNow(this, () => format(this));
});

/** Ops that are attributes in Python: as methods they would always be truthy in an `if`. */
for (const op of ['is_leaf', 'output_nr', 'retains_grad', '_version']) {
  const name = camelCase(op);
  const rowOf = lateRow(op);
  Object.defineProperty(prototype, name, {
    get(this: Tensor) {
      if (!isTensor(this)) throw notThis(name, this);
      return readNow(this, () => results(rowOf(), f[rowOf()]!(this._handle)));
    },
    configurable: true,
  });
}

// The rows along the first dimension, as `for (const row of t)` and `[...t]` take them.
Object.defineProperty(prototype, Symbol.iterator, {
  value(this: Tensor) {
    if (!isTensor(this)) throw notThis('[Symbol.iterator]', this);
    requireLive('[Symbol.iterator]', 'self', this);
    if (this.ndim === 0) {
      throw argumentError('[Symbol.iterator]', 'this', 'a Tensor with dimensions (t.item() is its element)', this);
    }
    return this.unbind(0)[Symbol.iterator]();
  },
  writable: true,
  configurable: true,
});

moveRareNamesUp(prototype);
refuseOperators();

declare module '../tensor/tensor' {
  interface Tensor<out D extends DType = DType, out S extends Shape = Shape> {
    /** The elements that the indices select, PyTorch's `t[…]`: a view, or a copy if an index is a tensor. */
    at<T extends Tensor, const I extends readonly Index[]>(
      this: T,
      ...indices: Indexes<T, I>
    ): TensorOf<DTypeOf<T>, At<T, I>>;
    /**
     * torch.Tensor.slice: `slice(int dim=0, int? start=None, int? end=None, int step=1)`, the elements from `start` to `end`
     * along `dim`. One or two numbers, as for an array's slice, do not compile: write `x.at(torch.slice(0, 2))`.
     * @returns a view
     */
    slice<T extends Tensor>(this: T): TensorOf<DTypeOf<T>>;
    slice<T extends Tensor, A extends Int>(
      this: T,
      options: SliceOptions | SliceOfArray<A, `${A}`>,
    ): TensorOf<DTypeOf<T>>;
    slice<T extends Tensor, A extends Int, B extends Int>(
      this: T,
      dim: A,
      options: Omit<SliceOptions, 'dim'> | null | SliceOfArray<B, `${A}, ${B}`>,
    ): TensorOf<DTypeOf<T>>;
    slice<T extends Tensor>(
      this: T,
      dim: Int,
      start: Int | null | undefined,
      end: Int | null | Pick<SliceOptions, 'end' | 'step'>,
      step?: Int | Pick<SliceOptions, 'step'>,
    ): TensorOf<DTypeOf<T>>;
    /** Writes to the elements that `indices` select, PyTorch's `t[…] = value`. */
    set<T extends Tensor>(this: T, indices: Index | readonly Index[], value: unknown): T;
    /** Whether it was not made by an op of the graph: leaves, and every tensor that requires no gradient. */
    readonly isLeaf: boolean;
    /** Its index among the results of the autograd node `gradFn`. */
    readonly outputNr: number;
    /** Whether it is not a leaf and `retainGrad()` was called on it. */
    readonly retainsGrad: boolean;
    /** The number of in-place writes to its memory. */
    readonly _version: number;
    /** Accumulates gradients into the leaves that this tensor was computed from. */
    backward(options?: autograd.BackwardOptions): void;
    backward(gradient: Tensor | null | undefined, options?: Omit<autograd.BackwardOptions, 'gradient'>): void;
    backward(
      gradient: Tensor | null | undefined,
      retainGraph: autograd.BackwardOptions['retainGraph'],
      createGraph?: boolean | Pick<autograd.BackwardOptions, 'createGraph' | 'inputs'>,
      inputs?: Tensor | Iterable<Tensor> | Pick<autograd.BackwardOptions, 'inputs'>,
    ): void;
    /**
     * Calls `hook` with the gradient of this tensor, each time one is computed. If it returns a tensor, that replaces the
     * gradient. The hook is held by the tensor's graph, or by the leaf; see docs/autograd.md.
     */
    registerHook(hook: GradientHook): HookHandle;
    /** Calls `hook` with this leaf, each time a backward has accumulated into its `grad`. */
    registerPostAccumulateGradHook(hook: (leaf: this) => void): HookHandle;
    /** A token to post to workers, where `torch.fromShared(token)` gives a tensor that shares the memory. */
    share(): SharedToken;
    /** The elements as nested arrays; the element itself for a tensor without dimensions. */
    toArray<T extends Tensor>(this: T): Nested<ElementOf<DTypeOf<T>>, ShapeOf<T>>;
    /** A contiguous copy of the elements. */
    toTypedArray<T extends Tensor>(this: T): ArrayOf<DTypeOf<T>>;
    toJSON(): ReturnType<typeof toArray>;
    /** The rows along the first dimension: `for (const row of t)`. The same as `t.unbind(0)`, with the same owners. */
    [Symbol.iterator](): IterableIterator<Tensor<D, RowOf<S>>>;
    /** As PyTorch prints it. */
    toString(): string;
    /** Only for text: use as a number, or with + and ==, throws ERR_TORCH_OPERATOR. */
    [Symbol.toPrimitive](hint: string): string;
  }
}
