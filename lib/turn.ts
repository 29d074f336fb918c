/**
 * State of synchronous code that must not outlive it: a mode, the current scope, what is being recorded. Its `finally`
 * restores it, but `finally` is skipped where a run is cut off: by the `timeout` of node:vm, say. So whoever changes such a
 * state notes here, before, how to restore it. What is still noted when an outer one ends, or when the turn of the event
 * loop is over and no JavaScript is on the stack, was cut off, and is restored then, the innermost first.
 */
import { setImmediate } from 'node:timers';
import { isInsideProgram } from './scopes/opener';

/** A state that was changed and is to be restored. Lifetime: from begin() to end(), which follow each other as calls do. */
export interface Unfinished {
  _below: Unfinished | null;
  /** What `finally` does. It may find that part of it was done. */
  _undo(): void;
}

/** One for the environment, as the native table is. */
export interface Turn {
  /** The innermost. */
  top: Unfinished | null;
  /** The promise that is being made is this module's. */
  arming: boolean;
}

let turn: Turn = { top: null, arming: false };
/** Whether the end of this turn is looked at. For each copy of the library, since the globals of another may be gone. */
let armed = false;
/** What whenTurnEnds() was given in this turn. */
let atEnd: (() => void)[] = [];
const settled = Promise.resolve();

/** Copies of the library over one addon (Jest loads one per test file) share the table, and so they share this. */
export function shareTurn(native: { turnNow?: Turn }): void {
  native.turnNow ??= turn;
  turn = native.turnNow;
}

/** For lib/scopes/context.ts: nothing is carried over into the look at the end of the turn. */
export const isArming = (): boolean => turn.arming;

/** Before the state is changed. */
export function begin(state: Unfinished): void {
  state._below = turn.top;
  turn.top = state;
  if (!armed) arm();
}

/** In `finally`, first: what was cut off inside `state` is restored before it. */
export function ending(state: Unfinished): void {
  if (turn.top !== state && isNoted(state)) restoreTo(state);
}

/** In `finally`, last: the state is as it was, or goes on without being on the stack. */
export function end(state: Unfinished): void {
  if (turn.top === state) turn.top = state._below;
}

function isNoted(state: Unfinished): boolean {
  let noted = turn.top;
  while (noted !== null && noted !== state) noted = noted._below;
  return noted === state;
}

function restoreTo(outer: Unfinished | null): void {
  while (turn.top !== outer && turn.top !== null) {
    const state = turn.top;
    turn.top = state._below;
    try {
      state._undo();
    } catch {
      // Nobody is there to hear of it, and those around it are to be restored all the same.
    }
  }
}

/** A microtask runs with nothing else on the stack, but where a program asks for them itself. One a turn is enough, and code without such states needs none. */
function arm(): void {
  turn.arming = true;
  settled.then(look);
  turn.arming = false;
  armed = true; // last: where this is cut off, the next begin() does it
}

function look(): void {
  const isRare = turn.top !== null || atEnd.length > 0;
  // Some programs run microtasks from within their code (process._tickCallback): what is noted goes on, then.
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
 * Calls `fn`, which must not throw, when the turn is over and no JavaScript is on the stack. For a state too cheap to note:
 * one that only those notice who find it, and who can do without what it guards meanwhile.
 */
export function whenTurnEnds(fn: () => void): void {
  atEnd.push(fn);
  if (!armed) arm();
}

/** Runs `fn`; afterwards, or where it is cut off, `undo`. */
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
