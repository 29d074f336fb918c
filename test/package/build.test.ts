/** Failures of `libtorch-node build`: one message with the fix, exit status 1, and no leftovers. */
import { spawn } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { type Outcome, run } from '../support/child';
import { ordinaryEnv } from '../support/sanitized';
import { ROOT } from '../support/torch';
import { folder } from './folder';
import { made, own } from './libtorchs';

const program = path.join(ROOT, 'dist/cli/libtorch-node.js');
const environment = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv => ({ ...ordinaryEnv(), NO_COLOR: '1', ...env });
const build = (env: NodeJS.ProcessEnv, args: string[] = ['--force']): Promise<Outcome> =>
  run(process.execPath, [program, 'build', ...args], { env: environment(env) });

/** Every file below a folder. */
const below = (dir: string): string[] =>
  (fs.readdirSync(dir, { recursive: true }) as string[]).filter((name) => fs.statSync(path.join(dir, name)).isFile());

/** A compiler that prints its version or runs `script`. */
function compiler(script: string): string {
  const file = path.join(folder(), 'g++');
  fs.writeFileSync(file, `#!/bin/sh\n[ "$1" = --version ] && echo 'g++ (made for a test) 1.0' && exit 0\n${script}\n`, {
    mode: 0o755,
  });
  return file;
}

it('does nothing if an addon loads', async () => {
  const cache = folder();
  const { code, stderr } = await build({ LIBTORCH_NODE_CACHE: cache }, []);
  expect({ code, files: below(cache) }).toEqual({ code: 0, files: [] });
  expect(stderr).toMatch(/There is an addon for libtorch .* already: .*libtorch_node\.node\nNothing to build; --force/);
});

it('no compiler', async () => {
  const cache = folder();
  const none = await build({ LIBTORCH_NODE_CACHE: cache, PATH: folder(), CXX: '' });
  expect({ code: none.code, stdout: none.stdout, left: fs.readdirSync(cache) }).toEqual({
    code: 1,
    stdout: '',
    left: [],
  });
  expect(none.stderr).toMatch(
    /^\s*No C\+\+ compiler was found \(g\+\+, c\+\+, clang\+\+\)\.\nInstall one: .*apt-get install g\+\+/,
  );
  const wrong = await build({ LIBTORCH_NODE_CACHE: cache, CXX: '/nowhere/g++ -m64' });
  expect({ code: wrong.code, left: fs.readdirSync(cache) }).toEqual({ code: 1, left: [] });
  expect(wrong.stderr).toContain('The compiler that CXX names, /nowhere/g++ -m64, does not run');
});

it("Node's headers are missing", async () => {
  const bin = path.join(folder(), 'bin');
  fs.mkdirSync(bin);
  const node = path.join(bin, 'node');
  fs.copyFileSync(process.execPath, node); // a Node without the rest of its archive
  const script = `
    import { findHeaders } from ${JSON.stringify(path.join(ROOT, 'scripts/installed/toolchain.mjs'))};
    const { existsSync } = await import('node:fs');
    if (existsSync('/usr/include/node/node_api.h') || existsSync('/usr/local/include/node/node_api.h')) console.log('found');
    try { findHeaders({ ...process.env, npm_config_nodedir: '/nowhere' }); } catch (error) { console.log(error.message); }`;
  const { code, stdout } = await run(node, ['--input-type=module', '-e', script], {
    env: environment({ XDG_CACHE_HOME: bin }),
  });
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /^found\n$|headers \(node_api\.h, uv\.h\) were not found in:\n[\s\S]*apt-get install libnode-dev/,
  );
});

it('an unwritable cache', async () => {
  const file = path.join(folder(), 'file');
  fs.writeFileSync(file, 'mine');
  // Root may write everywhere except in the kernel's file systems.
  for (const cache of [path.join(file, 'cache'), '/proc/self/cache']) {
    const { code, stdout, stderr } = await build({ LIBTORCH_NODE_CACHE: cache });
    expect({ cache, code, stdout }).toEqual({ cache, code: 1, stdout: '' });
    expect(stderr).toMatch(/cannot be written: .* \((ENOTDIR|ENOENT|EACCES|EPERM)\)\.\n.*LIBTORCH_NODE_CACHE/);
  }
  expect(fs.readFileSync(file, 'utf8')).toBe('mine');
});

