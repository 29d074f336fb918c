/** Tensors as the bytes of their elements. */
import { ownScope } from '../scopes/scope';
import type { Tensor } from '../tensor';

/** The elements in row-major order. */
export function bytesOfTensor(tensor: Tensor): Uint8Array {
  return ownScope(() => {
    const plain = tensor.detach().resolveConj().resolveNeg().contiguous();
    return (
      plain.numel === 0 ? plain.view([0]).to('uint8') : plain.view([-1]).view('uint8')
    ).toTypedArray() as Uint8Array;
  });
}
