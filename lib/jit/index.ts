/** `torch.jit`: TorchScript models. See docs/models.md. */
import { types } from 'node:util';
import type { Device, DeviceLike } from '../../types/base';
import type { ScriptModule } from '../../types/generated/classes';
import { native } from '../addon/native';
import { ownOptions } from '../addon/options';
import { givenDevice } from '../errors/devices';
import { argumentError, codedError, type TorchError } from '../errors/errors';
import { RegularFile } from '../files/file';
import { type LoadLimits, limitNames } from '../files/limits';
import type { FilePath } from '../files/paths';
import { type MapOptions, mayShare, type TensorSource, type Wanted, withSource } from '../files/source';
import { ownScope } from '../lifetimes/scope';
import { type Tensor, wrap } from '../tensor/tensor';
import { examine } from './archive';
import { HeldBytes } from './held';
import { moduleOf } from './module';

export type { AsyncScriptModule } from './module';
export { type FreezeOptions, freeze, type OptimizeForInferenceOptions, optimizeForInference } from './optimize';
export { save } from './save';
export type { ModelInput } from './values';

export interface LoadModelOptions<V extends string = Device> extends LoadLimits, MapOptions {
  /** The device of the model's tensors (default: the one that they were saved from). */
  device?: DeviceLike<V> | null | undefined;
  /**
   * Whether code of the model may run while it is loaded: 'allow' (default), or 'refuse', which throws before any code runs.
   * 'refuse' also refuses code that uses operators with access to files or other processes, and source that is not in the
   * form that PyTorch writes. See docs/models.md for its limits.
   */
  codeWhileLoading?: 'allow' | 'refuse' | undefined;
}

const fail = (what: string): TorchError => codedError(Error, 'ERR_TORCH_MODEL', `jit.load: ${what}`);
const wanted: Wanted = { fn: 'jit.load', format: 'jit', fail };

/**
 * Loads a model that PyTorch's `torch.jit.save` wrote, from a file or its bytes. The model belongs to the scope in which it
 * is loaded, as a tensor does, or else to the garbage collector. Load only models that you trust: a model is a program, and
 * **loading it runs code**: the `__setstate__` of its classes, and the default values of its functions. That code may call
 * every operator and overwrite files (`torch.from_file(name, shared=True)`). `codeWhileLoading: 'refuse'` refuses it.
 *
 * @throws ERR_TORCH_MODEL if the file is not a model, is damaged or malicious, exceeds a limit, or runs code that is refused
 */
export function load<const V extends string = Device>(
  source: FilePath | Uint8Array,
  options: LoadModelOptions<V> = {},
): ScriptModule {
  const {
    device,
    mmap,
    codeWhileLoading = 'allow',
    ...limits
  } = ownOptions('jit.load', options, ['device', 'mmap', 'codeWhileLoading', ...limitNames]);
  if (codeWhileLoading !== 'allow' && codeWhileLoading !== 'refuse') {
    throw argumentError('jit.load', 'codeWhileLoading', "'allow' or 'refuse'", codeWhileLoading);
  }
  const mayRun = codeWhileLoading === 'allow';
  const place = givenDevice('jit.load', device);
  const share = mayShare('jit.load', mmap);
  // Bytes may be shared: libtorch copies what it keeps.
  return withSource(wanted, source, share || types.isUint8Array(source), (bytes) => {
    const copies = bytes instanceof RegularFile && !share;
    // Another process could modify the file after it was examined and run code, so it is examined in memory.
    if (!mayRun) {
      const all = bytes.tensor(0, bytes.size, 1);
      const whole = inTensor(copies ? all : (all.clone() as Tensor));
      if (bytes instanceof RegularFile) {
        bytes.demandUnchanged();
        bytes.close();
      }
      examine(whole, limits, mayRun, fail);
      return read(whole, place);
    }
    if (!copies) {
      examine(bytes, limits, mayRun, fail);
      return read(bytes, place);
    }
    const held = new HeldBytes(bytes);
    examine(held, limits, mayRun, fail);
    return readFile(bytes, held, place);
  });
}

const inTensor = (bytes: Tensor): TensorSource => ({
  size: bytes.numel,
  read: (from, length) => ownScope(() => bytes.narrow(0, from, length).toTypedArray() as Uint8Array),
  tensor: (from, length) => bytes.narrow(0, from, length) as Tensor,
});

/** Loads from memory. The bytes of the archive are released afterwards. */
const read = (bytes: TensorSource, device: string | null): ScriptModule =>
  ownScope(() => moduleOf(wrap(native.modelLoad(bytes.tensor(0, bytes.size, 1)._handle, device))!));

/** Loads tensors from the file, so that they are in memory only once, and everything else from the examined bytes. */
function readFile(file: RegularFile, examined: HeldBytes, device: string | null): ScriptModule {
  const { ranges, held } = examined.merged();
  return ownScope(() => {
    try {
      return moduleOf(wrap(native.modelLoadFile(file.fd, file.size, ranges, held, device))!);
    } catch (error) {
      file.demandUnchanged(); // throws if that was the reason
      throw error;
    }
  });
}
