/** `leak-audit why PID`: holders of every kind, planted in a real service and its worker, by the names that they have there. */
import { readFileSync } from 'node:fs';
import * as path from 'node:path';
import { limitMs } from '../support/sanitized';
import { Service } from '../support/service';
import { leakAudit } from './command';

jest.setTimeout(limitMs(120_000));

const FILE = 'test/audit/fixtures/holders.cjs';
const source = readFileSync(path.join(__dirname, 'fixtures/holders.cjs'), 'utf8').split('\n');
/** The line of the fixture that holds this. */
const lineOf = (text: string) => source.findIndex((line) => line.includes(text)) + 1;
const MODULE = 'test/audit/fixtures/holders-module.mjs';
const FIXTURE = path.join(__dirname, 'fixtures/holders.cjs');

interface Held {
  path: string[];
  tensors: number;
  bytes: number;
  thread: number;
}

let held: Held[];
let text: string;

/** Bytes of the tensors of one holder, which no other has: sizes are the fixtures'. */
const withSize = (count: number, size: number) =>
  held.filter(({ tensors, bytes }) => tensors === count && bytes === count * storageBytes(size));
/** As libtorch's allocator is told: 4 bytes an element. */
const storageBytes = (size: number) => 4 * size;
const pathsOf = (count: number, size: number) => withSize(count, size).map(({ path: steps }) => steps);

let service: Service;
beforeAll(async () => {
  service = await Service.start({ program: FIXTURE });
  const { code, stdout, stderr } = await leakAudit('why', String(service.pid), '--json', '-');
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: expect.stringMatching(/the main thread of process \d+ paused for \d+ ms\n/),
  });
  held = JSON.parse(stdout).heldBy;
  text = (await leakAudit('why', String(service.pid))).stdout;
  service.kill();
});

test.each<[string, number, number, (string | RegExp)[]]>([
  ['a Map of an instance', 44, 110, [`cache (module ${FILE})`, '.images (Map)', '44 × .pixels']],
  [
    'an array that a closure holds',
    12,
    120,
    [`list (module ${FILE})`, expectFunction(1, '(anonymous)', 'list.push('), 'variable own (Array)', '12 × Tensor'],
  ],
  [
    'listeners',
    3,
    130,
    [`bus (module ${FILE})`, "listener of 'data'", expectFunction(3, 'onData', 'function onData'), 'variable heard'],
  ],
  [
    'a timer',
    5,
    140,
    [`setInterval of 60,000 ms (poll, ${FILE}:${lineOf('function poll')})`, 'variable seen (Array)', '5 × Tensor'],
  ],
  [
    'a function that awaits',
    1,
    150,
    [
      `pending (module ${FILE})`,
      /^1 × function/,
      'variable resolve',
      `await in waitFor (${FILE}:${lineOf('async function waitFor')})`,
      'local variable',
    ],
  ],
  [
    'what settles a promise',
    1,
    160,
    [`pending (module ${FILE})`, expectFunction(1, '(anonymous)', 'new Promise((resolve)'), 'variable tensor'],
  ],
  ['an AsyncLocalStorage', 1, 170, [/^setInterval of 70,000 ms/, 'AsyncLocalStorage store', '.request']],
  ['the global object', 1, 180, ['globalThis.leftBehind', '.last']],
  ['a symbol of the global object', 1, 285, ['globalThis[<symbol left behind>]', '.last']],
  ['a buffer of a module', 1, 305, ['globalThis.model (Module)', '.mean']],
  [
    'a getter',
    1,
    315,
    ['globalThis.settings', `.limits (get limits, ${FILE}:${lineOf('get limits')})`, 'variable tensor'],
  ],
  ['a FinalizationRegistry', 3, 295, [`registry (module ${FILE})`, '3 × held value.value']],
  ['the key of a WeakMap', 1, 190, [`key (module ${FILE})`, 'value of a WeakMap for that key', '.value']],
  ['scopes that were never closed', 4, 200, ['4 scopes that are still open', '4 tensors']],
  ['an object that is used as a map', 20, 220, [`byName (module ${FILE})`, '20 × .embedding']],
  ['a linked list', 8, 230, [`head (module ${FILE})`, '.next … (a linked list)', '.value']],
  [
    'a hook that refers to its tensor',
    1,
    280,
    ['a hook of a tensor', `1 × function (limit, ${FILE}:${lineOf('function limit')})`, 'variable weight'],
  ],
  ['what a module exports', 1, 240, [`module.exports (${FILE})`, '.weights']],
  ['an export of an ES module', 1, 260, [`weights (module ${MODULE})`]],
  ['a variable of an ES module', 6, 270, [`inside (module ${MODULE})`, '6 × .entry']],
  [
    'a worker',
    7,
    250,
    ['MessagePort', "event 'message'", /^listener \(\(anonymous\), .*\)$/, 'variable kept (Array)', '7 × Tensor'],
  ],
])('%s', (_name, count, size, expected) => {
  const found = pathsOf(count, size);
  expect(found).toHaveLength(1);
  expect(found[0]).toEqual(expected.map((step) => (typeof step === 'string' ? step : expect.stringMatching(step))));
});

function expectFunction(count: number, name: string, text: string): string {
  return `${count} × function (${name}, ${FILE}:${lineOf(text)})`;
}

test('a token', () => {
  expect(held.filter(({ path: [first] }) => first === 'tokens of share()')).toEqual([
    { path: ['tokens of share()', '1 token not disposed of'], tensors: 0, bytes: 0, sites: [], thread: 0 },
  ]);
});

test('as text: a line for each, with its thread', () => {
  expect(text).toContain(`44 tensors, 18.9 KiB  cache (module ${FILE}) → .images (Map) → 44 × .pixels (main thread)\n`);
  expect(text).toMatch(/7 × Tensor \(worker 1\)\n/);
});
