/** Whether the functions of torch.nn.init fill tensors. */
import { restoring } from '../errors/restoring';

let skipping = false;

export const isSkipping = (): boolean => skipping;

/** Runs `fn`, in which the functions of torch.nn.init leave tensors as they are: `torch.nn.utils.skipInit`. */
export function withoutInit<T>(fn: () => T): T {
  const before = skipping;
  return restoring(
    () => {
      skipping = before;
    },
    () => {
      skipping = true;
      return fn();
    },
  );
}
