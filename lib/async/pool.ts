/** `torch.asyncPool`: the threads of `torch.async` and `torch.run`, separate from libuv's. */

import { setImmediate } from 'node:timers';
import { inspect } from 'node:util';
import { native } from '../addon/native';
import { demandThreads } from '../errors/values';

/** One pool for all threads of the process. */
export interface AsyncPool {
  /**
   * The number of threads that run ops; each op may use `torch.getNumThreads()` more threads. Default: the number of cores
   * divided by `getNumThreads()`, at least 1.
   */
  threads: number;
  /** Calls that are running: a whole `torch.run`, or one op of `torch.async`. */
  readonly running: number;
  /** Calls that ran out of time (`timeoutMs`) and whose op is still running: it cannot be stopped, and uses a core. */
  readonly abandoned: number;
  /** Calls that wait for a thread: if this keeps growing, the service is overloaded. */
  readonly queued: number;
}

export const asyncPool: AsyncPool = {
  get threads() {
    return native.poolStatus()[0]!;
  },
  set threads(count) {
    demandThreads('asyncPool', 'threads', count);
    native.poolSetThreads(count);
  },
  get running() {
    return native.poolStatus()[1]!;
  },
  get abandoned() {
    return native.poolStatus()[3]!;
  },
  get queued() {
    return native.poolStatus()[2]!;
  },
};

let isReplacing = false;
/** Other calls get the threads of abandoned ops when all timers that are due have run: those may withdraw further calls. */
export function replaceLater(): void {
  if (isReplacing) return;
  setImmediate(() => {
    isReplacing = false;
    native.poolReplaceAbandoned();
  });
  isReplacing = true; // last: if this is cut off (a `vm` timeout), the next call repeats it
}

// `console.log` would show that there are getters, and not the figures.
Object.defineProperty(asyncPool, inspect.custom, { value: () => ({ ...asyncPool }) });
