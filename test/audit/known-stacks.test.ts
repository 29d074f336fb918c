/** Stacks that are recognized by their return addresses: each tensor still has its own stack. */
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import * as vm from 'node:vm';
import { readCapture } from '../../cli/capture/reader';
import type * as StackModule from '../../lib/observe/audit/stack';
import { LIB } from '../support/torch';
import { auditProgram, fixture } from './command';

const { captureStack } = require(path.join(LIB, 'observe/audit/stack.js')) as typeof StackModule;

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'known-stacks-'));
afterAll(() => fs.rmSync(folder, { recursive: true }));

test('every tensor has the stack that made it: callers, recursion, async functions, and code at reused addresses', async () => {
  const file = path.join(folder, 'capture.ltna');
  const options = ['--quiet', '--json', path.join(folder, 'ignored.json'), '-o', file];
  const program = ['node', '--expose-gc', fixture('known-stacks.cjs'), LIB];
  const { code, stdout, stderr } = await auditProgram('run', ...options, '--', ...program);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });

  const capture = readCapture(file);
  const made: Record<string, number> = {};
  for (const { siteId, allocatedTensors } of capture.series.values()) {
    const frames = capture.stacks.get(siteId) ?? [];
    if (allocatedTensors.at(-1) === 0) continue;
    const named = frames.find(
      ({ file: at, function: name }) =>
        at.startsWith('/short/') || ['first', 'second', 'third', 'fourth', 'fifth', 'tick'].includes(name),
    );
    const name = named?.file.startsWith('/short/') ? named.file : (named?.function ?? 'unknown');
    made[name] = (made[name] ?? 0) + allocatedTensors.at(-1)!;
  }
  const expected: Record<string, number> = {
    first: 534,
    second: 400,
    third: 1000,
    fourth: 3000,
    fifth: 4000,
    tick: 4000,
  };
  for (let round = 10; round < 40; round++) for (let i = 10; i < 50; i++) expected[`/short/${round}-${i}.js`] = 100;
  const threads = 2;
  expect(made).toEqual(Object.fromEntries(Object.entries(expected).map(([name, count]) => [name, threads * count])));

  // Most stacks of the callbacks and of the short-lived functions are known; without V8's functions none is.
  const recognized = stdout.match(/^\{.*\}$/gm)!.map((line) => JSON.parse(line));
  expect(recognized.map(({ thread }) => thread)).toEqual([0, 1]);
  for (const { inTicks, recognized: all } of recognized) {
    expect(all).toBeGreaterThan(20_000);
    expect(inTicks).toBeGreaterThan(2000);
  }
});

describe('whether return addresses determine a stack', () => {
  const here = () => captureStack(16, here).hasAddresses!();

  test('they do if no frame is missing on the stack', async () => {
    const inCallback = await new Promise<boolean>((resolve) => setImmediate(() => resolve(here())));
    const deep = (n: number): boolean => (n === 0 ? here() : deep(n - 1));
    const inTick = await new Promise<boolean>((resolve) => process.nextTick(() => resolve(here())));
    expect([inCallback, inTick, deep(30)]).toEqual([true, true, true]);
  });

  test('they do not where V8 adds the functions that wait', async () => {
    const leaf = async () => {
      await null;
      return here();
    };
    const waits = async () => await leaf();
    expect([await waits(), await Promise.resolve().then(here)]).toEqual([false, false]);
    const queued = await new Promise<boolean>((resolve) => queueMicrotask(() => resolve(here())));
    const behindTick = await new Promise<boolean>((resolve) => {
      process.nextTick(() => queueMicrotask(() => resolve(here())));
    });
    const inContext = await new Promise<boolean>((resolve) => {
      const context = vm.createContext({ done: () => resolve(here()) }, { microtaskMode: 'afterEvaluate' });
      vm.runInContext('Promise.resolve().then(() => done())', context);
    });
    expect([queued, behindTick, inContext]).toEqual([false, false, false]);
  });
});
