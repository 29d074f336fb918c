/**
 * Errors for names that an object does not have: JavaScript would read undefined or add a property, and the program would
 * continue with a wrong value. A Proxy at the end of the prototype chain sees only such names: existing properties are found
 * before it, by the same compiled code as without it.
 */
import { codedError } from '../errors/errors';
import { camelCase } from './signature';

/** The message for a name, or undefined if reading undefined is right. */
type Hint = (name: string) => string | undefined;

export interface Misses {
  /** For reads, in addition to Python's names. */
  readonly read?: Hint;
  /** For writes. */
  readonly write?: Hint;
  /** Whether objects have further names of their own, such as the fields of modules. */
  readonly fields?: boolean;
  /** The elements of an object that are read and written as its properties, as those of a ModuleDict. */
  readonly elements?: (object: object) => Elements | undefined;
}

interface Elements {
  /** Undefined for a name that is not an element's. */
  get(name: string): unknown;
  replace(name: string, value: unknown): void;
}

/** Whether it is a snake_case name. Feature detection reads other names. */
const isSnake = (name: string) => /[^_]_+[^_]/.test(name);

/** `log_softmax` and `set_printoptions` are `logSoftmax` and `setPrintOptions`; outer underscores count, `add_` is not `add`. */
function plain(name: string): string {
  const [, before, inner, after] = /^(_*)(.*?)(_*)$/s.exec(name)!;
  return `${before}${inner!.replaceAll('_', '').toLowerCase()}${after}`;
}

/** Finds the intended name among those of an object and its prototypes, which are collected once. */
function meant(object: object, end: object): Hint {
  let names: Map<string, string> | undefined;
  return (name) => {
    if (names === undefined) {
      names = new Map();
      for (let from: object = object; from !== end; from = Object.getPrototypeOf(from)) {
        for (const known of Object.getOwnPropertyNames(from)) {
          if (known !== 'constructor' && !names.has(plain(known))) names.set(plain(known), known);
        }
      }
    }
    const exact = camelCase(name);
    if (exact !== name && exact in object && !(exact in Object.prototype)) return exact;
    return names.get(plain(name));
  };
}

/** The most names without a hint that are remembered, such as `then`. */
const MAX_REMEMBERED = 200;

const reporting = new WeakSet<object>();

/** Whether reportMissingNames() was called with it: its prototype is not Object.prototype, though it is an ordinary object. */
export const reportsMissingNames = (object: object): boolean => reporting.has(object);

/** Longer strings are not names in a program. */
const MAX_NAME = 64;

/**
 * Inserts a Proxy between `object`, or the last of its prototypes, and Object.prototype. `path`: the object's name in
 * messages. `in`, listing names and adding other properties work as before.
 */
export function reportMissingNames(path: string, object: object, { read, write, fields, elements }: Misses = {}): void {
  let last = object;
  while (Object.getPrototypeOf(last) !== Object.prototype) last = Object.getPrototypeOf(last);
  const target: object = Object.create(Object.prototype);
  const ofField = (name: string, receiver: object): string | undefined => {
    const exact = camelCase(name);
    return fields === true && !name.startsWith('_') && exact !== name && exact in receiver ? exact : undefined;
  };
  const pythons = (name: string, receiver: object): string | undefined => {
    if (name.length > MAX_NAME || !isSnake(name)) return undefined;
    const known = findMeant(name) ?? ofField(name, receiver);
    return known === undefined ? undefined : `${path}.${name} is not a name here: write ${known}`;
  };
  const unknown = new Set<string>();
  const misses = new Proxy(target, {
    get(_, name, receiver) {
      if (typeof name !== 'string' || name in Object.prototype) return Reflect.get(target, name, receiver);
      const element = elements?.(receiver)?.get(name);
      if (element !== undefined) return element;
      if (unknown.has(name)) return undefined;
      const hint = read?.(name) ?? pythons(name, receiver);
      if (hint !== undefined) throw codedError(TypeError, 'ERR_TORCH_NAME', hint);
      // Another object may have such a field, and whether an element has a hint depends on the reader.
      if (unknown.size < MAX_REMEMBERED && !(fields === true && isSnake(name)) && name !== '0') unknown.add(name);
      return undefined;
    },
    set(_, name, value, receiver) {
      if (typeof name === 'string') {
        const among = elements?.(receiver);
        if (among?.get(name) !== undefined) {
          among.replace(name, value);
          return true;
        }
        const hint = write?.(name) ?? pythons(name, receiver);
        if (hint !== undefined) throw codedError(TypeError, 'ERR_TORCH_NAME', hint);
      }
      return Reflect.set(target, name, value, receiver);
    },
  });
  const findMeant = meant(object, misses);
  Object.setPrototypeOf(last, misses);
  reporting.add(object);
}

/** Whether a name is the index of an element. */
export const isIndex = (name: string): boolean => /^(?:0|-?[1-9]\d*)$/.test(name);

const INSPECT = '(node:internal/util/inspect:';

/**
 * Whether Node's `inspect` reads the element, as its `formatValue` does for an object behind a Proxy: it looks for the null of a
 * revoked one. Otherwise `console.log` of a Proxy would throw. The first frames are those of `hint`'s caller, the Proxy of missing
 * names, and the reader.
 */
function isReadByInspect(hint: Hint): boolean {
  const holder: { stack?: unknown } = {};
  Error.captureStackTrace(holder, hint);
  const { stack } = holder;
  return (
    typeof stack === 'string' &&
    stack
      .split('\n')
      .slice(0, 4)
      .some((frame) => frame.includes(INSPECT))
  );
}

/** The hint for reads of elements, such as `t[0]`, of objects that have none. */
export function ofElements(message: (name: string) => string): Hint {
  const hint: Hint = (name) => (!isIndex(name) || (name === '0' && isReadByInspect(hint)) ? undefined : message(name));
  return hint;
}
