/** `torch.npy` and `torch.npz`: NumPy's files of arrays. (Format: NumPy's NEP 1.) */
import type { ByteSource, ByteStream, Device, DeviceLike, DType, NodeBuffer } from '../../types/base';
import { dtypeCodes } from '../addon/enums';
import { ownOptions } from '../addon/options';
import { spaces } from '../call/functions';
import { argumentError, codedError, disposedError, type TorchError } from '../errors/errors';
import { ownScope } from '../lifetimes/scope';
import { bare } from '../tensor/second-name';
import { isTensor, type Tensor } from '../tensor/tensor';
import { bytesOfTensor, chunksOfTensor, flat, namingLoader } from './bytes';
import { demandBeginning, demandEntries, demandFormat } from './formats';
import { Budget, type LoadLimits, limitsOf } from './limits';
import { demandName, demandNamed } from './named';
import { elementsOf, quote, showShape } from './names';
import { type FilePath, valueAndPath } from './paths';
import {
  inMemory,
  inTensor,
  type MapOptions,
  type TensorSource,
  tensorOfBytes,
  type Wanted,
  withSource,
} from './source';
import { byteStream, readStream, type StreamOptions } from './stream';
import { writeWhole } from './write';
import { type Bytes, type ZipEntry, ZipReader } from './zip';
import { ZipWriter } from './zip-writer';

const fail = (what: string): TorchError => codedError(Error, 'ERR_TORCH_FILE', `npy: ${what}`);
const failZip = (what: string): TorchError => codedError(Error, 'ERR_TORCH_FILE', `npz: ${what}`);

/** NumPy's type names without the byte order, and bytes per element. */
const dtypes: Readonly<Record<string, readonly [DType, number]>> = {
  b1: ['bool', 1],
  u1: ['uint8', 1],
  i1: ['int8', 1],
  i2: ['int16', 2],
  u2: ['uint16', 2],
  f2: ['float16', 2],
  i4: ['int32', 4],
  u4: ['uint32', 4],
  f4: ['float32', 4],
  i8: ['int64', 8],
  u8: ['uint64', 8],
  f8: ['float64', 8],
  c8: ['complex64', 8],
  c16: ['complex128', 16],
};
const namesOf = new Map(Object.entries(dtypes).map(([name, [dtype, bytes]]) => [dtype, { name, bytes }]));

interface Header {
  readonly dtype: DType;
  readonly itemSize: number;
  /** Width of the numbers whose bytes are reversed (big-endian files); 0 for none. */
  readonly swap: number;
  readonly columns: boolean;
  readonly shape: number[];
  readonly start: number;
}

const MAGIC = Buffer.from('\x93NUMPY', 'latin1');
/** NumPy refuses longer headers too. */
const MAX_HEADER = 10_000;
const MAX_DIMENSIONS = 64;

/** Where the data begins, from the first 12 bytes of a file (fewer if it is shorter). */
function headerEnd(first: Uint8Array): { version: number; from: number; end: number } {
  if (first.length < 10 || !MAGIC.equals(first.subarray(0, 6)))
    throw fail('not an npy file: it does not begin with \\x93NUMPY');
  const version = first[6]!;
  if (version !== 1 && version !== 2 && version !== 3) throw fail(`version ${version} is not supported`);
  const from = version === 1 ? 10 : 12;
  if (first.length < from) throw fail('the file is truncated');
  const lengths = Buffer.from(first.subarray(8, from));
  const length = version === 1 ? lengths.readUInt16LE() : lengths.readUInt32LE();
  if (length > MAX_HEADER) throw fail(`expected a header of at most ${MAX_HEADER} bytes, got ${length}`);
  return { version, from, end: from + length };
}

/** Parses the text of a header. `bytes` is the expected size of the data, from dtype and shape. */
function parseHeader(text: string, start: number): Header & { bytes: bigint; name: string } {
  // The exact form that NumPy writes; other Python literals are not evaluated.
  const match =
    /^\{'descr': '([<>|=])(\w+)', 'fortran_order': (True|False), 'shape': \(((?:\d+, ?)*\d*)\), ?\}\s*$/.exec(text);
  if (match === null) throw fail(`the header does not describe one array of numbers: ${quote(text.trim())}`);
  const [, order, name, columns, sizes] = match as unknown as [string, string, string, string, string];
  const known = Object.hasOwn(dtypes, name) ? dtypes[name]! : undefined;
  if (known === undefined) throw fail(`dtype '${order}${name.slice(0, 20)}' is not supported`);
  const [dtype, itemSize] = known;
  const shape = sizes
    .split(',')
    .filter((size) => size.trim() !== '')
    .map(Number);
  if (!shape.every(Number.isSafeInteger)) throw fail('a size exceeds 2^53 - 1');
  if (shape.length > MAX_DIMENSIONS) throw fail(`expected at most ${MAX_DIMENSIONS} dimensions, got ${shape.length}`);
  const elements = elementsOf(shape);
  if (elements === undefined) throw fail(`shape ${showShape(shape)} has more elements than can be counted`);
  const bytes = BigInt(elements) * BigInt(itemSize);
  const part = name.startsWith('c') ? itemSize / 2 : itemSize;
  const swap = order === '>' && part > 1 ? part : 0;
  return { dtype, itemSize, swap, columns: columns === 'True', shape, start, bytes, name };
}

