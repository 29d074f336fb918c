/**
 * Tensors in `toEqual` and similar matchers of Jest, Vitest and other users of Jest's `expect`: equal if they are the same
 * tensor, or have the same dtype, device, shape and values. By default Jest iterates over them, and each row of a tensor is a
 * new tensor.
 */

import { isTensor, Tensor } from '../tensor/tensor';
import { sameValues } from './stand-ins';

function sameTensors(a: unknown, b: unknown): boolean | undefined {
  if (!isTensor(a) || !isTensor(b)) return undefined;
  return sameValues(a, b);
}

interface Matchers {
  customEqualityTesters?: unknown;
}

/** False if there is no `expect` yet. */
function patchExpect(): boolean {
  const { expect } = globalThis as { expect?: { addEqualityTesters?: (testers: unknown[]) => void } };
  if (typeof expect?.addEqualityTesters === 'function') {
    expect.addEqualityTesters([sameTensors]);
    return true;
  }
  // Vitest, and Jest without globals, have `expect` in a module, and share its testers between all copies of that module.
  const shared = (globalThis as Record<symbol, Matchers | undefined>)[Symbol.for('$$jest-matchers-object')];
  if (!Array.isArray(shared?.customEqualityTesters)) return false;
  shared.customEqualityTesters.push(sameTensors);
  return true;
}

/** Jest defines `expect` after its `setupFiles` have run: until then an accessor waits for it. */
function patchLater(): void {
  if (process.env.JEST_WORKER_ID === undefined || Object.hasOwn(globalThis, 'expect')) return;
  const onDefined = (value: unknown) => {
    Object.defineProperty(globalThis, 'expect', { value, writable: true, enumerable: true, configurable: true });
    patchExpect();
  };
  Object.defineProperty(globalThis, 'expect', { get: () => undefined, set: onDefined, configurable: true });
}

/** Does nothing outside Jest and other users of its `expect`. */
export function patchJest(): void {
  if (!patchExpect()) patchLater();
  // The properties that Jest copies to show a difference. Without the getters, which would make tensors or throw.
  Object.defineProperty(Tensor.prototype, Symbol.for('@jest/serializableProperties'), {
    value: ['_mark', '_handle', '_guard'],
  });
}
