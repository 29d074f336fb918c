/**
 * The functions that wait for the running continuation of a promise. V8 appends them to its stacks, but they are not on the stack.
 * They are the same for the whole continuation, so the first stack that is captured in it tells them for all others.
 */
import * as v8 from 'node:v8';

/**
 * Whether a continuation runs whose beginning was seen. The end of a nested one sets it to false too, and microtasks without a
 * promise do not set it.
 */
let isInContinuation = false;
let waiting = 0;

/** The number that noteWaiting() got in this continuation; 0: none. */
export const waitingNow = (): number => waiting;

/** `number` stands for all functions that wait for the running code. */
export function noteWaiting(number: number): void {
  if (isInContinuation) waiting = number;
}

/** Follows the continuations of this thread until the returned function is called. Costs some 50 ns for each. */
export function followContinuations(): () => void {
  const hooks = v8.promiseHooks as typeof v8.promiseHooks | undefined; // other runtimes lack them
  if (typeof hooks?.onBefore !== 'function') return () => {};
  const toggle = (begins: boolean) => () => {
    isInContinuation = begins;
    waiting = 0;
  };
  const ends = [hooks.onBefore(toggle(true)), hooks.onAfter(toggle(false))] as (() => void)[];
  return () => {
    for (const end of ends) end();
    toggle(false)();
  };
}
