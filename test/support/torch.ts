/** The built package as tests use it, with its types, and what they ask of it again and again. */
import * as path from 'node:path';
import * as v8 from 'node:v8';
import * as loaded from 'libtorch-node';
import type typed from '../../types';

/** The module with the types that its users see. */
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

/** What handles hold now. */
export function counts(): Counts {
  const { tensors, storages, bytes } = torch.memory();
  return { tensors, storages, bytes };
}

/** What `fn` throws, as a coded error. Fails when it does not throw. */
export function thrown(fn: () => unknown): Error & { code: string; op?: string; argument?: string } {
  try {
    fn();
  } catch (error) {
    return error as Error & { code: string };
  }
  throw new Error('expected an error, none was thrown');
}

/** The code of what `fn` throws. */
export const codeOf = (fn: () => unknown): string => thrown(fn).code;

const { collectAll } = require(path.join(LIB, 'collector.js')) as { collectAll(): void };

/**
 * Waits for V8's compiler, which works beside the program and holds garbage (the context of the closure that it compiles,
 * and so a tensor in one of its variables) until the main thread takes its work. A V8 without this word has none to wait for.
 */
function endCompiling(): void {
  v8.setFlagsFromString('--allow-natives-syntax');
  try {
    new Function('%FinalizeOptimization()')(); // each time: V8 drops what was compiled, and reads the source again
  } catch {
    // There is no such word.
  } finally {
    v8.setFlagsFromString('--no-allow-natives-syntax');
  }
}

/**
 * What handles hold once the garbage of earlier tests is gone. What one collection frees may have held more: so they go
 * on, with pauses, until one finds nothing.
 */
export function settled(): Counts {
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

/** Runs `fn` and demands that afterwards, before any collection, every count is exactly what it was. */
export function balanced<T>(fn: () => T): T {
  const before = settled();
  const result = fn();
  expect(counts()).toEqual(before);
  return result;
}

/** The same for an async `fn`. */
export async function balancedAsync<T>(fn: () => Promise<T>): Promise<T> {
  const before = settled();
  const result = await fn();
  expect(counts()).toEqual(before);
  return result;
}
