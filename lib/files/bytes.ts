/** The bytes of a tensor's elements. */
import type { TorchError } from '../errors/errors';
import { keep } from '../lifetimes/movable';
import { ownScope } from '../lifetimes/scope';
import type { Tensor } from '../tensor/tensor';

/**
 * Runs what reads a loader's data. Its memory comes from a function that no program calls: the error of a refused allocation
 * names the loader instead.
 */
export function namingLoader<T>(fn: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    const { op, message, stack = '' } = (error ?? {}) as TorchError;
    if (op === 'newBytes') {
      const better = message.replace('newBytes', () => fn);
      Object.assign(error as TorchError, { op: fn, message: better, stack: stack.replace(message, () => better) });
    }
    throw error;
  }
}

/** The elements in row-major order on the CPU, as a uint8 tensor of one dimension in the current scope. */
export function flat(tensor: Tensor): Tensor {
  const plain = tensor.detach().cpu().resolveConj().resolveNeg().contiguous();
  return (plain.numel === 0 ? plain.view([0]).to('uint8') : plain.view([-1]).view('uint8')) as Tensor;
}

/** The elements in row-major order, in newly allocated memory. */
export const bytesOfTensor = (tensor: Tensor): Uint8Array => ownScope(() => flat(tensor).toTypedArray() as Uint8Array);

const CHUNK = 1 << 20;

/** The elements in row-major order, in chunks of up to 1 MiB, each in newly allocated memory. */
export function* chunksOfTensor(tensor: Tensor): Generator<Uint8Array> {
  const plain = keep(ownScope(() => flat(tensor)));
  try {
    for (let at = 0; at < plain.numel; at += CHUNK) {
      const length = Math.min(CHUNK, plain.numel - at);
      yield ownScope(() => plain.narrow(0, at, length).toTypedArray() as Uint8Array);
    }
  } finally {
    plain.dispose();
  }
}
