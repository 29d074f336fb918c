/**
 * Objects of another copy of the library: two versions in one node_modules, or one more after `jest.resetModules()`. Tensors
 * are accepted if they are of the same addon. Other objects of another copy are refused, by a message that says why.
 */
import { types } from 'node:util';

/** On the prototypes of all copies: which one the class belongs to. */
const copy: unique symbol = Symbol.for('libtorch-node.copy') as never;
const own = Symbol('libtorch-node');
const ours = new Set<unknown>([own]);

/** Marks a class as this copy's, or with a symbol that several copies have as theirs. @returns its prototype */
export function markCopy(cls: { readonly prototype: object }, mark: symbol = own): object {
  ours.add(mark);
  return Object.defineProperty(cls.prototype, copy, { value: mark });
}

/** A data property of the object or its prototypes, read without running user code. */
export function dataOf(value: object, name: PropertyKey): unknown {
  for (let at: object | null = value; at !== null && !types.isProxy(at); at = Object.getPrototypeOf(at)) {
    const descriptor = Object.getOwnPropertyDescriptor(at, name);
    if (descriptor !== undefined) return descriptor.value;
  }
  return undefined;
}

/** Whether the value is an object of one of the library's classes, in this copy or another one. */
export const isOfLibrary = (value: object): boolean => dataOf(value, copy) !== undefined;

/** Whether the value is an object of another copy's class. */
export function isOfAnotherCopy(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  const mark = dataOf(value, copy);
  return mark !== undefined && !ours.has(mark);
}
