/**
 * `libtorch-node build` runs this: it compiles the addon for the libtorch found into the user's cache, where the library
 * looks for it. It writes into a folder beside the final one and renames that at the end, so a build that fails or is
 * interrupted leaves nothing behind. It downloads and installs nothing.
 *
 *   node scripts/installed/build.mjs [--force] [--jobs N]
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { c10dSources } from '../gyp-sources.mjs';
import { c10dFlags, findLibtorch } from '../libtorch.mjs';
import { inRoot, libtorchModules } from '../paths.mjs';
import { runMain, StepError } from '../steps/errors.mjs';
import { jobs } from '../steps/jobs.mjs';
import { printable } from '../steps/printable.mjs';
import { say } from '../steps/progress.mjs';
import { compileAddon, endChildren } from './compile.mjs';
import { sourcesFor } from './sources.mjs';
import { findCompiler, findHeaders } from './toolchain.mjs';

const require = createRequire(import.meta.url);
const {
  addonName,
  bindingInfo,
  bindingName,
  cachedBindings,
  describe,
  distributedName,
  infoName,
  makeCachedBindings,
} = require(libtorchModules('bindings.js'));

/** Loads the library in a new process and computes a sum. @returns {{ ok: boolean, text: string }} */
function tryLoad(addon) {
  const entry = inRoot('dist', 'lib', 'index.js');
  const program =
    `const torch = require(${JSON.stringify(entry)});` +
    'if (torch.ones([2, 3]).sum().item() !== 6) throw new Error("torch.ones([2, 3]).sum() is wrong");' +
    'console.log(Object.keys(require.cache).find((file) => file.endsWith(".node")));';
  const env = { ...process.env, ...(addon === undefined ? {} : { LIBTORCH_NODE_ADDON: addon }) };
  const { status, signal, stdout, stderr } = spawnSync(process.execPath, ['-e', program], { env, encoding: 'utf8' });
  const ok = status === 0;
  return { ok, text: ok ? stdout.trim() : `${stderr.trim()}${signal === null ? '' : `\nended by ${signal}`}` };
}

/** Only the owner may write to files that are loaded later, whatever the modes of the copied files were. */
function tighten(folder) {
  chmodSync(folder, 0o700);
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const file = path.join(folder, entry.name);
    if (entry.isDirectory()) tighten(file);
    else chmodSync(file, 0o600);
  }
}

/** Makes the folder of all cached bindings, or throws with the reason. Its path has symbolic links resolved. */
function prepareCache() {
  try {
    const { real: folder, problem } = makeCachedBindings();
    if (problem !== null) {
      throw new StepError(
        `The folder for what is built would not be loaded from, as others could put something there: ${problem}.\n` +
          'LIBTORCH_NODE_CACHE names another (for this command and for the programs that load the library).',
      );
    }
    const probe = path.join(folder, `.try-${process.pid}`);
    writeFileSync(probe, '');
    rmSync(probe);
    return folder;
  } catch (error) {
    if (error instanceof StepError) throw error;
    throw new StepError(
      `The folder for what is built cannot be written: ${cachedBindings()} (${error.code ?? error.message}).\n` +
        'Make it writable, or name another with LIBTORCH_NODE_CACHE (for this command and for the programs that load the library).',
    );
  }
}

const isAlive = (pid) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
};

/** Removes what a killed build left. */
function removeLeftovers(folder) {
  for (const name of readdirSync(folder)) {
    const pid = /^\.building-(\d+)$/.exec(name)?.[1];
    if (pid !== undefined && !isAlive(Number(pid))) rmSync(path.join(folder, name), { recursive: true, force: true });
  }
}

function progress(start) {
  const live = Boolean(process.stderr.isTTY) && process.env.CI === undefined;
  let shown = -1;
  return (done, all, name) => {
    const seconds = Math.round((Date.now() - start) / 1000);
    const line = `… ${done} of ${all} files compiled, ${seconds} s ${printable(name)}`;
    if (live)
      process.stderr.write(`\r\x1b[2K${line.slice(0, (process.stderr.columns || 80) - 1)}${done === all ? '\n' : ''}`);
    else if (done === all || Math.floor((done * 10) / all) > shown) {
      shown = Math.floor((done * 10) / all);
      say(line.trimEnd());
    }
  };
}

