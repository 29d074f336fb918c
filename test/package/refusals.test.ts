/**
 * Refused libraries: a libtorch that is damaged, for another machine, of another kind, or a second one. With real files and
 * processes: one message with the problem and the fix, exit status 1, and no crash.
 */
import * as fs from 'node:fs';
import * as path from 'node:path';
import * as esbuild from 'esbuild';
import { type Outcome, run } from '../support/child';
import { limitMs, ordinaryEnv } from '../support/sanitized';
import { LIB, ROOT } from '../support/torch';
import { folder } from './folder';
import { cutOff, likeOwn, made, minor, own, setByte } from './libtorchs';

jest.setTimeout(limitMs(120_000));

const entry = path.join(LIB, 'index.js');
const sum = `const torch = require(${JSON.stringify(entry)}); console.log(torch.ones([2, 3]).sum().item());`;

function environment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { LIBTORCH, LIBTORCH_INCLUDE, LIBTORCH_LIB, LIBTORCH_USE_PYTORCH, ...rest } = ordinaryEnv();
  return { ...rest, NO_COLOR: '1', LIBTORCH_NODE_CACHE: folder(), ...env };
}
const load = (env: NodeJS.ProcessEnv, before = ''): Promise<Outcome> =>
  run(process.execPath, ['-e', before + sum], { env: environment(env) });
const doctor = (env: NodeJS.ProcessEnv): Promise<Outcome> =>
  run(process.execPath, [path.join(ROOT, 'dist/cli/libtorch-node.js'), 'doctor'], { env: environment(env) });

/** The messages of loading, doctor and build, all of which refuse it. */
async function refused(
  env: NodeJS.ProcessEnv,
  { build = true } = {},
): Promise<{ load: string; doctor: string; build: string }> {
  const loaded = await load(env);
  expect(loaded).toMatchObject({ code: 1, signal: null, stdout: '' });
  expect(loaded.stderr).toContain("code: 'ERR_TORCH_LOAD'");
  const told = await doctor(env);
  expect(told).toMatchObject({ code: 1, signal: null, stderr: '' });
  if (!build) return { load: loaded.stderr, doctor: told.stdout, build: '' };
  const cache = folder();
  const program = path.join(ROOT, 'dist/cli/libtorch-node.js');
  const built = await run(process.execPath, [program, 'build', '--force'], {
    env: environment({ ...env, LIBTORCH_NODE_CACHE: cache }),
  });
  expect(built).toMatchObject({ code: 1, signal: null, stdout: '' });
  expect(fs.readdirSync(cache)).toEqual([]);
  return { load: loaded.stderr, doctor: told.stdout, build: built.stderr };
}

it('a libtorch in another place with the same names is used', async () => {
  const root = likeOwn((_, file) => setByte(file('c10'), 0, 0x7f)); // a copy: the byte is unchanged
  const maps = "console.log(require('fs').readFileSync('/proc/self/maps', 'utf8'));";
  const { code, stdout, stderr } = await run(process.execPath, ['-e', sum + maps], {
    env: environment({ LIBTORCH: root }),
  });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const libraries = new Set(stdout.match(/\/\S*libc10\.so\S*/g));
  expect([...libraries]).toEqual([path.join(root, 'lib', path.basename(own.files.c10!))]);
});

it('the PyTorch of python3 is found without an import', async () => {
  const env = { LIBTORCH_USE_PYTORCH: '1', PATH: '/usr/bin:/bin' };
  expect(await load(env)).toMatchObject({ code: 0, stdout: '6\n', stderr: '' });
  const told = await doctor(env);
  expect(told.code).toBe(0);
  expect(told.stdout).toContain('chosen: by LIBTORCH_USE_PYTORCH');
});

