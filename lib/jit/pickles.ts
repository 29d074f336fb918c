/**
 * Checks the pickles of a TorchScript archive without creating its objects: only known instructions, objects only of the
 * model's own classes, tensors inside their storages, and storages present with the declared size.
 */
import type { Budget } from '../files/limits';
import { quote } from '../files/names';
import { type Allowed, Dict, Global, type Literal, Tuple } from '../files/pickle-values';
import { Unpickler } from '../files/unpickle';
import type { Fail } from './archive';
import { type EnumValues, MAX_NESTING } from './source';

/** Entries of the archive by name. */
export interface Records {
  /** The size in bytes; undefined if the entry is missing. */
  find(name: string): number | undefined;
  /** The budget of the whole archive. */
  readonly budget: Budget;
  /** The values of a class of the source that is an enum, null if they are not known; undefined for other classes. */
  enumOf(name: string): EnumValues | undefined;
}

interface Context {
  readonly records: Records;
  /** The folder of its tensors' storages: "data", "constants". */
  readonly folder: string;
  readonly fail: Fail;
}

/** Bytes per element of storage classes such as torch.FloatStorage. */
const itemSizes: Readonly<Record<string, number>> = {
  BoolStorage: 1,
  ByteStorage: 1,
  CharStorage: 1,
  ShortStorage: 2,
  IntStorage: 4,
  LongStorage: 8,
  HalfStorage: 2,
  BFloat16Storage: 2,
  FloatStorage: 4,
  DoubleStorage: 8,
  ComplexFloatStorage: 8,
  ComplexDoubleStorage: 16,
  QInt8Storage: 1,
  QUInt8Storage: 1,
  QInt32Storage: 4,
};

/** Functions of torch.jit._pickle that return their first argument. */
const identityFunctions = new Set([
  'build_intlist',
  'build_tensorlist',
  'build_doublelist',
  'build_boollist',
  'restore_type_tag',
]);

const MAX_DEPTH = 500;
const MAX_DIMENSIONS = 64;

class Stored {
  constructor(readonly count: number) {}
}

/** Placeholder for a tensor, an object, or any other value; `parts` are the values to check further. */
class Placeholder {
  constructor(readonly parts: readonly unknown[] = []) {}
}

/** An object of one of the model's classes; its state is set after it was made. */
export class Made {
  state: unknown = undefined;
}

class Checker implements Allowed {
  readonly #context: Context;
  readonly #read = new Set<string>();

  constructor(context: Context) {
    this.#context = context;
  }

  fail(what: string): Error {
    return this.#context.fail(what);
  }

