/** `torch.inductor`: models that PyTorch compiled ahead of time. See docs/models.md. */
import * as fs from 'node:fs';
import { argumentError, codedError, type TorchError } from '../errors';
import { RegularFile } from '../files/file';
import { demandFormat } from '../files/formats';
import { type FilePath, pathOf } from '../files/paths';
import { native } from '../native';
import { ownOptions } from '../options';
import { ownScope } from '../scopes/scope';
import { wrap } from '../tensor';
import { examinePackage, type Package } from './archive';
import { unpackingFolder } from './folder';
import { packed } from './inputs';
import { AotiPackage } from './package';

export { AotiPackage, type AsyncAotiPackage } from './package';
export type { PackageInput } from './tree';

export interface AotiLoadOptions {
  /** Which of the package's models: 'model' if not given, as `aoti_compile_and_package` calls it. */
  modelName?: string | undefined;
  /** How many calls run at the same time: 1 if not given. More wait for each other. */
  numRunners?: number | undefined;
  /** Which of several devices of the kind that it was compiled for: the current one if not given. */
  deviceIndex?: number | undefined;
  /** The most bytes of all entries when they are unpacked (default: 256 MiB and 16 times the file's size). */
  maxBytes?: number | undefined;
}

const FN = 'inductor.aotiLoadPackage';
const MOST_RUNNERS = 1024;

const fail = (what: string): TorchError => codedError(Error, 'ERR_TORCH_MODEL', `${FN}: ${what}`);

function integer(name: string, value: unknown, from: number, to: number): number {
  if (Number.isInteger(value) && (value as number) >= from && (value as number) <= to) return value as number;
  throw argumentError(FN, name, `an integer from ${from} to ${to}`, value);
}

/**
 * Loads a model from a .pt2 package, the file that PyTorch's `torch._inductor.aoti_compile_and_package` wrote for this
 * libtorch and this kind of processor. It belongs to the scope in which it is loaded, as a tensor does, or else to the garbage
 * collector. Load only packages that you trust: a package is a native library, which runs as soon as it is loaded.
 *
 * @throws ERR_TORCH_MODEL for what is no such file, is damaged, or is for another machine
 * @throws ERR_TORCH_NOT_IMPLEMENTED on a libtorch before 2.6, which loads none
 */
export function aotiLoadPackage(path: FilePath, options: AotiLoadOptions = {}): AotiPackage {
  const place = pathOf(FN, 'path', path);
  const given = ownOptions(FN, options, ['modelName', 'numRunners', 'deviceIndex', 'maxBytes']);
  const { modelName = 'model', numRunners = 1, deviceIndex, maxBytes } = given;
  if (typeof modelName !== 'string') throw argumentError(FN, 'modelName', 'a string', modelName);
  const runners = integer('numRunners', numRunners, 1, MOST_RUNNERS);
  const index = deviceIndex === undefined ? undefined : integer('deviceIndex', deviceIndex, 0, 127);
  // Before anything is unpacked: it says what is missing.
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
  // The code of a CPU's model is mapped, and all else read, when it is loaded; a GPU's kernels are read when they are used.
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
