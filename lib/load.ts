/**
 * Chooses the binding that fits the libtorch at hand, and loads both. What would crash or bind wrongly is refused before:
 * versions, ABI, processor and length of the files are read, not tried.
 */
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { codedError, type TorchError } from './errors';
import { type Binding, candidates, describe, packageRoot, whyNot } from './libtorch/bindings';
import { LibtorchError } from './libtorch/error';
import { findRuntime, type Runtime } from './libtorch/find';
import { printable } from './libtorch/printable';

export interface Loaded {
  addon: unknown;
  binding: Binding;
  libtorch: Runtime;
}

/** A checkout builds for itself; what npm installed asks the package's program. */
const inCheckout = fs.existsSync(path.join(packageRoot, 'lib', 'index.ts'));
const buildCommand = inCheckout
  ? 'run `npm run build` in the folder of libtorch-node'
  : 'run `npx libtorch-node build`, which compiles one for it (minutes, once for each libtorch)';

const loadError = (message: string): TorchError => codedError(Error, 'ERR_TORCH_LOAD', message);

/** dlopen's flag for a library that stays when its handle is closed; Node has no name for it. */
const RTLD_NODELETE = process.platform === 'darwin' ? 0x80 : 0x1000;

/**
 * Loads libtorch's libraries by their full names. The addon asks for them by short names, which the loader finds among
 * those already loaded: so it gets these, wherever else the loader would look.
 */
function loadLibraries({ files }: Runtime): void {
  for (const file of Object.values(files)) {
    try {
      process.dlopen({ exports: {} }, file, os.constants.dlopen.RTLD_LAZY | RTLD_NODELETE);
    } catch (error) {
      // A library that is no addon is loaded, found to be none, and closed again, which RTLD_NODELETE makes void.
      const { message } = error as Error;
      if (!/self-register|napi_register_module|find register/i.test(message)) throw error; // Node, Bun, Deno
    }
  }
}

/** The files of libtorch that this process has mapped, by their real paths. Linux only; elsewhere none are known. */
function mappedLibraries(): Set<string> {
  try {
    const maps = fs.readFileSync('/proc/self/maps', 'utf8');
    return new Set([...maps.matchAll(/(\/\S*\/lib(?:torch_cpu|c10)\.[^\n]*)$/gm)].map((match) => match[1]!));
  } catch {
    return new Set(); // no /proc: a second libtorch then goes unnoticed
  }
}

const real = (file: string): string => {
  try {
    return fs.realpathSync(file);
  } catch {
    return file; // replaced on disk since it was loaded
  }
};

/** Two libtorchs in one process answer for each other's symbols, and crash sooner or later. */
function refuseSecond(libtorch: Runtime): void {
  const chosen = new Set(Object.values(libtorch.files).map(real));
  const other = [...mappedLibraries()].find((file) => !chosen.has(real(file)));
  if (other === undefined) return;
  throw loadError(
    `this process already has a libtorch, ${printable(other)}, and libtorch-node would load another: ` +
      `${describe(libtorch)} in ${printable(libtorch.lib)} (${libtorch.origin}).\n` +
      `A process can hold one. Set LIBTORCH (or LIBTORCH_LIB=${printable(path.dirname(other))}) so that both use the same, and mind LD_PRELOAD and other packages that bring a libtorch.`,
  );
}

function find(): Runtime {
  try {
    return findRuntime();
  } catch (error) {
    if (!(error instanceof LibtorchError)) throw error;
    throw loadError(
      `libtorch-node found no libtorch to run on.\n${error.message}\n\`npx libtorch-node doctor\` says more.`,
    );
  }
}

const shown = (file: string): string =>
  printable(file.startsWith(packageRoot + path.sep) ? path.relative(packageRoot, file) : file);

function advice(libtorch: Runtime, considered: Binding[]): string {
  const previous = considered.find(({ from, info }) => from === 'cache' && info !== null);
  const other =
    previous === undefined
      ? ''
      : `\nA binding was built for ${describe(previous.info!.libtorch)}: name that one with LIBTORCH to use it.`;
  return (
    `For ${describe(libtorch)} in ${printable(libtorch.lib)}: ${buildCommand}; or set LIBTORCH to a libtorch that fits.${other}` +
    '\n`npx libtorch-node doctor` says what was found.'
  );
}

/** Loads the first binding that fits. Throws `ERR_TORCH_LOAD` with the reason for each that does not. */
export function load(): Loaded {
  const libtorch = find();
  refuseSecond(libtorch);
  const considered = candidates();
  const reasons: string[] = [];
  for (const binding of considered) {
    let problem = whyNot(binding, libtorch);
    if (problem === null) {
      try {
        loadLibraries(libtorch);
        const addon = require(binding.addon) as unknown;
        refuseSecond(libtorch); // where libraries cannot be loaded by name, the loader may have found others
        return { addon, binding, libtorch };
      } catch (error) {
        const { code, message } = error as TorchError;
        if (code === 'ERR_TORCH_LOAD') throw error;
        problem = message; // the loader's words: a library that is missing, a symbol
      }
    }
    reasons.push(`  ${printable(binding.addon)}: ${printable(problem)}`);
  }
  if (reasons.length === 0) reasons.push(`  none in ${shown(path.join(packageRoot, 'prebuilds'))} nor in the cache`);
  throw loadError(
    ['libtorch-node has no addon that loads with this libtorch:', ...reasons, advice(libtorch, considered)].join('\n'),
  );
}
