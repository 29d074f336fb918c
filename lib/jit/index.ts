/** `torch.jit`: TorchScript models. See docs/models.md. */
import { types } from 'node:util';
import type { Device, DeviceLike } from '../../types/base';
import type { ScriptModule } from '../../types/generated/classes';
import { givenDevice } from '../devices';
import { argumentError, codedError, type TorchError } from '../errors';
import { RegularFile } from '../files/file';
import { type LoadLimits, limitNames } from '../files/limits';
import type { FilePath } from '../files/paths';
import { type MapOptions, mayShare, type TensorSource, type Wanted, withSource } from '../files/source';
import { native } from '../native';
import { ownOptions } from '../options';
import { ownScope } from '../scopes/scope';
import { type Tensor, wrap } from '../tensor';
import { examine } from './archive';
import { HeldBytes } from './held';
import { moduleOf } from './module';

export type { AsyncScriptModule } from './module';
export type { ModelInput } from './values';

export interface LoadModelOptions<V extends string = Device> extends LoadLimits, MapOptions {
  /** Where the model's tensors go: where they were saved from, if not given. */
  device?: DeviceLike<V> | null | undefined;
  /**
   * What is to happen with a model whose code runs while it is loaded: 'allow', if not given, or 'refuse', which throws before
   * anything runs. 'refuse' also refuses code that names what may reach files or other processes, wherever it stands, and
   * source that is not in the form that PyTorch writes. See docs/models.md for what it cannot tell.
   */
  codeWhileLoading?: 'allow' | 'refuse' | undefined;
}

const fail = (what: string): TorchError => codedError(Error, 'ERR_TORCH_MODEL', `jit.load: ${what}`);
const wanted: Wanted = { fn: 'jit.load', format: 'jit', fail };

/**
 * Loads a model that PyTorch's `torch.jit.save` wrote, from a file or its bytes. The model belongs to the scope in which it
 * is loaded, as a tensor does, or else to the garbage collector. Load only models that you trust: a model is a program, and
 * **loading it runs code of it**: the `__setstate__` of its classes, and what its functions have for default values. Such code
 * may call every operator, and overwrite files (`torch.from_file(name, shared=True)`). `codeWhileLoading: 'refuse'` refuses it.
 *
 * @throws ERR_TORCH_MODEL for what is no such file, is damaged, is made to break its reader, becomes more than its limits allow,
 * or runs code that is refused
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
  // Bytes are only looked at: what libtorch makes of them is a copy.
  return withSource(wanted, source, share || types.isUint8Array(source), (bytes) => {
    const copies = bytes instanceof RegularFile && !share;
    // Who can write to the file could change it after it was examined, and have code run all the same.
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

/** From memory: that of the archive's bytes is only needed here. */
const read = (bytes: TensorSource, device: string | null): ScriptModule =>
  ownScope(() => moduleOf(wrap(native.modelLoad(bytes.tensor(0, bytes.size, 1)._handle, device))!));

/** From the file, so that its tensors are in memory once; all else is what was examined. */
function readFile(file: RegularFile, examined: HeldBytes, device: string | null): ScriptModule {
  const { ranges, held } = examined.merged();
  return ownScope(() => {
    try {
      return moduleOf(wrap(native.modelLoadFile(file.fd, file.size, ranges, held, device))!);
    } catch (error) {
      file.demandUnchanged(); // or that is the reason
      throw error;
    }
  });
}
