/**
 * Tracks the current scope. In synchronous code this is the current scope of the native table, which new tensors join. Across
 * asynchronous code Node's async hooks carry it over: whatever is started in a scope (a promise's continuation, a timer, any
 * other callback) begins with that scope as current, and restores the previous one at its end.
 *
 * The hooks are enabled only while an open scope may wait, so that programs without such scopes do not pay for them.
 * (AsyncLocalStorage costs as much but does not suffice: it does not report when a run begins and ends, and copies its store
 * before a function that awaits can be told from its caller.)
 */
import { createHook, executionAsyncId, executionAsyncResource } from 'node:async_hooks';
import { setImmediate } from 'node:timers';
import { types } from 'node:util';
import { native } from '../addon/native';
import { isArming } from '../errors/restoring';
import { birthOfPromise, isLeft, type Opener } from '../errors/scope-opener';
import { Flag } from '../generated/codes';
import { forgetOpening, noteOpening } from './openings';

const { flags } = native;

/** A scope, as this module sees it. `native.scopeClose` frees what it owns. */
export interface ScopeNode {
  readonly _id: number;
  /** The enclosing scope, which is open as long as this one. */
  _parent: ScopeNode | null;
  /** Null for a scope that was used only in synchronous code. */
  _async: AsyncPart | null;
  /** Opened by a library function for its own tensors. */
  readonly _own: boolean;
  /** The same; hooks of modules do not run in it either. */
  readonly _library: boolean;
}

/** The state of a scope whose code waits or may wait. */
export interface AsyncPart {
  /** The run in which openScope made it current; NO_RUN for others, and once its code has waited. */
  run: number;
  opener: Opener | null;
  /** Open inner scopes whose code waits. Weak, so that unreachable ones can be collected. */
  inside: Set<WeakRef<ScopeNode>> | null;
  /** The reference to this scope in its parent's `inside`. */
  ref: WeakRef<ScopeNode> | null;
  /** Whether it outlived its enclosing scope. */
  orphan: boolean;
}

export const asyncPart = (scope: ScopeNode): AsyncPart =>
  (scope._async ??= { run: NO_RUN, opener: null, inside: null, ref: null, orphan: false });

const NO_RUN = -1;
/** Resources created outside scopes after which the hooks are disabled, if no scope is open. */
const IDLE = 256;
/** Calls of openScope whose functions never waited, after which openers are no longer noted. */
const NOTES = 4096;

/** The property of an async resource that holds the scope in which it was created. */
const SCOPE = Symbol.for('libtorch-node.scope');
interface Resource {
  [SCOPE]?: ScopeNode;
}

/** A call of an async function in its own scope: the first promise created during the call is its result. */
interface Start {
  scope: ScopeNode;
  asyncId: number;
  promise: unknown;
}

declare module '../addon/interface' {
  interface Native {
    /** The current scope, shared by all copies of the library that use one addon. */
    scopesNow?: Now;
  }
}

/** One per environment, like the native table. */
export interface Now {
  /** The current scope, the same as in the native table. */
  current: ScopeNode | null;
  /** The number of the current run: one callback, from begin to end. */
  run: number;
  lastRun: number;
  /** Enclosing runs: their async id, and the current scope and run outside them. */
  around: { asyncId: number; current: ScopeNode | null; run: number }[];
  /** Whether the hooks are enabled, and the hooks of the copy of the library that enabled them. */
  follows: boolean;
  hooks: { disable(): unknown } | null;
  idle: number;
  /** Ids of open scopes whose code may wait. */
  mayWait: Set<number>;
  /** The number of further openScope calls that note their opener. */
  notes: number;
  /** The promise that an `await` has just created, and its scope: for a value that is not a promise, V8 creates a second one. */
  awaitId: number;
  awaitScope: ScopeNode | null;
  /** Scopes of async functions, by the async id of their promise; null while the call has not returned it. */
  functions: Map<number, WeakRef<ScopeNode> | null>;
  starting: Start | null;
}

