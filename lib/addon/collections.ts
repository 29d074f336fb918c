/** Maps and Sets of any realm, and what stands for one with its tag and an iterator, such as MobX's. */
import { types } from 'node:util';

const standsFor = (tag: string, value: unknown): boolean =>
  typeof value === 'object' &&
  typeof (value as Partial<Iterable<unknown>> | null)?.[Symbol.iterator] === 'function' &&
  Object.prototype.toString.call(value) === tag;

export const isMap = (value: unknown): value is Map<unknown, unknown> =>
  types.isMap(value) || standsFor('[object Map]', value);
export const isSet = (value: unknown): value is Set<unknown> => types.isSet(value) || standsFor('[object Set]', value);

const { forEach: forEachOfMap } = Map.prototype;
const { forEach: forEachOfSet } = Set.prototype;

/** Its keys and values; a subclass may have an iterator of its own. */
export function entriesOf(map: Map<unknown, unknown>): [unknown, unknown][] {
  if (!types.isMap(map)) return [...(map as Iterable<[unknown, unknown]>)];
  const entries: [unknown, unknown][] = [];
  forEachOfMap.call(map, (value, key) => void entries.push([key, value]));
  return entries;
}

/** Its elements; a subclass may have an iterator of its own. */
export function elementsOf(set: Set<unknown>): unknown[] {
  if (!types.isSet(set)) return [...(set as Iterable<unknown>)];
  const elements: unknown[] = [];
  forEachOfSet.call(set, (value) => void elements.push(value));
  return elements;
}
