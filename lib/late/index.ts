/**
 * What of the public module is loaded when it is first used: more than half of its files. A program that only runs ops does not
 * read them. Where Node does not load the library (lib/addon/late-module.ts), everything is loaded at once.
 */
import { isNodes, loading, startLate } from '../addon/late-module';
import { countArguments } from '../errors/arity';
import { type LateSpace, late, lateFunctions } from './names';
import { defineLate, lateFunction } from './properties';

type Space = Record<string, unknown>;

let files: typeof import('../files/torch-file') | undefined;
const loadFiles = () => require('../files/torch-file') as NonNullable<typeof files>;

/** Written as they are, so that bundlers find them. */
const loads: Record<LateSpace, () => object> = {
  amp: () => require('../optim/amp') as object,
  distributed: () => require('../optim/distributed') as object,
  inductor: () => require('../inductor') as object,
  jit: () => require('../jit') as object,
  nn: () => require('../nn') as object,
  npy: () => (require('../files/npy') as typeof import('../files/npy')).npy,
  npz: () => (require('../files/npy') as typeof import('../files/npy')).npz,
  optim: () => require('../nn/optim') as object,
  safetensors: () => require('../files/safetensors') as object,
  utils: () => require('../utils') as object,
};

/**
 * Adds everything to the module, torch.nn's to the existing space. `loaded` is told the values of a space when they are there,
 * before the program sees them.
 */
export function addLate(module_: Space, loaded: (at: LateSpace, values: Space) => void): void {
  startLate();
  for (const at of Object.keys(late) as LateSpace[]) {
    const space: Space = at === 'nn' ? { ...(module_.nn as Space) } : {};
    module_[at] = space;
    const load = () => {
      const values = countArguments({ ...loads[at]() }, `${at}.`) as Space;
      loaded(at, values);
      return values;
    };
    if (isNodes) defineLate(space, late[at], load);
    else Object.assign(space, load());
  }
}

/** The functions of the module itself. */
export function makeLateFunctions(): Space {
  if (!isNodes) files = loadFiles();
  const functions: Space = {};
  for (const [name, length] of Object.entries(lateFunctions) as [keyof typeof lateFunctions, number][]) {
    const find = () => {
      files ??= loading(loadFiles);
      return files[name];
    };
    functions[name] = lateFunction(name, length, find);
  }
  return countArguments(functions);
}
