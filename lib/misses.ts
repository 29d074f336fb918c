/**
 * What is read or written under a name that an object does not have: JavaScript answers undefined, and adds a property,
 * which is where a program goes on with a wrong value. A Proxy at the end of the prototypes hears of such names, and of no
 * others: what an object or its prototypes have is found before, by the same compiled code as without it.
 */
import { codedError } from './errors';
import { camelCase } from './signature';

/** What there is to say of a name: the rest of a message, or undefined where undefined is the right answer. */
type Hint = (name: string) => string | undefined;

export interface Misses {
  /** Of a read, beside Python's names. */
  readonly read?: Hint;
  /** Of a write. */
  readonly write?: Hint;
}

/** As Python writes names of more than one word. Code that looks what there is asks for other names. */
const isSnake = (name: string) => /[^_]_+[^_]/.test(name);

/** `log_softmax` and `set_printoptions` are `logSoftmax` and `setPrintOptions`; outer underscores count, `add_` is not `add`. */
function plain(name: string): string {
  const [, before, inner, after] = /^(_*)(.*?)(_*)$/s.exec(name)!;
  return `${before}${inner!.replaceAll('_', '').toLowerCase()}${after}`;
}

/** Finds the name that was meant among those of an object and its prototypes, which are looked at once. */
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

/** Names without a hint that are asked for again and again, such as `then`. */
const MAX_REMEMBERED = 200;

const hearing = new WeakSet<object>();

/** Whether hearMisses() was called with it: its prototype is not Object.prototype, though it is an ordinary object. */
export const reportsMisses = (object: object): boolean => hearing.has(object);

/** Longer ones are not names that a program writes. */
const LONGEST = 64;

/**
 * Puts a Proxy between `object`, or the last of its prototypes, and Object.prototype. `path` is what messages call the
 * object. Asking whether a name is there (`in`), listing names and adding other properties go on as before.
 */
export function hearMisses(path: string, object: object, { read, write }: Misses = {}): void {
  let last = object;
  while (Object.getPrototypeOf(last) !== Object.prototype) last = Object.getPrototypeOf(last);
  const target: object = Object.create(Object.prototype);
  const pythons: Hint = (name) => {
    if (name.length > LONGEST || !isSnake(name)) return undefined;
    const known = findMeant(name);
    return known === undefined ? undefined : `${path}.${name} is not a name here: write ${known}`;
  };
  const unknown = new Set<string>();
  const misses = new Proxy(target, {
    get(_, name, receiver) {
      if (typeof name !== 'string' || name in Object.prototype) return Reflect.get(target, name, receiver);
      if (unknown.has(name)) return undefined;
      const hint = read?.(name) ?? pythons(name);
      if (hint !== undefined) throw codedError(TypeError, 'ERR_TORCH_NAME', hint);
      if (unknown.size < MAX_REMEMBERED) unknown.add(name);
      return undefined;
    },
    set(_, name, value, receiver) {
      if (typeof name === 'string') {
        const hint = write?.(name) ?? pythons(name);
        if (hint !== undefined) throw codedError(TypeError, 'ERR_TORCH_NAME', hint);
      }
      return Reflect.set(target, name, value, receiver);
    },
  });
  const findMeant = meant(object, misses);
  Object.setPrototypeOf(last, misses);
  hearing.add(object);
}