const textOf = (bytes: Uint8Array, version: number) => Buffer.from(bytes).toString(version === 3 ? 'utf8' : 'latin1');

function readHeader(bytes: Bytes): Header {
  const { version, from, end } = headerEnd(bytes.read(0, Math.min(12, bytes.size)));
  if (end > bytes.size) throw fail('the file is truncated');
  const header = parseHeader(textOf(bytes.read(from, end - from), version), end);
  if (header.bytes !== BigInt(bytes.size - end)) {
    const { name, shape } = header;
    throw fail(`${name} of shape ${showShape(shape)} takes ${header.bytes} bytes, the file has ${bytes.size - end}`);
  }
  return header;
}

function swapped(bytes: Uint8Array, width: number): Uint8Array {
  const copy = Buffer.from(bytes);
  if (width === 2) copy.swap16();
  else if (width === 4) copy.swap32();
  else copy.swap64();
  return new Uint8Array(copy);
}

function read(source: TensorSource, device: string | undefined, header = readHeader(source)): Tensor {
  const { dtype, itemSize, swap, columns, shape, start } = header;
  if (!dtypeCodes.has(dtype)) throw fail(`this libtorch has no dtype '${dtype}'`);
  return ownScope(() => {
    const length = source.size - start;
    if (length === 0) return (spaces['']!.empty as (...args: unknown[]) => Tensor)(shape, { dtype });
    const raw =
      swap === 0 ? source.tensor(start, length, itemSize) : tensorOfBytes(swapped(source.read(start, length), swap));
    const flat = (dtype === 'bool' ? raw.ne(0) : raw.view(dtype)) as Tensor;
    // Column-major data is the transpose of a row-major array.
    const shaped = columns
      ? (flat.view([...shape].reverse()).permute(shape.map((_, i) => shape.length - 1 - i)) as Tensor)
      : (flat.view(shape) as Tensor);
    return device === undefined || device === 'cpu' ? shaped : (shaped.to({ device }) as Tensor);
  });
}

export interface LoadNpyOptions<V extends string = Device> extends MapOptions {
  /** The device of the tensors (default: the CPU). */
  device?: DeviceLike<V> | undefined;
}

const wantedNpy: Wanted = { fn: 'npy.load', format: 'npy', fail };
const wantedNpz: Wanted = { fn: 'npz.load', format: 'npz', fail: failZip };

/** The bytes before the elements. */
function headOf(fn: string, tensor: Tensor, argument = 'tensor'): NodeBuffer {
  if (!isTensor(tensor)) throw argumentError(fn, argument, 'a Tensor', tensor);
  if (tensor.disposed) throw disposedError(fn, tensor._handle, argument);
  const known = namesOf.get(tensor.dtype);
  if (known === undefined || tensor.layout !== 'strided') {
    throw argumentError(fn, argument, 'a dense Tensor of a dtype that NumPy supports', tensor);
  }
  const { shape } = tensor;
  const sizes = shape.length === 1 ? `${shape[0]},` : shape.join(', ');
  const order = known.bytes === 1 ? '|' : '<';
  const text = `{'descr': '${order}${known.name}', 'fortran_order': False, 'shape': (${sizes}), }`;
  // Padded with spaces and a newline to a multiple of 64 bytes, as in NumPy.
  const length = Math.ceil((10 + text.length + 1) / 64) * 64 - 10;
  const head = Buffer.alloc(10 + length, ' ');
  MAGIC.copy(head);
  head.set([1, 0], 6);
  head.writeUInt16LE(length, 8);
  head.write(text, 10, 'latin1');
  head[head.length - 1] = 0x0a;
  return head;
}

function serializeNpy(fn: string, given: Tensor): NodeBuffer {
  const tensor = bare(given);
  return Buffer.concat([headOf(fn, tensor), bytesOfTensor(tensor)]);
}

