/**
 * `libtorch-node build` for PyTorch's own libtorch, in the layout of its wheels: a tree made of this machine's libtorch. The
 * addon is linked anew with the flags of the build, from the objects of this checkout, since compiling takes minutes.
 * (`npm run test:tarball` compiles, for the libtorch of the system.)
 */
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { run } from '../support/child';
import { limitMs, ordinaryEnv } from '../support/sanitized';
import { ROOT } from '../support/torch';
import { folder } from './folder';
import { made, minor, own } from './libtorchs';

jest.setTimeout(limitMs(240_000));

const { readElf } = require('../../lib/libtorch/elf') as typeof import('../../lib/libtorch/elf');
const program = path.join(ROOT, 'dist/cli/libtorch-node.js');

/** The object files that this checkout's addon is linked from. */
function objects(addon: string): string[] {
  const rules = fs.readFileSync(path.join(ROOT, 'build', `${addon}.target.mk`), 'utf8');
  const list = /^OBJS := \\\n((?:\t.*\n)+)/m.exec(rules)![1]!;
  return [...list.matchAll(/\$\(obj\)\.target\/\$\(TARGET\)\/(\S+\.o)/g)].map(([, name]) =>
    path.join(ROOT, 'build/Release/obj.target', addon, name!),
  );
}

/** A compiler that notes its flags, compiles nothing, and links the checkout's objects with g++. */
function compiler(): { file: string; calls: () => string[][] } {
  const dir = folder();
  const file = path.join(dir, 'g++');
  const record = path.join(dir, 'calls');
  const parts = ['libtorch_node', 'libtorch_node_distributed'];
  for (const name of parts) {
    if (fs.existsSync(path.join(ROOT, 'build/Release', `${name}.node`)))
      fs.writeFileSync(path.join(dir, `${name}.node`), objects(name).join('\n'));
  }
  const script = `#!${process.execPath}
const fs = require('node:fs');
const path = require('node:path');
const args = process.argv.slice(2);
if (args[0] === '--version') return console.log('g++ (made for a test) 1.0');
fs.appendFileSync(${JSON.stringify(record)}, JSON.stringify(args) + '\\n');
const out = args[args.indexOf('-o') + 1];
if (args.includes('-c')) return fs.writeFileSync(out, '');
const objects = fs.readFileSync(path.join(${JSON.stringify(dir)}, path.basename(out)), 'utf8').split('\\n');
const rest = args.filter((word) => !word.endsWith('.o'));
const { status } = require('node:child_process').spawnSync('g++', [...objects, ...rest], { stdio: 'inherit' });
process.exit(status ?? 1);
`;
  fs.writeFileSync(file, script, { mode: 0o755 });
  const calls = () =>
    fs
      .readFileSync(record, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as string[]);
  return { file, calls };
}

/** The arguments of a compiler with another output and source. */
const replaced = (args: string[], output: string, source: string): string[] =>
  args.map((word, index) => {
    if (args[index - 1] === '-o') return output;
    return word.endsWith('.cpp') ? source : word;
  });

/** The mangled names that an object or library defines or needs. */
const symbols = (file: string): string[] =>
  execFileSync('nm', [...(file.endsWith('.so') ? ['-D'] : []), file], { encoding: 'utf8' })
    .trimEnd()
    .split('\n')
    .map((line) => line.split(' ').at(-1)!);

