/** `torch.jit`: TorchScript models. See docs/models.md. */
import type { Device } from '../../types/base';
import type { ScriptModule } from '../../types/generated/classes';
import { fromTypedArray } from '../create';
import { argumentError, codedError, type TorchError } from '../errors';
import { type LoadLimits, limitNames } from '../files/limits';
import { MappedFile } from '../files/mapped';
import { native } from '../native';
import { ownOptions } from '../options';
import { ownScope } from '../scopes/scope';
import { wrap } from '../tensor';
import { examine } from './archive';
import { moduleOf } from './module';

export type { AsyncScriptModule } from './module';
export type { ModelInput } from './values';

export interface LoadModelOptions extends LoadLimits {
  /** Where the model's tensors go: where they were saved from, if not given. */
  device?: Device | null | undefined;
  /**
   * What is to happen with a model whose code runs while it is loaded: 'allow', if not given, or 'refuse', which throws before
   * anything runs. 'refuse' also refuses code that names what may reach files or other processes, wherever it stands, and
   * source that is not in the form that PyTorch writes. See docs/models.md for what it cannot tell.
   */
  codeWhileLoading?: 'allow' | 'refuse' | undefined;
}

const fail = (what: string): TorchError => codedError(Error, 'ERR_TORCH_MODEL', `jit.load: ${what}`);

/**
 * Loads a model that PyTorch's `torch.jit.save` wrote, from a file or its bytes. The model belongs to the scope in which it
 * is loaded, as a tensor does, or else to the garbage collector. Load only models that you trust: a model is a program, and
 * **loading it runs code of it**: the `__setstate__` of its classes, and what its functions have for default values. Such code
 * may call every operator, and overwrite files (`torch.from_file(name, shared=True)`). `codeWhileLoading: 'refuse'` refuses it.
 *
 * @throws ERR_TORCH_MODEL for what is no such file, is damaged, is made to break its reader, becomes more than its limits allow,
 * or runs code that is refused
 */
export function load(source: string | Uint8Array, options: LoadModelOptions = {}): ScriptModule {
  const {
    device,
    codeWhileLoading = 'allow',
    ...limits
  } = ownOptions('jit.load', options, ['device', 'codeWhileLoading', ...limitNames]);
  if (codeWhileLoading !== 'allow' && codeWhileLoading !== 'refuse') {
    throw argumentError('jit.load', 'codeWhileLoading', "'allow' or 'refuse'", codeWhileLoading);
  }
  const mayRun = codeWhileLoading === 'allow';
  if (device !== undefined && device !== null && typeof device !== 'string') {
    throw argumentError('jit.load', 'device', "a device such as 'cpu'", device);
  }
  if (typeof source === 'string') {
    // Who can write to the file could change what is mapped after it was examined, and have code run all the same.
    const file = new MappedFile(source, fail, { copied: !mayRun });
    try {
      examine(file, limits, mayRun, fail);
      return read(() => file.tensor(0, file.size, 1)._handle, device ?? null);
    } finally {
      file.close();
    }
  }
  if (!ArrayBuffer.isView(source) || Object.prototype.toString.call(source) !== '[object Uint8Array]') {
    throw argumentError('jit.load', 'source', 'a path or a Uint8Array', source);
  }
  examine({ size: source.length, read: (from, length) => source.subarray(from, from + length) }, limits, mayRun, fail);
  return read(() => fromTypedArray(source)._handle, device ?? null);
}

/** `bytes` makes the handle of the archive's bytes, which are only needed here. */
function read(bytes: () => number, device: string | null): ScriptModule {
  return ownScope(() => moduleOf(wrap(native.modelLoad(bytes(), device))!));
}
