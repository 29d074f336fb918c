/**
 * Converts TorchScript values from and to JavaScript, as the flat lists that native/models/values.h describes: for each value
 * a tag and its data.
 */
import type { PendingTensor } from '../../types/pending';
import { entriesOf, isMap } from '../addon/collections';
import { codedError, describe, refusal } from '../errors/errors';
import { Complex, isComplex } from '../errors/values';
import { isTensor, type Tensor, wrapElement } from '../tensor/tensor';

/** The numbers of native/models/values.h. */
enum Tag {
  None,
  False,
  True,
  Number,
  BigInt,
  Text,
  Tensor,
  List,
  Dict,
  Complex,
  Named,
  Omitted,
}

const MAX_VALUES = 2 ** 20;
const MAX_DEPTH = 200;

/** Arguments of a method: `undefined` is the default, `null` None, arrays are lists and tuples, plain objects and Maps are dictionaries. */
export type ModelInput =
  | Tensor
  | PendingTensor
  | number
  | bigint
  | boolean
  | string
  | null
  | undefined
  | { readonly re: number; readonly im: number }
  | ArrayLike<number>
  | readonly ModelInput[]
  | ReadonlyMap<string | number | boolean, ModelInput>
  | { readonly [name: string]: ModelInput };

const isPlain = (value: object) => {
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
};

/** Encodes the arguments of one call. */
class Encoder {
  readonly list: unknown[] = [];
  readonly #path = new Set<object>();
  readonly #method: string;
  #count = 0;
  #argument = 0;

  constructor(method: string) {
    this.#method = method;
  }

  add(value: unknown, argument: number): void {
    this.#argument = argument;
    this.#write(value);
  }

  #refuse(expected: string, got: string): Error {
    return refusal(this.#method, `argument ${this.#argument + 1}`, expected, got);
  }

  #write(value: unknown): void {
    if (++this.#count > MAX_VALUES) throw this.#refuse(`at most ${MAX_VALUES} values in all`, 'more');
    switch (typeof value) {
      case 'undefined':
        this.list.push(Tag.None);
        return;
      case 'boolean':
        this.list.push(value ? Tag.True : Tag.False);
        return;
      case 'number':
        this.list.push(Tag.Number, value);
        return;
      case 'bigint':
        this.list.push(Tag.BigInt, value);
        return;
      case 'string':
        this.list.push(Tag.Text, value);
        return;
      case 'object':
        if (value === null) this.list.push(Tag.None);
        else this.#writeObject(value);
        return;
      default:
        throw this.#refuse('a value that TorchScript supports', describe(value));
    }
  }

  #writeObject(value: object): void {
    if (isTensor(value)) this.list.push(Tag.Tensor, value._handle);
    else if (isComplex(value)) this.list.push(Tag.Complex, value.re, value.im);
    else this.#inside(value, () => this.#writeContainer(value));
  }

  #inside(value: object, write: () => void): void {
    if (this.#path.has(value)) throw this.#refuse('a value that is not inside itself', 'a cyclic value');
    if (this.#path.size >= MAX_DEPTH) throw this.#refuse(`values nested at most ${MAX_DEPTH} deep`, 'deeper nesting');
    this.#path.add(value);
    write();
    this.#path.delete(value);
  }

  #writeContainer(value: object): void {
    if (Array.isArray(value)) {
      this.list.push(Tag.List, value.length);
      for (let i = 0; i < value.length; i++) this.#write(value[i]);
    } else if (ArrayBuffer.isView(value) && !(value instanceof DataView)) {
      this.#writeTypedArray(value as unknown as ArrayLike<number | bigint>);
    } else if (isMap(value)) {
      this.#writeEntries(entriesOf(value));
    } else if (isPlain(value)) {
      this.#writeEntries(Object.entries(value));
    } else {
      throw this.#refuse('a value that TorchScript supports', describe(value));
    }
  }

  #writeTypedArray(array: ArrayLike<number | bigint>): void {
    this.#count += array.length;
    if (this.#count > MAX_VALUES) throw this.#refuse(`at most ${MAX_VALUES} values in all`, 'more');
    this.list.push(Tag.List, array.length);
    for (let i = 0; i < array.length; i++) {
      const element = array[i]!;
      this.list.push(typeof element === 'bigint' ? Tag.BigInt : Tag.Number, element);
    }
  }

  #writeEntries(entries: readonly (readonly [unknown, unknown])[]): void {
    this.list.push(Tag.Dict, entries.length);
    for (const [key, element] of entries) {
      this.#write(key);
      this.#write(element);
    }
  }
}

/** Encodes the arguments of a method for native code. */
export function encode(method: string, args: readonly unknown[]): readonly unknown[] {
  const encoder = new Encoder(method);
  let count = args.length;
  while (count > 0 && args[count - 1] === undefined) count--; // omitted: the default
  for (let i = 0; i < count; i++) {
    if (args[i] === undefined) encoder.list.push(Tag.Omitted);
    else encoder.add(args[i], i);
  }
  return encoder.list;
}

/** Decodes a value: tuples and lists become arrays, dictionaries objects or, if a key is not a string, Maps. */
export function decode(list: readonly unknown[]): unknown {
  let at = 0;
  const next = (): unknown => {
    switch (list[at++] as Tag) {
      case Tag.None:
        return null;
      case Tag.False:
        return false;
      case Tag.True:
        return true;
      case Tag.Number:
      case Tag.BigInt:
      case Tag.Text:
        return list[at++];
      case Tag.Tensor:
        return wrapElement(list[at++]);
      case Tag.Complex:
        at += 2;
        return new Complex(list[at - 2] as number, list[at - 1] as number);
      case Tag.List:
        return elements(list[at++] as number);
      case Tag.Named: {
        const length = list[at++] as number;
        const names = list[at++] as string[];
        const values = elements(length);
        for (const [i, name] of names.entries())
          Object.defineProperty(values, name, { value: values[i], writable: true });
        return values;
      }
      case Tag.Dict: {
        const length = list[at++] as number;
        return list[at++] === true ? object(length) : map(length);
      }
      default:
        throw codedError(Error, 'ERR_TORCH_MODEL', 'jit: the result has an unsupported type');
    }
  };
  const elements = (length: number): unknown[] => {
    const values: unknown[] = [];
    for (let i = 0; i < length; i++) values.push(next());
    return values;
  };
  const object = (length: number): object => {
    const values = {};
    for (let i = 0; i < length; i++) {
      const key = next() as string;
      // Not an assignment: a key may be __proto__.
      Object.defineProperty(values, key, { value: next(), writable: true, enumerable: true, configurable: true });
    }
    return values;
  };
  const map = (length: number): Map<unknown, unknown> => {
    const values = new Map<unknown, unknown>();
    for (let i = 0; i < length; i++) {
      const key = next();
      values.set(key, next());
    }
    return values;
  };
  return next();
}
