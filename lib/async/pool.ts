/** `torch.asyncPool`: the threads of `torch.async` and `torch.run`, apart from libuv's. */
import { argumentError } from '../errors';
import { native } from '../native';

/** One for the process, for all its threads. */
export interface AsyncPool {
  /**
   * How many run ops at the same time; each op may use `torch.getNumThreads()` threads besides. By default as many as fill
   * the processor: its cores by `getNumThreads()`, at least 1.
   */
  threads: number;
  /** Calls (a whole `torch.run`, or one op of `torch.async`) that run now. */
  readonly running: number;
  /** Calls that wait for a thread: a service that sees this grow has more to do than it can. */
  readonly queued: number;
}

export const asyncPool: AsyncPool = {
  get threads() {
    return native.poolStatus()[0]!;
  },
  set threads(count) {
    if (!Number.isInteger(count) || count < 1 || count > 1024) {
      throw argumentError('asyncPool', 'threads', 'an integer from 1 to 1024', count);
    }
    native.poolSetThreads(count);
  },
  get running() {
    return native.poolStatus()[1]!;
  },
  get queued() {
    return native.poolStatus()[2]!;
  },
};
