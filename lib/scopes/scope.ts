/**
 * Scopes: what is made inside is released when the scope ends, except what it returns. (Idea: lamp's Scope and Movable.)
 * The native table owns the lists; this module says when a scope begins, ends and what leaves it.
 */
import { argumentError, codedError, disposedError } from '../errors';
import { native } from '../native';
import { guard, type Tensor } from '../tensor';
import { asyncScopeClosed, asyncScopeOpened, currentAsyncScope, runInAsyncScope } from './async-context';
import { forEachTensor } from './walk';

const { flags } = native;

/** An open scope. Closing it twice does nothing. */
export class Scope {
  /** @internal */
  readonly _id: number;
  /** The async scope that was made current natively to be the parent: nothing was current before. */
  readonly #entered: number = 0;

  /** @internal Use torch.scope or torch.openScope. */
  constructor() {
    // In a continuation of an async scope nothing is current natively: that scope is the parent.
    if (flags[1] === 0) {
      this.#entered = currentAsyncScope();
      if (this.#entered !== 0) native.scopeEnter(this.#entered);
    }
    this._id = native.scopeOpen();
  }

  /** Whether the scope has ended, by itself or with a scope around it. */
  get closed(): boolean {
    return !native.scopeIsOpen(this._id);
  }

  /** Hands every tensor in `value` to the scope around this one, or to the garbage collector. Returns `value`. */
  move<T>(value: T): T {
    if (this.closed) throw codedError(Error, 'ERR_TORCH_SCOPE', 'scope.move: the scope has ended');
    moveOut(value, this._id);
    return value;
  }

  /** Ends the scope: releases what it owns, with every scope still open inside it. */
  close(): void {
    if (native.scopeClose(this._id) && this.#entered !== 0) this._leave();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** @internal The scope goes on, but is no longer current. */
  _leave(): void {
    if (this.#entered !== 0) native.scopeEnter(0);
    else if (native.scopeIsOpen(this._id)) native.scopeEnter(native.scopeParent(this._id));
  }
}

/** Whether `scope` is `outer` or lies inside it. */
function isInside(scope: number, outer: number): boolean {
  for (let id = scope; id !== 0; id = native.scopeParent(id)) if (id === outer) return true;
  return false;
}

function moveOut(value: unknown, scope: number): void {
  if (typeof value !== 'object' || value === null) return;
  const parent = native.scopeParent(scope);
  forEachTensor(value, (tensor) => {
    const owner = native.scopeOf(tensor._handle);
    if (owner === 0 || !isInside(owner, scope)) return; // the collector's, or an outer scope's already
    native.scopeMove(tensor._handle, parent);
    if (parent === 0) guard(tensor);
  });
}

const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function';

/**
 * Opens a scope: `using s = torch.openScope()`. Everything made until it closes is released when it closes. Close it before
 * the next `await`: until then it is current for whatever runs meanwhile as well. Across awaits use `torch.scope(async …)`.
 */
export function openScope(): Scope {
  return new Scope();
}

/**
 * Runs `fn` in a scope of its own. Tensors in its result, at any depth of arrays, maps, sets and plain objects, move to
 * the scope around it, or to the garbage collector where there is none; everything else that was made inside is
 * released, also when `fn` throws. An async `fn` keeps the scope until its promise settles.
 */
export function scope<T>(fn: (scope: Scope) => T): T {
  if (typeof fn !== 'function') throw argumentError('scope', 'fn', 'a function', fn);
  const inner = new Scope();
  let result: T;
  let thenable: boolean;
  // The id is in place before fn runs, so that what fn starts and awaits finds it.
  try {
    result = runInAsyncScopeIfNeeded(inner, fn);
    thenable = isThenable(result); // which runs the program's code, where `then` is a getter
  } catch (error) {
    inner.close();
    throw error;
  }
  if (thenable) {
    inner._leave();
    return settle(inner, result as PromiseLike<unknown>) as T;
  }
  try {
    moveOut(result, inner._id);
  } finally {
    inner.close();
  }
  return result;
}

const AsyncFunction = (async () => {}).constructor;

/** Only async functions pay for an async context; others that return a promise are told apart too late. */
function runInAsyncScopeIfNeeded<T>(inner: Scope, fn: (scope: Scope) => T): T {
  return fn instanceof AsyncFunction || currentAsyncScope() !== 0
    ? runInAsyncScope(inner._id, () => fn(inner))
    : fn(inner);
}

async function settle(inner: Scope, result: PromiseLike<unknown>): Promise<unknown> {
  asyncScopeOpened();
  try {
    const value = await result;
    if (!inner.closed) moveOut(value, inner._id);
    return value;
  } finally {
    asyncScopeClosed();
    native.scopeClose(inner._id);
  }
}

/** Hands every tensor in `value` to the garbage collector, whatever scope owns it. Returns `value`. */
export function keep<T>(value: T): T {
  forEachTensor(value, (tensor) => {
    if (!native.scopeMove(tensor._handle, 0)) throw disposedError('keep', tensor._handle);
    guard(tensor);
  });
  return value;
}

/** Releases every tensor in any nesting of arrays, maps, sets and plain objects. */
export function disposeAll(value: unknown): void {
  forEachTensor(value, (tensor: Tensor) => tensor.dispose());
}