function streamNpy(given: Tensor): ByteStream {
  const tensor = bare(given);
  const head = headOf('npy.saveToStream', tensor);
  const held = tensor.detach() as Tensor;
  function* chunks(): Generator<Uint8Array> {
    yield head;
    yield* chunksOfTensor(held);
  }
  return byteStream(chunks(), [held]);
}

async function readNpyStream(
  source: ByteSource,
  options: Omit<LoadNpyOptions<string>, 'mmap'> & StreamOptions,
): Promise<Tensor> {
  const { device, ...how } = ownOptions('npy.loadFromStream', options, ['device', 'signal', 'maxBytes']);
  return readStream('npy.loadFromStream', source, how, async (reader) => {
    const first = await reader.take(12, 'the header'); // every header is longer
    demandBeginning(first, wantedNpy);
    const { version, from, end } = headerEnd(first);
    const others = await reader.take(end - first.length, 'the header');
    const header = parseHeader(textOf(Buffer.concat([first, others]).subarray(from), version), end);
    if (header.bytes > BigInt(Number.MAX_SAFE_INTEGER)) throw fail('a size exceeds 2^53 - 1');
    const length = Number(header.bytes);
    // The other byte order is copied anyway, when it is turned around.
    const data = await (header.swap === 0 ? reader.takeTensor(length, 'the array') : reader.take(length, 'the array'));
    try {
      if (!(await reader.isAtEnd())) throw fail(`expected ${header.bytes} bytes of data, got more`);
      return read(isTensor(data) ? inTensor(data) : inMemory(data, true), device, { ...header, start: 0 });
    } finally {
      if (isTensor(data)) data.dispose();
    }
  });
}

/** Writes an array. Replaces the file once it is completely written. */
function saveNpy(tensor: Tensor, path: FilePath): void;
/** Writes an array, with NumPy's argument order. Replaces the file once it is completely written. */
function saveNpy(path: FilePath, tensor: Tensor): void;
function saveNpy(first: unknown, second: unknown): void {
  const { value, path } = valueAndPath('npy.save', first, second);
  const tensor = bare(value as Tensor);
  const head = headOf('npy.save', tensor);
  writeWhole(path, (file) => {
    file.put(head);
    ownScope(() => file.putTensor(flat(tensor)));
  });
}

/** One array in a file: NumPy's `np.save` and `np.load`. */
export const npy = {
  /** Reads an array. @throws ERR_TORCH_FILE if it is not an npy file of numbers, or its header does not match its data */
  load<const V extends string = Device>(source: FilePath | Uint8Array, options: LoadNpyOptions<V> = {}): Tensor {
    const { device, mmap } = ownOptions('npy.load', options, ['device', 'mmap']);
    return withSource(wantedNpy, source, mmap, (bytes) => read(bytes, device));
  },
  save: saveNpy,
  serialize: (tensor: Tensor): NodeBuffer => serializeNpy('npy.serialize', tensor),
  /** Reads an array from a stream, a Blob or bytes. @throws ERR_TORCH_STREAM if the stream fails or ends early */
  loadFromStream: async <const V extends string = Device>(
    source: ByteSource,
    options: Omit<LoadNpyOptions<V>, 'mmap'> & StreamOptions = {},
  ): Promise<Tensor> => readNpyStream(source, options),
  /** The bytes of a file as a ReadableStream, produced on demand. It keeps the tensor's memory alive. */
  saveToStream: (tensor: Tensor): ByteStream => streamNpy(tensor),
};

function checkTensors(fn: string, tensors: unknown): void {
  demandNamed(fn, 'tensors', 'an object of Tensors', tensors);
  for (const name of Object.keys(tensors as object)) demandName(fn, 'tensors', name, '.npy');
}

/** Adds the arrays to `zip`, and pauses after each. */
function* addArrays(fn: string, tensors: Record<string, Tensor>, zip: ZipWriter): Generator<void> {
  for (const [name, given] of Object.entries(tensors)) {
    const tensor = bare(given);
    ownScope(() => zip.add(`${name}.npy`, headOf(fn, tensor, `tensors.${name}`), flat(tensor)));
    yield;
  }
  zip.end();
  yield;
}

/** The bytes of a zip, one array at a time. */
function* chunksOfNpz(fn: string, tensors: Record<string, Tensor>): Generator<Uint8Array> {
  const parts: Uint8Array[] = [];
  const zip = new ZipWriter({ put: (bytes) => void parts.push(bytes) });
  for (const _ of addArrays(fn, tensors, zip)) yield* parts.splice(0);
}

/** An npz has no objects other than its arrays. */
const npzLimits = ['maxBytes', 'maxTensors'] as const;

