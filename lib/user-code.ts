/** Where the library calls the program's own code in the middle of a function: callbacks, getters, subscribers. */
import { asBody, withoutRecording } from './async/pending';
import { inUsersScope } from './scopes/scope';

/**
 * Runs code of the program as if its own code had called it: in the scope that was current when the library's function was
 * called, and with nothing recorded. Afterwards both are as they were, however it ends.
 */
export const asUser = <T>(fn: () => T): T => withoutRecording(() => inUsersScope(fn));

/** The same for a function that the caller passed to work on tensors: in torch.run what it calls is recorded, too. */
export const asCallback = <T>(fn: () => T): T => asBody(() => inUsersScope(fn));
