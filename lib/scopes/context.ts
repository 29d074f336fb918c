/**
 * Which scope is current. In synchronous code it is the one that the native table has as current, which new tensors join
 * without asking. Where code waits, hooks of Node's carry the scope over: what is started in a scope (a promise's
 * continuation, a timer, any other callback) begins with that scope as current, and ends with the one before.
 *
 * The hooks are on only while a scope is open that may wait, so that a program without such scopes pays nothing for them.
 * (AsyncLocalStorage would do less for as much: it does not say when a run begins and ends, and copies its store before a
 * function that awaits can be told from the one that called it.)
 */
import { createHook, executionAsyncId, executionAsyncResource } from 'node:async_hooks';
import { setImmediate } from 'node:timers';
import { types } from 'node:util';
import { native } from '../native';
import { isArming } from '../turn';
import { birthOfPromise, isLeft, type Opener } from './opener';
import { forgetOpening, noteOpening } from './openings';

const { flags } = native;

/** A scope to this module. Lifetime: what it owns natively ends with `native.scopeClose`. */
export interface ScopeNode {
  readonly _id: number;
  /** The scope around it; while this one is open, so is that. */
  _parent: ScopeNode | null;
  /** Null for a scope that has had to do with synchronous code only. */
  _async: AsyncPart | null;
  /** Opened by a function of the library for itself. */
  readonly _own: boolean;
}

/** What is known of a scope whose code waits, or may. */
export interface AsyncPart {
  /** The run in which openScope made it current; NO_RUN for others, and once its code has waited. */
  run: number;
  opener: Opener | null;
  /** Open scopes inside it whose code waits. Weak, so that one that nobody can close any more can be collected. */
  inside: Set<WeakRef<ScopeNode>> | null;
  /** This scope in the set of its parent. */
  ref: WeakRef<ScopeNode> | null;
  /** It has outlived the scope around it. */
  orphan: boolean;
}

export const asyncPart = (scope: ScopeNode): AsyncPart =>
  (scope._async ??= { run: NO_RUN, opener: null, inside: null, ref: null, orphan: false });

export const NO_RUN = -1;
/** Births of resources in no scope after which the hooks go off, if no scope is open. */
const IDLE = 256;
/** Calls of openScope that never waited, after which the next is taken not to. */
const NOTES = 4096;

/** Where in a resource of Node's it stands which scope it began in. */
const SCOPE = Symbol.for('libtorch-node.scope');
interface Resource {
  [SCOPE]?: ScopeNode;
}

/** A call of an async function in a scope of its own: its promise is the first thing that it makes. */
interface Start {
  scope: ScopeNode;
  asyncId: number;
  promise: unknown;
}

/** One for the environment, as the native table is. */
export interface Now {
  /** The scope that is current, as in the native table. */
  current: ScopeNode | null;
  /** The number of the run: a callback, from begin to end. */
  run: number;
  lastRun: number;
  /** Runs around the present one: their async id, and what was current in the one around them. */
  around: { asyncId: number; current: ScopeNode | null; run: number }[];
  /** Whether the hooks are on, and whose: of the copy of the library that switched them on. */
  follows: boolean;
  hooks: { disable(): unknown } | null;
  idle: number;
  /** Ids of open scopes whose code may wait. */
  mayWait: Set<number>;
  /** openScope notes its opener while this is not 0. */
  notes: number;
  /** The promise that an `await` has just made, and its scope: for a value that is no promise, V8 makes a second one. */
  awaitId: number;
  awaitScope: ScopeNode | null;
  /** Async functions that run in a scope of their own, by the async id of their promise. */
  functions: Map<number, WeakRef<ScopeNode>>;
  starting: Start | null;
}

/** Copies of the library over one addon (Jest loads one per test file) share the table, and so they share this. */
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
// Hooks may outlive the globals of the copy that switched them on.
const Ref = WeakRef;
const Children = Set;

/** Makes a scope current, or the nearest open one around it. */
export function enter(scope: ScopeNode | null): void {
  for (let open = scope; open !== null; open = open._parent) {
    native.scopeEnter(open._id); // a closed one makes none current
    if (flags[1] !== 0) {
      now.current = open;
      return;
    }
  }
  if (flags[1] !== 0) native.scopeEnter(0);
  now.current = null;
}

/** The code of a scope waits: it goes on without being current. */
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

/** Takes a scope off its parent's list. */
export function unlist(scope: ScopeNode): void {
  const part = scope._async;
  if (part === null || part.ref === null) return;
  scope._parent?._async?.inside?.delete(part.ref);
  part.ref = null;
}

/** Everything from the current scope out to `scope`, or null if that is not around the current one. */
export function wayTo(scope: ScopeNode): ScopeNode[] | null {
  const way: ScopeNode[] = [];
  for (let open = now.current; open !== null; open = open._parent) {
    way.push(open);
    if (open === scope) return way;
  }
  return null;
}

/** What openScope made current in this run, and did not end, waits from now on. */
function waitAll(until: ScopeNode | null): void {
  for (let open = now.current; open !== null && open !== until; open = open._parent) {
    if (open._async?.run === now.run) wait(open);
  }
}

