'use strict';
/**
 * Bindings: an addon built for one libtorch, with the JavaScript that codegen generated for it. Each has its own folder:
 *
 *   libtorch_node.node   the addon
 *   libtorch_node_distributed.node   the second addon, for torch.distributed, if c10d and Gloo were there
 *   binding.json         what it was built for
 *   generated/           the generated wrappers
 *
 * Search order: the file named by `LIBTORCH_NODE_ADDON`; a checkout's own build; what `libtorch-node build` made on this
 * machine (in the user's cache folder); the package's prebuilds/. The first that fits the installed libtorch is loaded, which
 * is determined from the files. Other users may have access to the cache (a shared home, /tmp): files there that they could
 * have written are not read.
 */
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { ElfError, readElf } = require('./elf.js');
const { minorOf } = require('./identify.js');
const { printable } = require('./printable.js');
const { examineFolder, makeFolder, treeProblem } = require('./trust.js');

const addonName = 'libtorch_node.node';
/** The second addon, in the same folder; absent where c10d or Gloo was missing when the binding was built. */
const distributedName = 'libtorch_node_distributed.node';
const infoName = 'binding.json';
const platform = `${process.platform}-${process.arch}`;

/** The folder that contains lib/ (a checkout, whose folder may be named dist) or dist/lib/ (a package or a built checkout). */
const packageRoot = (() => {
  const above = path.resolve(__dirname, '..', '..');
  const isBuilt = path.basename(above) === 'dist' && !fs.existsSync(path.join(above, 'package.json'));
  return isBuilt ? path.dirname(above) : above;
})();
/** Whether this is a checkout, which is built with npm, or an installed package. */
const isCheckout = fs.existsSync(path.join(packageRoot, 'lib', 'index.ts'));
/** What builds the addon, as messages say it. Without --force, `libtorch-node build` does nothing where an addon loads. */
const buildCommand = ({ checkout = isCheckout, force = false } = {}) =>
  checkout ? '`npm run build` in the folder of libtorch-node' : `\`npx libtorch-node build${force ? ' --force' : ''}\``;
/** Whether a bundler has put this file into another one, far from the package's addon. */
const isBundled = path.basename(__filename) !== 'bindings.js';
const packageVersion = () => JSON.parse(fs.readFileSync(path.join(packageRoot, 'package.json'), 'utf8')).version;

/** HOME, unless it is relative: then the current folder, which may belong to anyone, would decide which code is loaded. */
const homeFolder = (env) => (env.HOME && path.isAbsolute(env.HOME) ? env.HOME : os.userInfo().homedir);

/** Where `libtorch-node build` stores its output: LIBTORCH_NODE_CACHE, or libtorch-node in the user's cache folder. */
function cacheFolder(env = process.env) {
  if (env.LIBTORCH_NODE_CACHE) return path.resolve(env.LIBTORCH_NODE_CACHE);
  const usual = process.platform === 'darwin' ? ['Library', 'Caches'] : ['.cache'];
  // The XDG specification ignores relative paths.
  const base = env.XDG_CACHE_HOME && path.isAbsolute(env.XDG_CACHE_HOME) ? env.XDG_CACHE_HOME : undefined;
  return path.join(base ?? path.join(homeFolder(env), ...usual), 'libtorch-node');
}

/** The cached bindings of this version of the package on this platform. */
const belowCache = () => ['bindings', packageVersion(), platform];
const cachedBindings = (env = process.env) => path.join(cacheFolder(env), ...belowCache());
/** Creates that folder. `problem`: why other users could write to it, or null. Callers must use only the path `real`. */
const makeCachedBindings = (env = process.env) => makeFolder(cacheFolder(env), belowCache());
const prebuilds = path.join(packageRoot, 'prebuilds', platform);

/** The name of a binding's folder, with every property that distinguishes bindings. */
function bindingName({ version, abi, cuda, sonames }) {
  const versioned = sonames.torch_cpu === undefined || /\.so\.\d/.test(sonames.torch_cpu);
  const parts = [`libtorch-${minorOf(version)}`, abi === 'old' ? 'oldabi' : '', cuda ? 'cuda' : ''];
  return [...parts, versioned ? '' : 'unversioned'].filter(Boolean).join('-');
}

/** The contents of binding.json. */
const bindingInfo = (libtorch) => ({
  format: 1,
  package: packageVersion(),
  platform: process.platform,
  arch: process.arch,
  libtorch: {
    version: libtorch.version,
    abi: libtorch.abi,
    cuda: libtorch.cuda,
    sonames: libtorch.sonames,
  },
});

function readInfo(folder) {
  try {
    const file = path.join(folder, infoName);
    return fs.statSync(file).isFile() ? JSON.parse(fs.readFileSync(file, 'utf8')) : null;
  } catch {
    return null; // none: an addon alone, whose ELF header is enough
  }
}

/** The generated JavaScript of a checkout, for addons without their own. */
const ownGenerated = path.join(packageRoot, 'dist', 'lib', 'generated');

