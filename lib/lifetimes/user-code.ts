/** Calls of user code in the middle of library functions: callbacks, getters, subscribers. */
import { asBody, requireRepeatable, withoutRecording } from '../tensor/pending';
import { inUsersScope } from './scope';

/**
 * Runs user code as if the program had called it: in the scope that was current when the library function was called, and
 * without recording. Restores both afterwards, also if it throws.
 */
export function asUser<T>(fn: () => T): T {
  requireRepeatable();
  return withoutRecording(() => inUsersScope(fn));
}

/** The same for a callback that works on tensors: inside torch.run its ops are recorded too. */
export const asCallback = <T>(fn: () => T): T => asBody(() => inUsersScope(fn));
