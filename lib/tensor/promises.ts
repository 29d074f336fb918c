/** Refuses asynchronous functions and generators in modes of synchronous code. */
import { types } from 'node:util';
import { codedError } from '../errors/errors';
import { isPending } from './places';
import { isTensor } from './tensor';

/** A mode that spans an `await` would leak into other code that runs meanwhile. */
export function refusePromise(name: string, result: unknown): void {
  if (isTensor(result)) return; // a pending tensor can be awaited, but its op was recorded with its modes
  if (types.isGeneratorObject(result)) {
    throw codedError(
      TypeError,
      'ERR_TORCH_ASYNC_MODE',
      `${name}: expected a function that has run when it returns, got a generator; use ${name} inside it, between its yields`,
    );
  }
  if (typeof result === 'object' && result !== null && typeof (result as { then?: unknown }).then === 'function') {
    throw codedError(
      TypeError,
      'ERR_TORCH_ASYNC_MODE',
      `${name}: expected a synchronous function, got one that returns a promise; wrap the parts between its awaits`,
    );
  }
}

/** The same for the function of a mode. In torch.run it may return what is pending: the op was recorded with the mode. */
export function refuseAwaiting(name: string, result: unknown): void {
  if (!isPending(result)) refusePromise(name, result);
}
