/** `torch.jit`: TorchScript models. See docs/models.md. */
import type { Device } from '../../types/base';
import type { ScriptModule } from '../../types/generated/classes';
import { fromTypedArray } from '../create';
import { argumentError, codedError, type TorchError } from '../errors';
import { MappedFile } from '../files/mapped';
import { native } from '../native';
import { ownScope } from '../scopes/scope';
import { wrap } from '../tensor';
import { examine } from './archive';
import { moduleOf } from './module';

export type { AsyncScriptModule } from './module';
export type { ModelInput } from './values';

export interface LoadModelOptions {
  /** Where the model's tensors go: where they were saved from, if not given. */
  device?: Device | null | undefined;
}

const fail = (what: string): TorchError => codedError(Error, 'ERR_TORCH_MODEL', `jit.load: ${what}`);

/**
 * Loads a model that PyTorch's `torch.jit.save` wrote, from a file or its bytes. The model belongs to the scope in which it
 * is loaded, as a tensor does, or else to the garbage collector. Load only models that you trust: a model is a program.
 *
 * @throws ERR_TORCH_MODEL for what is no such file, is damaged, or is made to break its reader
 */
export function load(source: string | Uint8Array, { device }: LoadModelOptions = {}): ScriptModule {
  if (device !== undefined && device !== null && typeof device !== 'string') {
    throw argumentError('jit.load', 'device', "a device such as 'cpu'", device);
  }
  if (typeof source === 'string') {
    const file = new MappedFile(source, fail);
    try {
      examine(file, fail);
      return read(() => file.tensor(0, file.size, 1)._handle, device ?? null);
    } finally {
      file.close();
    }
  }
  if (!ArrayBuffer.isView(source) || Object.prototype.toString.call(source) !== '[object Uint8Array]') {
    throw argumentError('jit.load', 'source', 'a path or a Uint8Array', source);
  }
  examine({ size: source.length, read: (from, length) => source.subarray(from, from + length) }, fail);
  return read(() => fromTypedArray(source)._handle, device ?? null);
}

/** `bytes` makes the handle of the archive's bytes, which are only needed here. */
function read(bytes: () => number, device: string | null): ScriptModule {
  return ownScope(() => moduleOf(wrap(native.modelLoad(bytes(), device))!));
}
