/** The gradient mode for parts of the library's own code. */
import { native } from '../addon/native';
import { restoring } from '../errors/restoring';

/** Runs `fn` with gradient recording on or off. Restores the mode afterwards, also if `fn` is cut off. */
export function inGradMode<T>(enabled: boolean, fn: () => T): T {
  const before = native.gradEnabled();
  return restoring(
    () => native.setGradEnabled(before),
    () => {
      native.setGradEnabled(enabled);
      return fn();
    },
  );
}
