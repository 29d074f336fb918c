/** `torch.inductor`: models that PyTorch compiled ahead of time. See docs/models.md. */
import * as fs from 'node:fs';
import { native } from '../addon/native';
import { ownOptions } from '../addon/options';
import { argumentError, codedError, type TorchError } from '../errors/errors';
import { RegularFile } from '../files/file';
import { demandFormat } from '../files/formats';
import { type FilePath, pathOf } from '../files/paths';
import { ownScope } from '../lifetimes/scope';
import { wrap } from '../tensor/tensor';
import { examinePackage, type Package } from './archive';
import { unpackingFolder } from './folder';
import { packed } from './inputs';
import { AotiPackage } from './package';

export { AotiPackage, type AsyncAotiPackage } from './package';
export type { PackageInput } from './tree';

export interface AotiLoadOptions {
  /** The name of the model in the package (default: 'model', as in `aoti_compile_and_package`). */
  modelName?: string | undefined;
  /** The number of calls that may run at the same time (default: 1). Further calls wait. */
  numRunners?: number | undefined;
  /** The index of the device (default: the current one). */
  deviceIndex?: number | undefined;
  /** The maximum size in bytes of all entries together after unpacking (default: 256 MiB plus 16 times the file's size). */
  maxBytes?: number | undefined;
}

const FN = 'inductor.aotiLoadPackage';
const MAX_RUNNERS = 1024;

const fail = (what: string): TorchError => codedError(Error, 'ERR_TORCH_MODEL', `${FN}: ${what}`);

function integer(name: string, value: unknown, from: number, to: number): number {
  if (Number.isInteger(value) && (value as number) >= from && (value as number) <= to) return value as number;
  throw argumentError(FN, name, `an integer from ${from} to ${to}`, value);
}

/**
 * Loads a model from a .pt2 package that PyTorch's `torch._inductor.aoti_compile_and_package` wrote for this libtorch and
 * this kind of processor. It belongs to the scope in which it is loaded, as a tensor does, or else to the garbage collector.
 * Load only packages that you trust: a package is a native library, whose code runs as soon as it is loaded.
 *
 * @throws ERR_TORCH_MODEL if the file is not a package, is damaged, or is for another machine
 * @throws ERR_TORCH_NOT_IMPLEMENTED on libtorch before 2.6, which cannot load packages
 */
export function aotiLoadPackage(path: FilePath, options: AotiLoadOptions = {}): AotiPackage {
  const place = pathOf(FN, 'path', path);
  const given = ownOptions(FN, options, ['modelName', 'numRunners', 'deviceIndex', 'maxBytes']);
  const { modelName = 'model', numRunners = 1, deviceIndex, maxBytes } = given;
  if (typeof modelName !== 'string') throw argumentError(FN, 'modelName', 'a string', modelName);
  const runners = integer('numRunners', numRunners, 1, MAX_RUNNERS);
  const index = deviceIndex === undefined ? undefined : integer('deviceIndex', deviceIndex, 0, 127);
  // Throws ERR_TORCH_NOT_IMPLEMENTED before anything is unpacked.
  if (!native.hasPackages()) native.packageLoad('', '', '', '', false, 0, 0, []);
  const file = new RegularFile(place, fail);
  try {
    demandFormat(file, { format: 'package', fail });
    const found = examinePackage(file, modelName, fail, maxBytes);
    return ownScope(() => load(found, modelName, runners, index));
  } finally {
    file.close();
  }
}

function load(found: Package, modelName: string, runners: number, index: number | undefined): AotiPackage {
  // A CPU model is completely mapped or read when it is loaded; the kernels of a GPU model are read on first use.
  const onCpu = found.device === 'cpu';
  const device = onCpu || index === undefined ? found.device : `${found.device}:${index}`;
  const folder = unpackingFolder(fail);
  let remove = true;
  try {
    const { library, weights } = found.unpack(folder);
    const forms = packed(found.inputs);
    const token = native.packageLoad(folder, library, weights, device, !onCpu, runners, found.bytes, forms);
    remove = onCpu;
    return new AotiPackage(wrap(token)!, modelName, found.metadata);
  } finally {
    if (remove) fs.rmSync(folder, { recursive: true, force: true });
  }
}
