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

  const names = ['first', 'second', 'third', 'fourth', 'fifth', 'sixth', 'seventh', 'alone', 'tick'];
  const capture = readCapture(file);
  const made: Record<string, number> = {};
  for (const { siteId, allocatedTensors } of capture.series.values()) {
    const frames = capture.stacks.get(siteId) ?? [];
    if (allocatedTensors.at(-1) === 0) continue;
    const named = frames.find(({ file: at, function: name }) => at.startsWith('/short/') || names.includes(name));
    const name = named?.file.startsWith('/short/') ? named.file : (named?.function ?? 'unknown');
    made[name] = (made[name] ?? 0) + allocatedTensors.at(-1)!;
  }
  const expected: Record<string, number> = {
    first: 534,
    second: 400,
    third: 1000,
    fourth: 3000,
    fifth: 4000,
    sixth: 800,
    seventh: 2400,
    alone: 800,
    unknown: 400,
    tick: 4000,
  };
  for (let round = 10; round < 40; round++) for (let i = 10; i < 50; i++) expected[`/short/${round}-${i}.js`] = 100;
  const threads = 2;
  expect(made).toEqual(Object.fromEntries(Object.entries(expected).map(([name, count]) => [name, threads * count])));

  // Most stacks of the callbacks and of the short-lived functions are known; without V8's functions none is.
  const recognized = stdout.match(/^\{.*\}$/gm)!.map((line) => JSON.parse(line));
  expect(recognized.map(({ thread }) => thread)).toEqual([0, 1]);
  for (const { inTicks, inContinuations, recognized: all } of recognized) {
    expect(all).toBeGreaterThan(20_000);
    expect(inTicks).toBeGreaterThan(2000);
    expect(inContinuations).toBeGreaterThan(1500);
  }
});

describe('what determines a stack besides its return addresses', () => {
  const here = () => captureStack(16, here).waiting!();

  test('nothing, if no frame is missing on the stack', async () => {
    const inCallback = await new Promise((resolve) => setImmediate(() => resolve(here())));
    const deep = (n: number): unknown => (n === 0 ? here() : deep(n - 1));
    const inTick = await new Promise((resolve) => process.nextTick(() => resolve(here())));
    expect([inCallback, inTick, deep(30)]).toEqual([0, 0, 0]);
  });

  test('the functions that V8 adds because they wait', async () => {
    const leaf = async () => {
      await null;
      return here();
    };
    const one = async () => await leaf();
    const other = async () => await leaf();
    const seen: unknown[] = [];
    for (const waits of [one, one, other]) seen.push(await waits());
    const [first, again, second] = seen;
    expect(first).toBeGreaterThan(0);
    expect(again).toBe(first);
    expect(second).not.toBe(first);
    const queued = await new Promise((resolve) => queueMicrotask(() => resolve(here())));
    const behindTick = await new Promise((resolve) => {
      process.nextTick(() => queueMicrotask(() => resolve(here())));
    });
    expect(queued).toBeGreaterThan(0);
    expect(behindTick).toBe(queued);
  });

  test('unknown, if more may wait than V8 has room for, and in a context with microtasks of its own', async () => {
    const deep = async (n: number): Promise<unknown> => {
      if (n > 0) return await deep(n - 1);
      await null;
      return here();
    };
    const inContext = await new Promise((resolve) => {
      const context = vm.createContext({ done: () => resolve(here()) }, { microtaskMode: 'afterEvaluate' });
      vm.runInContext('Promise.resolve().then(() => done())', context);
    });
    expect([await deep(30), inContext]).toEqual([undefined, undefined]);
  });
});

test('copies of the library in one thread know stacks of their own', async () => {
  const file = path.join(folder, 'copies.ltna');
  const program = ['node', fixture('known-stacks-copies.cjs'), LIB];
  const { code, stdout, stderr } = await auditProgram('run', '--quiet', '-o', file, '--', ...program);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const recognized: number[] = JSON.parse(/^\[.*\]$/m.exec(stdout)![0]);
  expect(recognized).toHaveLength(2);
  for (const count of recognized) expect(count).toBeGreaterThan(500);
});