/** Shared by all copies of the library that use one addon (Jest loads one per test file), like the native table. */
native.scopesNow ??= {
  current: null,
  run: 0,
  lastRun: 0,
  around: [],
  follows: false,
  hooks: null,
  idle: 0,
  mayWait: new Set(),
  notes: NOTES,
  awaitId: NO_RUN,
  awaitScope: null,
  functions: new Map(),
  starting: null,
};
export const now: Now = native.scopesNow;
const { around, mayWait, functions } = now;
// The hooks may outlive the globals of the copy that enabled them.
const Ref = WeakRef;
const Children = Set;

/** Makes a scope current, or the nearest open scope around it. */
export function enter(scope: ScopeNode | null): void {
  for (let open = scope; open !== null; open = open._parent) {
    native.scopeEnter(open._id); // no effect if it is closed
    if (flags[Flag.Scope] !== 0) {
      now.current = open;
      return;
    }
  }
  if (flags[Flag.Scope] !== 0) native.scopeEnter(0);
  now.current = null;
}

/** The scope, or the nearest open one around it; null if none is open. */
export function nearestOpen(scope: ScopeNode | null): ScopeNode | null {
  let open = scope;
  while (open !== null && !native.scopeIsOpen(open._id)) open = open._parent;
  return open;
}

/** Marks a scope as waiting: it stays open without being current. */
export function wait(scope: ScopeNode): void {
  const part = asyncPart(scope);
  part.run = NO_RUN;
  part.opener = null;
  if (scope._parent === null) return;
  part.ref ??= new Ref(scope);
  const outer = asyncPart(scope._parent);
  outer.inside ??= new Children();
  outer.inside.add(part.ref);
}

/** Removes a scope from its parent's `inside`. */
export function unlist(scope: ScopeNode): void {
  const part = scope._async;
  if (part === null || part.ref === null) return;
  scope._parent?._async?.inside?.delete(part.ref);
  part.ref = null;
}

/** The scopes from the current one outwards to `scope`, or null if it does not enclose the current one. */
export function pathTo(scope: ScopeNode): ScopeNode[] | null {
  const path: ScopeNode[] = [];
  for (let open = now.current; open !== null; open = open._parent) {
    path.push(open);
    if (open === scope) return path;
  }
  return null;
}

/** Marks the scopes that openScope made current in this run as waiting. */
function waitAll(until: ScopeNode | null): void {
  for (let open = now.current; open !== null && open !== until; open = open._parent) {
    if (open._async?.run === now.run) wait(open);
  }
}

/** Call when an async function of a scope has returned its promise: the enclosing scope becomes current. */
export function leave(scope: ScopeNode): void {
  if (pathTo(scope) !== null) {
    waitAll(scope);
    enter(scope._parent);
  }
  wait(scope);
}

function init(asyncId: number, type: string, triggerId: number, resource: Resource): void {
  if (isArming()) return; // not created by the running code
  if (triggerId === now.awaitId && now.awaitScope !== null) {
    resource[SCOPE] = now.awaitScope;
    return;
  }
  if (type === 'PROMISE' && now.starting !== null) {
    now.starting.asyncId = asyncId;
    now.starting.promise = resource;
    now.starting = null;
    functions.set(asyncId, null);
  }
  const { current } = now;
  if (current === null) {
    if (++now.idle > IDLE) requestDisable();
    return;
  }
  resource[SCOPE] = current;
  // A promise triggered by another promise was created by `await` or `then`.
  if (current._async?.run === now.run && type === 'PROMISE' && triggerId !== executionAsyncId()) leaveAwaiting(asyncId);
}

/** If the function that opened the current scopes now awaits, they are not current in the functions that called it. */
function leaveAwaiting(asyncId: number): void {
  const birth = birthOfPromise(init);
  if (birth.sites.length > 0) now.notes = NOTES;
  const scope = now.current;
  let outer = scope;
  while (outer !== null && outer._async?.run === now.run && isLeft(outer._async.opener, birth)) {
    const parent = outer._parent;
    wait(outer);
    outer = parent;
  }
  if (outer === scope) return;
  now.awaitId = asyncId;
  now.awaitScope = scope;
  enter(outer);
}

