/** Promises among the arguments of `torch.async` are awaited first. */
import { currentModes, inAutocastModes } from '../autograd/autocast';
import { enableGrad, inferenceMode, isGradEnabled, isInferenceModeEnabled, noGrad } from '../autograd/backward';
import { isPending, isPlain } from '../tensor/places';

const isPromise = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' &&
  value !== null &&
  typeof (value as { then?: unknown }).then === 'function' &&
  !isPending(value);

/** Awaits a promise, or those in a list or in the options; null if there is none. */
function promiseOf(value: unknown): Promise<unknown> | null {
  if (isPromise(value)) return Promise.resolve(value);
  if (typeof value !== 'object' || value === null) return null;
  if (Array.isArray(value)) return value.some(isPromise) ? Promise.all(value) : null;
  if (!isPlain(value) || !Object.values(value).some(isPromise)) return null;
  const names = Object.keys(value);
  return Promise.all(Object.values(value)).then((all) => Object.fromEntries(names.map((name, i) => [name, all[i]])));
}

/** The arguments after all promises among them have resolved, or null without promises. Rejects like the first that does. */
export function whenResolved(args: readonly unknown[]): Promise<unknown[]> | null {
  const promises = args.map(promiseOf);
  if (promises.every((promise) => promise === null)) return null;
  const all = Promise.all(promises.map((promise, i) => promise ?? args[i]));
  all.catch(() => {}); // reported by the call, unless it was aborted before
  return all;
}

/** Returns a wrapper that calls a function later in the current modes of gradients and of autocast. */
export function inCurrentModes(): (fn: () => unknown) => unknown {
  const mode = isInferenceModeEnabled() ? inferenceMode : isGradEnabled() ? enableGrad : noGrad;
  const autocast = currentModes();
  return (fn) => {
    let result: unknown;
    // Not the mode function's result: a pending one looks like a promise.
    mode(() =>
      inAutocastModes(autocast, () => {
        result = fn();
      }),
    );
    return result;
  };
}