async function tree(): Promise<string> {
  const maker = path.join(ROOT, 'scripts/steps/pip-tree.mjs');
  const { code, stdout, stderr } = await run(process.execPath, [maker, folder()]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout.trim();
}

it('names without versions: the addon is linked with them, is kept apart from the others, and runs', async () => {
  const root = await tree();
  const lib = path.join(root, 'lib');
  const cache = path.join(folder(), 'cache');
  const { file, calls } = compiler();
  const env = { ...ordinaryEnv(), NO_COLOR: '1', LIBTORCH: root, LIBTORCH_NODE_CACHE: cache, CXX: file };
  const built = await run(process.execPath, [program, 'build'], { env });
  expect(built).toMatchObject({ code: 0, stderr: expect.stringContaining('(libtorch_cpu.so) in ') });

  const compiled = calls().filter((args) => args.includes('-c'));
  for (const args of compiled) expect(args.join(' ')).not.toContain('_GLIBCXX_USE_CXX11_ABI');
  for (const dir of ['include', 'include/torch/csrc/api/include']) {
    expect(compiled[0]![compiled[0]!.indexOf(path.join(root, dir)) - 1]).toBe('-isystem');
  }
  const [linked] = calls().filter((args) => !args.includes('-c'));
  expect(linked).toEqual(expect.arrayContaining([`-L${lib}`, `-Wl,-rpath,${lib}`, '-ltorch', '-ltorch_cpu', '-lc10']));

  // What PyTorch loads first, so that the others find its dependencies.
  const deps = 'libtorch_global_deps.so';
  const openmp = 'libgomp-a34b3233.so.1';
  const { needed: before } = readElf(path.join(own.lib, deps));
  const needed = before.map((name) => (name === 'libgomp.so.1' ? openmp : name));
  expect(readElf(path.join(lib, deps))).toMatchObject({ soname: deps, needed });

  // No variable but LIBTORCH: the libraries find each other, and OpenMP's under its own name. Nothing asks for the first one;
  // where it is loaded, as by PyTorch, it is this one.
  const script = `
    const torch = require(${JSON.stringify(path.join(ROOT, 'dist/lib/index.js'))});
    const sum = torch.ones([64, 64]).matmul(torch.ones([64, 64])).exp().log().sum().item();
    const mapped = [...new Set(require('node:fs').readFileSync('/proc/self/maps', 'utf8').match(/\\/\\S+\\/lib(torch|c10|gomp-)[^\\s/]*\\.so[^\\s/]*/g))];
    const addon = Object.keys(require.cache).find((file) => file.endsWith('.node'));
    console.log(JSON.stringify({ sum, mapped, addon }));`;
  const libraries = ['libc10.so', 'libtorch_cpu.so', 'libtorch.so', openmp].map((name) => path.join(lib, name));
  for (const first of [[], [path.join(lib, deps)]]) {
    const preload = [ordinaryEnv().LD_PRELOAD, ...first].filter(Boolean).join(':');
    const ran = await run(process.execPath, ['-e', script], { env: { ...env, LD_PRELOAD: preload } });
    expect({ code: ran.code, stderr: ran.stderr }).toEqual({ code: 0, stderr: '' });
    const { sum, mapped, addon } = JSON.parse(ran.stdout);
    expect(sum).toBeCloseTo(64 ** 3, 0);
    expect(path.basename(path.dirname(addon))).toBe(`libtorch-${minor}-unversioned`);
    expect(mapped.sort()).toEqual([...libraries, ...first].sort());
  }
});

it('a wheel of the old C++ ABI, as before PyTorch 2.6: the flag that is chosen, and what it compiles', async () => {
  const root = made({ version: own.version, abi: 'old' });
  fs.mkdirSync(path.join(root, 'include'));
  for (const name of ['ATen', 'c10', 'caffe2', 'torch'])
    fs.symlinkSync(path.join(own.include, name), path.join(root, 'include', name));
  const { file, calls } = compiler();
  const cache = path.join(folder(), 'cache');
  const env = { ...ordinaryEnv(), NO_COLOR: '1', LIBTORCH: root, LIBTORCH_NODE_CACHE: cache, CXX: file };
  // The libraries are empty, so the link of the addon fails; what matters are the compiler's calls.
  const { code, stderr } = await run(process.execPath, [program, 'build'], { env });
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('(libtorch_cpu.so), old C++ ABI in ') });
  const compiled = calls().filter((args) => args.includes('-c'));
  expect(compiled.length).toBeGreaterThan(10);
  for (const args of compiled) {
    const flags = args.filter((word) => word.includes('_GLIBCXX_USE_CXX11_ABI'));
    expect(flags).toEqual(['-U_GLIBCXX_USE_CXX11_ABI', '-D_GLIBCXX_USE_CXX11_ABI=0']);
  }

  // Such a call carried out, for a source of the addon: what it calls with a string is named as that tree names it.
  const call = compiled[0]!;
  const object = path.join(folder(), 'devices.o');
  execFileSync('g++', replaced(call, object, path.join(ROOT, 'native/convert/devices.cpp')));
  const asks = symbols(object).filter((name) => /torchCheckFail.*(Ss|string)/.test(name));
  expect(asks).toEqual(['_ZN3c106detail14torchCheckFailEPKcS2_jRKSs']);
  expect(symbols(path.join(root, 'lib/libc10.so'))).toEqual(expect.arrayContaining(asks));

  // A small program with the same flags and those of the link: it runs with this libtorch. With the new ABI it cannot be linked.
  const small = path.join(folder(), 'small');
  fs.writeFileSync(
    `${small}.cpp`,
    `#include <c10/util/Exception.h>
#include <cstdio>
int main(int count, char**) {
  try {
    TORCH_CHECK(count == 7, "expected 7 words, got ", count);
  } catch (const std::runtime_error& error) { std::puts(error.what()); }
}
`,
  );
  const [link] = calls().filter((args) => !args.includes('-c'));
  const libraries = link!.filter((word) => /^-(L|l|Wl,-rpath)/.test(word));
  const make = (...more: string[]) => {
    const flags = replaced(call, small, `${small}.cpp`).filter((word) => word !== '-c');
    return run('g++', [...flags, ...more, ...libraries]);
  };
  expect(await make()).toMatchObject({ code: 0 });
  expect(await run(small, [])).toMatchObject({ code: 0, stdout: 'expected 7 words, got 1\n' });
  const other = await make('-D_GLIBCXX_USE_CXX11_ABI=1');
  expect(other).toMatchObject({ code: 1, stderr: expect.stringMatching(/undefined reference to .*torchCheckFail/) });
});
