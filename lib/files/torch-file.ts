/**
 * `torch.load` and `torch.save`: PyTorch's files, a zip with a pickle and the storages. Loading executes no code: only
 * tensors, their storages and plain values are allowed, as with PyTorch's weights_only.
 */

import { types } from 'node:util';
import type { ByteSource, ByteStream, Device, DeviceLike, NodeBuffer } from '../../types/base';
import { dtypeCodes } from '../addon/enums';
import { native } from '../addon/native';
import { ownOptions } from '../addon/options';
import { argumentError, codedError, describe, disposedError, refusal, type TorchError } from '../errors/errors';
import { Complex } from '../errors/values';
import { ownScope } from '../lifetimes/scope';
import { asUser } from '../lifetimes/user-code';
import { bare } from '../tensor/second-name';
import { isTensor, type Tensor } from '../tensor/tensor';
import { namingLoader } from './bytes';
import { demandEntries, demandFormat } from './formats';
import { Budget, type LoadLimits, limitNames, limitsOf } from './limits';
import { payLookup } from './lookups';
import { elementsOf, quote, shown, showShape } from './names';
import { type FilePath, valueAndPath } from './paths';
import { Name, Persistent, Tuple as PickledTuple, pickle, Reduce } from './pickle';
import { type Allowed, Dict, Global } from './pickle-values';
import { inMemory, type MapOptions, type TensorSource, tensorOfBytes, type Wanted, withSource } from './source';
import { isUntyped, itemOf, Stored, storageOf, UNTYPED, untypedSizes } from './storages';
import { byteStream, readStream, type StreamOptions } from './stream';
import { Unpickler } from './unpickle';
import { writeWhole } from './write';
import { ZipReader } from './zip';
import { ZipWriter } from './zip-writer';

const fail = (what: string): TorchError => codedError(Error, 'ERR_TORCH_FILE', `torch.load: ${what}`);
const wanted: Wanted = { fn: 'load', format: 'torch', fail };

/** NumPy's limit, and that of libtorch's kernels. */
const MAX_DIMENSIONS = 64;

const isText = (value: unknown): value is string => typeof value === 'string';
const isSize = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
const isSizes = (value: unknown): value is number[] => Array.isArray(value) && value.every(isSize);

class Archive implements Allowed {
  readonly #zip: ZipReader;
  readonly #prefix: string;
  readonly #device: string | undefined;
  readonly #budget: Budget;
  readonly #stored = new Map<string, Stored>();
  readonly #bytes: TensorSource;

