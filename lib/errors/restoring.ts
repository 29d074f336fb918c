/**
 * State of synchronous code that must not outlive it: a mode, the current scope, the current recording. `finally` restores
 * it, but is skipped if the code is cut off, for example by the `timeout` of node:vm. So code that changes such state first
 * registers here how to restore it. Entries that remain when an outer one ends, or when the turn of the event loop is over
 * and no JavaScript is on the stack, were cut off; they are restored then, innermost first.
 */
import { setImmediate } from 'node:timers';
import { isInsideProgram } from './scope-opener';

/** A changed state to restore. It lives from begin() to end(), which nest like calls. */
export interface Unfinished {
  _below: Unfinished | null;
  /** Does the work of `finally`, of which a part may be done already. */
  _undo(): void;
}

/** One per environment, like the native table. */
export interface Turn {
  /** The innermost. */
  top: Unfinished | null;
  /** Whether the promise being created belongs to this module. */
  arming: boolean;
}

let turn: Turn = { top: null, arming: false };
/** Whether a check at the end of this turn is scheduled. Per copy of the library: another's globals may be gone. */
let armed = false;
/** The callbacks of whenTurnEnds() in this turn. */
let atEnd: (() => void)[] = [];
const settled = Promise.resolve();

/** Shared by all copies of the library that use one addon (Jest loads one per test file), like the native table. */
export function shareTurn(native: { turnNow?: Turn }): void {
  native.turnNow ??= turn;
  turn = native.turnNow;
}

/** For lib/lifetimes/context.ts: no scope is carried over to the check at the end of the turn. */
export const isArming = (): boolean => turn.arming;

/** Call before the state is changed. */
export function begin(state: Unfinished): void {
  state._below = turn.top;
  turn.top = state;
  if (!armed) arm();
}

/** Call first in `finally`: restores states inside `state` that were cut off. */
export function ending(state: Unfinished): void {
  if (turn.top !== state && isNoted(state)) restoreTo(state);
}

/** Call last in `finally`: the state is restored, or continues without being on the stack. */
export function end(state: Unfinished): void {
  if (turn.top === state) pop(state);
}

/** A state that lives longer, such as a scope that the program keeps, does not hold the outer ones. */
function pop(state: Unfinished): void {
  turn.top = state._below;
  state._below = null;
}

function isNoted(state: Unfinished): boolean {
  let noted = turn.top;
  while (noted !== null && noted !== state) noted = noted._below;
  return noted === state;
}

function restoreTo(outer: Unfinished | null): void {
  while (turn.top !== outer && turn.top !== null) {
    const state = turn.top;
    pop(state);
    try {
      state._undo();
    } catch {
      // No caller can handle it, and the outer states must be restored anyway.
    }
  }
}

/**
 * A microtask runs with an empty stack, unless the program runs the queue itself. One for each turn is enough, and code without
 * such states needs none.
 */
function arm(): void {
  turn.arming = true;
  settled.then(look);
  turn.arming = false;
  armed = true; // last: if this is cut off, the next begin() retries
}

function look(): void {
  const isRare = turn.top !== null || atEnd.length > 0;
  // Some programs run microtasks inside their own code (process._tickCallback): then the states are still active.
  if (isRare && isInsideProgram(look)) {
    setImmediate(look).unref();
    return;
  }
  armed = false;
  restoreTo(null);
  const calls = atEnd;
  atEnd = [];
  for (const call of calls) call();
}

/**
 * Calls `fn`, which must not throw, when the turn is over and no JavaScript is on the stack. For states for which begin() is
 * too expensive, and whose users can do without what they guard until then.
 */
export function whenTurnEnds(fn: () => void): void {
  atEnd.push(fn);
  if (!armed) arm();
}

/** Runs `fn`, then `undo`, also if `fn` is cut off. */
export function restoring<T>(undo: () => void, fn: () => T): T {
  const state: Unfinished = { _below: null, _undo: undo };
  begin(state);
  try {
    return fn();
  } finally {
    ending(state);
    undo();
    end(state);
  }
}
