/**
 * Scopes: tensors created inside are released when the scope ends, except those that it returns. (After lamp's Scope and
 * Movable.) The native table owns the lists; this module determines when a scope begins and ends and what leaves it;
 * context.ts determines where it is current. The rules: docs/lifetimes.md.
 */

import { native } from '../addon/native';
import { requireAtMost } from '../errors/arity';
import { argumentError, codedError } from '../errors/errors';
import { begin, end, ending, restoring, type Unfinished } from '../errors/restoring';
import { noteOpener } from '../errors/scope-opener';
import { isPending } from '../tensor/places';
import {
  type AsyncPart,
  asyncPart,
  callAsync,
  endWaiting,
  enter,
  follow,
  leave,
  mayBeWaiting,
  nearestOpen,
  now,
  pathTo,
  type ScopeNode,
  shouldNote,
  unlist,
  wait,
} from './context';
import { moveAll, moveOut } from './movable';

const key = Symbol('Scope');

/** Closes scopes that outlived their enclosing scope and became unreachable. */
const unreachable = new FinalizationRegistry<number>((id) => native.scopeClose(id));

/** An open scope. Closing it twice does nothing. */
export class Scope implements ScopeNode, Unfinished {
  /** @internal */
  readonly _id: number;
  /** @internal */
  _parent: ScopeNode | null;
  /** @internal */
  _async: AsyncPart | null;
  /** @internal */
  declare _below: Unfinished | null;
  /** @internal Opened by a library function; user code does not run in it. */
  _own = false;
  /** @internal Opened by a library function; hooks do not run in it. */
  _library = false;

  /** @internal Use torch.scope or torch.openScope. `ends`: it belongs to a function that ends in this turn or waits. */
  constructor(allowed: symbol, ends: boolean) {
    if (allowed !== key) {
      throw codedError(TypeError, 'ERR_TORCH_ARGUMENT', 'Scope: use torch.scope(fn) or torch.openScope()');
    }
    this._parent = now.current;
    this._async = null;
    if (ends) begin(this);
    this._id = native.scopeOpen();
    now.current = this;
  }

  /** Whether the scope has ended, by itself or with an enclosing scope. */
  get closed(): boolean {
    return !native.scopeIsOpen(this._id);
  }

  /** The nearest open enclosing scope, or null. */
  get parent(): Scope | null {
    return nearestOpen(this._parent) as Scope | null;
  }

  /**
   * Runs `fn` with this scope as the current one: tensors that `fn` creates belong to this scope, also after an `await`.
   * Returns the result of `fn`, which stays in this scope. The scope does not wait for a promise.
   */
  run<T>(fn: (scope: Scope) => T): T {
    if (typeof fn !== 'function') throw argumentError('scope.run', 'fn', 'a function', fn);
    demandOpen(this, 'run');
    const before = now.current;
    followCall(isAsync(fn));
    const undo = () => enter(before);
    return restoring(undo, () => {
      enter(this);
      const result = fn(this);
      if (isPromise(result)) returnedPromise(fn);
      return result;
    });
  }

  /** Moves every tensor in `value` to the enclosing scope, or to the garbage collector. Returns `value`. */
  move<T>(value: T): T {
    demandOpen(this, 'move');
    moveAll(value, this._id);
    return value;
  }

  /**
   * Ends the scope: releases what it owns and closes the scopes still open inside it. Inner scopes of other code that still
   * waits stay open and move to the next enclosing scope.
   */
  close(): void {
    const part = this._async;
    if (now.current === this && (part === null || part.inside === null)) now.current = this._parent;
    else endAround(this);
    native.scopeClose(this._id);
    if (part === null) return;
    part.opener = null; // a stack holds the receivers of its frames
    if (part.ref !== null) unlist(this);
    if (part.orphan) unreachable.unregister(this);
    endWaiting(this);
  }

  /** @internal Its function was cut off (lib/errors/restoring.ts), possibly before the scope was open. */
  _undo(): void {
    if (this._id === undefined) return;
    if (now.starting?.scope === this) now.starting = null;
    this.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }
}

function demandOpen(scope: Scope, method: string): void {
  if (scope.closed) throw codedError(Error, 'ERR_TORCH_SCOPE', `scope.${method}: the scope has ended`);
}

/** Ends the scopes from the current one to `ending`; other inner scopes that wait outlive it. */
function endAround(ending: Scope): void {
  if (ending.closed) return;
  const path = pathTo(ending);
  for (const scope of path ?? [ending]) {
    if (scope._async !== null) scope._async.opener = null;
    for (const ref of scope._async?.inside ?? []) {
      const inner = ref.deref();
      if (inner !== undefined && !path?.includes(inner)) outlive(inner, ending._parent);
    }
  }
  if (path !== null) now.current = ending._parent;
}

/** Moves `scope`, whose enclosing scope ends first, to `parent`. It ends at the latest when it becomes unreachable. */
function outlive(scope: ScopeNode, parent: ScopeNode | null): void {
  if (!native.scopeReparent(scope._id, parent === null ? 0 : parent._id)) return;
  const part = asyncPart(scope);
  scope._parent = parent;
  part.ref = null;
  wait(scope);
  if (part.orphan) return;
  part.orphan = true;
  unreachable.register(scope, scope._id, scope);
}

/** Pending results of torch.run can be awaited, but count as results here. */
const isPromise = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' &&
  value !== null &&
  typeof (value as { then?: unknown }).then === 'function' &&
  !isPending(value);

const isAsync = (fn: unknown) => (fn as { [Symbol.toStringTag]?: string })[Symbol.toStringTag] === 'AsyncFunction';