  constructor(bytes: TensorSource, device: string | undefined, budget: Budget) {
    this.#bytes = bytes;
    this.#budget = budget;
    this.#zip = new ZipReader(bytes, fail, budget);
    demandEntries(this.#zip.entries.keys(), wanted);
    const pickles = [...this.#zip.entries.keys()].filter((name) => /^[^/]+\/data\.pkl$/.test(name));
    if (pickles.length !== 1) throw fail('not a torch.save file: it has no data.pkl');
    this.#prefix = pickles[0]!.slice(0, -'data.pkl'.length);
    this.#device = device;
    const order = this.#zip.entries.get(`${this.#prefix}byteorder`);
    if (order !== undefined && Buffer.from(this.#zip.data(order)).toString().trim() !== 'little') {
      throw fail('its byte order is not little-endian');
    }
  }

  load(): unknown {
    const bytes = this.#zip.data(this.#zip.entries.get(`${this.#prefix}data.pkl`)!);
    try {
      return new Unpickler(bytes, this, this.#budget).load();
    } catch (error) {
      // The JavaScript stack overflowed, or an array or a map exceeded its maximum size.
      if (error instanceof RangeError && (error as { code?: string }).code === undefined)
        throw fail(`it is nested too deeply, or too large (${error.message})`);
      throw error;
    }
  }

  fail = fail;

  find(module: string, name: string): Global | undefined {
    const builtin = module === 'builtins' || module === '__builtin__';
    if (module === 'collections' && name === 'OrderedDict')
      return new Global(name, { call: (args) => orderedDict(args, this.#budget) });
    if (module === 'collections' && name === 'Counter') return new Global(name, { call: counter });
    if (module === 'torch' && itemOf(name) !== undefined) return new Global(name);
    if (module === 'torch.storage' && name === UNTYPED) return new Global(name);
    if (module === 'torch._utils') {
      if (name === '_rebuild_tensor_v2') return new Global(name, { call: (args) => this.#rebuild(args) });
      if (name === '_rebuild_tensor_v3') return new Global(name, { call: (args) => this.#rebuildUntyped(args) });
      if (name === '_rebuild_parameter') return new Global(name, { call: (args) => this.#parameter(args) });
    }
    if (module === 'torch' && name === 'Size') return new Global(name, { call: torchSize });
    if (module === 'torch' && name === 'device') return new Global(name, { call: torchDevice });
    if (module === 'torch' && dtypeCodes.has(name)) return new Global(name, { value: name });
    if (builtin && name === 'complex') return new Global(name, { call: complex });
    // How pickle's protocol 2, which torch.save uses, writes bytes.
    if (module === '_codecs' && name === 'encode')
      return new Global(name, { call: (args) => bytes(args, this.#budget) });
    if (builtin && name === 'bytes') return new Global(name, { call: (args) => bytes(['', ...args], this.#budget) });
    if (builtin && name === 'set') return new Global(name, { call: (args) => set(args, this.#budget) });
    return undefined;
  }

  persistent(id: unknown): Stored {
    if (!Array.isArray(id) || id[0] !== 'storage') throw fail('a persistent id does not name a storage');
    const [, type, key, , count] = id as unknown[];
    const known = type instanceof Global ? itemOf(type.name) : undefined;
    if (known === undefined) throw fail('a storage of an unsupported type');
    if (!isText(key)) throw fail('the name of a storage is not a string');
    const found = this.#stored.get(key);
    if (found !== undefined) {
      if (found.type === (type as Global).name) return found;
      // PyTorch writes a tensor of uint8 and the untyped storage below it as two classes of one dtype.
      if (itemOf(found.type)![0] !== known[0]) throw fail(`storage ${key} is used with two dtypes`);
      return new Stored(found.elements, (type as Global).name, found.count);
    }
    const [dtype, itemSize] = known;
    const entry = this.#zip.entries.get(`${this.#prefix}data/${key}`);
    if (entry === undefined) throw fail(`storage ${shown(key)} is missing`);
    if (!isSize(count) || entry.size !== count * itemSize) {
      throw fail(`storage ${key}: expected ${quote(count)} elements of ${itemSize} bytes, got ${entry.size} bytes`);
    }
    // A tensor of untyped bytes may have elements of this size, and bytes may be named as untyped later.
    const alignment = dtype === 'uint8' ? 8 : itemSize;
    const raw = entry.deflated
      ? tensorOfBytes(this.#zip.data(entry))
      : this.#zip.summed(entry, (start, sum) => this.#bytes.tensor(start, entry.size, alignment, sum));
    const elements = dtype === 'bool' ? raw.ne(0) : raw.view(dtype);
    const there =
      this.#device === undefined || this.#device === 'cpu' ? elements : elements.to({ device: this.#device });
    const stored = new Stored(there as Tensor, (type as Global).name, count);
    this.#stored.set(key, stored);
    return stored;
  }

  /**
   * A storage that is a value of its own becomes a tensor of its elements, as JavaScript has no class for it: it shares memory
   * with the other tensors of the storage.
   */
  finish(value: object): unknown {
    if (!(value instanceof Stored)) return value;
    this.#budget.tensor();
    return value.elements;
  }

  #rebuild([stored, offset, size, stride, requiresGrad]: readonly unknown[]): Tensor {
    const whole = stored instanceof Stored && isSize(offset) && isSizes(size) && isSizes(stride);
    if (!whole || size.length !== stride.length) throw fail('a tensor without a storage or with wrong sizes');
    if (elementsOf(size) === undefined) throw fail(`shape ${showShape(size)} has more elements than can be counted`);
    const last = offset + size.reduce((sum, n, i) => sum + (n - 1) * stride[i]!, 0);
    if (!size.includes(0) && last >= stored.count) {
      throw fail(`a tensor of shape ${showShape(size)} exceeds its storage of ${stored.count} elements`);
    }
    if (size.length > MAX_DIMENSIONS) {
      throw fail(`expected a tensor of at most ${MAX_DIMENSIONS} dimensions, got ${size.length}`);
    }
    this.#budget.tensor();
    const { elements } = stored;
    const start = (elements.storageOffset() as number) + offset;
    if (!isSize(start)) throw fail(`a tensor's offset of ${offset} elements is too large`);
    const tensor = elements.asStrided([...size], [...stride], start) as Tensor;
    return withGradient(tensor, requiresGrad);
  }

  #rebuildUntyped([stored, offset, size, stride, requiresGrad, , type]: readonly unknown[]): Tensor {
    const dtype = type instanceof Global ? type.value : type;
    if (!(stored instanceof Stored) || stored.type !== UNTYPED) throw fail('a tensor without an untyped storage');
    if (!isUntyped(dtype)) throw fail(`a tensor of untyped bytes and dtype ${quote(dtype)}`);
    const itemSize = untypedSizes[dtype]!;
    if (stored.count % itemSize !== 0) {
      throw fail(`a tensor of ${dtype}: expected whole elements of ${itemSize} bytes, got ${stored.count} bytes`);
    }
    const elements = stored.elements.view(dtype) as Tensor;
    const typed = new Stored(elements, dtype, stored.count / itemSize);
    return this.#rebuild([typed, offset, size, stride, requiresGrad]);
  }

  #parameter([data, requiresGrad]: readonly unknown[]): Tensor {
    if (!isTensor(data)) throw fail('a parameter without a tensor');
    this.#budget.tensor();
    return withGradient(data.detach() as Tensor, requiresGrad);
  }
}

function withGradient(tensor: Tensor, requiresGrad: unknown): Tensor {
  if (requiresGrad !== true) return tensor;
  if (!/float|complex/.test(tensor.dtype)) throw fail(`a tensor of ${tensor.dtype} that requires a gradient`);
  tensor.requiresGrad = true;
  return tensor;
}

// Calls of the allowed names. Their arguments are untrusted.

function orderedDict([pairs]: readonly unknown[], budget: Budget): Dict {
  const dict = new Dict();
  if (pairs === undefined) return dict;
  const good = Array.isArray(pairs) && pairs.every((pair) => Array.isArray(pair) && pair.length === 2);
  if (!good) throw fail('the argument of OrderedDict is not a list of pairs');
  for (const [key, value] of pairs as [unknown, unknown][]) {
    payLookup(dict.entries, key, budget);
    dict.entries.set(key, value);
  }
  return dict;
}

/** Counts by what was counted, as a schedule of PyTorch keeps its milestones. */
function counter([counts = new Dict()]: readonly unknown[]): Dict {
  if (!(counts instanceof Dict)) throw fail('the argument of Counter is not a dictionary');
  return counts;
}

function torchSize([sizes]: readonly unknown[]): number[] {
  if (!isSizes(sizes)) throw fail('the argument of torch.Size is not a list of sizes');
  return [...sizes];
}

function torchDevice([type, index]: readonly unknown[]): string {
  if (!isText(type) || !/^[\w:]{1,32}$/.test(type) || (index !== undefined && !isSize(index))) {
    throw fail('invalid arguments of torch.device');
  }
  return index === undefined ? type : `${type}:${index}`;
}

function complex(parts: readonly unknown[]): Complex {
  const [re, im] = parts;
  if (typeof re !== 'number' || typeof im !== 'number') throw fail('the arguments of complex are not numbers');
  return new Complex(re, im);
}

function set([values = []]: readonly unknown[], budget: Budget): Set<unknown> {
  if (!Array.isArray(values)) throw fail('the argument of set is not a list');
  const made = new Set<unknown>();
  for (const value of values) {
    payLookup(made, value, budget);
    made.add(value);
  }
  return made;
}

/** A character of the text for each byte. The pickle may use one text many times. */
function bytes([text, encoding = 'latin1', ...more]: readonly unknown[], budget: Budget): Uint8Array {
  if (!isText(text) || encoding !== 'latin1' || more.length > 0 || /[^\0-\xff]/.test(text))
    throw fail('the arguments of _codecs.encode are not bytes as text in latin1');
  budget.unpack(text.length);
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

export interface LoadFileOptions<V extends string = Device> extends LoadLimits, MapOptions {
  /** The device of the tensors (default: the CPU). */
  device?: DeviceLike<V> | undefined;
}

/**
 * Reads a file of torch.save, or its bytes: dictionaries become objects (a Map if a key is not a string), lists and tuples
 * become arrays, a state dict an object of Tensors. No code in the file is executed. `T` is what the program has saved there,
 * which is not checked.
 *
 * @throws ERR_TORCH_FILE if it is another kind of file, is damaged, uses names that are not allowed, or exceeds a limit
 */
export function load<T = unknown, const V extends string = string>(
  source: FilePath | Uint8Array,
  options: LoadFileOptions<V> = {},
): T {
  const { device, mmap, ...limits } = ownOptions('load', options, ['device', 'mmap', ...limitNames]);
  return withSource(wanted, source, mmap, (bytes) => loadFrom('load', bytes, device, limits)) as T;
}

const loadFrom = (fn: string, bytes: TensorSource, device: string | undefined, limits: LoadLimits): unknown =>
  ownScope(() => new Archive(bytes, device, new Budget(fn, limits, bytes.size, fail)).load());

/** Groups the tensors of a saved value by storage. */
class Storages {
  readonly #known = new Map<number | bigint, { key: string; type: string }>();
  readonly tensors: Tensor[] = [];

  /** Undefined if the storage is written as one of another class. */
  keyOf(tensor: Tensor, type: string): string | undefined {
    const storage = native.storageKey(tensor._handle);
    const known = this.#known.get(storage);
    if (known !== undefined) return known.type === type ? known.key : undefined;
    const key = String(this.tensors.length);
    this.#known.set(storage, { key, type });
    this.tensors.push(tensor);
    return key;
  }
}

function replaceTensor(fn: string, tensor: Tensor, path: string, all: Storages, made: Tensor[]): Reduce {
  if (tensor.disposed) throw disposedError(fn, tensor._handle, path);
  const known = storageOf.get(tensor.dtype);
  const bytes = known?.bytes ?? (tensor.dtype === 'complex32' ? undefined : untypedSizes[tensor.dtype]);
  if (bytes === undefined || tensor.layout !== 'strided') {
    throw argumentError(fn, path, 'dense Tensors of a dtype that PyTorch can store', tensor);
  }
  let plain = tensor;
  if (tensor._isZerotensor()) {
    plain = tensor.clone(); // autograd's efficient zeros have no memory
    made.push(plain);
  } else if (tensor.device !== 'cpu' || tensor.isConj() || tensor.isNeg()) {
    plain = tensor.detach().cpu().resolveConj().resolveNeg() as Tensor;
    made.push(plain);
  }
  const key = all.keyOf(plain, known?.name ?? UNTYPED);
  if (key === undefined) throw argumentError(fn, path, 'Tensors of one dtype where they share memory', tensor);
  const count = plain.storageBytes / bytes;
  if (!Number.isInteger(count)) {
    throw argumentError(fn, path, 'a Tensor whose storage holds whole elements of its dtype', tensor);
  }
  const [storage, rebuild, more] =
    known === undefined
      ? [[new Name('torch.storage', UNTYPED), key, 'cpu', plain.storageBytes], 'v3', [new Name('torch', tensor.dtype)]]
      : [[new Name('torch', known.name), key, 'cpu', count], 'v2', []];
  const sizes = [plain.shape, plain.strides].map((list) => new PickledTuple(list));
  const hooks = new Reduce('collections', 'OrderedDict', []);
  return new Reduce('torch._utils', `_rebuild_tensor_${rebuild}`, [
    new Persistent(['storage', ...storage]),
    plain.storageOffset() as number,
    ...sizes,
    tensor.requiresGrad,
    hooks,
    ...more,
  ]);
}

interface Archived {
  readonly data: Uint8Array;
  /** As uint8 tensors. */
  readonly storages: readonly Tensor[];
}

/** Prepares a value for writing. The caller owns the storages. */
const archived = (fn: string, value: unknown): Archived =>
  ownScope(() => {
    const all = new Storages();
    const made: Tensor[] = [];
    const replace = (object: object, path: string) => {
      const value = asUser(() => bare(object));
      // Any other Proxy is refused, without running more of its traps.
      if (!types.isProxy(value)) {
        if (isTensor(value)) return replaceTensor(fn, value, path, all, made);
        if (value instanceof Complex) return new Reduce('builtins', 'complex', [value.re, value.im]);
      }
      const expected = 'Tensors, numbers, strings, arrays, Maps, Sets and plain objects';
      if (typeof object !== 'object' || types.isProxy(object) || !('stateDict' in object))
        throw argumentError(fn, path, expected, object);
      throw refusal(fn, path, expected, `${describe(object)}; save its stateDict()`);
    };
    const data = pickle(value, replace, asUser);
    return { data, storages: all.tensors.map((tensor) => tensor.storage()) };
  });

/** Adds the entries to `zip`, and pauses after each storage. */
function* addEntries({ data, storages }: Archived, zip: ZipWriter): Generator<void> {
  zip.add('archive/data.pkl', data);
  zip.add('archive/byteorder', Buffer.from('little'));
  for (const [key, storage] of storages.entries()) {
    zip.add(`archive/data/${key}`, storage);
    yield;
  }
  zip.add('archive/version', Buffer.from('3\n'));
  zip.end();
  yield;
}

/** The bytes of an archive, one storage at a time. */
function* chunksOfArchive(archive: Archived): Generator<Uint8Array> {
  const parts: Uint8Array[] = [];
  for (const _ of addEntries(archive, new ZipWriter({ put: (bytes) => void parts.push(bytes) })))
    yield* parts.splice(0);
}

/** Writes a file for PyTorch's torch.load. Shared storages stay shared. Replaces the file once it is completely written. */
export function save(value: unknown, path: FilePath): void;
/** Writes a file for PyTorch's torch.load, with the path first, if the value is not itself a path. */
export function save(path: FilePath, value: object): void;
export function save(first: unknown, second: unknown): void {
  const { value, path } = valueAndPath('save', first, second);
  writeWhole(path, (file) => ownScope(() => void [...addEntries(archived('save', value), new ZipWriter(file))]));
}

/** The bytes that `save` writes. */
export function saveToBuffer(value: unknown): NodeBuffer {
  return ownScope(() => Buffer.concat([...chunksOfArchive(archived('saveToBuffer', value))]));
}

/**
 * The same bytes as a ReadableStream, produced on demand, one storage at a time. It keeps the tensors' memory alive, so they
 * may be disposed meanwhile.
 */
export function saveToStream(value: unknown): ByteStream {
  const archive = archived('saveToStream', value);
  return byteStream(chunksOfArchive(archive), archive.storages);
}

/**
 * Reads a file of `save` from a stream, a Blob or bytes. It is read to its end first: the directory of a zip is there.
 *
 * @throws ERR_TORCH_FILE as `load` does, ERR_TORCH_STREAM if the stream fails
 */
export async function loadFromStream<T = unknown, const V extends string = string>(
  source: ByteSource,
  options: Omit<LoadFileOptions<V>, 'mmap'> & StreamOptions = {},
): Promise<T> {
  const { device, ...how } = ownOptions('loadFromStream', options, ['device', 'signal', ...limitNames]);
  const bytes = await readStream('loadFromStream', source, how, (reader) => reader.rest());
  const whole = inMemory(bytes, true);
  demandFormat(whole, wanted);
  return namingLoader('loadFromStream', () => loadFrom('loadFromStream', whole, device, limitsOf(how))) as T;
}
