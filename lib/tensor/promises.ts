/** Refuses asynchronous functions in modes of synchronous code. */
import { codedError } from '../errors/errors';
import { isTensor } from './tensor';

/** A mode that spans an `await` would leak into other code that runs meanwhile. */
export function refusePromise(name: string, result: unknown): void {
  if (isTensor(result)) return; // a pending tensor can be awaited, but its op was recorded with its modes
  if (typeof result === 'object' && result !== null && typeof (result as { then?: unknown }).then === 'function') {
    throw codedError(
      TypeError,
      'ERR_TORCH_ASYNC_MODE',
      `${name}: expected a synchronous function, got one that returns a promise; wrap the parts between its awaits`,
    );
  }
}
