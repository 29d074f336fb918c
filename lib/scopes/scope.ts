/**
 * Scopes: what is made inside is released when the scope ends, except what it returns. (Idea: lamp's Scope and Movable.)
 * The native table owns the lists; this module says when a scope begins, ends and what leaves it; context.ts says where it
 * is current. The rules in plain words: docs/lifetimes.md.
 */

import { requireAtMost } from '../arity';
import { isPending } from '../async/places';
import { argumentError, codedError } from '../errors';
import { native } from '../native';
import { begin, end, ending, restoring, type Unfinished } from '../turn';
import {
  type AsyncPart,
  asyncPart,
  callAsync,
  enter,
  follow,
  leave,
  mayBeWaiting,
  now,
  type ScopeNode,
  shouldNote,
  unlist,
  wait,
  waitsNoMore,
  wayTo,
} from './context';
import { moveAll, moveOut } from './movable';
import { noteOpener } from './opener';

const key = Symbol('Scope');

/** Scopes that outlived the one around them, when nobody is left who could close them. */
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
  /** @internal Of a function of the library: code of the program does not run in it. */
  _own = false;

  /** @internal Use torch.scope or torch.openScope. `ends`: it is that of a function, which ends in this turn or waits. */
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

  /** Whether the scope has ended, by itself or with a scope around it. */
  get closed(): boolean {
    return !native.scopeIsOpen(this._id);
  }

  /** The nearest open scope around this one, or null. */
  get parent(): Scope | null {
    let parent = this._parent;
    while (parent !== null && !native.scopeIsOpen(parent._id)) parent = parent._parent;
    return parent as Scope | null;
  }

  /**
   * Runs `fn` with this scope as the current one, wherever it is called: what `fn` makes belongs to this scope, also after
   * an `await` in it. Returns what `fn` returns, which stays in this scope. The scope does not wait for a promise.
   */
  run<T>(fn: (scope: Scope) => T): T {
    if (typeof fn !== 'function') throw argumentError('scope.run', 'fn', 'a function', fn);
    demandOpen(this, 'run');
    const before = now.current;
    follows(isAsync(fn));
    const undo = () => enter(before);
    return restoring(undo, () => {
      enter(this);
      const result = fn(this);
      if (isPromise(result)) returnedPromise(fn);
      return result;
    });
  }

  /** Hands every tensor in `value` to the scope around this one, or to the garbage collector. Returns `value`. */
  move<T>(value: T): T {
    demandOpen(this, 'move');
    moveAll(value, this._id);
    return value;
  }

  /**
   * Ends the scope: releases what it owns, with the scopes still open inside it. Those of other code that still waits go
   * on: they belong to the next scope around.
   */
  close(): void {
    const part = this._async;
    if (now.current === this && (part === null || part.inside === null)) now.current = this._parent;
    else endAround(this);
    native.scopeClose(this._id);
    if (part === null) return;
    if (part.ref !== null) unlist(this);
    if (part.orphan) unreachable.unregister(this);
    waitsNoMore(this);
  }

  /** @internal The function that it is of was cut off (lib/turn.ts), perhaps before it was open. */
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

/** The scope ends with what lies between it and the current one; the rest of its inside outlives it if it waits. */
function endAround(ending: Scope): void {
  if (ending.closed) return;
  const way = wayTo(ending);
  for (const scope of way ?? [ending]) {
    for (const ref of scope._async?.inside ?? []) {
      const inner = ref.deref();
      if (inner !== undefined && !way?.includes(inner)) outlive(inner, ending._parent);
    }
  }
  if (way !== null) now.current = ending._parent;
}

/** The scope around `scope` ends before it: it goes to `parent`, and ends at the latest when nobody can reach it. */
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

/** What an op of torch.run will give can be awaited, but is a result like others: it waits for its strand. */
const isPromise = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' &&
  value !== null &&
  typeof (value as { then?: unknown }).then === 'function' &&
  !isPending(value);

const isAsync = (fn: unknown) => (fn as { [Symbol.toStringTag]?: string })[Symbol.toStringTag] === 'AsyncFunction';

/**
 * A plain function may return a promise, and only what it starts while the hooks are on goes on in its scope. So they are
 * switched on for it, this many times; in synchronous code they stay on and cost nothing. A program that uses scopes in
 * synchronous functions only, and awaits elsewhere, is then spared them. Once a function has returned a promise, all are
 * followed.
 */
let trials = 100;

function follows(async: boolean): void {
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
 * Opens a scope: `using s = torch.openScope()`. Everything made until it closes is released when it closes. It follows the
 * function that opened it across every `await`, and is current nowhere else.
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
    opened.close(); // no stack left, say: nobody else could
    throw error;
  }
  return opened;
}

/**
 * Runs `fn` in a scope of its own. Tensors in its result, at any depth of arrays, maps, sets, plain objects and classes
 * with `torch.tensors`, move to the scope around it, or to the garbage collector where there is none; everything else that
 * was made inside is released, also when `fn` throws. When `fn` returns a promise, the scope ends when that settles.
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
    if (!now.follows) follows(async);
    const result = async ? callAsync(inner, fn) : fn(inner);
    // Which runs the program's code, where `then` is a getter.
    if (isPromise(result)) {
      returnedPromise(fn);
      mayBeWaiting(inner);
      leave(inner);
      const settled = settle(inner, result) as T;
      waits = true;
      return settled;
    }
    moveOut('scope', result, inner._id);
    return result;
  } finally {
    ending(inner);
    if (!waits) inner.close(); // a throw releases everything, also what the error carries
    end(inner);
  }
}

/**
 * For synchronous functions of the library that make tensors on their way to a result: as `scope`, without what serves
 * functions that wait.
 */
export function ownScope<T>(fn: () => T): T {
  const inner = new Scope(key, true);
  inner._own = true;
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

/** Runs code of the program from within functions of the library: in the scope that was current when those were called. */
export function inUsersScope<T>(fn: () => T): T {
  const { current } = now;
  let users = current;
  while (users?._own) users = users._parent;
  if (users === current) return fn();
  enter(users);
  try {
    return fn();
  } finally {
    enter(current); // also where the program left a scope of its own open
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
