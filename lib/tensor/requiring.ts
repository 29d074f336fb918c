/** The option `requiresGrad` of functions that make tensors. */

import { native } from '../addon/native';
import type { Tensor } from './tensor';

/** Makes a new tensor, which the program does not have yet, require gradients. One whose dtype cannot is freed. */
export function requiring<T extends Tensor>(made: T): T {
  const { _handle } = made;
  if (_handle <= 0) {
    made.requiresGrad = true; // pending: recorded
    return made;
  }
  try {
    native.setRequiresGrad(_handle, true); // at once, also in torch.run
  } catch (error) {
    made.dispose();
    throw error;
  }
  return made;
}
