/** Finds the pending results in the return value of torch.run's function, and replaces them with the real ones. */
import { types } from 'node:util';
import { codedError, describe } from '../errors/errors';
import { isPendingTensor, isPendingValue, type PendingTensor, type PendingValue } from './pending';

export type Pending = PendingTensor | PendingValue;
export const isPending = (value: unknown): value is Pending => isPendingValue(value) || isPendingTensor(value);

/**
 * Declares the tensors that a class holds: `get [torch.tensors]() { return [this.weight, this.bias] }`, or a method or
 * generator of that name. It may give any value that a scope may return. `Symbol.for('libtorch-node.tensors')`.
 */
export const tensors: unique symbol = Symbol.for('libtorch-node.tensors') as never;

/** Marks the library's classes whose `dispose()` frees more than the tensors that they declare. `disposeAll` calls it. */
export const disposesMore: unique symbol = Symbol('disposesMore');

type Take = (pending: Pending) => unknown;

interface Found {
  readonly wanted: Pending[];
  /** Replaces each with the result of `take`; returns the value, or its replacement. */
  fill(take: Take): unknown;
}

export const isPlain = (value: object): boolean => {
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
};

/**
 * Searches arrays, maps, sets and plain objects, at any depth. Throws for a property that cannot be written, and for a pending
 * tensor that an object of another class declares.
 */
export function findPending(root: unknown, seen = new Set<object>()): Found {
  if (isPending(root)) return { wanted: [root], fill: (take) => take(root) };
  const wanted: Pending[] = [];
  const fills: ((take: Take) => void)[] = [];
  const inside: unknown[] = [root];
  /** Whether it is pending. */
  const look = (value: unknown): boolean => {
    const found = isPending(value);
    if (found) wanted.push(value);
    else if (typeof value === 'object' && value !== null) inside.push(value);
    return found;
  };
  while (inside.length > 0) {
    const value = inside.pop();
    if (typeof value !== 'object' || value === null || seen.has(value)) continue;
    seen.add(value);
    if (types.isMap(value)) {
      const any = [...value].filter(([key, element]) => [look(key), look(element)].includes(true)).length > 0;
      if (any) fills.push((take) => fillMap(value, take));
    } else if (types.isSet(value)) {
      if ([...value].filter(look).length > 0) fills.push((take) => fillSet(value, take));
    } else if (Array.isArray(value) || isPlain(value)) {
      for (const name of Reflect.ownKeys(value)) {
        const element = Reflect.get(value, name) as unknown;
        if (!look(element)) continue;
        refuseReadOnly(value, name);
        fills.push((take) => {
          (value as Record<PropertyKey, unknown>)[name] = take(element as Pending);
        });
      }
    } else if (tensors in value) {
      refuseHeld(value as { [tensors]: unknown }, seen);
    }
  }
  return {
    wanted,
    fill(take) {
      for (const fill of fills) fill(take);
      return root;
    },
  };
}

const real = (value: unknown, take: Take) => (isPending(value) ? take(value) : value);

/** Rebuilds the map, to keep the order. */
function fillMap(map: Map<unknown, unknown>, take: Take): void {
  const entries = [...map].map(([key, element]) => [real(key, take), real(element, take)]);
  map.clear();
  for (const [key, element] of entries) map.set(key, element);
}

function fillSet(set: Set<unknown>, take: Take): void {
  const elements = [...set].map((element) => real(element, take));
  set.clear();
  for (const element of elements) set.add(element);
}

/** Only the class knows how its tensors are replaced. `seen`: it may hold itself, or what the result has elsewhere. */
function refuseHeld(object: { [tensors]: unknown }, seen: Set<object>): void {
  const member = object[tensors];
  const held = typeof member === 'function' ? (member.call(object) as unknown) : member;
  const isIterator = typeof (held as { next?: unknown } | null | undefined)?.next === 'function';
  if (findPending(isIterator ? [...(held as Iterable<unknown>)] : held, seen).wanted.length === 0) return;
  throw codedError(
    TypeError,
    'ERR_TORCH_ARGUMENT',
    'run: expected the pending tensors of the result in arrays, maps, sets and plain objects, got one in an object of ' +
      `${describe(object)}: return its tensors, and make the object after torch.run has resolved`,
  );
}

function refuseReadOnly(object: object, name: PropertyKey): void {
  const { writable, set } = Object.getOwnPropertyDescriptor(object, name) ?? {};
  if (writable === true || set !== undefined) return;
  const why = Object.isFrozen(object) ? 'the object is frozen' : 'it is read-only';
  throw codedError(
    TypeError,
    'ERR_TORCH_ARGUMENT',
    `run: expected a result whose properties can be written, got '${String(name).slice(0, 60)}' with a pending tensor, and ${why}: ` +
      'freeze it after torch.run has resolved',
  );
}
