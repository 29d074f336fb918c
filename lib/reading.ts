/**
 * The first half of every call: the user's values are read, once. Reading can run the program's code (getters of options,
 * elements that are accessors, iterators, Proxies), which may do anything: call the library, dispose of an argument, throw.
 * So all of it is over before anything is converted, packed or recorded, and what comes after has values of our own.
 */
import { types } from 'node:util';
import { codedError, describe } from './errors';
import { bare } from './second-name';
import { isGenuine, isMarked, Tensor } from './tensor';
import { Complex } from './values';

/** A call whose values were read. */
export interface ReadCall {
  readonly positional: readonly unknown[];
  /** Names and values of the options; null where the call has no options object. */
  readonly keys: readonly string[] | null;
  readonly values: readonly unknown[];
}

/** What an iterable that is no array had. */
export class Iterated {
  constructor(
    readonly elements: readonly unknown[],
    readonly source: object,
    /** It can be read but once: a generator. */
    readonly once: boolean,
  ) {}

  /** For messages. */
  _describe(): string {
    return describe(this.source);
  }
}

/** Where lists contain each other. */
type Known = Map<object, unknown[]>;

/** Of one list: far more than a call has a use for, and far from where V8 ends the process for want of room. */
const MAX_ELEMENTS = 2 ** 24;

function requireRoom(length: number): void {
  if (length <= MAX_ELEMENTS) return;
  const message = `expected a list of at most ${MAX_ELEMENTS} elements, got a longer one`;
  throw codedError(TypeError, 'ERR_TORCH_ARGUMENT', message);
}

/** The elements of an iterable, which may have no end. */
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
  const length = list.length >>> 0; // of a Proxy it can be anything
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
  if (isMarked(value)) return bare(value); // a tensor of another copy of the library: its rows are not what is meant
  const iterator = (value as { [Symbol.iterator]?: unknown })[Symbol.iterator];
  if (typeof iterator !== 'function') return value;
  const once = typeof (value as { next?: unknown }).next === 'function';
  return new Iterated(readList(readIterable(value as Iterable<unknown>), known), value, once);
}

/** Of another realm (vm contexts, Jest) too. */
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
 * A value as the call will use it: arrays, at any depth, are copies, iterables are read, and what has the two numbers of a
 * complex one is a Complex. Everything else is as it came.
 */
export function readValue(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || isGenuine(value)) return value;
  return readObject(value, null);
}

const NONE: readonly never[] = [];

/** The values of one call: positional ones, and those of a plain object at the end. Trailing undefined counts as not passed. */
export function readCall(passed: ArrayLike<unknown>): ReadCall {
  let count = passed.length;
  while (count > 0 && passed[count - 1] === undefined) count--;
  const positional = new Array<unknown>(count);
  for (let i = 0; i < count; i++) {
    const value = passed[i];
    if (typeof value !== 'object' || value === null || isGenuine(value)) positional[i] = value;
    else if (i < count - 1 || Array.isArray(value) || !isPlain(value)) positional[i] = readObject(value, null);
    else {
      const keys = Object.keys(value);
      const values = new Array<unknown>(keys.length);
      for (let k = 0; k < keys.length; k++) values[k] = readValue((value as Record<string, unknown>)[keys[k]!]);
      const isComplex = isComplexKeys(keys) && values.every((part) => typeof part === 'number');
      if (!isComplex) {
        positional.length = count - 1;
        return { positional, keys, values };
      }
      const [re, im] = keys[0] === 're' ? values : [values[1], values[0]];
      positional[i] = new Complex(re as number, im as number);
    }
  }
  return { positional, keys: null, values: NONE };
}

/** The same as arguments of another call, which will find nothing in them that runs the program's code. */
export function readArguments(passed: readonly unknown[]): unknown[] {
  const { positional, keys, values } = readCall(passed);
  return keys === null ? [...positional] : [...positional, optionsOf(keys, values)];
}

/** The options as an object with nothing but them, whatever their names. */
export function optionsOf(keys: readonly string[], values: readonly unknown[]): Record<string, unknown> {
  const options = Object.create(null) as Record<string, unknown>;
  for (let i = 0; i < keys.length; i++) options[keys[i]!] = values[i];
  return options;
}

/** What a list argument has, of one that was read. */
export function elementsOf(value: unknown): readonly unknown[] | undefined {
  if (Array.isArray(value)) return value;
  return value instanceof Iterated ? value.elements : undefined;
}

/** For what takes any value: what can be read but once is what was read, all else what came. */
export const anyOf = (value: unknown): unknown =>
  value instanceof Iterated ? (value.once || types.isProxy(value.source) ? value.elements : value.source) : value;

const lengthOf = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), 'length')!.get!;

/** The elements of a typed array, by nothing that a program can replace. */
export function typedElements(array: ArrayBufferView): unknown[] {
  const length = lengthOf.call(array) as number;
  requireRoom(length);
  const elements = new Array<unknown>(length);
  for (let i = 0; i < length; i++) elements[i] = (array as unknown as ArrayLike<unknown>)[i];
  return elements;
}
