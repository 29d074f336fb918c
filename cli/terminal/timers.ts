/** Timers for the times that users name. */

/** The longest time that a timer of Node takes: a longer one would end after 1 ms. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** Calls `fn` after `ms`, however long. Returns a function that stops it. */
export function after(ms: number, fn: () => void): () => void {
  let timer: NodeJS.Timeout;
  const wait = (left: number) => {
    const next = Math.min(left, MAX_TIMER_MS);
    timer = setTimeout(() => (left > next ? wait(left - next) : fn()), next);
  };
  wait(ms);
  return () => clearTimeout(timer);
}