it('code that does not compile: the first error, and no leftovers', async () => {
  const cache = folder();
  const failing = compiler("echo 'shard.cpp:1:1: error: this libtorch lacks what the code wants' >&2; exit 1");
  const { code, stdout, stderr } = await build({ LIBTORCH_NODE_CACHE: cache, CXX: failing });
  expect({ code, stdout, files: below(cache) }).toEqual({ code: 1, stdout: '', files: [] });
  expect(stderr).toContain('with g++ (made for a test) 1.0');
  expect(stderr).toContain('error: this libtorch lacks what the code wants');
});

it('an addon that does not load is not kept', async () => {
  const cache = folder();
  // "Compiles" every file to an empty object, and "links" a text file.
  const lying = compiler('while [ "$1" != -o ]; do shift; done; echo text > "$2"');
  const { code, stderr } = await build({ LIBTORCH_NODE_CACHE: cache, CXX: lying });
  expect({ code, files: below(cache) }).toEqual({ code: 1, files: [] });
  expect(stderr).toMatch(/The addon was built, but does not work:[\s\S]*is not a shared library/);
});

it('a libtorch without generated sources, and without CMake for codegen', async () => {
  const cache = folder();
  const root = made({ version: '2.9.1' });
  const version = path.join(root, 'include/torch/csrc/api/include/torch/version.h');
  fs.mkdirSync(path.dirname(version), { recursive: true });
  fs.symlinkSync(path.join(own.include, 'ATen'), path.join(root, 'include/ATen'));
  const numbers = { MAJOR: 2, MINOR: 9, PATCH: 1 };
  const lines = Object.entries(numbers).map(([name, number]) => `#define TORCH_VERSION_${name} ${number}\n`);
  fs.writeFileSync(version, lines.join(''));
  const env = { LIBTORCH_NODE_CACHE: cache, LIBTORCH: root, CXX: compiler('exit 1'), PATH: folder() };
  const { code, stdout, stderr } = await build(env);
  expect({ code, stdout, files: below(cache) }).toEqual({ code: 1, stdout: '', files: [] });
  expect(stderr).toMatch(
    /sources for libtorch [\d., ]+\. For 2\.9\.1 codegen writes them .*, and cmake and make were not found\.\nCodegen needs CMake, make and yaml-cpp: .*apt-get install/,
  );
});

it('an interruption leaves nothing, and the next build removes the leftovers of a killed one', async () => {
  const cache = folder();
  const child = spawn(process.execPath, [program, 'build', '--force'], {
    env: environment({ LIBTORCH_NODE_CACHE: cache, CXX: compiler('echo > "$0.started"; exec sleep 60') }),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  let said = '';
  await new Promise<void>((resolve) => {
    child.stderr.on('data', (chunk) => {
      said += chunk; // in chunks of any size
      if (said.includes(' 0 of ')) resolve();
    });
    child.once('close', () => resolve());
  });
  const [versions] = fs.readdirSync(path.join(cache, 'bindings'));
  const [platform] = fs.readdirSync(path.join(cache, 'bindings', versions!));
  const bindings = path.join(cache, 'bindings', versions!, platform!);
  expect(fs.readdirSync(bindings)).toEqual([expect.stringMatching(/^\.building-\d+$/)]);
  fs.mkdirSync(path.join(bindings, '.building-999999999', 'scratch'), { recursive: true });
  child.kill('SIGTERM');
  expect(await ended).not.toBe(0);
  expect(fs.readdirSync(bindings)).toEqual(['.building-999999999']);
  await build({ LIBTORCH_NODE_CACHE: cache, CXX: compiler('exit 1') });
  expect(fs.readdirSync(bindings)).toEqual([]);
});

it('wrong use exits 2', async () => {
  for (const args of [['--jobs', '0'], ['--jobs', 'many'], ['extra'], ['--nope']]) {
    const { code, stdout, stderr } = await build({}, args);
    expect({ args, code, stdout }).toEqual({ args, code: 2, stdout: '' });
    expect(stderr).not.toBe('');
  }
});
