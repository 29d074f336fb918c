/** The built package for tests, with its types, and common helpers. */
import * as path from 'node:path';
import * as v8 from 'node:v8';
import * as loaded from 'libtorch-node';
import type typed from '../../types';

/** The module with its public types. */
export const torch = loaded as unknown as typeof typed;
/** The same for calls that the types forbid. */
export const untyped = loaded as any;

export const ROOT = path.resolve(__dirname, '../..');
/** The folder of the built library. */
export const LIB = path.join(ROOT, 'dist/lib');

export interface Counts {
  tensors: number;
  storages: number;
  bytes: number;
}

/** The current counts of handles. */
export function counts(): Counts {
  const { tensors, storages, bytes } = torch.memory();
  return { tensors, storages, bytes };
}

/** The error with code that `fn` throws. Fails if it does not throw. */
export function thrown(fn: () => unknown): Error & { code: string; op?: string; argument?: string } {
  try {
    fn();
  } catch (error) {
    return error as Error & { code: string };
  }
  throw new Error('expected an error, none was thrown');
}

/** The code of the error that `fn` throws. */
export const codeOf = (fn: () => unknown): string => thrown(fn).code;

const { collectAll } = require(path.join(LIB, 'memory/collector.js')) as { collectAll(): void };

/**
 * Waits for V8's compiler, which runs concurrently and holds garbage (the context of the closure that it compiles, and so a
 * tensor in one of its variables) until the main thread takes its result. A V8 without this function does not need the wait.
 */
function endCompiling(): void {
  v8.setFlagsFromString('--allow-natives-syntax');
  try {
    new Function('%FinalizeOptimization()')(); // each time, because V8 drops the compiled code
  } catch {
    // This V8 does not have the function.
  } finally {
    v8.setFlagsFromString('--no-allow-natives-syntax');
  }
}

/** What earlier tests left to the event loop is released. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 2; turn++) await new Promise(setImmediate);
}

/** Longer than a worker of an earlier file needs to end, on a slow machine. */
const MAX_WAIT_MS = 10_000;

/** What is live, and what libtorch has allocated for it. */
const live = () => ({ ...counts(), allocatedBytes: torch.memory().allocatedBytes });
type Live = ReturnType<typeof live>;
const NOTHING: Live = { tensors: 0, storages: 0, bytes: 0, allocatedBytes: 0 };
const isSame = (a: Live, b: Live) => Object.entries(a).every(([name, count]) => b[name as keyof Live] === count);

/**
 * What Jest itself keeps of earlier files of this process. Each file has its own globals, but Node's modules are shared (what
 * `import *` gives is a copy).
 */
const shared = require('node:v8') as { [name: symbol]: Live };
const KEPT = Symbol.for('libtorch-node.test.kept');
const kept = () => shared[KEPT] ?? NOTHING;

/**
 * Jest runs several files in a process. What an earlier one left is freed before the tests of this one count: garbage, what
 * promises hold until a later turn, and what workers hold that end because their owner was collected. What an earlier file has
 * waited for in vain stays, and so do the tensors of this file's own modules, once nothing more is freed.
 */
beforeAll(async () => {
  await turns();
  const own = Math.max(0, counts().tensors - begun);
  const hasForeign = begun > kept().tensors; // otherwise what was live then stays
  for (let [from, last, idle] = [performance.now(), Number.NaN, 0]; idle < ENOUGH_ROUNDS; ) {
    const { tensors } = freeGarbage();
    if (!hasForeign || tensors <= kept().tensors || performance.now() - from > MAX_WAIT_MS) break;
    idle = tensors === last && tensors <= kept().tensors + own ? idle + 1 : 0;
    last = tensors;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  shared[KEPT] = live();
});

/**
 * The counts of handles once the garbage of earlier tests is freed. If nothing is live, there is nothing to free; and what
 * several calls in turn have not freed is held. Fewer calls do not tell: V8 drops the code of an earlier file, and with it the
 * tensors of its module, only after some collections.
 */
export function settled(): Counts {
  const present = live();
  if (isSame(present, NOTHING) || (inVain >= ENOUGH && isSame(present, after))) return counts();
  const result = freeGarbage();
  const now = live();
  inVain = isSame(now, present) ? inVain + 1 : 0;
  after = now;
  return result;
}

/** How many calls of settled() in turn have freed nothing, and what was live after the last one. */
let inVain = 0;
let after = NOTHING;
const ENOUGH = 4;

/** The rounds without a change after which what is left is taken for this file's own. */
const ENOUGH_ROUNDS = 8;

/** Freed objects may have held others, so collections continue, with pauses, until one frees nothing. */
function freeGarbage(): Counts {
  const clock = new Int32Array(new SharedArrayBuffer(4));
  let last = counts();
  for (let quiet = 0, tries = 0; quiet < 2 && tries < 100; tries++) {
    if (quiet === 0 && tries > 0) Atomics.wait(clock, 0, 0, 10);
    endCompiling();
    collectAll();
    const now = counts();
    quiet = now.tensors === last.tensors && now.storages === last.storages && now.bytes === last.bytes ? quiet + 1 : 0;
    last = now;
  }
  return last;
}

/** Runs `fn` and expects that afterwards, before any collection, every count is unchanged. */
export function balanced<T>(fn: () => T): T {
  const before = settled();
  const result = fn();
  expect(counts()).toEqual(before);
  return result;
}

/** The same for an async `fn`. */
export async function balancedAsync<T>(fn: () => Promise<T>): Promise<T> {
  await turns(); // otherwise promises of the last test could end during `fn`
  const before = settled();
  const result = await fn();
  expect(counts()).toEqual(before);
  return result;
}

/** The tensors that lived before the modules of this file of tests, which import this one first, made theirs. */
const begun = counts().tensors > kept().tensors ? freeGarbage().tensors : counts().tensors;