it('a python3 without PyTorch, and a missing one', async () => {
  const bin = folder();
  fs.writeFileSync(path.join(bin, 'python3'), '#!/bin/sh\necho\n', { mode: 0o755 });
  const without = await refused({ LIBTORCH_USE_PYTORCH: '1', PATH: `${bin}:/usr/bin:/bin` });
  for (const text of Object.values(without)) expect(text).toMatch(/no PyTorch[\s\S]*unset LIBTORCH_USE_PYTORCH/);
  const none = await refused({ LIBTORCH_USE_PYTORCH: '1', PATH: folder() });
  for (const text of Object.values(none))
    expect(text).toMatch(/there is none on the PATH[\s\S]*unset LIBTORCH_USE_PYTORCH/);
});

it('a wrong LIBTORCH', async () => {
  const texts = await refused({ LIBTORCH: '/nowhere' });
  for (const text of Object.values(texts)) {
    expect(text).toContain('/nowhere/lib (LIBTORCH) does not exist');
    expect(text).toContain('LIBTORCH must name a folder with include/ and lib/');
  }
  const empty = await refused({ LIBTORCH: likeOwn((lib) => fs.rmSync(lib, { recursive: true })) });
  expect(empty.load).toMatch(/\/lib \(LIBTORCH\) does not exist/);
  const half = await refused({ LIBTORCH_LIB: folder() });
  expect(half.load).toMatch(/\(LIBTORCH_LIB\) lacks libtorch_cpu.so, libc10.so/);
});

it('line breaks and escape sequences in a variable are escaped in the message', async () => {
  const evil = '/no/such\nplace\u001b[2J\u202e';
  const named = [{ LIBTORCH: evil }, { LIBTORCH_LIB: evil }, { LIBTORCH_INCLUDE: evil, LIBTORCH_LIB: evil }];
  const texts = [(await load({ LIBTORCH_NODE_ADDON: evil })).stderr];
  for (const env of named) texts.push(...Object.values(await refused(env)));
  for (const text of texts) {
    expect(text).toContain('/no/such\\u000aplace\\u001b[2J\\u202e');
    expect(text).not.toMatch(/^place/m);
    expect(text.includes('\u001b') || text.includes('\u202e')).toBe(false);
  }
});

it('a truncated library', async () => {
  for (const name of ['torch_cpu', 'c10']) {
    const root = likeOwn((_, file) => cutOff(file(name), 200_000));
    for (const text of Object.values(await refused({ LIBTORCH: root }))) {
      expect(text).toMatch(
        new RegExp(`lib${name}\\.so\\S* is truncated: it should have \\d+ bytes or more, and has 200000`),
      );
      expect(text).toContain('set LIBTORCH to the root folder of one for this machine');
    }
  }
});

it('a libtorch for another processor', async () => {
  const root = likeOwn((_, file) => setByte(file('c10'), 18, process.arch === 'arm64' ? 62 : 183));
  for (const text of Object.values(await refused({ LIBTORCH: root }))) {
    expect(text).toMatch(/is for another processor: it is for (arm64|x64), this Node is for (arm64|x64)/);
    expect(text).toContain('set LIBTORCH to the root folder of one for this machine');
  }
});

describe('a libtorch that the addon was not built for: both are named', () => {
  const ownText = `is for libtorch ${own.version} (${own.sonames.torch_cpu})`;
  it.each([
    ['another version', { version: '2.9.1', versioned: true }, 'libtorch 2.9 (libtorch_cpu.so.2.9)'],
    ['the old C++ ABI', { version: '2.5.1', abi: 'old' as const }, 'libtorch 2.5.1 (libtorch_cpu.so), old C++ ABI'],
    ['names without version', { version: own.version }, `libtorch ${own.version} (libtorch_cpu.so)`],
    ['CUDA', { version: '2.9.1', cuda: true }, 'libtorch 2.9.1 (libtorch_cpu.so), CUDA'],
  ])('%s', async (_, kind, text) => {
    const texts = await refused({ LIBTORCH: made(kind) }, { build: false });
    expect(texts.load).toContain(`${ownText}, this is ${text}`);
    expect(texts.load).toMatch(/run `(npm run build|npx libtorch-node build)`/);
    expect(texts.doctor).toContain('this is libtorch');
    expect(texts.doctor).toMatch(/fix addon first: Build the addon for this libtorch/);
  });
});

