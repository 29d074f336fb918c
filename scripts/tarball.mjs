/**
 * npm run test:tarball: packs, installs the tarball into an empty project without install scripts, and runs its
 * `libtorch-node build` there with a PATH that has a C++ compiler, make and Python but not CMake: once with the generated
 * sources of the tarball, once without them, so that codegen is needed. Compiling takes minutes, so this is a separate
 * command. It prints its measurements.
 *
 *   --brought   skip the part that needs codegen
 *
 * LTN_TARBALL names an existing tarball, such as the one that a release will publish, to be used instead of packing.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { inRoot } from './paths.mjs';
import { buildAll } from './steps/build.mjs';
import { runMain, StepError } from './steps/errors.mjs';
import { say } from './steps/progress.mjs';

const scratch = mkdtempSync(path.join(os.tmpdir(), 'libtorch-node-tarball-'));
process.once('exit', () => rmSync(scratch, { recursive: true, force: true }));
const at = (...parts) => path.join(scratch, ...parts);
const cache = at('cache');
const installed = at('project', 'node_modules', 'libtorch-node');

/** Makes a folder for the PATH that holds only these programs and node. */
function pathWith(name, programs) {
  const folder = at(name);
  mkdirSync(folder);
  for (const program of programs) {
    const { stdout, status } = spawnSync('sh', ['-c', `command -v ${program}`], { encoding: 'utf8' });
    if (status !== 0) throw new StepError(`${program} is not on the PATH.`);
    symlinkSync(stdout.trim(), path.join(folder, program));
  }
  symlinkSync(process.execPath, path.join(folder, 'node'));
  return folder;
}

/** The environment of a user's shell: without npm's variables for scripts and without settings of libtorch-node. */
function environment(more) {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(npm_(?!config)|LIBTORCH_NODE|NODE_OPTIONS)/.test(name),
  );
  return { ...Object.fromEntries(kept), LIBTORCH_NODE_CACHE: cache, ...more };
}

/** Runs a command in the project; returns its output, wall-clock seconds and processor seconds. */
function run(command, args, { env = {}, cwd = at('project') } = {}) {
  const start = Date.now();
  const timed = ['-c', 'TIMEFORMAT="%U %S"; time "$@"', 'bash', command, ...args];
  const ran = spawnSync('/bin/bash', timed, { cwd, env: environment(env), encoding: 'utf8', maxBuffer: 2 ** 27 });
  const lines = ran.stderr.trimEnd().split('\n');
  const cpu = lines
    .pop()
    .split(' ')
    .reduce((sum, seconds) => sum + Number(seconds), 0);
  return { status: ran.status, stdout: ran.stdout, stderr: lines.join('\n'), clock: (Date.now() - start) / 1000, cpu };
}

function succeeded(ran, what) {
  if (ran.status !== 0) throw new StepError(`${what} ended with status ${ran.status}:\n${ran.stderr}\n${ran.stdout}`);
  return ran;
}

/** The path of the addon that a program in the project loads; the program computes a product with it. */
function usedAddon() {
  const program =
    "const torch = require('libtorch-node'); if (torch.ones([2, 3]).matmul(torch.ones([3, 2])).sum().item() !== 12) throw 1;" +
    "console.log(Object.keys(require.cache).find((file) => file.endsWith('.node')));";
  return succeeded(run(process.execPath, ['-e', program]), 'A program that uses the package').stdout.trim();
}

const build = (env) =>
  run(process.execPath, [path.join(installed, 'dist', 'cli', 'libtorch-node.js'), 'build', '--force'], { env });
const seconds = ({ clock, cpu }) => `${clock.toFixed(1)} s, ${cpu.toFixed(0)} s of processor time`;

/** Removes the generated sources of the libtorch at hand from the installed package, with their binding. */
function forget(addon) {
  const name = path.basename(path.dirname(addon));
  const folders = readdirSync(path.join(installed, 'prebuilds')).map((platform) =>
    path.join(installed, 'prebuilds', platform, name),
  );
  for (const folder of folders.filter((dir) => existsSync(dir))) rmSync(folder, { recursive: true });
}

const megabytes = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;

/** Prints the tarball's size. @returns {Promise<string>} the path of the tarball under test */
async function tarball() {
  const given = process.env.LTN_TARBALL;
  if (given) {
    const file = path.resolve(given);
    if (!existsSync(file)) throw new StepError(`LTN_TARBALL: expected a tarball, got ${file}, which does not exist.`);
    say(`tarball: ${file}, ${megabytes(statSync(file).size)} packed`);
    return file;
  }
  await buildAll();
  const pack = ['pack', '--ignore-scripts', '--json', '--pack-destination', scratch];
  const [packed] = JSON.parse(succeeded(run('npm', pack, { cwd: inRoot('.') }), 'npm pack').stdout);
  const size = megabytes(statSync(at(packed.filename)).size);
  say(`tarball: ${size} packed, ${megabytes(packed.unpackedSize)} unpacked, ${packed.entryCount} files`);
  return at(packed.filename);
}

await runMain(async () => {
  mkdirSync(at('project'));
  writeFileSync(at('project', 'package.json'), '{ "name": "project", "version": "1.0.0", "private": true }\n');
  const file = await tarball();
  assert.ok(statSync(file).size <= 25e6, 'the tarball is larger than 25 MB');
  const install = ['install', '--ignore-scripts', '--no-audit', '--no-fund', file];
  say(`npm install --ignore-scripts: ${seconds(succeeded(run('npm', install), 'npm install'))}`);
  const brought = usedAddon();
  assert.ok(brought.startsWith(path.join(installed, 'prebuilds')), `${brought} is not the package's`);

  const compilers = ['g++', 'as', 'ld', 'make', 'python3'];
  const few = pathWith('few', compilers);
  const built = succeeded(build({ PATH: few }), 'libtorch-node build');
  say(`libtorch-node build: ${seconds(built)}, on ${os.availableParallelism()} cores`);
  assert.match(built.stderr, /files compiled/);
  const own = usedAddon();
  assert.ok(own.startsWith(cache), `${own} was not built here`);
  if (process.argv.includes('--brought')) return;

  // Removing the package's files for this libtorch makes it one that the package does not know.
  rmSync(cache, { recursive: true });
  forget(brought);
  const refused = build({ PATH: few });
  assert.equal(refused.status, 1);
  assert.match(refused.stderr, /cmake was not found\.\nCodegen needs CMake, make and yaml-cpp: .*apt-get install/);
  assert.deepEqual(
    readdirSync(cache, { recursive: true }).filter((name) => name.includes('building')),
    [],
  );
  // Not optimized: this tests how the sources are made, not their speed.
  const all = pathWith('all', [...compilers, 'cmake', 'ar', 'ranlib', 'uname']);
  const generated = succeeded(build({ PATH: all, CXXFLAGS: '-O0' }), 'libtorch-node build with codegen');
  assert.match(generated.stderr, /No generated sources for libtorch .* in the package: codegen writes them/);
  assert.ok(usedAddon().startsWith(cache));
  say(`libtorch-node build with codegen, not optimized: ${seconds(generated)}`);
});
