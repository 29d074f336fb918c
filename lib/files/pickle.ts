/** Writes pickles of protocol 2, as torch.save does: numbers, strings, lists, dictionaries, and calls of Python names. */
import { types } from 'node:util';

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
  const remember = (value: object) => {
    memo.set(value, memo.size);
    number(0x72, 4, memo.size - 1, 'writeUInt32LE');
  };

  const plain = (value: unknown): boolean => {
    switch (typeof value) {
      case 'boolean':
        put(value ? 0x88 : 0x89);
        return true;
      case 'string':
        text(value);
        return true;
      case 'bigint':
        long(value);
        return true;
      case 'number':
        if (!Number.isInteger(value) || Object.is(value, -0)) number(0x47, 8, value, 'writeDoubleBE');
        else if (Math.abs(value) < 2 ** 31) number(0x4a, 4, value, 'writeInt32LE');
        else long(BigInt(value));
        return true;
      default:
        if (value === null) put(0x4e);
        return value === null;
    }
  };

  const write = (value: unknown, path: string): void => {
    if (plain(value)) return;
    const object = value as object;
    const known = typeof object === 'object' ? memo.get(object) : undefined;
    if (known !== undefined) {
      number(0x6a, 4, known, 'writeUInt32LE');
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
      writeContents(object, contents, path);
      return;
    }
    const other = replace(object, path);
    write(other, path);
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
        write(key, `${path} (a key)`);
        write(element, typeof key === 'string' ? `${path}.${key}` : `${path} (a value)`);
      }
    }
    put(isList ? 0x65 : 0x75);
  };

  write(root, 'value');
  put(0x2e);
  return Buffer.concat(parts);
}

const isPlain = (value: unknown): boolean => {
  if (typeof value !== 'object' || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
};
