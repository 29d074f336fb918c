/** Finds the tensors inside a value: what a scope's result keeps, what disposeAll frees. */
import { isTensor, type Tensor } from '../tensor';

const isPlain = (value: object) => {
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
};

/** Calls `visit` once for each tensor in any nesting of arrays, maps, sets and plain objects, cycles included. */
export function forEachTensor(root: unknown, visit: (tensor: Tensor) => void): void {
  if (isTensor(root)) {
    visit(root);
    return;
  }
  if (typeof root !== 'object' || root === null) return;
  const seen = new Set<object>();
  const pending: unknown[] = [root];
  while (pending.length > 0) {
    const value = pending.pop();
    if (typeof value !== 'object' || value === null || seen.has(value)) continue;
    seen.add(value);
    if (isTensor(value)) visit(value);
    // By what they are, not by class: values of another realm (vm contexts, Jest) count too.
    else if (Array.isArray(value)) for (const element of value) pending.push(element);
    else if (isMap(value)) for (const [key, element] of value) pending.push(key, element);
    else if (isSet(value)) for (const element of value) pending.push(element);
    else if (isPlain(value)) for (const element of Object.values(value)) pending.push(element);
  }
}

const tagOf = (value: object) => Object.prototype.toString.call(value);
const isMap = (value: object): value is Map<unknown, unknown> => tagOf(value) === '[object Map]';
const isSet = (value: object): value is Set<unknown> => tagOf(value) === '[object Set]';
