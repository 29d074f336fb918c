/** The rooms of lib/: each file is in one, and a room imports only from rooms above it in this list, types included. */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';

const ROOMS = [
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
  'jit',
  'inductor',
  'metrics',
  'pprof',
  'print',
  'optim',
  'data',
  'utils',
  'public',
  'nn',
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
const roomOf = (file: string) => file.split('/')[1]!;

test('each file is in a room', () => {
  expect([...new Set(files.map(roomOf))].sort()).toEqual([...ROOMS].sort());
});

test('a room imports only from rooms above it', () => {
  const imports = files.flatMap((file) =>
    [...readFileSync(path.join(root, file), 'utf8').matchAll(/(?:from|import|require\()\s*'(\.[^']+)'/g)]
      .map(([, to]) => path.posix.join(path.posix.dirname(file), to!))
      .filter((to) => to.startsWith('lib/') && !to.startsWith('lib/generated/'))
      .map((to) => ({ file, to, room: FILES.has(to) ? `${roomOf(to)}.ts` : roomOf(to) })),
  );
  expect(imports.length).toBeGreaterThan(500);
  const wrong = imports.filter(({ file, room }) => ROOMS.indexOf(room) > ROOMS.indexOf(roomOf(file)));
  expect(wrong.map(({ file, to }) => `${file} -> ${to}`)).toEqual([]);
  expect(imports.filter(({ room }) => !ROOMS.includes(room))).toEqual([]);
});
