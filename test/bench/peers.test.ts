/**
 * The compared programs compute the same numbers. The packages are large and not the repository's, so those that
 * `npm run bench:peers` has not installed are left out here; it makes the same comparison before it measures.
 */
import { execFileSync } from 'node:child_process';
import * as path from 'node:path';
import { pathToFileURL } from 'node:url';

const root = path.resolve(__dirname, '..', '..');
const peers = (name: string) => path.join(root, 'bench', 'peers', name);

type Values = Record<string, Record<string, [(number[] | undefined)?]>>;

const run = (args: string[]) =>
  execFileSync(process.execPath, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

function differences(values: Values): string[] {
  const module_ = pathToFileURL(peers('values.mjs')).href;
  const program = `import { differences } from '${module_}'; console.log(JSON.stringify(differences(${JSON.stringify(values)})));`;
  return JSON.parse(run(['--input-type=module', '-e', program]));
}

test('every program that starts here computes the numbers of C++, in every case that it has', () => {
  const { values, missing }: { values: Values; missing: string[] } = JSON.parse(run([peers('run.mjs'), '--check']));
  expect(Object.keys(values)).toEqual(
    expect.arrayContaining(['C++ libtorch', 'libtorch-node', 'libtorch-node, no scopes', 'PyTorch']),
  );
  expect(differences(values)).toEqual([]);
  const absent = Object.entries(values).flatMap(([program, cases]) =>
    Object.keys(cases)
      .filter((name) => !Array.isArray(cases[name]![0]))
      .map((name) => `${program}: ${name}`),
  );
  const known = [
    ...['small', 'mid', 'mm', 'train'].map((name) => `libtorch-node, optimized model: ${name}`),
    ...['onnxruntime-node: train', 'js-pytorch: cnn'],
  ];
  expect(absent).toEqual(known.filter((each) => values[each.split(':')[0]!] !== undefined));
  for (const line of missing) expect(line).toMatch(/^[\w, +-]+: \S/);
}, 300_000);

test('the programs for a device compute the numbers of PyTorch, here on the CPU', () => {
  const program = path.join(root, 'bench', 'cuda', 'run.mjs');
  const { values }: { values: Values } = JSON.parse(run([program, '--check'])); // fails if they differ
  expect(Object.keys(values)).toEqual(['libtorch-node', 'no scopes', 'captured', 'PyTorch']);
  expect(Object.keys(values.captured!)).toEqual(['mid', 'decode']);
  expect(Object.keys(values.PyTorch!)).toEqual(['small', 'mid', 'mm', 'decode', 'train']);
}, 300_000);

test('a number that differs, or one too few, is found', () => {
  const found = differences({
    'C++ libtorch': { small: [[1, 2, 3]], train: [[0.5]] },
    a: { small: [[1, 2, 3.00001]], train: [undefined] },
    b: { small: [[1, 2, 3.001]], train: [[0.5]] },
    c: { small: [[1, 2]], train: [[0.5]] },
  });
  expect(found.map((line) => line.split(':')[0])).toEqual(['b, small', 'c, small']);
});
