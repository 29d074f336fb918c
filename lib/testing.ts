/**
 * `libtorch-node/testing`: do calls of a function leave tensors behind? For `node:test`, Vitest and whatever else runs
 * tests; `libtorch-node/jest` is the same as a matcher.
 */
import { codedError, type TorchError } from './errors';
import { type LeakOptions, measured, type TensorLeaks } from './testing/measure';
import { leaksText } from './testing/text';

export type { LeakHolder } from './testing/held';
export type { LeakOptions, LeakSite, TensorLeaks } from './testing/measure';
export type { Place } from './testing/places';

/** The error of `assertNoTensorLeaks`: `code` is 'ERR_TORCH_LEAK'. */
export interface TensorLeakError extends TorchError {
  /** What was measured. */
  readonly leaks: TensorLeaks;
}

/**
 * Calls `fn` and awaits it, `warmup` times and then `iterations` times, collects garbage between rounds of calls, and gives
 * the figures of what is left. It counts the tensors of this thread, so nothing else should make any meanwhile; several
 * measurements wait for each other. What `fn` throws is thrown.
 */
export async function measureTensorLeaks(fn: () => unknown, options: LeakOptions = {}): Promise<TensorLeaks> {
  return measured('measureTensorLeaks', fn, options, false);
}

/**
 * The same, as a test wants it.
 *
 * @throws ERR_TORCH_LEAK when the calls leave tensors behind; the message names the lines that made them, and who holds them
 */
export async function assertNoTensorLeaks(fn: () => unknown, options: LeakOptions = {}): Promise<void> {
  const leaks = await measured('assertNoTensorLeaks', fn, options, true);
  if (!leaks.leaks) return;
  const error = codedError(Error, 'ERR_TORCH_LEAK', `expected no tensors to leak: ${leaksText(leaks)}`);
  throw Object.assign(error, { leaks }) as TensorLeakError;
}

/** Whether a matcher is asked for `.not`: then a leak is what fails. */
const isNegated = (context: unknown): boolean => (context as { isNot?: boolean } | undefined)?.isNot === true;

/** What Jest and Vitest call a matcher: `expect.extend({ toLeakTensors })`, `await expect(fn).not.toLeakTensors()`. */
export async function toLeakTensors(
  this: unknown,
  fn: unknown,
  options: LeakOptions = {},
): Promise<{ pass: boolean; message: () => string }> {
  const leaks = await measured('toLeakTensors', fn, options, isNegated(this));
  const expected = `expected the function ${leaks.leaks ? 'not ' : ''}to leak tensors`;
  return { pass: leaks.leaks, message: () => `${expected}: ${leaksText(leaks)}` };
}
