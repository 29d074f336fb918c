/**
 * Tensors in `toEqual` and its like, of Jest, Vitest and what else uses Jest's `expect`: the same tensor, or one of the same
 * dtype, device, shape and values. By itself Jest compares what can be iterated element by element, and rows of a tensor are
 * new tensors each time, down to those without rows.
 */
import { sameValues } from './stand-ins';
import { isTensor, Tensor } from './tensor';

function sameTensors(a: unknown, b: unknown): boolean | undefined {
  if (!isTensor(a) || !isTensor(b)) return undefined;
  return sameValues(a, b);
}

interface Matchers {
  customEqualityTesters?: unknown;
}

/** False where there is no `expect` yet. */
function teachExpect(): boolean {
  const { expect } = globalThis as { expect?: { addEqualityTesters?: (testers: unknown[]) => void } };
  if (typeof expect?.addEqualityTesters === 'function') {
    expect.addEqualityTesters([sameTensors]);
    return true;
  }
  // Vitest, and Jest without globals, have `expect` in a module, and its testers where all copies of that module see them.
  const shared = (globalThis as Record<symbol, Matchers | undefined>)[Symbol.for('$$jest-matchers-object')];
  if (!Array.isArray(shared?.customEqualityTesters)) return false;
  shared.customEqualityTesters.push(sameTensors);
  return true;
}

/** Jest makes `expect` after the files of its `setupFiles` have run: until then a setter stands there, which nobody sees. */
function teachLater(): void {
  if (process.env.JEST_WORKER_ID === undefined || Object.hasOwn(globalThis, 'expect')) return;
  const become = (value: unknown) => {
    Object.defineProperty(globalThis, 'expect', { value, writable: true, enumerable: true, configurable: true });
    teachExpect();
  };
  Object.defineProperty(globalThis, 'expect', { get: () => undefined, set: become, configurable: true });
}

/** Does nothing outside of Jest (and what has its `expect`). */
export function teachJest(): void {
  if (!teachExpect()) teachLater();
  // What Jest copies of a tensor to show a difference: not the getters, of which each would make a tensor or throw.
  Object.defineProperty(Tensor.prototype, Symbol.for('@jest/serializableProperties'), {
    value: ['_mark', '_handle', '_guard'],
  });
}
