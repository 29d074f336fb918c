/** Writes pickles of protocol 2, as torch.save does: numbers, strings, lists, dictionaries, and calls of Python names. */
import { types } from 'node:util';
import { argumentError, refusal } from '../errors/errors';
import { DEFAULT_DEPTH } from './limits';

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

/** The contents of a list or a dictionary. */
type Contents =
  | { readonly elements: readonly unknown[] }
  | { readonly entries: readonly (readonly [unknown, unknown])[] };

/** May run user code: getters, iterators, a Proxy. */
function contentsOf(value: unknown): Contents | undefined {
  if (Array.isArray(value)) return { elements: Array.from(value) };
  if (value instanceof Map) return { entries: [...value] };
  return isPlain(value) ? { entries: Object.entries(value as object) } : undefined;
}

/**
 * `replace` gives the substitute for a value that is neither plain nor one of the above, or throws. `asUser` wraps calls
 * that may run user code.
 */
export function pickle(
  root: unknown,
  replace: (value: object, path: string) => unknown,
  asUser: <T>(fn: () => T) => T,
): Buffer {
  const parts: Buffer[] = [Buffer.from([0x80, 2])];
  const memo = new Map<object, number>();
  /** Arrays that were written as keys, thus as tuples: elsewhere the same arrays are lists. */
  const tuples = new Map<object, number>();
  let remembered = 0;
  let depth = 0;
  const put = (...bytes: number[]) => parts.push(Buffer.from(bytes));
  const number = (
    code: number,
    size: number,
    value: number,
    write: 'writeUInt32LE' | 'writeInt32LE' | 'writeDoubleBE',
  ) => {
    const bytes = Buffer.alloc(1 + size);
    bytes[0] = code;
    bytes[write](value, 1);
    parts.push(bytes);
  };
  const text = (value: string) => {
    const bytes = Buffer.from(value);
    number(0x58, 4, bytes.length, 'writeUInt32LE');
    parts.push(bytes);
  };
  const long = (value: bigint) => {
    let length = 0;
    while (BigInt.asIntN(8 * length, value) !== value || length === 0) length++;
    const head = Buffer.alloc(length < 256 ? 2 : 5);
    head[0] = length < 256 ? 0x8a : 0x8b;
    head.writeUIntLE(length, 1, head.length === 2 ? 1 : 4);
    const digits = BigInt.asUintN(8 * length, value)
      .toString(16)
      .padStart(2 * length, '0');
    parts.push(head, Buffer.from(digits, 'hex').reverse());
  };
  const name = (module: string, called: string) => parts.push(Buffer.from(`c${module}\n${called}\n`));
  const tuple = (values: readonly unknown[], path: string) => {
    put(0x28);
    for (const [i, value] of values.entries()) write(value, `${path}[${i}]`);
    put(0x74);
  };
  const remember = (value: object, where = memo) => {
    where.set(value, remembered);
    number(0x72, 4, remembered++, 'writeUInt32LE');
  };
  const recall = (index: number) => number(0x6a, 4, index, 'writeUInt32LE');
  /** Levels are counted as the reader counts them, so that it reads by default what was written. */
  const deeper = (run: () => void) => {
    if (++depth > DEFAULT_DEPTH) {
      throw refusal('save', 'value', `at most ${DEFAULT_DEPTH} levels of nesting`, 'a value that is nested too deeply');
    }
    run();
    depth--;
  };

  const plain = (value: unknown, path: string): boolean => {
    switch (typeof value) {
      case 'boolean':
        put(value ? 0x88 : 0x89);
        return true;
      case 'string':
        // As UTF-8, lone surrogates of different keys would become the same character.
        if (!isWellFormed(value)) throw argumentError('save', path, 'text without lone surrogates', value);
        text(value);
        return true;
      case 'bigint':
        long(value);
        return true;
      case 'number':
        // Whole numbers beyond 2^53 are floats too: an int of their digits would be read as a bigint.
        if (!Number.isSafeInteger(value) || Object.is(value, -0)) number(0x47, 8, value, 'writeDoubleBE');
        else if (Math.abs(value) < 2 ** 31) number(0x4a, 4, value, 'writeInt32LE');
        else long(BigInt(value));
        return true;
      default:
        if (value === null) put(0x4e);
        return value === null;
    }
  };

  const write = (value: unknown, path: string): void => {
    if (plain(value, path)) return;
    const object = value as object;
    const known = typeof object === 'object' ? memo.get(object) : undefined;
    if (known !== undefined) {
      recall(known);
    } else if (types.isProxy(value)) {
      writeValue(object, path); // before anything else inspects it
    } else if (value instanceof Name) {
      name(value.module, value.name);
    } else if (value instanceof Tuple) {
      tuple(value.values, path);
    } else if (value instanceof Persistent) {
      tuple(value.id, path);
      put(0x51);
    } else if (value instanceof Reduce) {
      name(value.module, value.name);
      tuple(value.args, path);
      put(0x52);
      remember(value);
    } else {
      writeValue(object, path);
    }
  };

  const writeValue = (object: object, path: string): void => {
    const contents = asUser(() => contentsOf(object));
    if (contents !== undefined) {
      deeper(() => writeContents(object, contents, path));
      return;
    }
    const other = replace(object, path);
    deeper(() => write(other, path));
    if (other instanceof Reduce) memo.set(object, memo.get(other)!);
  };

  const writeContents = (object: object, contents: Contents, path: string): void => {
    const isList = 'elements' in contents;
    put(isList ? 0x5d : 0x7d);
    remember(object);
    put(0x28);
    if (isList) {
      for (const [i, element] of contents.elements.entries()) write(element, `${path}[${i}]`);
    } else {
      for (const [key, element] of contents.entries) {
        writeKey(key, `${path} (a key)`);
        write(element, typeof key === 'string' ? `${path}.${key}` : `${path} (a value)`);
      }
    }
    put(isList ? 0x65 : 0x75);
  };

  /** Python's lists cannot be keys, and `load` makes arrays of tuples: an array in a key is written as a tuple. */
  const writeKey = (key: unknown, path: string): void => {
    const isObject = typeof key === 'object' && key !== null;
    const elements = isObject ? asUser(() => (Array.isArray(key) ? Array.from(key) : undefined)) : undefined;
    if (elements === undefined) {
      if (isObject && asUser(() => contentsOf(key)) !== undefined) {
        throw argumentError('save', path, 'a key that Python can hash', key);
      }
      write(key, path);
      return;
    }
    const known = tuples.get(key as object);
    if (known !== undefined) {
      recall(known);
      return;
    }
    deeper(() => {
      put(0x28);
      for (const [i, element] of elements.entries()) writeKey(element, `${path}[${i}]`);
      put(0x74);
    });
    remember(key as object, tuples);
  };

  write(root, 'value');
  put(0x2e);
  return Buffer.concat(parts);
}

/** `String.prototype.isWellFormed`, which the types of ES2022 lack. */
const isWellFormed = (text: string): boolean => !/\p{Surrogate}/u.test(text);

const isPlain = (value: unknown): boolean => {
  if (typeof value !== 'object' || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
};
