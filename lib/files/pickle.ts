/** Writes pickles of protocol 2, as torch.save does: numbers, strings, lists, dictionaries, sets, and calls of Python names. */
import { types } from 'node:util';
import { argumentError, refusal } from '../errors/errors';
import { DEFAULT_DEPTH } from './limits';
import { PickleBytes } from './pickle-bytes';

/** A call of a Python name (REDUCE). */
export class Reduce {
  constructor(
    readonly module: string,
    readonly name: string,
    readonly args: readonly unknown[],
  ) {}
}

/** A Python name (GLOBAL). */
export class Name {
  constructor(
    readonly module: string,
    readonly name: string,
  ) {}
}

/** A value that the reader looks up outside the pickle (BINPERSID). */
export class Persistent {
  constructor(readonly id: readonly unknown[]) {}
}

/** A Python tuple. */
export class Tuple {
  constructor(readonly values: readonly unknown[]) {}
}

/** The contents of a list, a dictionary or a set. */
type Contents =
  | { readonly elements: readonly unknown[] }
  | { readonly entries: readonly (readonly [unknown, unknown])[] }
  | { readonly members: readonly unknown[] };

/** May run user code: getters, iterators, a Proxy. */
function contentsOf(value: unknown): Contents | undefined {
  if (Array.isArray(value)) return { elements: Array.from(value) };
  if (types.isMap(value)) return { entries: [...value] };
  if (types.isSet(value)) return { members: [...value] };
  return isPlain(value) ? { entries: Object.entries(value as object) } : undefined;
}

type AsUser = <T>(fn: () => T) => T;

/**
 * `replace` gives the substitute for a value that is neither plain nor one of the above, or throws. `asUser` wraps calls
 * that may run user code.
 */
export function pickle(root: unknown, replace: (value: object, path: string) => unknown, asUser: AsUser): Buffer {
  return new Pickler(replace, asUser).pickle(root);
}

/** Lifetime: one pickle. */
class Pickler {
  private readonly bytes = new PickleBytes();
  private readonly memo = new Map<object, number>();
  /** Arrays that were written as keys, thus as tuples: elsewhere the same arrays are lists. */
  private readonly tuples = new Map<object, number>();
  private depth = 0;

  constructor(
    private readonly replace: (value: object, path: string) => unknown,
    private readonly asUser: AsUser,
  ) {}

  pickle(root: unknown): Buffer {
    this.write(root, 'value');
    return this.bytes.end();
  }

  private write(value: unknown, path: string): void {
    const { bytes } = this;
    if (bytes.primitive(value, path)) return;
    const object = value as object;
    const known = typeof object === 'object' ? this.memo.get(object) : undefined;
    if (known !== undefined) {
      bytes.recall(known);
    } else if (types.isProxy(value)) {
      this.writeValue(object, path); // before anything else inspects it
    } else if (value instanceof Name) {
      bytes.name(value.module, value.name);
    } else if (value instanceof Tuple) {
      this.writeTuple(value.values, path);
    } else if (value instanceof Persistent) {
      this.writeTuple(value.id, path);
      bytes.persistent();
    } else if (value instanceof Reduce) {
      bytes.name(value.module, value.name);
      this.writeTuple(value.args, path);
      bytes.reduce();
      this.remember(value);
    } else {
      this.writeValue(object, path);
    }
  }

  private writeValue(object: object, path: string): void {
    const contents = this.asUser(() => contentsOf(object));
    if (contents !== undefined) {
      this.enter();
      this.writeContents(object, contents, path);
      this.depth--;
      return;
    }
    const other = this.replace(object, path);
    this.enter();
    this.write(other, path);
    this.depth--;
    if (other instanceof Reduce) this.memo.set(object, this.memo.get(other)!);
  }

  private writeContents(object: object, contents: Contents, path: string): void {
    if ('elements' in contents) this.writeList(object, contents.elements, path);
    else if ('entries' in contents) this.writeDictionary(object, contents.entries, path);
    else this.writeSet(object, contents.members, path);
  }

  private remember(object: object): void {
    this.memo.set(object, this.bytes.remember());
  }

  /** Remembered before its elements, which may refer to it. */
  private writeList(object: object, elements: readonly unknown[], path: string): void {
    const { bytes } = this;
    bytes.list();
    this.remember(object);
    bytes.mark();
    for (const [i, element] of elements.entries()) this.write(element, `${path}[${i}]`);
    bytes.appends();
  }

  private writeDictionary(object: object, entries: readonly (readonly [unknown, unknown])[], path: string): void {
    const { bytes } = this;
    bytes.dictionary();
    this.remember(object);
    bytes.mark();
    for (const [key, value] of entries) {
      this.writeKey(key, `${path} (a key)`, 'a key');
      this.write(value, typeof key === 'string' ? `${path}.${key}` : `${path} (a value)`);
    }
    bytes.setItems();
  }

  /** As a call of `set` with a list: protocol 2 has no instruction for sets. */
  private writeSet(object: object, members: readonly unknown[], path: string): void {
    const { bytes } = this;
    bytes.name('__builtin__', 'set');
    bytes.mark();
    bytes.list();
    bytes.mark();
    for (const member of members) this.writeKey(member, `${path} (in a set)`, 'a value');
    bytes.appends();
    bytes.tuple();
    bytes.reduce();
    this.remember(object);
  }

  private writeTuple(values: readonly unknown[], path: string): void {
    const { bytes } = this;
    bytes.mark();
    for (const [i, value] of values.entries()) this.write(value, `${path}[${i}]`);
    bytes.tuple();
  }

  /** Python's lists cannot be keys, and `load` makes arrays of tuples: an array in a key is written as a tuple. */
  private writeKey(key: unknown, path: string, what: string): void {
    const isObject = typeof key === 'object' && key !== null;
    const elements = isObject ? this.asUser(() => (Array.isArray(key) ? Array.from(key) : undefined)) : undefined;
    if (elements === undefined) {
      if (isObject && this.asUser(() => contentsOf(key)) !== undefined) {
        throw argumentError('save', path, `${what} that Python can hash`, key);
      }
      this.write(key, path);
      return;
    }
    const { bytes } = this;
    const known = this.tuples.get(key as object);
    if (known !== undefined) {
      bytes.recall(known);
      return;
    }
    this.enter();
    bytes.mark();
    for (const [i, element] of elements.entries()) this.writeKey(element, `${path}[${i}]`, what);
    bytes.tuple();
    this.depth--;
    this.tuples.set(key as object, bytes.remember());
  }

  /**
   * Levels are counted as the reader counts them, so that it reads by default what was written. Whoever enters one decrements
   * `depth`: a callback around each level would use more of the stack.
   */
  private enter(): void {
    if (++this.depth > DEFAULT_DEPTH) {
      throw refusal('save', 'value', `at most ${DEFAULT_DEPTH} levels of nesting`, 'a value that is nested too deeply');
    }
  }
}

const isPlain = (value: unknown): boolean => {
  if (typeof value !== 'object' || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
};
