/** Whether gradients are recorded, for a part of the library's own code. */
import { native } from '../native';
import { restoring } from '../turn';

/** Runs `fn` with recording on or off. Afterwards, or where it is cut off, it is as before. */
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
