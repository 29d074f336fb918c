/**
 * The first half of every call: the user's values are read, once. Reading can run user code (getters of options, accessors,
 * iterators, Proxies), which may do anything: call the library, dispose an argument, throw. So all values are read before
 * anything is converted, packed or recorded; later code uses only the copies.
 */
import { types } from 'node:util';
import { codedError, describe } from '../errors/errors';
import { Complex } from '../errors/values';
import { bare } from './second-name';
import { isGenuine, isMarked, Tensor } from './tensor';

/** A call whose values were read. */
export interface ReadCall {
  readonly positional: readonly unknown[];
  /** Names and values of the options; null without an options object. */
  readonly keys: readonly string[] | null;
  readonly values: readonly unknown[];
}

/** The elements of an iterable other than an array. */
export class Iterated {
  constructor(
    readonly elements: readonly unknown[],
    readonly source: object,
    /** Whether it can be read only once: a generator. */
    readonly once: boolean,
  ) {}

  /** For messages. */
  _describe(): string {
    return describe(this.source);
  }
}

/** For cyclic lists. */
type Known = Map<object, unknown[]>;

/** The longest list: far more than a call needs, and far below what makes V8 abort for lack of memory. */
const MAX_ELEMENTS = 2 ** 24;

function requireRoom(length: number): void {
  if (length <= MAX_ELEMENTS) return;
  const message = `expected a list of at most ${MAX_ELEMENTS} elements, got a longer one`;
  throw codedError(TypeError, 'ERR_TORCH_ARGUMENT', message);
}

/** The elements of an iterable, which may be endless. */
function readIterable(iterable: Iterable<unknown>): unknown[] {
  const elements: unknown[] = [];
  for (const element of iterable) {
    requireRoom(elements.length + 1);
    elements.push(element);
  }
  return elements;
}

function readList(list: readonly unknown[], known: Known | null): unknown[] {
  const copy: unknown[] = [];
  let inner = known;
  const length = list.length >>> 0; // a Proxy may return any value
  requireRoom(length);
  for (let i = 0; i < length; i++) {
    const element = list[i];
    if (typeof element !== 'object' || element === null || isGenuine(element)) copy.push(element);
    else {
      inner ??= new Map([[list as object, copy]]);
      copy.push(readObject(element, inner));
    }
  }
  return copy;
}

function readObject(value: object, known: Known | null): unknown {
  if (Array.isArray(value)) {
    if (known === null) return readList(value, null);
    let copy = known.get(value);
    if (copy === undefined) {
      copy = [];
      known.set(value, copy);
      for (const element of readList(value, known)) copy.push(element);
    }
    return copy;
  }
  if (ArrayBuffer.isView(value) || value instanceof Iterated) return value;
  if (value instanceof Tensor) return bare(value);
  if (value instanceof Complex) return new Complex(value.re, value.im);
  if (isPlain(value)) {
    const keys = Object.keys(value);
    return isComplexKeys(keys) ? complexOf(value as { re: unknown; im: unknown }) : value;
  }
  if (isMarked(value)) return bare(value); // a tensor of another copy of the library is not a list of rows
  const iterator = (value as { [Symbol.iterator]?: unknown })[Symbol.iterator];
  if (typeof iterator !== 'function') return value;
  const once = typeof (value as { next?: unknown }).next === 'function';
  return new Iterated(readList(readIterable(value as Iterable<unknown>), known), value, once);
}

/** Also for objects of another realm (vm contexts, Jest). */
function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null || Object.getPrototypeOf(prototype) === null;
}

const isComplexKeys = (keys: readonly string[]) => keys.length === 2 && keys.includes('re') && keys.includes('im');

function complexOf(value: { re: unknown; im: unknown }): unknown {
  const { re, im } = value;
  return typeof re === 'number' && typeof im === 'number' ? new Complex(re, im) : { re, im };
}

/**
 * A value as the call will use it: arrays are copied at any depth, iterables are read, and objects with the two numbers of a
 * complex number become a Complex. Other values are unchanged.
 */
export function readValue(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || isGenuine(value)) return value;
  return readObject(value, null);
}

const NONE: readonly never[] = [];

/** Whether a value that ends a call could be its options, as far as can be told without running user code. */
export const mayBeOptions = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !isGenuine(value) && !Array.isArray(value);

/** The values of one call: positional ones, and those of a plain object at the end. Trailing undefined counts as not passed. */
export function readCall(passed: ArrayLike<unknown>): ReadCall {
  let count = passed.length;
  while (count > 0 && passed[count - 1] === undefined) count--;
  const last = count > 0 ? passed[count - 1] : undefined;
  const ends = mayBeOptions(last);
  const before = ends ? count - 1 : count;
  const positional = before === 0 ? [] : new Array<unknown>(before);
  for (let i = 0; i < before; i++) {
    const value = passed[i];
    positional[i] = typeof value !== 'object' || value === null || isGenuine(value) ? value : readObject(value, null);
  }
  if (!ends) return { positional, keys: null, values: NONE };
  if (!isPlain(last)) {
    positional.push(readObject(last, null));
    return { positional, keys: null, values: NONE };
  }
  return readOptions(positional, last, Object.keys(last));
}

/** The rest of a call that ends with a plain object. */
export function readOptions(positional: unknown[], last: object, keys: readonly string[]): ReadCall {
  const values = new Array<unknown>(keys.length);
  for (let k = 0; k < keys.length; k++) values[k] = readValue((last as Record<string, unknown>)[keys[k]!]);
  if (isComplexKeys(keys) && values.every((part) => typeof part === 'number')) {
    const [re, im] = keys[0] === 're' ? values : [values[1], values[0]];
    positional.push(new Complex(re as number, im as number));
    return { positional, keys: null, values: NONE };
  }
  return { positional, keys, values };
}

/** The same as arguments for another call, which can read them without running user code. */
export function readArguments(passed: readonly unknown[]): unknown[] {
  const { positional, keys, values } = readCall(passed);
  return keys === null ? [...positional] : [...positional, optionsOf(keys, values)];
}

/** The options as an object with only these properties, whatever their names. */
export function optionsOf(keys: readonly string[], values: readonly unknown[]): Record<string, unknown> {
  const options = Object.create(null) as Record<string, unknown>;
  for (let i = 0; i < keys.length; i++) options[keys[i]!] = values[i];
  return options;
}

/** The elements of a list argument that was read. */
export function elementsOf(value: unknown): readonly unknown[] | undefined {
  if (Array.isArray(value)) return value;
  return value instanceof Iterated ? value.elements : undefined;
}

/** The value for a parameter of any type: the elements of a one-time iterable, else the original value. */
export const anyOf = (value: unknown): unknown =>
  value instanceof Iterated ? (value.once || types.isProxy(value.source) ? value.elements : value.source) : value;

const lengthOf = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), 'length')!.get!;

/** The elements of a typed array, read without methods that a program can replace. */
export function typedElements(array: ArrayBufferView): unknown[] {
  const length = lengthOf.call(array) as number;
  requireRoom(length);
  const elements = new Array<unknown>(length);
  for (let i = 0; i < length; i++) elements[i] = (array as unknown as ArrayLike<unknown>)[i];
  return elements;
}
