/** Samples that are read one after the other, and may be promises. */
import { isTensor } from '../tensor/tensor';

export const isPromise = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' &&
  value !== null &&
  !isTensor(value) &&
  typeof (value as { then?: unknown }).then === 'function';

/**
 * The samples, or promises of them. If one cannot be read, those under way end before its error is thrown: nothing runs on in a
 * scope that has ended, and no rejection is lost.
 */
export function readEach(count: number, read: (place: number) => unknown): unknown[] | Promise<never> {
  const samples: unknown[] = [];
  try {
    for (let place = 0; place < count; place++) samples.push(read(place));
  } catch (error) {
    if (!samples.some(isPromise)) throw error;
    return Promise.allSettled(samples).then(() => Promise.reject(error));
  }
  return samples;
}

/**
 * Waits for all, so that nothing runs on in a scope that has ended; then throws the error of the first that failed. `reached`: the
 * first place that is still waited for, whenever it is another one; then the place that failed.
 */
export async function allOf(
  values: readonly unknown[],
  reached: (place: number) => void = () => {},
): Promise<unknown[]> {
  const waits = values.map(isPromise);
  let first = -1;
  const move = (): void => {
    const next = waits.indexOf(true, Math.max(first, 0));
    if (next < 0 || next === first) return;
    first = next;
    reached(first);
  };
  // `then` of each is called once: an object with a `then` that is not a Promise may begin its work there.
  const followed = values.map((value, place) =>
    isPromise(value)
      ? Promise.resolve(value).finally(() => {
          waits[place] = false;
          move();
        })
      : value,
  );
  move();
  const settled = await Promise.allSettled(followed);
  return settled.map((one, i) => {
    if (one.status === 'fulfilled') return one.value;
    reached(i);
    throw one.reason;
  });
}
