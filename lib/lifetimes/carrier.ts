/**
 * Carries a state of synchronous code across `await`: what was started in it (a promise's continuation, a timer) begins with
 * it. Node's async hooks report what is started, and when that begins and ends. They are enabled only while it may be needed.
 */
import { createHook, executionAsyncResource } from 'node:async_hooks';
import { setImmediate } from 'node:timers';
import { types } from 'node:util';

/** A kind of state. `Place` is all that is restored at the end of a run, for example which state is current. */
export interface Carried<State extends object, Place> {
  /** What code that is started now takes along; null for nothing. */
  taken(): State | null;
  /** The current place. */
  now(): Place;
  /** The place of code that took `state` along. */
  placeOf(state: State): Place;
  switchTo(place: Place): void;
  /** The place outside everything. */
  readonly nothing: Place;
}

export class Carrier<State extends object, Place> {
  /** The property of an async resource that holds what it took along. */
  readonly #key: symbol;
  readonly #kind: Carried<State, Place>;
  readonly #hooks: { enable(): unknown; disable(): unknown };
  /** The runs enclosing the current one, and the place outside them. */
  readonly #around: { asyncId: number; outer: Place }[] = [];
  /** The number of calls in progress. */
  #open = 0;
  #asked = false;
  /** Called for promises that were collected without settling. */
  readonly #abandoned = new FinalizationRegistry<() => void>((ended) => ended());

  constructor(name: string, kind: Carried<State, Place>) {
    this.#key = Symbol(name);
    this.#kind = kind;
    this.#hooks = createHook({
      init: (_asyncId, _type, _triggerId, resource) => this.#init(resource as Record<symbol, State>),
      before: (asyncId) => this.#before(asyncId),
      after: (asyncId) => this.#after(asyncId),
    });
  }

  #init(resource: Record<symbol, State>): void {
    const state = this.#kind.taken();
    if (state !== null) resource[this.#key] = state;
  }

  #before(asyncId: number): void {
    const { nothing } = this.#kind;
    const resource = executionAsyncResource() as Record<symbol, State | undefined>;
    // A continuation never runs inside other code: entries left here are from a run whose end was not reported.
    const isContinuation = types.isPromise(resource);
    if (isContinuation) this.#around.length = 0;
    this.#around.push({ asyncId, outer: isContinuation ? nothing : this.#kind.now() });
    const state = resource[this.#key];
    this.#kind.switchTo(state === undefined ? nothing : this.#kind.placeOf(state));
  }

  #after(asyncId: number): void {
    const around = this.#around;
    let index = around.length - 1;
    while (index >= 0 && around[index]!.asyncId !== asyncId) index--;
    const outer = index < 0 ? this.#kind.nothing : around[index]!.outer;
    if (index >= 0) around.length = index;
    this.#kind.switchTo(outer);
  }

  /** Call when a function begins whose code may wait. */
  follow(): void {
    if (this.#open++ === 0) this.#hooks.enable();
  }

  /** Call when it ends. Deferred: Node loses count of async ids if hooks are disabled inside a promise's continuation. */
  unfollow(): void {
    if (--this.#open > 0 || this.#asked) return;
    this.#asked = true;
    setImmediate(() => {
      this.#asked = false;
      if (this.#open > 0) return;
      this.#hooks.disable();
      this.#around.length = 0;
      this.#kind.switchTo(this.#kind.nothing); // no hook reports the end of this run
    }).unref();
  }

  /**
   * For a function that returned a promise: calls `ended`, which calls unfollow(), when the promise settles or is collected.
   * Returns the promise to hand out: Node reports a rejection of it that nothing handles, and would not for the given one,
   * which has a handler now. Of another thenable it is a promise as well, because each `then` of a lazy one, such as a query
   * builder's, starts its work again: it is called once, as an await would.
   */
  until(promise: PromiseLike<unknown>, ended: () => void): PromiseLike<unknown> {
    const token = {};
    this.#abandoned.register(promise, ended, token);
    const end = () => {
      this.#abandoned.unregister(token);
      ended();
    };
    return (types.isPromise(promise) ? promise : Promise.resolve(promise)).finally(end);
  }
}
