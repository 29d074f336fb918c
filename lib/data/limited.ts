/** What may end the wait for a batch: an aborted signal, or too much time. */
import { setImmediate } from 'node:timers';
import { onAbort } from '../async/signals';

export interface Limits {
  readonly signal: AbortSignal | null;
  /** Milliseconds for each batch. */
  readonly timeoutMs: number | null;
}

/**
 * The same promise, rejected when a limit is reached. `late` makes the error of the time; `release` gets what comes later.
 */
export function limited<T>(
  value: PromiseLike<T>,
  { signal, timeoutMs }: Limits,
  late: () => Error,
  release: (value: T) => void,
): PromiseLike<T> {
  if (signal === null && timeoutMs === null) return value;
  return new Promise((resolve, reject) => {
    let over = false;
    const fail = (error: unknown): void => {
      over = true;
      stop();
      reject(error);
    };
    // The dataset may have aborted it. Its event does not come again.
    const forget = signal === null || signal.aborted ? null : onAbort(signal as never, () => fail(signal.reason));
    const timer = timeoutMs === null ? undefined : setTimeout(expired, timeoutMs);
    const stop = (): void => {
      forget?.();
      clearTimeout(timer);
    };
    // A program that computed for so long has not received the batch of a worker yet.
    function expired(): void {
      setImmediate(() => {
        if (!over) fail(late());
      });
    }
    value.then(
      (batch) => {
        if (over) return release(batch);
        over = true;
        stop();
        resolve(batch);
      },
      (error: unknown) => fail(error),
    );
    if (signal?.aborted) fail(signal.reason);
  });
}