/** `mmap` applies to arrays saved without compression; compressed ones cannot be mapped. */
export interface LoadNpzOptions<V extends string = Device>
  extends LoadNpyOptions<V>,
    Pick<LoadLimits, (typeof npzLimits)[number]> {}

/** The array of an entry, read directly from `bytes` if it is not compressed. */
function readEntry(bytes: TensorSource, zip: ZipReader, entry: ZipEntry, device: string | undefined): Tensor {
  if (entry.deflated) return read(inMemory(zip.data(entry), false), device);
  return zip.summed(entry, (start, sum) => {
    const { size } = entry;
    const header = readHeader({ size, read: (from, length) => bytes.read(start + from, length) });
    sum.add(bytes.read(start, header.start));
    const data: TensorSource = {
      size,
      read(from, length) {
        const part = bytes.read(start + from, length);
        sum.add(part);
        return part;
      },
      tensor: (from, length, itemSize) => bytes.tensor(start + from, length, itemSize, sum),
    };
    return read(data, device, header);
  });
}

function readAll(
  fn: string,
  bytes: TensorSource,
  device: string | undefined,
  limits: LoadLimits,
): Record<string, Tensor> {
  const budget = new Budget(fn, limits, bytes.size, failZip);
  const zip = new ZipReader(bytes, failZip, budget);
  demandEntries(zip.entries.keys(), wantedNpz);
  return ownScope(() => {
    const tensors: Record<string, Tensor> = {};
    for (const entry of zip.entries.values()) {
      const name = entry.name.replace(/\.npy$/, '');
      if (Object.hasOwn(tensors, name)) throw failZip(`duplicate array ${quote(name)}`);
      budget.tensor();
      const value = readEntry(bytes, zip, entry, device);
      // Not an assignment: an array may be called __proto__.
      Object.defineProperty(tensors, name, { value, writable: true, enumerable: true, configurable: true });
    }
    return tensors;
  });
}

/** Writes uncompressed arrays. Replaces the file once it is completely written. */
function saveNpz(tensors: Record<string, Tensor>, path: FilePath): void;
/** Writes uncompressed arrays, with NumPy's argument order. Replaces the file once it is completely written. */
function saveNpz(path: FilePath, tensors: Record<string, Tensor>): void;
function saveNpz(first: unknown, second: unknown): void {
  const { value: tensors, path } = valueAndPath('npz.save', first, second);
  checkTensors('npz.save', tensors);
  writeWhole(path, (file) => void [...addArrays('npz.save', tensors as Record<string, Tensor>, new ZipWriter(file))]);
}

/** Arrays by name in a zip: NumPy's `np.savez`, `np.savez_compressed` and `np.load`. */
export const npz = {
  /** Reads all arrays, by name. @throws ERR_TORCH_FILE if it is not an npz file, is damaged or exceeds a limit */
  load<const V extends string = Device>(
    source: FilePath | Uint8Array,
    options: LoadNpzOptions<V> = {},
  ): Record<string, Tensor> {
    const { device, mmap, ...limits } = ownOptions('npz.load', options, ['device', 'mmap', ...npzLimits]);
    return withSource(wantedNpz, source, mmap, (bytes) => readAll('npz.load', bytes, device, limits));
  },
  /** Reads all arrays from a stream, a Blob or bytes, to its end first: the directory of a zip is there. */
  loadFromStream: async <const V extends string = Device>(
    source: ByteSource,
    options: Omit<LoadNpzOptions<V>, 'mmap'> & StreamOptions = {},
  ): Promise<Record<string, Tensor>> => {
    const { device, ...how } = ownOptions('npz.loadFromStream', options, ['device', 'signal', ...npzLimits]);
    const bytes = await readStream('npz.loadFromStream', source, how, (reader) => reader.rest());
    const whole = inMemory(bytes, true);
    demandFormat(whole, wantedNpz);
    return namingLoader('npz.loadFromStream', () => readAll('npz.loadFromStream', whole, device, limitsOf(how)));
  },
  save: saveNpz,
  /** The bytes of a file as a ReadableStream, produced on demand. It keeps the tensors' memory alive. */
  saveToStream(tensors: Record<string, Tensor>): ByteStream {
    checkTensors('npz.saveToStream', tensors);
    const entries = Object.entries(tensors).map(([name, tensor]) => [name, bare(tensor)] as const);
    for (const [name, tensor] of entries) headOf('npz.saveToStream', tensor, `tensors.${name}`);
    const held = entries.map(([name, tensor]) => [name, tensor.detach() as Tensor] as const);
    return byteStream(
      chunksOfNpz('npz.saveToStream', Object.fromEntries(held)),
      held.map(([, tensor]) => tensor),
    );
  },
};
