/**
 * `import 'libtorch-node/jest'` adds `await expect(fn).not.toLeakTensors({ iterations, warmup })`: does calling `fn` again
 * and again leave tensors behind that a collection does not free?
 */
import { collectAll } from './collector';
import { native } from './native';

export interface LeakOptions {
  /** Calls that are measured (default 20). */
  iterations?: number;
  /** Calls before, which may fill caches (default 5). */
  warmup?: number;
}

interface Counts {
  tensors: number;
  bytes: number;
}

/** The counts once everything that can be collected is: finalizers of objects run during collection, promises after. */
async function settledCounts(): Promise<Counts> {
  for (let i = 0; i < 2; i++) {
    await new Promise((resolve) => setImmediate(resolve));
    collectAll();
  }
  const { tensors, bytes } = native.memory();
  return { tensors, bytes };
}

function count(name: string, value: number): number {
  if (Number.isInteger(value) && value >= 1) return value;
  throw new TypeError(`toLeakTensors: option '${name}': expected an integer of 1 or more, got ${value}`);
}

async function toLeakTensors(fn: unknown, { iterations = 20, warmup = 5 }: LeakOptions = {}) {
  if (typeof fn !== 'function') throw new TypeError('toLeakTensors: expected a function to call');
  for (let i = count('warmup', warmup); i > 0; i--) await fn();
  const before = await settledCounts();
  for (let i = count('iterations', iterations); i > 0; i--) await fn();
  const after = await settledCounts();
  const tensors = after.tensors - before.tensors;
  const bytes = after.bytes - before.bytes;
  // A cache that replaces what it holds keeps its count: only growth in every call is a leak.
  const pass = tensors >= iterations || bytes >= iterations;
  const figures = `${iterations} calls left ${tensors} tensors and ${bytes} bytes behind`;
  return { pass, message: () => `expected the function ${pass ? 'not ' : ''}to leak tensors: ${figures}` };
}

type Expect = { extend(matchers: Record<string, unknown>): void };
const { expect } = globalThis as { expect?: Expect };
if (expect === undefined) throw new Error("libtorch-node/jest: there is no global 'expect'; import it in a Jest test");
expect.extend({ toLeakTensors });

declare global {
  namespace jest {
    // biome-ignore lint/complexity/noBannedTypes: Jest's own parameters have to be repeated for the merge
    interface Matchers<R, T = {}> {
      /** Whether every call of the function leaves tensors behind. Await it. */
      toLeakTensors(options?: LeakOptions): Promise<R>;
    }
  }
}