function binding(addon, from) {
  const beside = path.join(path.dirname(addon), 'generated');
  const generated = fs.existsSync(beside) ? beside : ownGenerated;
  return { from, addon, generated, info: readInfo(path.dirname(addon)), refused: null };
}

/** A binding that was not read, because other users could have put it there. */
const refusedBinding = (addon, refused) => ({ from: 'cache', addon, generated: '', info: null, refused });

function foldersIn(dir) {
  try {
    const names = fs.readdirSync(dir).filter((name) => !name.startsWith('.')); // dot folders are still being written
    return names.filter((name) => fs.existsSync(path.join(dir, name, addonName)));
  } catch {
    return []; // the folder does not exist
  }
}

const bindingsIn = (dir, from) => foldersIn(dir).map((name) => binding(path.join(dir, name, addonName), from));

/** Bindings made by `libtorch-node build`; a single refused one if the folder itself is not trusted. */
function bindingsInCache(env) {
  if (foldersIn(cachedBindings(env)).length === 0) return [];
  const { real, problem } = examineFolder(cacheFolder(env), belowCache());
  if (problem !== null) return [refusedBinding(cachedBindings(env), `${notOurs}: ${problem}`)];
  return foldersIn(real).map((name) => {
    const addon = path.join(real, name, addonName);
    const found = treeProblem(path.join(real, name));
    return found === null ? binding(addon, 'cache') : refusedBinding(addon, `${notOurs}: ${found}`);
  });
}

const notOurs = 'is not used, as others could have put it there';

/**
 * All bindings, in search order.
 * @param {NodeJS.ProcessEnv} [env]
 */
function candidates(env = process.env) {
  const named = env.LIBTORCH_NODE_ADDON;
  if (named) return [binding(path.resolve(named), 'LIBTORCH_NODE_ADDON')];
  const own = path.join(packageRoot, 'build', 'Release', addonName);
  return [
    ...(fs.existsSync(own) ? [binding(own, 'checkout')] : []),
    ...bindingsInCache(env),
    ...bindingsIn(prebuilds, 'prebuilt'),
  ];
}

/** 'libtorch 2.6.0, old C++ ABI, CUDA' */
function describe({ version, abi, cuda, sonames }) {
  const soname = sonames?.torch_cpu === undefined ? '' : ` (${sonames.torch_cpu})`;
  return `libtorch ${version}${soname}${abi === 'old' ? ', old C++ ABI' : ''}${cuda ? ', CUDA' : ''}`;
}

function infoProblem(info, libtorch) {
  if (info.platform !== process.platform || info.arch !== process.arch) {
    return `is for ${info.platform} ${info.arch}, this is ${process.platform} ${process.arch}`;
  }
  if (info.package !== packageVersion()) return `is of libtorch-node ${info.package}, this is ${packageVersion()}`;
  const built = info.libtorch;
  const fits =
    minorOf(built.version) === minorOf(libtorch.version) &&
    built.abi === libtorch.abi &&
    built.sonames.torch_cpu === libtorch.sonames.torch_cpu &&
    (!built.cuda || libtorch.cuda);
  return fits ? null : `is for ${describe(built)}, this is ${describe(libtorch)}`;
}

/** Libraries of libtorch that an addon asks for by a name that this libtorch does not have. */
function namesProblem(elf, libtorch) {
  const offered = Object.values(libtorch.sonames);
  const wanted = elf.needed.filter((name) => /^lib(torch|c10)/.test(name) && !offered.includes(name));
  return wanted.length === 0 ? null : `asks for ${wanted.join(', ')}, this is ${describe(libtorch)}`;
}

/**
 * Why a binding cannot be loaded with this libtorch, or null. Loads nothing.
 * @param {ReturnType<typeof binding>} candidate
 */
function whyNot(candidate, libtorch) {
  const { addon, generated, info, refused } = candidate;
  if (refused !== null) return refused;
  if (!fs.existsSync(addon)) return 'does not exist';
  if (info !== null) {
    const problem = infoProblem(info, libtorch);
    if (problem !== null) return problem;
  }
  if (process.platform === 'linux' && addon.endsWith('.node')) {
    try {
      const problem = namesProblem(readElf(addon), libtorch);
      if (problem !== null) return problem;
    } catch (error) {
      if (!(error instanceof ElfError)) throw error;
      return error.problem;
    }
  }
  if (!fs.existsSync(path.join(generated, 'table.js'))) return `has no generated JavaScript (${printable(generated)})`;
  return null;
}

module.exports = {
  addonName,
  bindingInfo,
  bindingName,
  buildCommand,
  cachedBindings,
  cacheFolder,
  candidates,
  describe,
  distributedName,
  infoName,
  isBundled,
  isCheckout,
  makeCachedBindings,
  packageRoot,
  packageVersion,
  platform,
  prebuilds,
  readInfo,
  whyNot,
};
