/**
 * `libtorch-node/testing`: tests whether calls of a function leave tensors behind. For `node:test`, Vitest and other test
 * runners; `libtorch-node/jest` is the same as a matcher.
 */
import '../addon/disposal';
import { codedError, type TorchError } from '../errors/errors';
import { type LeakOptions, measured, type TensorLeaks } from './measure';
import { leaksText } from './text';

export type { LeakHolder } from './held';
export type { LeakOptions, LeakSite, TensorLeaks } from './measure';
export type { Place } from './places';

/** The error of `assertNoTensorLeaks`: `code` is 'ERR_TORCH_LEAK'. */
export interface TensorLeakError extends TorchError {
  /** The measurement. */
  readonly leaks: TensorLeaks;
}

/**
 * Calls and awaits `fn`, `warmup` times and then `iterations` times, collects garbage between rounds of calls, and returns
 * figures of the remaining tensors. It counts the tensors of this thread, so nothing else should make tensors meanwhile;
 * concurrent measurements run one after the other. Errors of `fn` are passed on.
 */
export async function measureTensorLeaks(fn: () => unknown, options: LeakOptions = {}): Promise<TensorLeaks> {
  return measured('measureTensorLeaks', fn, options, false);
}

/**
 * The same as an assertion.
 *
 * @throws ERR_TORCH_LEAK when the calls leave tensors behind; the message names the lines that made them, and what holds them
 */
export async function assertNoTensorLeaks(fn: () => unknown, options: LeakOptions = {}): Promise<void> {
  const leaks = await measured('assertNoTensorLeaks', fn, options, true);
  if (!leaks.leaks) return;
  const error = codedError(Error, 'ERR_TORCH_LEAK', `expected no tensors to leak: ${leaksText(leaks)}`);
  throw Object.assign(error, { leaks }) as TensorLeakError;
}

/** Whether a matcher is used with `.not`, where a leak is the failure. */
const isNegated = (context: unknown): boolean => (context as { isNot?: boolean } | undefined)?.isNot === true;

/** The matcher for Jest and Vitest: `expect.extend({ toLeakTensors })`, `await expect(fn).not.toLeakTensors()`. */
export async function toLeakTensors(
  this: unknown,
  fn: unknown,
  options: LeakOptions = {},
): Promise<{ pass: boolean; message: () => string }> {
  const leaks = await measured('toLeakTensors', fn, options, isNegated(this));
  const expected = `expected the function ${leaks.leaks ? 'not ' : ''}to leak tensors`;
  return { pass: leaks.leaks, message: () => `${expected}: ${leaksText(leaks)}` };
}