it('an addon without binding.json is checked by the symbols that it needs', async () => {
  const at = folder();
  const addon = path.join(at, 'libtorch_node.node');
  fs.copyFileSync(path.join(ROOT, 'build/Release/libtorch_node.node'), addon);
  expect(await load({ LIBTORCH_NODE_ADDON: addon })).toMatchObject({ code: 0, stdout: '6\n' });
  const texts = await refused({ LIBTORCH_NODE_ADDON: addon, LIBTORCH: made({ version: '2.9.1' }) }, { build: false });
  expect(texts.load).toContain(`asks for ${own.sonames.torch_cpu}`);
});

it('a truncated addon', async () => {
  const addon = path.join(folder(), 'libtorch_node.node');
  fs.writeFileSync(addon, fs.readFileSync(path.join(ROOT, 'build/Release/libtorch_node.node')).subarray(0, 1_000_000));
  const texts = await refused({ LIBTORCH_NODE_ADDON: addon }, { build: false });
  expect(texts.load).toContain(`${addon}: is truncated`);
});

it('headers and libraries of different versions are refused for a build', async () => {
  const env = {
    LIBTORCH_LIB: path.join(made({ version: '2.9.1', versioned: true }), 'lib'),
    LIBTORCH_INCLUDE: own.include,
  };
  for (const name of fs.readdirSync(env.LIBTORCH_LIB)) {
    fs.symlinkSync(name, path.join(env.LIBTORCH_LIB, name.replace(/\.so.*/, '.so')));
  }
  const { build } = await refused(env);
  expect(build).toContain(`${own.include} is version ${own.version}`);
  expect(build).toContain('is 2.9.');
});

it('a libtorch of unknown version', async () => {
  const root = made({ version: '2.9.1' });
  fs.rmSync(path.join(root, 'version.py'));
  const { load: text } = await refused({ LIBTORCH: root }, { build: false });
  expect(text).toContain('Cannot determine the version of libtorch in');
  expect(text).toContain('LIBTORCH_INCLUDE');
});

it('two libtorchs in one process', async () => {
  const other = path.join(
    likeOwn((_, file) => setByte(file('c10'), 0, 0x7f)),
    'lib',
    path.basename(own.files.c10!),
  );
  const first = `try { process.dlopen({ exports: {} }, ${JSON.stringify(other)}, 1 | 0x1000) } catch {}\n`;
  const { code, signal, stdout, stderr } = await load({}, first);
  expect({ code, signal, stdout }).toEqual({ code: 1, signal: null, stdout: '' });
  expect(stderr).toContain(`this process already has a libtorch, ${other}, and libtorch-node would load another`);
  expect(stderr).toContain(`libtorch ${own.version}`);
  expect(stderr).toMatch(/Set LIBTORCH .* so that both use the same/);
  // The same one twice does not count as two.
  expect(await load({ LIBTORCH: path.dirname(path.dirname(other)) }, first)).toMatchObject({ code: 0, stdout: '6\n' });
});

it(`only the release counts: ${minor}.99 is ${minor}`, async () => {
  const { bindingName, whyNot, candidates } =
    require('../../lib/libtorch/bindings') as typeof import('../../lib/libtorch/bindings');
  const [binding] = candidates({
    ...ordinaryEnv(),
    LIBTORCH_NODE_ADDON: path.join(ROOT, 'build/Release/libtorch_node.node'),
  });
  expect(whyNot(binding!, { ...own, version: `${minor}.99` })).toBeNull();
  expect(whyNot(binding!, { ...own, version: '99.0.0' })).toContain('this is libtorch 99.0.0');
  expect(bindingName({ ...own, abi: 'old', cuda: true, sonames: { torch_cpu: 'libtorch_cpu.so' } })).toBe(
    `libtorch-${minor}-oldabi-cuda-unversioned`,
  );
});

