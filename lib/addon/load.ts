/**
 * Chooses the binding that fits the installed libtorch, and loads both. Combinations that would crash or bind wrongly are
 * refused first: versions, ABI, processor and size are read from the files.
 */
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { startupSnapshot } from 'node:v8';
import { codedError, type TorchError } from '../errors/errors';
import {
  type Binding,
  buildCommand,
  candidates,
  describe,
  isBundled,
  isCheckout,
  packageRoot,
  whyNot,
} from '../libtorch/bindings';
import { readElf } from '../libtorch/elf';
import { LibtorchError } from '../libtorch/error';
import { findRuntime, type Runtime } from '../libtorch/find';
import { mappedFiles } from '../libtorch/mapped';
import { printable } from '../libtorch/printable';

export interface Loaded {
  addon: unknown;
  binding: Binding;
  libtorch: Runtime;
  /** The addon of another copy of the library that the process had loaded before; undefined: none, or it also had this one. */
  otherAddon: string | undefined;
}

const toBuild = `run ${buildCommand()}${isCheckout ? '' : ', which compiles one for it (minutes, once for each libtorch)'}`;

const loadError = (message: string): TorchError => codedError(Error, 'ERR_TORCH_LOAD', message);

/** dlopen's flag that keeps a library loaded after its handle is closed; Node has no constant for it. */
const RTLD_NODELETE = process.platform === 'darwin' ? 0x80 : 0x1000;

/** Loads a library that is not an addon, and keeps it. */
function keepLoaded(file: string): void {
  try {
    process.dlopen({ exports: {} }, file, os.constants.dlopen.RTLD_LAZY | RTLD_NODELETE);
  } catch (error) {
    // Node loads the library, finds that it is not an addon, and closes it again, but RTLD_NODELETE keeps it loaded.
    const { message } = error as Error;
    if (!/self-register|napi_register_module|find register/i.test(message)) throw error; // Node, Bun, Deno
  }
}

/** Parts of OpenCV on which Debian 12's libtorch depends. They depend on most of its 280 libraries. */
const EARLY = ['libopencv_imgcodecs.so', 'libopencv_videoio.so'];

/**
 * The dynamic linker looks up the symbols of a library in all libraries that are loaded in the same call. In calls of their own
 * these are searched for fewer symbols, which saves a tenth of the time. Not if libtorch has a search path of its own, because it
 * might have other libraries of those names.
 */
function loadEarly({ files }: Runtime): void {
  if (process.platform !== 'linux') return;
  const { needed, runpath } = readElf(files.torch_cpu!);
  if (runpath !== null) return;
  for (const early of EARLY) {
    const name = needed.find((one) => one.startsWith(early));
    try {
      if (name !== undefined) keepLoaded(name);
    } catch {
      // The call that loads libtorch reports what is missing.
    }
  }
}

/**
 * Loads libtorch's libraries by their full paths. The addon refers to them by soname, which the loader resolves to libraries
 * already loaded, so it gets these regardless of the search path.
 */
function loadLibraries(libtorch: Runtime): void {
  loadEarly(libtorch);
  for (const file of Object.values(libtorch.files)) keepLoaded(file);
}

const real = (file: string): string => {
  try {
    return fs.realpathSync(file);
  } catch {
    return file; // replaced on disk since it was loaded
  }
};

/** Refuses a second libtorch: the symbols of two in one process get mixed up, which crashes sooner or later. */
function refuseSecond(libtorch: Runtime, files: readonly string[]): void {
  const chosen = new Set(Object.values(libtorch.files).map(real));
  const mapped = files.filter((file) => /^lib(?:torch_cpu|c10)\./.test(path.basename(file)));
  const other = mapped.find((file) => !chosen.has(real(file)));
  if (other === undefined) return;
  throw loadError(
    `this process already has a libtorch, ${printable(other)}, and libtorch-node would load another: ` +
      `${describe(libtorch)} in ${printable(libtorch.lib)} (${libtorch.origin}).\n` +
      `A process can hold one. Set LIBTORCH (or LIBTORCH_LIB=${printable(path.dirname(other))}) so that both use the same, and check LD_PRELOAD and other packages that include a libtorch.`,
  );
}

const ADDON = 'libtorch_node.node';
const mappedNow = (): readonly string[] => mappedFiles() ?? []; // Linux only

/**
 * The warning is for the first load of this addon only. If it was mapped before (by another thread, or for Jest), the copy that
 * loaded it first has warned. A file that was replaced since it was mapped is another addon; Linux calls it deleted.
 */
