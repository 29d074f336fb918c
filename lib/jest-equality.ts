/**
 * Tensors in Jest's `toEqual`: the same tensor, or one of the same dtype, device, shape and values. By itself Jest compares
 * what can be iterated element by element, and rows of a tensor are new tensors each time, down to those without rows.
 */
import { isTensor, Tensor } from './tensor';

function sameTensors(a: unknown, b: unknown): boolean | undefined {
  if (!isTensor(a) || !isTensor(b)) return undefined;
  if (a === b) return true;
  if (a.disposed || b.disposed) return false;
  const alike = (name: 'dtype' | 'device' | 'layout') => a[name] === b[name];
  if (!alike('dtype') || !alike('device') || !alike('layout') || a.layout !== 'strided') return false;
  return a.shape.join() === b.shape.join() && a.equal(b);
}

/** Does nothing outside of Jest (and what has its `expect`). */
export function teachJest(): void {
  const { expect } = globalThis as { expect?: { addEqualityTesters?: (testers: unknown[]) => void } };
  expect?.addEqualityTesters?.([sameTensors]);
  // What Jest copies of a tensor to show a difference: not the getters, of which each would make a tensor or throw.
  Object.defineProperty(Tensor.prototype, Symbol.for('@jest/serializableProperties'), {
    value: ['_mark', '_handle', '_guard'],
  });
}