function before(asyncId: number): void {
  const resource = executionAsyncResource() as Resource;
  // A promise's continuation never runs inside other code: a current scope is left over from a run without a reported end.
  if (now.current !== null && around.length === 0 && types.isPromise(resource)) {
    waitAll(null);
    now.current = null;
  }
  around.push({ asyncId, current: now.current, run: now.run });
  begin(resource[SCOPE] ?? null);
}

function begin(scope: ScopeNode | null): void {
  now.run = ++now.lastRun;
  now.awaitId = NO_RUN;
  now.awaitScope = null;
  if (scope !== null) enter(scope);
  else {
    if (flags[Flag.Scope] !== 0) native.scopeEnter(0);
    now.current = null;
  }
}

function after(asyncId: number): void {
  waitAll(null);
  let index = around.length - 1;
  while (index >= 0 && around[index]!.asyncId !== asyncId) index--;
  // The run in which the hooks were enabled has no entry: nothing was open outside it.
  const outer = index < 0 ? null : around[index]!;
  if (index >= 0) around.length = index;
  begin(outer === null ? null : outer.current);
  if (outer !== null) now.run = outer.run;
}

/** Called when the async function of a scope ends. Scopes that it left open end with it and no longer wait. */
function promiseResolve(asyncId: number): void {
  if (functions.size === 0) return;
  const scope = functions.get(asyncId)?.deref();
  functions.delete(asyncId);
  if (scope === undefined) return;
  for (const inner of pathTo(scope) ?? []) if (inner !== scope) unlist(inner);
}

/** Enables the hooks. */
export function follow(): void {
  if (now.follows) return;
  now.follows = true;
  now.idle = 0;
  around.length = 0;
  now.hooks = createHook({ init, before, after, promiseResolve }).enable();
  // The hooks may not see the end of the current run. This continuation runs after it and resets what it left current.
  void Promise.resolve().then(() => {});
}

/**
 * Disables the hooks when no open scope may wait. Deferred: Node leaves its promise hook on if hooks are disabled inside a
 * hook, and loses count of async ids if they are disabled inside a promise's continuation.
 */
function requestDisable(): void {
  now.idle = Number.NEGATIVE_INFINITY; // already requested
  setImmediate(disableIfIdle).unref();
}

function disableIfIdle(): void {
  now.idle = 0;
  if (around.some((run) => run.current !== null)) return;
  for (const id of mayWait) if (!native.scopeIsOpen(id)) mayWait.delete(id); // ended with an enclosing scope
  for (const [id, scope] of functions) if (scope?.deref() === undefined) functions.delete(id); // it will never resolve
  native.scopeOpenings?.sweep((id) => native.scopeIsOpen(id));
  if (mayWait.size > 0) return;
  now.hooks?.disable();
  now.hooks = null;
  now.follows = false;
  around.length = 0;
}

/** Enables the hooks for a scope whose code may wait. */
export function mayBeWaiting(scope: ScopeNode): void {
  mayWait.add(scope._id);
  noteOpening(scope._id, mayBeWaiting);
  follow();
}

export function endWaiting(scope: ScopeNode): void {
  mayWait.delete(scope._id);
  forgetOpening(scope._id);
}

/** Whether openScope should note its opener's stack. Stops after many calls in programs whose openers never wait. */
export function shouldNote(): boolean {
  return now.notes !== 0 && now.notes-- > 0;
}

/** Calls an async function in its scope, and maps its promise to the scope. */
export function callAsync<S extends ScopeNode, T>(scope: S, fn: (scope: S) => T): T {
  const start: Start = { scope, asyncId: NO_RUN, promise: undefined };
  now.starting = start;
  try {
    const result = fn(scope);
    // A function that has already ended resolved its promise, and left nothing open that could wait.
    if (start.promise === result && functions.has(start.asyncId)) functions.set(start.asyncId, new Ref(scope));
    return result;
  } finally {
    now.starting = null;
    if (functions.get(start.asyncId) === null) functions.delete(start.asyncId);
  }
}
