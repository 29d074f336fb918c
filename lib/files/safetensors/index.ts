/**
 * `torch.safetensors`: tensors in files that hold nothing but tensors. A file is mapped into memory, so that a tensor's
 * bytes are read when they are used.
 */
import { types } from 'node:util';
import type { ByteSource, ByteStream, Device, NodeBuffer } from '../../../types/base';
import { fromTypedArray } from '../../create';
import { dtypeCodes } from '../../enums';
import { argumentError, codedError } from '../../errors';
import { spaces } from '../../functions';
import { ownOptions } from '../../options';
import { ownScope } from '../../scopes/scope';
import { bare } from '../../second-name';
import { isTensor, type Tensor } from '../../tensor';
import { bytesOfTensor, chunksOfTensor } from '../bytes';
import { MappedFile } from '../mapped';
import { byteStream, readStream, type StreamOptions } from '../stream';
import { writeWhole } from '../write';
import { dtypes, fileError, type Header, headerLength, MOST_HEADER, parseHeader, type TensorEntry } from './header';

export interface LoadOptions {
  /** Where the tensors go; on the CPU they share the file's mapping, or the memory of the bytes. */
  device?: Device | undefined;
}

export interface SaveOptions {
  /** Strings that go with the tensors. */
  metadata?: Record<string, string> | undefined;
}

/** Bytes that are there: of a file, or in memory. */
interface Source {
  readonly header: Header;
  /** The tensor of these bytes of the data, uint8 of one dimension. A view where `itemSize` lets it be one. */
  bytes(entry: TensorEntry, itemSize: number): Tensor;
}

class FileSource implements Source {
  readonly header: Header;
  readonly #file: MappedFile;

