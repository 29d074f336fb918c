/** Modes of synchronous code, and functions that go on later. */
import { codedError } from './errors';
import { isTensor } from './tensor';

/** A mode that spans an `await` would leak into whatever runs meanwhile. */
export function refusePromise(name: string, result: unknown): void {
  if (isTensor(result)) return; // a pending one can be awaited, but what is recorded has its modes already
  if (typeof result === 'object' && result !== null && typeof (result as { then?: unknown }).then === 'function') {
    throw codedError(
      TypeError,
      'ERR_TORCH_ASYNC_MODE',
      `${name}: expected a synchronous function, got one that returns a promise; wrap the parts between its awaits`,
    );
  }
}