/** The function of a scope has returned and goes on later: the scope around it is current. */
export function leave(scope: ScopeNode): void {
  if (wayTo(scope) !== null) {
    waitAll(scope);
    enter(scope._parent);
  }
  wait(scope);
}

function init(asyncId: number, type: string, triggerId: number, resource: Resource): void {
  if (isArming()) return; // of no scope, and not begun by the code that runs
  if (triggerId === now.awaitId && now.awaitScope !== null) {
    resource[SCOPE] = now.awaitScope;
    return;
  }
  if (type === 'PROMISE' && now.starting !== null) {
    now.starting.asyncId = asyncId;
    now.starting.promise = resource;
    now.starting = null;
  }
  const { current } = now;
  if (current === null) {
    if (++now.idle > IDLE) rest();
    return;
  }
  resource[SCOPE] = current;
  // A promise that has another behind it was made by `await` or `then`.
  if (current._async?.run === now.run && type === 'PROMISE' && triggerId !== executionAsyncId()) leaveAwaiting(asyncId);
}

/** A function may be waiting that opened current scopes: for the functions below it on the stack they are not current. */
function leaveAwaiting(asyncId: number): void {
  const birth = birthOfPromise(init);
  if (birth.sites.length > 0) now.notes = NOTES;
  const scope = now.current;
  let rest = scope;
  while (rest !== null && rest._async?.run === now.run && isLeft(rest._async.opener, birth)) {
    const parent = rest._parent;
    wait(rest);
    rest = parent;
  }
  if (rest === scope) return;
  now.awaitId = asyncId;
  now.awaitScope = scope;
  enter(rest);
}

function before(asyncId: number): void {
  const resource = executionAsyncResource() as Resource;
  // A promise's continuation never runs inside other code: what is current was left so by a run without an end.
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
    if (flags[1] !== 0) native.scopeEnter(0);
    now.current = null;
  }
}

function after(asyncId: number): void {
  waitAll(null);
  let index = around.length - 1;
  while (index >= 0 && around[index]!.asyncId !== asyncId) index--;
  // The run in which the hooks went on has no beginning here: nothing was open outside it.
  const outer = index < 0 ? null : around[index]!;
  if (index >= 0) around.length = index;
  begin(outer === null ? null : outer.current);
  if (outer !== null) now.run = outer.run;
}

/** An async function in a scope of its own ends: what it opened and left open ends with it, so nobody waits there. */
function promiseResolve(asyncId: number): void {
  if (functions.size === 0) return;
  const scope = functions.get(asyncId)?.deref();
  functions.delete(asyncId);
  if (scope === undefined) return;
  for (const inner of wayTo(scope) ?? []) if (inner !== scope) unlist(inner);
}

/** From now on scopes go where their code goes. */
export function follow(): void {
  if (now.follows) return;
  now.follows = true;
  now.idle = 0;
  around.length = 0;
  now.hooks = createHook({ init, before, after, promiseResolve }).enable();
  // The run of this call may have no end that hooks see. This continuation begins after it, and ends what it left current.
  void Promise.resolve().then(() => {});
}

/**
 * The hooks go off when no scope is open that waits. Not at once: Node leaves its promise hook on where hooks are disabled
 * inside a hook, and loses count of async ids where they are inside a promise's continuation.
 */
function rest(): void {
  now.idle = Number.NEGATIVE_INFINITY; // asked for
  setImmediate(goOff).unref();
}

function goOff(): void {
  now.idle = 0;
  if (around.some((run) => run.current !== null)) return;
  for (const id of mayWait) if (!native.scopeIsOpen(id)) mayWait.delete(id); // ended with the scope around it
  native.scopeOpenings?.sweep((id) => native.scopeIsOpen(id));
  if (mayWait.size > 0) return;
  now.hooks?.disable();
  now.hooks = null;
  now.follows = false;
  around.length = 0;
}

/** Follows a scope that may be open while its code waits. */
export function mayBeWaiting(scope: ScopeNode): void {
  mayWait.add(scope._id);
  noteOpening(scope._id, mayBeWaiting);
  follow();
}

export function waitsNoMore(scope: ScopeNode): void {
  mayWait.delete(scope._id);
  forgetOpening(scope._id);
}

/** Whether openScope should note its opener. Programs in which no opener ever waits are spared the stack. */
export function shouldNote(): boolean {
  return now.notes !== 0 && now.notes-- > 0;
}

/** Calls an async function in its scope, and remembers whose end its promise is. */
export function callAsync<S extends ScopeNode, T>(scope: S, fn: (scope: S) => T): T {
  const start: Start = { scope, asyncId: NO_RUN, promise: undefined };
  now.starting = start;
  try {
    const result = fn(scope);
    // One that has ended already has nothing left open that could wait: it is the current code itself.
    if (start.promise === result) functions.set(start.asyncId, new Ref(scope));
    return result;
  } finally {
    now.starting = null;
  }
}