/**
 * A plain function may return a promise, and only work that it starts while the hooks are enabled continues in its scope. So
 * the hooks are enabled for this many plain functions. Programs that use scopes only in synchronous functions and await
 * elsewhere do not pay for hooks after that. Once a plain function has returned a promise, they are enabled for all.
 */
let trials = 100;

function followCall(async: boolean): void {
  if (now.follows) return;
  if (!async) {
    if (trials === 0) return;
    trials--;
  }
  follow();
}

function returnedPromise(fn: unknown): void {
  if (!isAsync(fn)) trials = Number.POSITIVE_INFINITY;
}

/**
 * Opens a scope: `using s = torch.openScope()`. Tensors created until it closes are released when it closes. It stays current
 * in the function that opened it across every `await`, and nowhere else.
 */
export function openScope(): Scope;
export function openScope(...passed: unknown[]): Scope {
  requireAtMost('openScope', 0, passed);
  const opened = new Scope(key, false);
  try {
    const part = asyncPart(opened);
    part.run = now.run;
    if (shouldNote()) part.opener = noteOpener(openScope);
    mayBeWaiting(opened);
  } catch (error) {
    opened.close(); // such as a stack overflow: nothing else could close it
    throw error;
  }
  return opened;
}

/**
 * Runs `fn` in a new scope. Tensors in its result, at any depth of arrays, maps, sets, plain objects and classes with
 * `torch.tensors`, move to the enclosing scope, or to the garbage collector if there is none; all other tensors created
 * inside are released, also when `fn` throws. If `fn` returns a promise, the scope ends when it settles.
 */
export function scope<T>(fn: (scope: Scope) => T): T;
export function scope<T>(...passed: [fn: (scope: Scope) => T, ...more: unknown[]]): T {
  if (passed.length > 1) requireAtMost('scope', 1, passed);
  const [fn] = passed;
  if (typeof fn !== 'function') throw argumentError('scope', 'fn', 'a function', fn);
  const inner = new Scope(key, true);
  let waits = false;
  try {
    const async = isAsync(fn);
    if (!now.follows) followCall(async);
    const result = async ? callAsync(inner, fn) : fn(inner);
    // This may run user code: `then` may be a getter.
    if (isPromise(result)) {
      returnedPromise(fn);
      mayBeWaiting(inner);
      const promise = Promise.resolve(result); // here: the `then` of a lazy thenable begins its work, which is the scope's
      leave(inner);
      const settled = settle(inner, promise) as T;
      waits = true;
      return settled;
    }
    moveOut('scope', result, inner._id);
    return result;
  } finally {
    ending(inner);
    if (!waits) inner.close(); // a throw releases everything, including tensors in the error
    end(inner);
  }
}

/**
 * For synchronous library functions with intermediate tensors: like `scope`, without support for asynchronous functions.
 * `own`: no user code runs in it, except by `asUser` and hooks of modules.
 */
export function ownScope<T>(fn: () => T, own = true): T {
  const inner = new Scope(key, true);
  inner._own = own;
  inner._library = true;
  try {
    const result = fn();
    moveOut('scope', result, inner._id);
    return result;
  } finally {
    ending(inner);
    inner.close();
    end(inner);
  }
}

/** Runs code in a scope that is current only there. */
export type InLibraryScope = <R>(make: () => R) => R;

/**
 * Runs user code that needs tensors of the library: `fn` itself runs in the current scope, and tensors that `inLibraryScope`
 * makes are released when `fn` returns, except those in its result. If the result is a promise, or cannot be searched, none is
 * released, because it may need them later.
 */
export function withLibraryScope<T>(fn: (inLibraryScope: InLibraryScope) => T): T {
  const inner = new Scope(key, true);
  const made: unknown[] = [];
  try {
    enter(inner._parent);
    const result = fn((make) => {
      const before = now.current;
      enter(inner);
      try {
        const value = make();
        made.push(value);
        return value;
      } finally {
        enter(before);
      }
    });
    if (made.length > 0) moveNeeded(result, made, inner._id);
    return result;
  } finally {
    ending(inner);
    inner.close();
    end(inner);
  }
}

function moveNeeded(result: unknown, made: readonly unknown[], scope: number): void {
  if (!isPromise(result)) {
    try {
      moveOut('scope', result, scope);
      return;
    } catch {
      // Such as a generator, whose code runs later.
    }
  }
  moveOut('scope', made, scope);
}

/** Runs user code called by library functions, in the scope that was current when those were called. */
export function inUsersScope<T>(fn: () => T): T {
  const { current } = now;
  let users = current;
  while (users?._own) users = users._parent;
  if (users === current) return fn();
  enter(users);
  try {
    return fn();
  } finally {
    enter(current); // also if the user code left a scope open
  }
}

/**
 * Runs a hook in the program's scope, to which the tensors that it gets move: a program that collects activations stores them,
 * and knows nothing of the scopes of `Sequential` and other layers.
 */
export function asHook<T>(values: unknown, fn: () => T): T {
  const { current } = now;
  let outermost: ScopeNode | null = null;
  let users = current;
  for (; users?._library; users = users._parent) outermost = users;
  if (outermost === null) return fn();
  try {
    moveOut('scope', values, outermost._id);
  } catch {
    // What cannot be searched, such as a generator, stays where it is.
  }
  enter(users);
  try {
    return fn();
  } finally {
    enter(current);
  }
}

async function settle(inner: Scope, result: PromiseLike<unknown>): Promise<unknown> {
  try {
    const value = await result;
    if (!inner.closed) moveOut('scope', value, inner._id);
    return value;
  } finally {
    inner.close();
  }
}
