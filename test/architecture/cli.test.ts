/**
 * The parts of cli/, folders and entry files: each file is in one, and each part imports only from those named here,
 * types included.
 */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';

/** What each part may import. A part names only parts above it. */
const PARTS: Record<string, string[]> = {
  errors: [],
  files: [],
  terminal: ['errors', 'files'],
  machine: [],
  capture: ['errors', 'files', 'terminal'],
  code: ['files', 'capture'],
  rules: [],
  analysis: ['errors', 'terminal', 'machine', 'capture', 'code', 'rules'],
  wording: ['terminal', 'analysis'],
  attach: ['errors', 'terminal', 'capture', 'code', 'analysis'],
  why: ['errors', 'files', 'terminal', 'capture', 'code', 'analysis', 'wording', 'attach'],
  wasm: ['capture', 'code', 'rules', 'analysis'],
  check: ['errors', 'files', 'terminal', 'analysis', 'wording'],
  page: ['terminal', 'capture', 'code', 'rules', 'analysis', 'wording'],
  exporters: ['files', 'terminal', 'capture', 'analysis'],
  doctor: ['files', 'terminal', 'machine'],
  reporters: [
    ...['errors', 'files', 'terminal', 'capture', 'code', 'analysis'],
    ...['wording', 'attach', 'why', 'wasm', 'check', 'page', 'doctor'],
  ],
  run: ['errors', 'terminal', 'capture', 'analysis', 'wording', 'reporters'],
  live: ['errors', 'terminal', 'capture', 'code', 'analysis', 'attach', 'reporters'],
  program: ['errors', 'files', 'terminal'],
  commands: [
    ...['errors', 'files', 'terminal', 'capture', 'analysis', 'attach', 'why', 'wasm', 'check', 'exporters', 'doctor'],
    ...['reporters', 'run', 'live', 'program'],
  ],
  'leak-audit.ts': ['program', 'commands'],
  'libtorch-node.ts': ['program', 'commands'],
};
const root = path.resolve(__dirname, '../..');
const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', 'cli'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((file) => /\.(ts|js)$/.test(file));
const partOf = (file: string) => file.split('/')[1]!;

/** The files of cli/ that a file imports. */
const importsOf = (file: string) =>
  [...readFileSync(path.join(root, file), 'utf8').matchAll(/(?:from|import|import\(|require\()\s*'(\.[^']+)'/g)]
    .map(([, to]) => path.posix.join(path.posix.dirname(file), to!))
    .filter((to) => to.startsWith('cli/'))
    .map((to) => [to, `${to}.ts`, `${to}.js`, `${to}/index.ts`].find((name) => files.includes(name)) ?? to);
const arrows = new Map(files.map((file) => [file, importsOf(file)]));

test('each file is in a part', () => {
  expect([...new Set(files.map(partOf))].sort()).toEqual(Object.keys(PARTS).sort());
});

test('a part names only parts above it', () => {
  const order = Object.keys(PARTS);
  const up = order.flatMap((part, i) => PARTS[part]!.filter((other) => !order.slice(0, i).includes(other)));
  expect(up).toEqual([]);
});

test('a part imports only from the parts that it names, and from each of them', () => {
  const found = new Map(Object.keys(PARTS).map((part) => [part, new Set<string>()]));
  const wrong: string[] = [];
  for (const [file, all] of arrows) {
    for (const to of all) {
      const [from, part] = [partOf(file), partOf(to)];
      if (!files.includes(to) || (from !== part && PARTS[from]?.includes(part) !== true))
        wrong.push(`${file} -> ${to}`);
      if (from !== part) found.get(from)?.add(part);
    }
  }
  expect(wrong).toEqual([]);
  const unused = Object.entries(PARTS).flatMap(([part, others]) =>
    others.filter((other) => !found.get(part)!.has(other)).map((other) => `${part} -> ${other}`),
  );
  expect(unused).toEqual([]);
});

test('no files import each other in a circle', () => {
  const done = new Set<string>();
  const visit = (file: string, way: string[]): string[] => {
    if (way.includes(file)) return [[...way.slice(way.indexOf(file)), file].join(' -> ')];
    if (done.has(file)) return [];
    const circles = (arrows.get(file) ?? []).flatMap((to) => visit(to, [...way, file]));
    done.add(file);
    return circles;
  };
  expect(files.flatMap((file) => visit(file, []))).toEqual([]);
});

test('names of files are in kebab case', () => {
  expect(files.filter((file) => !/^[a-z0-9-]+\.(ts|js)$/.test(path.posix.basename(file)))).toEqual([]);
});