it('a bundle that contains the library says to declare it as external, whatever package it belongs to', async () => {
  const at = folder();
  const bundle = path.join(at, 'dist', 'server', 'app.cjs');
  fs.writeFileSync(path.join(at, 'package.json'), '{ "name": "app", "version": "3.2.1" }');
  const stdin = { contents: sum, resolveDir: ROOT };
  esbuild.buildSync({ stdin, outfile: bundle, bundle: true, platform: 'node', logLevel: 'silent' });
  const env = environment({});
  delete env.LIBTORCH_NODE_ADDON;
  for (const file of [bundle, path.join(at, 'app.cjs')]) {
    if (file !== bundle) fs.copyFileSync(bundle, file);
    const { code, stdout, stderr } = await run(process.execPath, [file], { env });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(`libtorch-node is bundled into ${file}, where its addon and its workers are missing`);
    expect(stderr).toContain('--external:libtorch-node');
    expect(stderr).toContain("code: 'ERR_TORCH_LOAD'");
  }
});

it('a Node that loads no addons is told to load them, not to build another', async () => {
  const told = await refused({ NODE_OPTIONS: '--no-addons' }, { build: false });
  expect(told.load).toContain('this Node does not load addons, and libtorch-node is one');
  expect(told.load).toContain('--allow-addons');
  expect(told.doctor).toContain('Start Node without --no-addons or with --allow-addons');
  for (const text of Object.values(told)) expect(text).not.toMatch(/run build|libtorch-node build/);
});

it('a system that refuses to map a library is named, since another addon would not help', async () => {
  const node = await run(process.execPath, ['-p', 'fs.readFileSync("/proc/self/status", "utf8")']);
  // Enough for Node, whose releases differ, and less than libtorch needs.
  const limit = Number(/VmPeak:\s+(\d+) kB/.exec(node.stdout)![1]) + 300_000;
  const limited = (command: string) =>
    run('bash', ['-c', `ulimit -v ${limit}; exec "$0" ${command}`, process.execPath], { env: environment({}) });
  const loaded = await limited(`-e '${sum}'`);
  expect(loaded).toMatchObject({ code: 1, signal: null, stdout: '' });
  const told = await limited(`"${path.join(ROOT, 'dist/cli/libtorch-node.js')}" doctor --fix`);
  for (const text of [loaded.stderr, told.stdout]) {
    expect(text).toContain('raise the limit on the address space');
    expect(text).not.toMatch(/run build|libtorch-node build/);
  }
});

it('a startup snapshot cannot contain the library: an error with the way out, instead of an abort of Node', async () => {
  const file = path.join(folder(), 'program.cjs');
  const blob = path.join(path.dirname(file), 'program.blob');
  const required = `require('node:module').createRequire(__filename)(${JSON.stringify(entry)})`;
  const build = async (program: string) => {
    fs.writeFileSync(file, program);
    return run(process.execPath, ['--snapshot-blob', blob, '--build-snapshot', file], { env: environment({}) });
  };
  const refused = await build(`try { ${required} } catch (error) { console.log(error.code, error.message); }`);
  expect(refused).toMatchObject({ code: 0, signal: null });
  expect(refused.stdout).toMatch(/^ERR_TORCH_LOAD libtorch-node is loaded while Node builds a startup snapshot/);
  expect(refused.stdout).toContain('v8.startupSnapshot.setDeserializeMainFunction');

  // What the message says works.
  const main = `const torch = ${required}; console.log(torch.ones([2, 3]).sum().item());`;
  const built = await build(`require('node:v8').startupSnapshot.setDeserializeMainFunction(() => { ${main} });`);
  expect(built).toMatchObject({ code: 0, signal: null });
  const started = await run(process.execPath, ['--snapshot-blob', blob], { env: environment({}) });
  expect(started).toMatchObject({ code: 0, signal: null, stdout: '6\n' });
});

it('a header that cannot be read is not needed to run', async () => {
  const include = folder(); // its own: likeOwn() has a link to the real headers
  fs.mkdirSync(path.join(include, 'torch/csrc/api/include/torch/version.h'), { recursive: true });
  const env = { LIBTORCH_INCLUDE: include, LIBTORCH_LIB: own.lib };
  expect(await load(env)).toMatchObject({ code: 0, stdout: '6\n', stderr: '' });
});
