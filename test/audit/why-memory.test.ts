/** Reading of heap snapshots: its peak memory, in a process of its own, and invalid files. */
import { spawn } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { run } from '../support/child';
import { limitMs, ordinaryEnv } from '../support/sanitized';
import { leakAudit, ROOT, refused, testFolder } from './command';

jest.setTimeout(limitMs(300_000));
const folder = testFolder();
const CHILD = path.join(ROOT, 'dist/cli/why/child.js');

/** A heap of about 100 MB: maps of objects with arrays and strings, and among them tensors. */
const PROGRAM = `
const held = new Map();
class Tensor { constructor(i) { this._handle = 4294967296 + i; } }
const cache = new Map();
for (let i = 0; i < 4000; i++) cache.set('key' + i, { pixels: new Tensor(i) });
for (let i = 0; i < 330000; i++) held.set('name ' + i, { id: i, tags: [i, i + 1], text: 'text of ' + i, next: { at: i / 3 } });
module.exports = () => [cache, held];
const used = () => process.memoryUsage().heapUsed;
require('node:v8').writeHeapSnapshot(process.argv[2], { exposeNumericValues: true });
console.log(used());
`;

interface Reading {
  code: number | null;
  stdout: string;
  peakBytes: number;
}

/** Runs the child process of `leak-audit why` on a file, and returns its peak resident memory. */
const read = (file: string) => measured([CHILD, JSON.stringify({ folder, redact: false, facts: false })], [file]);

function measured(args: string[], files: string[]): Promise<Reading> {
  const peakFile = path.join(folder, 'peak');
  const fds = files.map((name) => fs.openSync(name, 'r'));
  const child = spawn(process.execPath, ['-r', path.join(__dirname, 'fixtures/peak.cjs'), ...args], {
    stdio: ['ignore', 'pipe', 'pipe', ...fds],
    env: { ...ordinaryEnv(), LTN_PEAK_FILE: peakFile },
  });
  for (const fd of fds) fs.closeSync(fd);
  let stdout = '';
  child.stdout!.on('data', (part) => {
    stdout += part;
  });
  child.stderr!.resume();
  return new Promise((resolve) =>
    child.once('close', (code) => resolve({ code, stdout, peakBytes: Number(fs.readFileSync(peakFile, 'utf8')) })),
  );
}

test('a heap of 100 MB is read in less than 160 MB beside the memory of an empty Node', async () => {
  const program = path.join(folder, 'heap.cjs');
  const file = path.join(folder, 'large.heapsnapshot');
  fs.writeFileSync(program, PROGRAM);
  const written = await run(process.execPath, [program, file], { env: ordinaryEnv() });
  expect(written).toMatchObject({ code: 0, stderr: '' });
  const heap = Number(written.stdout.trim());
  expect(heap).toBeGreaterThan(90e6);
  const { code, stdout, peakBytes } = await read(file);
  expect(code).toBe(0);
  expect(JSON.parse(stdout).heldBy).toEqual([
    { path: ['cache (module heap.cjs)', '4,000 × .pixels'], tensors: 4000, bytes: 0, sites: [] },
  ]);
  // Between 41 and 54 MB, by the way in which Node was built.
  const empty = await measured(['-e', '0'], []);
  expect(empty.peakBytes).toBeGreaterThan(20e6);
  expect(peakBytes).toBeGreaterThan(empty.peakBytes);
  expect(peakBytes - empty.peakBytes).toBeLessThan(1.6 * heap);
});

const META = {
  node_fields: ['type', 'name', 'id', 'self_size', 'edge_count'],
  node_types: [['hidden', 'object', 'synthetic'], 'string', 'number', 'number', 'number'],
  edge_fields: ['type', 'name_or_index', 'to_node'],
  edge_types: [['context', 'property', 'internal'], 'string_or_number', 'node'],
};
const snapshotOf = (parts: object, head: object = {}) =>
  JSON.stringify({
    snapshot: { meta: META, node_count: 1, edge_count: 1, ...head },
    nodes: [2, 0, 1, 0, 1],
    edges: [1, 0, 0],
    strings: ['a'],
    ...parts,
  });

test.each<[string, string, RegExp]>([
  ['an empty object', '{}', /expected the key "snapshot" first/],
  ['other JSON', '{"a":1}', /expected the key "snapshot" first/],
  ['no fields', '{"snapshot":{}}', /the description of its fields is missing/],
  ['counts above its size', snapshotOf({}, { node_count: 2e9 }), /the file is too small for its counts/],
  ['negative counts', snapshotOf({}, { edge_count: -1 }), /the file is too small for its counts/],
  ['edges to nowhere', snapshotOf({ edges: [1, 0, 500] }), /an edge has an invalid target/],
  ['edges into the middle', snapshotOf({ edges: [1, 0, 3] }), /an edge has an invalid target/],
  ['more edges of an object than there are', snapshotOf({ nodes: [2, 0, 1, 0, 9] }), /more edges than its count/],
  ['too few numbers', snapshotOf({ edges: [1] }), /(expected a number|invalid target|too small for its counts)/],
  ['no strings', snapshotOf({ strings: undefined }), /strings is missing/],
  ['an unterminated string', snapshotOf({ strings: ['a'] }).slice(0, -4), /unexpected end of file in a string/],
  ['strings in place of numbers', snapshotOf({ edges: ['x', 0, 0] }), /expected a number/],
])('a file with %s is refused in one line', async (name, content, message) => {
  const file = path.join(folder, `${name.replace(/\W/g, '_')}.heapsnapshot`);
  fs.writeFileSync(file, content);
  expect(await refused('why', file)).toMatch(message);
});

test('names outside the string table and cycles are not read', async () => {
  const file = path.join(folder, 'loop.heapsnapshot');
  fs.writeFileSync(file, snapshotOf({ edges: [1, 4_000_000_000, 0] }));
  const { code, stdout } = await leakAudit('why', file);
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'no live tensor of this process is held by anything\n' });
});