  find(module: string, name: string): Global | undefined {
    if (module === '__torch__' || module.startsWith('__torch__.')) {
      const values = this.#context.records.enumOf(`${module}.${name}`);
      if (values !== undefined) return new Global(name, { choose: (value) => this.#choose(name, values, value) });
      // `make` for objects; `call` for named tuples.
      return new Global(name, { make: () => new Made(), call: (args) => new Placeholder(args) });
    }
    if (module === 'torch' && Object.hasOwn(itemSizes, name)) return new Global(name);
    if (module === 'torch._utils' && name === '_rebuild_tensor_v2')
      return new Global(name, { call: (args) => this.#tensor(args) });
    if (module === 'torch._utils' && name === '_rebuild_qtensor')
      return new Global(name, { call: (args) => this.#tensor(args) });
    if (module === 'torch.jit._pickle' && identityFunctions.has(name))
      return new Global(name, { call: (args) => this.#identity(args) });
    if (module === 'collections' && name === 'OrderedDict') return new Global(name, { call: () => new Dict() });
    if (module === 'torch' && name === 'device') return new Global(name, { call: (args) => new Placeholder(args) });
    if (module === 'torch' && /^per_(tensor|channel)_/.test(name)) return new Global(name);
    if (/^builtins$|^__builtin__$/.test(module) && name === 'complex')
      return new Global(name, { call: (args) => new Placeholder(args) });
    return undefined;
  }

  /** Returns the list, and limits the string of its type, which libtorch parses recursively. */
  #identity([value, type]: readonly unknown[]): unknown {
    if (typeof type === 'string') {
      if (type.length > 100_000) throw this.fail('a type with too many parts');
      this.#context.records.budget.step(type.length >> 3);
      const depth = (type.match(/[[(]/g) ?? []).length;
      if (depth > MAX_NESTING) throw this.fail('a type with too many parts');
    }
    return value;
  }

  /** For a value that the enum does not have, libtorch reads on with one value too few. */
  #choose(name: string, values: EnumValues, value: Literal): Placeholder {
    if (values === null)
      throw this.fail(`the values of the enum ${quote(name)} are not in the form that PyTorch writes`);
    this.#context.records.budget.step(values.length);
    const plain = (one: Literal) => (typeof one === 'object' ? one.float : one);
    if (values.some((one) => typeof one === typeof value && Object.is(plain(one), plain(value))))
      return new Placeholder();
    throw this.fail(`${quote(String(plain(value)))} is not a value of the enum ${quote(name)}`);
  }

  persistent(id: unknown): Stored {
    if (!Array.isArray(id) || id[0] !== 'storage') throw this.fail('a persistent id does not name a storage');
    const [, type, key, , count] = id as [string, Global, unknown, unknown, unknown];
    const itemSize = Object.hasOwn(itemSizes, String(type?.name)) ? itemSizes[type.name] : undefined;
    if (itemSize === undefined) throw this.fail('a storage of an unsupported type');
    if (typeof key !== 'string' || !Number.isSafeInteger(count) || (count as number) < 0) {
      throw this.fail('a storage without a name or a size');
    }
    const size = this.#context.records.find(`${this.#context.folder}/${key}`);
    if (size === undefined) throw this.fail(`storage ${key} is missing`);
    if (size !== (count as number) * itemSize) {
      throw this.fail(`storage ${key}: expected ${count} elements of ${itemSize} bytes, got ${size} bytes`);
    }
    // libtorch reads the storage again at each reference.
    if (this.#read.has(key)) this.#context.records.budget.unpack(size);
    this.#read.add(key);
    return new Stored(count as number);
  }

  #tensor(args: readonly unknown[]): Placeholder {
    const [stored, offset, sizes, strides] = args;
    const isSizes = (list: unknown): list is number[] =>
      Array.isArray(list) && list.every((n) => Number.isSafeInteger(n) && n >= 0);
    const isOffset = (n: unknown): n is number => Number.isSafeInteger(n) && (n as number) >= 0;
    if (!(stored instanceof Stored) || !isOffset(offset) || !isSizes(sizes) || !isSizes(strides)) {
      throw this.fail('a tensor without a storage or with wrong sizes');
    }
    if (sizes.length !== strides.length) throw this.fail('a tensor without a storage or with wrong sizes');
    if (sizes.length > MAX_DIMENSIONS)
      throw this.fail(`expected a tensor of at most ${MAX_DIMENSIONS} dimensions, got ${sizes.length}`);
    this.#context.records.budget.tensor();
    const elements = sizes.reduce((product, n) => product * n, 1);
    const last = offset + sizes.reduce((sum, n, i) => sum + (n - 1) * strides[i]!, 0);
    if (!Number.isSafeInteger(elements) || (elements > 0 && last >= stored.count)) {
      throw this.fail(`a tensor of shape [${sizes.join(', ')}] exceeds its storage of ${stored.count} elements`);
    }
    return new Placeholder();
  }
}

/** The values inside a value. */
function partsOf(value: unknown): Iterable<unknown> {
  if (Array.isArray(value)) return value;
  if (value instanceof Dict) return [...value.entries.keys(), ...value.entries.values()];
  if (value instanceof Made) return [value.state];
  return value instanceof Placeholder ? value.parts : [];
}

/** Refuses deep nesting: libtorch frees values recursively, which would overflow the stack. */
function demandShallow(root: unknown, budget: Budget, fail: Fail): void {
  const seen = new Set<unknown>();
  let level: unknown[] = [root];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) throw fail(`values nested more than ${MAX_DEPTH} deep`);
    if (depth > budget.maxDepth) throw budget.tooDeep();
    const next: unknown[] = [];
    for (const value of level) {
      if (typeof value !== 'object' || value === null || seen.has(value)) continue;
      seen.add(value);
      for (const part of partsOf(value)) next.push(part);
    }
    level = next;
  }
}

function read(bytes: Uint8Array, context: Context): unknown {
  try {
    return new Unpickler(bytes, new Checker(context), context.records.budget).loadRaw();
  } catch (error) {
    // A JavaScript array or map exceeded its maximum size.
    if (error instanceof RangeError && (error as { code?: string }).code === undefined) {
      throw context.fail(`it is too large (${error.message})`);
    }
    throw error;
  }
}

export function examinePickle(bytes: Uint8Array, context: Context): void {
  const { budget } = context.records;
  const root = read(bytes, context);
  if (context.folder === 'data' && !(root instanceof Made)) throw context.fail('expected a module');
  if (context.folder === 'constants' && !(root instanceof Tuple)) throw context.fail('expected a tuple');
  demandShallow(root, budget, context.fail);
}