  constructor(path: string) {
    this.#file = new MappedFile(path, fileError);
    try {
      const { size } = this.#file;
      const length = headerLength(this.#file.read(0, Math.min(8, size)), size);
      this.header = parseHeader(this.#file.read(8, length), size - 8 - length);
    } catch (error) {
      this.#file.close();
      throw error;
    }
  }

  bytes({ begin, end }: TensorEntry, itemSize: number): Tensor {
    return this.#file.tensor(this.header.dataStart + begin, end - begin, itemSize);
  }

  close(): void {
    this.#file.close();
  }
}

function memorySource(data: Uint8Array): Source {
  const length = headerLength(data, data.byteLength);
  const header = parseHeader(data.subarray(8, 8 + length), data.byteLength - 8 - length);
  return {
    header,
    bytes({ begin, end }, itemSize) {
      const part = data.subarray(header.dataStart + begin, header.dataStart + end);
      return fromTypedArray(part.byteOffset % itemSize === 0 ? part : new Uint8Array(part));
    },
  };
}

const bytesOf = new Map(Object.values(dtypes));

function read(source: Source, entry: TensorEntry, device: Device | undefined): Tensor {
  const { dtype, shape } = entry;
  if (!dtypeCodes.has(dtype)) {
    throw codedError(Error, 'ERR_TORCH_FILE', `safetensors: this libtorch has no dtype '${dtype}'`);
  }
  return ownScope(() => {
    const options = device === undefined ? { dtype } : { dtype, device };
    if (entry.begin === entry.end) return (spaces['']!.empty as (...args: unknown[]) => Tensor)(shape, options);
    const raw = source.bytes(entry, bytesOf.get(dtype)!);
    // Bytes become booleans by another way: a view of them would have other values than 0 and 1 where a file has.
    const typed = dtype === 'bool' ? raw.ne(0) : raw.view(dtype);
    const shaped = typed.view([...shape]);
    return device === undefined || device === 'cpu' ? shaped : shaped.to({ device });
  }) as Tensor;
}

/** A file whose tensors are made one by one, when they are asked for. */
export class SafetensorsFile {
  readonly #source: FileSource;
  readonly #device: Device | undefined;

  /** Throws ERR_TORCH_FILE for a file whose header lies, and Node's error for one that cannot be read. */
  constructor(path: string, options: LoadOptions = {}) {
    const { device } = ownOptions('safetensors.open', options, ['device']);
    if (typeof path !== 'string') throw argumentError('safetensors.open', 'path', 'a string', path);
    this.#source = new FileSource(path);
    this.#device = device;
  }

  get metadata(): Readonly<Record<string, string>> {
    return this.#source.header.metadata;
  }

  keys(): string[] {
    return [...this.#source.header.entries.keys()];
  }

  has(name: string): boolean {
    return this.#source.header.entries.has(name);
  }

  /** Shape and dtype, without reading anything. */
  info(name: string): { dtype: TensorEntry['dtype']; shape: readonly number[] } {
    const { dtype, shape } = this.#entry(name);
    return { dtype, shape: [...shape] };
  }

  /** The tensor of that name. It keeps the mapping, also when the file is closed. */
  get(name: string): Tensor {
    return read(this.#source, this.#entry(name), this.#device);
  }

  #entry(name: string): TensorEntry {
    const entry = this.#source.header.entries.get(name);
    if (entry === undefined) throw argumentError('safetensors.get', 'name', 'the name of a tensor in the file', name);
    return entry;
  }

  /** Lets go of the mapping; tensors that came from it keep it. */
  close(): void {
    this.#source.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

/** Opens a file without reading its tensors. `using file = torch.safetensors.open('model.safetensors')`. */
export function open(path: string, options: LoadOptions = {}): SafetensorsFile {
  return new SafetensorsFile(path, options);
}

/**
 * All tensors of a file, or of bytes in memory, by name. On the CPU nothing is copied where the bytes are aligned: tensors of
 * a file share its (private) mapping, those of a Buffer its memory.
 *
 * @throws ERR_TORCH_FILE for what is no safetensors file, or lies about itself
 */
export function load(source: string | Uint8Array, options: LoadOptions = {}): Record<string, Tensor> {
  const { device } = ownOptions('safetensors.load', options, ['device']);
  if (typeof source === 'string') {
    const file = new FileSource(source);
    try {
      return readAll(file, device);
    } finally {
      file.close();
    }
  }
  if (!(source instanceof Uint8Array) && !types.isUint8Array(source)) {
    throw argumentError('safetensors.load', 'source', 'a path or a Uint8Array', source);
  }
  return readAll(memorySource(source), device);
}

function readAll(source: Source, device: Device | undefined): Record<string, Tensor> {
  return ownScope(() => {
    const tensors: Record<string, Tensor> = {};
    for (const [name, entry] of source.header.entries) {
      // Not an assignment: a tensor may be called __proto__.
      Object.defineProperty(tensors, name, {
        value: read(source, entry, device),
        writable: true,
        enumerable: true,
        configurable: true,
      });
    }
    return tensors;
  });
}

/**
 * All tensors of a file that comes as a stream, a Blob or bytes. Each is read into memory of its own, which nothing copies
 * afterwards; the source is asked for no more than is wanted. The header is checked before any tensor is waited for.
 *
 * @throws ERR_TORCH_FILE as `load` does, ERR_TORCH_STREAM for a stream that fails or ends too early
 */
export async function loadFromStream(
  source: ByteSource,
  options: LoadOptions & StreamOptions = {},
): Promise<Record<string, Tensor>> {
  const { device, ...how } = ownOptions('safetensors.loadFromStream', options, ['device', 'signal', 'maxBytes']);
  return readStream('safetensors.loadFromStream', source, how, async (reader) => {
    const length = headerLength(await reader.take(8, 'its length'), Number.MAX_SAFE_INTEGER);
    const header = parseHeader(await reader.take(length, 'the header'), null);
    const data = new Map<TensorEntry, Uint8Array>();
    const inOrder = [...header.entries].sort(([, a], [, b]) => a.begin - b.begin || a.end - b.end);
    for (const [name, entry] of inOrder) {
      data.set(entry, await reader.take(entry.end - entry.begin, `tensor ${JSON.stringify(name)}`));
    }
    if (!(await reader.isAtEnd()))
      throw fileError(`the tensors have ${reader.at - length - 8} bytes, more bytes follow`);
    return readAll({ header, bytes: (entry) => fromTypedArray(data.get(entry)!) }, device);
  });
}

const namesOf = new Map(Object.entries(dtypes).map(([name, [dtype]]) => [dtype, name]));

interface Part {
  name: string;
  tensor: Tensor;
  dtype: string;
  bytes: number;
}

/** What is written, in the format's order: the widest dtypes first, so that all are aligned, then by name. */
function partsOf(fn: string, tensors: Record<string, Tensor>): Part[] {
  if (typeof tensors !== 'object' || tensors === null || isTensor(tensors)) {
    throw argumentError(fn, 'tensors', 'an object of Tensors', tensors);
  }
  const parts = Object.entries(tensors).map(([name, given]): Part => {
    const tensor = bare(given);
    if (!isTensor(tensor)) throw argumentError(fn, `tensors.${name}`, 'a Tensor', tensor);
    if (name === '__metadata__') throw argumentError(fn, 'tensors', 'names other than __metadata__', name);
    const dtype = namesOf.get(tensor.dtype);
    if (dtype === undefined || tensor.layout !== 'strided') {
      throw argumentError(fn, `tensors.${name}`, 'a dense Tensor of a dtype that safetensors has', tensor);
    }
    return { name, tensor, dtype, bytes: tensor.nbytes };
  });
  const size = ({ dtype }: Part) => dtypes[dtype]![1];
  return parts.sort((a, b) => size(b) - size(a) || (a.name < b.name ? -1 : 1));
}

function headerOf(parts: readonly Part[], metadata: Record<string, string> | undefined): Buffer {
  const fields: string[] = [];
  if (metadata !== undefined) {
    for (const [key, value] of Object.entries(metadata)) {
      if (typeof value !== 'string') throw argumentError('safetensors.save', `metadata.${key}`, 'a string', value);
    }
    fields.push(`"__metadata__":${JSON.stringify(metadata)}`);
  }
  let at = 0;
  for (const { name, tensor, dtype, bytes } of parts) {
    const entry = { dtype, shape: tensor.shape, data_offsets: [at, at + bytes] };
    fields.push(`${JSON.stringify(name)}:${JSON.stringify(entry)}`);
    at += bytes;
  }
  const text = Buffer.from(`{${fields.join(',')}}`);
  // Spaces up to a multiple of 8, so that the data is aligned in the file.
  const length = Math.ceil(text.length / 8) * 8;
  if (length > MOST_HEADER) throw fileError(`a header of ${length} bytes, at most ${MOST_HEADER} are allowed`);
  const header = Buffer.alloc(8 + length, ' ');
  header.writeBigUInt64LE(BigInt(length));
  text.copy(header, 8);
  return header;
}

/** The bytes of a file with these tensors. Tensors that share memory are written each by itself. */
export function serialize(tensors: Record<string, Tensor>, options: SaveOptions = {}): NodeBuffer {
  const { metadata } = ownOptions('safetensors.serialize', options, ['metadata']);
  const parts = partsOf('safetensors.serialize', tensors);
  return Buffer.concat([headerOf(parts, metadata), ...parts.map(({ tensor }) => bytesOfTensor(tensor))]);
}

/** Writes a file, one tensor at a time. It takes its place when it is whole; what was there before is there until then. */
export function save(path: string, tensors: Record<string, Tensor>, options: SaveOptions = {}): void {
  const { metadata } = ownOptions('safetensors.save', options, ['metadata']);
  if (typeof path !== 'string') throw argumentError('safetensors.save', 'path', 'a string', path);
  const parts = partsOf('safetensors.save', tensors);
  const header = headerOf(parts, metadata);
  writeWhole(path, (put) => {
    put(header);
    for (const { tensor } of parts) put(bytesOfTensor(tensor));
  });
}

/**
 * The same bytes as a ReadableStream, made as they are read: a megabyte at a time. It holds the tensors' memory by itself, so
 * they may be disposed of meanwhile.
 */
export function saveToStream(tensors: Record<string, Tensor>, { metadata }: SaveOptions = {}): ByteStream {
  const parts = partsOf('safetensors.saveToStream', tensors);
  const header = headerOf(parts, metadata);
  const held = parts.map(({ tensor }) => tensor.detach() as Tensor);
  function* chunks(): Generator<Uint8Array> {
    yield header;
    for (const tensor of held) yield* chunksOfTensor(tensor);
  }
  return byteStream(chunks(), held);
}