/** Puts the finished folder in its place. A process that has the old one loaded keeps its file. */
function install(staging, final) {
  const old = `${staging}-old`;
  try {
    renameSync(final, old);
  } catch (error) {
    if (error.code !== 'ENOENT') throw error; // this is the first one
  }
  renameSync(staging, final);
  rmSync(old, { recursive: true, force: true });
}

/** Removes a build that a signal ends. */
function removeWhenStopped(staging) {
  const stop = (status) => {
    endChildren();
    rmSync(staging, { recursive: true, force: true, maxRetries: 10 }); // they may still write while they end
    process.exit(status);
  };
  process.once('SIGINT', () => stop(130));
  process.once('SIGTERM', () => stop(143));
}

/** Compiles the addon and torch.distributed's into `staging`, with the generated JavaScript, and tries the addon. */
async function make({ libtorch, staging, wanted, start, ...tools }) {
  const scratch = path.join(staging, 'scratch');
  mkdirSync(scratch, { recursive: true });
  const { sources, javascript } = await sourcesFor(libtorch, scratch);
  const addon = path.join(staging, addonName);
  const count = Math.min(wanted ?? jobs(), sources.length);
  const given = { ...tools, libtorch, jobs: count };
  await compileAddon({
    ...{ ...given, sources, addon },
    folder: path.join(scratch, 'objects'),
    onProgress: progress(start),
  });
  const extra = c10dFlags(libtorch);
  if (extra === null) {
    say('Without torch.distributed: the headers of c10d or of Gloo are missing (on Debian or Ubuntu libgloo-dev).');
  } else {
    await compileAddon({
      ...{ ...given, extra, addon: path.join(staging, distributedName) },
      sources: c10dSources().map((name) => inRoot(name)),
      folder: path.join(scratch, 'distributed'),
      onProgress: () => {},
    });
  }
  const generated = path.join(staging, 'generated');
  cpSync(javascript, generated, { recursive: true, filter: (file) => !file.endsWith('.d.ts') });
  writeFileSync(path.join(staging, infoName), `${JSON.stringify(bindingInfo(libtorch), null, 2)}\n`);
  tighten(generated);
  const trial = tryLoad(addon);
  if (!trial.ok) throw new StepError(`The addon was built, but does not work:\n${trial.text}`);
  rmSync(scratch, { recursive: true });
}

async function build({ force, jobs: wanted }) {
  const start = Date.now();
  if (process.platform === 'win32') {
    throw new StepError(
      'Windows is not supported: leak-audit, which is part of the addon, uses files, signals and sockets of POSIX.\n' +
        'Use WSL, where this is Linux.',
    );
  }
  const libtorch = findLibtorch();
  if (!force) {
    const present = tryLoad();
    if (present.ok) {
      say(
        `There is an addon for ${describe(libtorch)} already: ${present.text}\nNothing to build; --force builds all the same.`,
      );
      return;
    }
  }
  const compiler = findCompiler();
  const headers = findHeaders();
  const folder = prepareCache();
  removeLeftovers(folder);
  say(`Building for ${describe(libtorch)} in ${libtorch.lib}, with ${compiler.version}.`);

  const staging = path.join(folder, `.building-${process.pid}`);
  removeWhenStopped(staging);
  try {
    await make({ libtorch, staging, wanted, start, compiler, headers });
    const final = path.join(folder, bindingName(libtorch));
    install(staging, final);
    const megabytes = (statSync(path.join(final, addonName)).size / 1e6).toFixed(1);
    say(`Built in ${Math.round((Date.now() - start) / 1000)} s: ${path.join(final, addonName)} (${megabytes} MB).`);
  } finally {
    endChildren();
    rmSync(staging, { recursive: true, force: true });
  }
}

await runMain(async () => {
  const { values } = parseArgs({ options: { force: { type: 'boolean', default: false }, jobs: { type: 'string' } } });
  const wanted = values.jobs === undefined ? undefined : Number(values.jobs);
  if (wanted !== undefined && !(Number.isInteger(wanted) && wanted > 0))
    throw new StepError(`--jobs: expected an integer of 1 or more, got ${values.jobs}.`);
  process.umask(0o077); // the compiler's files, too
  await build({ force: values.force, jobs: wanted });
});
