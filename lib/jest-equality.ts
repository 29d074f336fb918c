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

/** Does nothing outside of Jest (and what has its `expect`). */
export function teachJest(): void {
  const { expect } = globalThis as { expect?: { addEqualityTesters?: (testers: unknown[]) => void } };
  if (typeof expect?.addEqualityTesters === 'function') expect.addEqualityTesters([sameTensors]);
  else {
    // Vitest, and Jest without globals, have `expect` in a module, and its testers where all copies of that module see them.
    const shared = (globalThis as Record<symbol, Matchers | undefined>)[Symbol.for('$$jest-matchers-object')];
    if (Array.isArray(shared?.customEqualityTesters)) shared.customEqualityTesters.push(sameTensors);
  }
  // What Jest copies of a tensor to show a difference: not the getters, of which each would make a tensor or throw.
  Object.defineProperty(Tensor.prototype, Symbol.for('@jest/serializableProperties'), {
    value: ['_mark', '_handle', '_guard'],
  });
}
