/** Finds the tensors inside a value, for results of scopes and for disposeAll. */

import { elementsOf, entriesOf, isMap, isSet } from '../addon/collections';
import { codedError, describe } from '../errors/errors';
import { disposesMore, isPending, type Pending, tensors } from '../tensor/places';
import { isTensor, type Tensor } from '../tensor/tensor';

export { tensors };

const isPlain = (value: object) => {
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
};

/**
 * Calls `visit` once for each tensor in any nesting of arrays, maps, sets, plain objects and classes with `torch.tensors`,
 * cycles included, and for each pending result of torch.run. `fn` is for messages. Returns the modules, models and optimizers
 * among these values.
 */
export function forEachTensor(
  fn: string,
  root: unknown,
  visit: (tensor: Tensor | Pending) => void,
): readonly { dispose(): void }[] {
  if (isTensor(root)) {
    visit(root);
    return [];
  }
  if (!isObject(root)) return [];
  const seen = new Set<object>();
  const pending: unknown[] = [root];
  // All are found before the first is visited, so that an error changes nothing.
  const found: (Tensor | Pending)[] = [];
  const owners: { dispose(): void }[] = [];
  while (pending.length > 0) {
    const value = pending.pop();
    if (!isObject(value) || seen.has(value)) continue;
    seen.add(value);
    if (isTensor(value) || isPending(value)) {
      found.push(value);
      continue;
    }
    if (isOwner(value)) owners.push(value);
    if (tensors in value) pushHeld(value as { [tensors]: unknown }, pending);
    // By kind, not by class: values of another realm (vm contexts, Jest) count too.
    else if (Array.isArray(value)) for (const element of value) pending.push(element);
    else if (isMap(value)) for (const entry of entriesOf(value)) pending.push(...entry);
    else if (isSet(value)) for (const element of elementsOf(value)) pending.push(element);
    else if (isLazy(value)) throw lazyError(fn, value);
    else if (isPlain(value)) for (const element of Object.values(value)) pending.push(element);
  }
  for (const tensor of found) visit(tensor);
  return owners;
}

/** Adds what an object declares. An iterator is read to its end, since it was created for this call. */
function pushHeld(value: { [tensors]: unknown }, pending: unknown[]): void {
  const member = value[tensors];
  const held = typeof member === 'function' ? (member.call(value) as unknown) : member;
  if (isIterator(held)) for (const element of held) pending.push(element);
  else if (held !== value) pending.push(held);
}

const isOwner = (value: object): value is { dispose(): void } => disposesMore in value;
const isObject = (value: unknown): value is object =>
  (typeof value === 'object' && value !== null) || (typeof value === 'function' && tensors in value);
const tagOf = (value: object) => Object.prototype.toString.call(value);
const has = (value: object, name: PropertyKey) => typeof (value as Record<PropertyKey, unknown>)[name] === 'function';
const isIterator = (value: unknown): value is IterableIterator<unknown> =>
  isObject(value) && has(value, 'next') && has(value, Symbol.iterator);

/** Generators, iterators and streams: their contents are unknown without reading them, which is possible only once. */
const isLazy = (value: object) => isIterator(value) || has(value, Symbol.asyncIterator);

/** The tag of an iterator is more exact than its class: "Map Iterator". */
function lazyError(fn: string, value: object): Error {
  const tag = tagOf(value).slice(8, -1);
  const got = tag === 'Object' ? describe(value) : `${/^[AEIOU]/.test(tag) ? 'an' : 'a'} ${tag}`;
  return codedError(
    Error,
    'ERR_TORCH_SCOPE',
    `${fn}: expected values that can be searched for tensors now, got ${got}; ` +
      'read it inside the scope (Array.from, for await) and return the values',
  );
}
