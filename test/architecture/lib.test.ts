/**
 * The parts of lib/, folders and entry files: each file is in one, and a part imports only from parts above it in this
 * list, types included.
 */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';

const PARTS = [
  'errors',
  'libtorch',
  'addon',
  'memory',
  'observe',
  'tensor',
  'lifetimes',
  'call',
  'autograd',
  'async',
  'capture',
  'cuda',
  'elements',
  'distributed',
  'equality',
  'files',
  'metrics',
  'pprof',
  'print',
  'optim',
  'data',
  'utils',
  'public',
  'nn',
  'jit',
  'inductor',
  'testing',
  'core.ts',
  'late',
  'torch.ts',
  'index.ts',
];
const FILES = new Set(['lib/core', 'lib/torch']);
const root = path.resolve(__dirname, '../..');
const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', 'lib'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((file) => /\.(ts|js)$/.test(file) && !/\.d\.ts$/.test(file));
const partOf = (file: string) => file.split('/')[1]!;

test('each file is in a part', () => {
  expect([...new Set(files.map(partOf))].sort()).toEqual([...PARTS].sort());
});

test('a part imports only from parts above it', () => {
  const imports = files.flatMap((file) =>
    [...readFileSync(path.join(root, file), 'utf8').matchAll(/(?:from|import|require\()\s*'(\.[^']+)'/g)]
      .map(([, to]) => path.posix.join(path.posix.dirname(file), to!))
      .filter((to) => to.startsWith('lib/') && !to.startsWith('lib/generated/'))
      .map((to) => ({ file, to, part: FILES.has(to) ? `${partOf(to)}.ts` : partOf(to) })),
  );
  expect(imports.length).toBeGreaterThan(500);
  const wrong = imports.filter(({ file, part }) => PARTS.indexOf(part) > PARTS.indexOf(partOf(file)));
  expect(wrong.map(({ file, to }) => `${file} -> ${to}`)).toEqual([]);
  expect(imports.filter(({ part }) => !PARTS.includes(part))).toEqual([]);
});

test('only scopes of asynchronous code make a WeakRef, which keeps its target until the job ends', () => {
  const code = (file: string) => readFileSync(path.join(root, file), 'utf8').replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, '');
  expect(files.filter((file) => code(file).includes('WeakRef'))).toEqual(['lib/lifetimes/context.ts']);
});
