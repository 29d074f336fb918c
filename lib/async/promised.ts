/** Promises among the arguments of `torch.async`: they are awaited first. */
import { enableGrad, inferenceMode, isGradEnabled, isInferenceModeEnabled, noGrad } from '../autograd';
import { isPending, isPlain } from './places';

const isPromise = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' &&
  value !== null &&
  typeof (value as { then?: unknown }).then === 'function' &&
  !isPending(value);

/** A value by itself, in a list of tensors, or among the options; null where none is a promise. */
function promiseOf(value: unknown): Promise<unknown> | null {
  if (isPromise(value)) return Promise.resolve(value);
  if (typeof value !== 'object' || value === null) return null;
  if (Array.isArray(value)) return value.some(isPromise) ? Promise.all(value) : null;
  if (!isPlain(value) || !Object.values(value).some(isPromise)) return null;
  const names = Object.keys(value);
  return Promise.all(Object.values(value)).then((all) => Object.fromEntries(names.map((name, i) => [name, all[i]])));
}

/** The arguments once all promises among them are there, or null where none is one. Rejects as the first that does. */
export function whenThere(args: readonly unknown[]): Promise<unknown[]> | null {
  const promises = args.map(promiseOf);
  if (promises.every((promise) => promise === null)) return null;
  const all = Promise.all(promises.map((promise, i) => promise ?? args[i]));
  all.catch(() => {}); // who calls hears it, unless the call was aborted before
  return all;
}

/** Calls a function later in the modes of now. */
export function inModesOfNow(): (fn: () => unknown) => unknown {
  const mode = isInferenceModeEnabled() ? inferenceMode : isGradEnabled() ? enableGrad : noGrad;
  return (fn) => {
    let result: unknown;
    // Not through the mode's own result: a recorded one may look like a promise.
    mode(() => {
      result = fn();
    });
    return result;
  };
}