function otherAddon(own: string, mappedBefore: readonly string[]): string | undefined {
  const names = [ADDON, path.basename(own)].flatMap((name) => [name, `${name} (deleted)`]);
  const addons = mappedBefore.filter((file) => names.includes(path.basename(file)));
  return addons.some((file) => real(file) === real(own)) ? undefined : addons[0];
}

function find(): Runtime {
  try {
    return findRuntime();
  } catch (error) {
    if (!(error instanceof LibtorchError)) throw error;
    throw loadError(
      `libtorch-node found no libtorch to run on.\n${error.message}\n\`npx libtorch-node doctor\` shows more.`,
    );
  }
}

const shown = (file: string): string =>
  printable(file.startsWith(packageRoot + path.sep) ? path.relative(packageRoot, file) : file);

/** What the loader says of any file, however it was built, under a limit on the address space or on a noexec mount. */
const UNMAPPED = /failed to map segment/;

function advice(libtorch: Runtime, considered: Binding[], reasons: string[]): string {
  if (reasons.some((reason) => UNMAPPED.test(reason)))
    return (
      'The system refused to map a library: raise the limit on the address space (`ulimit -v`), or move the named file from a file system that is mounted noexec.' +
      '\n`npx libtorch-node doctor` shows what was found.'
    );
  const previous = considered.find(({ from, info }) => from === 'cache' && info !== null);
  const other =
    previous === undefined
      ? ''
      : `\nA binding was built for ${describe(previous.info!.libtorch)}: name that one with LIBTORCH to use it.`;
  return (
    `For ${describe(libtorch)} in ${printable(libtorch.lib)}: ${toBuild}; or set LIBTORCH to a libtorch that fits.${other}` +
    '\n`npx libtorch-node doctor` shows what was found.'
  );
}

/** Nothing of the package is beside a bundle, and what is there belongs to the program: its package.json, its build folder. */
function refuseBundle(): void {
  if (!isBundled || process.env.LIBTORCH_NODE_ADDON) return;
  throw loadError(
    `libtorch-node is bundled into ${printable(__filename)}, where its addon and its workers are missing.\n` +
      "Declare it as external, so that it is loaded from node_modules: esbuild's --external:libtorch-node, webpack's and Rollup's `externals` and `external`.",
  );
}

/** V8 cannot write the references of an addon, nor the memory of tensors, into a snapshot: Node would abort when it tries. */
function refuseSnapshot(): void {
  if (!startupSnapshot?.isBuildingSnapshot?.()) return; // 1 in Node 20; other runtimes may lack the function
  throw loadError(
    'libtorch-node is loaded while Node builds a startup snapshot, which can contain neither an addon nor the memory of tensors.\n' +
      'Load it when the program starts from the snapshot, in the function for v8.startupSnapshot.setDeserializeMainFunction.',
  );
}

/** Another addon or libtorch would not help. */
const disabled = () =>
  loadError(
    'this Node does not load addons, and libtorch-node is one: it runs with --no-addons, or with the permission model and without --allow-addons.\n' +
      'Start it without --no-addons or with --allow-addons; check NODE_OPTIONS too.',
  );

/** Loads the first binding that fits. Throws `ERR_TORCH_LOAD` with the reason for each that does not. */
export function load(): Loaded {
  refuseBundle();
  refuseSnapshot();
  const libtorch = find();
  const mappedBefore = mappedNow();
  refuseSecond(libtorch, mappedBefore);
  const considered = candidates();
  const reasons: string[] = [];
  for (const binding of considered) {
    let problem = whyNot(binding, libtorch);
    if (problem === null) {
      try {
        loadLibraries(libtorch);
        const addon = require(binding.addon) as unknown;
        refuseSecond(libtorch, mappedNow()); // if libraries cannot be loaded by path, the loader may have found others
        return { addon, binding, libtorch, otherAddon: otherAddon(binding.addon, mappedBefore) };
      } catch (error) {
        const { code, message } = error as TorchError;
        if (code === 'ERR_TORCH_LOAD') throw error;
        if (code === 'ERR_DLOPEN_DISABLED') throw disabled();
        problem = message; // the loader's message: a missing library or symbol
      }
    }
    reasons.push(`  ${printable(binding.addon)}: ${printable(problem)}`);
  }
  if (reasons.length === 0) reasons.push(`  none in ${shown(path.join(packageRoot, 'prebuilds'))} nor in the cache`);
  throw loadError(
    [
      'libtorch-node has no addon that loads with this libtorch:',
      ...reasons,
      advice(libtorch, considered, reasons),
    ].join('\n'),
  );
}
