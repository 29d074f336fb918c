/**
 * `torch.safetensors`: tensors in files that hold nothing but tensors.
 */
import type { ByteSource, ByteStream, Device, DeviceLike, NodeBuffer } from '../../../types/base';
import { dtypeCodes } from '../../addon/enums';
import { ownOptions } from '../../addon/options';
import { spaces } from '../../call/functions';
import { argumentError, codedError, disposedError } from '../../errors/errors';
import { ownScope } from '../../lifetimes/scope';
import { bare } from '../../tensor/second-name';
import { isTensor, type Tensor } from '../../tensor/tensor';
import { bytesOfTensor, chunksOfTensor, flat, namingLoader } from '../bytes';
import { RegularFile } from '../file';
import { demandBeginning, demandFormat } from '../formats';
import { demandName, demandNamed } from '../named';
import { type FilePath, pathOf, valueAndPath } from '../paths';
import { type MapOptions, mayShare, type TensorSource, type Wanted, withSource } from '../source';
import { byteStream, readStream, type StreamOptions } from '../stream';
import { writeWhole } from '../write';
import { dtypes, fileError, type Header, headerLength, MAX_HEADER, parseHeader, type TensorEntry } from './header';

export interface LoadOptions<V extends string = Device> extends MapOptions {
  /** The device of the tensors (default: the CPU). */
  device?: DeviceLike<V> | undefined;
}

const wanted: Wanted = { fn: 'safetensors.load', format: 'safetensors', fail: fileError };

export interface SaveOptions {
  /** Strings stored with the tensors. */
  metadata?: Record<string, string> | undefined;
}

/** A file whose header was parsed. */
interface Source {
  readonly header: Header;
  /** The bytes of an entry as a one-dimensional uint8 tensor. */
  bytes(entry: TensorEntry, itemSize: number): Tensor;
}

function sourceOf(all: TensorSource): Source {
  const { size } = all;
  const length = headerLength(all.read(0, Math.min(8, size)), size);
  const header = parseHeader(all.read(8, length), size - 8 - length);
  return {
    header,
    bytes: ({ begin, end }, itemSize) => all.tensor(header.dataStart + begin, end - begin, itemSize),
  };
}

const bytesOf = new Map(Object.values(dtypes));

function read(source: Source, entry: TensorEntry, device: string | undefined): Tensor {
  const { dtype, shape } = entry;
  if (!dtypeCodes.has(dtype)) {
    throw codedError(Error, 'ERR_TORCH_FILE', `safetensors: this libtorch has no dtype '${dtype}'`);
  }
  return ownScope(() => {
    const options = device === undefined ? { dtype } : { dtype, device };
    if (entry.begin === entry.end) return (spaces['']!.empty as (...args: unknown[]) => Tensor)(shape, options);
    const raw = source.bytes(entry, bytesOf.get(dtype)!);
    // Not a view for bool: the file may have values other than 0 and 1.
    const typed = dtype === 'bool' ? raw.ne(0) : raw.view(dtype);
    const shaped = typed.view([...shape]);
    return device === undefined || device === 'cpu' ? shaped : shaped.to({ device });
  }) as Tensor;
}

/** A file whose tensors are loaded one by one, on request. It keeps the file open until close(). */
export class SafetensorsFile {
  readonly #file: RegularFile;
  readonly #source: Source;
  readonly #device: string | undefined;

  /** Throws ERR_TORCH_FILE for an invalid header, and Node's error for a file that cannot be read. */
  constructor(path: FilePath, options: LoadOptions = {}) {
    const { device, mmap } = ownOptions('safetensors.open', options, ['device', 'mmap']);
    const share = mayShare('safetensors.open', mmap);
    this.#file = new RegularFile(pathOf('safetensors.open', 'path', path), fileError, { mmap: share });
    try {
      demandFormat(this.#file, wanted);
      this.#source = sourceOf(this.#file);
    } catch (error) {
      this.#file.close();
      throw error;
    }
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

  /** Shape and dtype, without reading the data. */
  info(name: string): { dtype: TensorEntry['dtype']; shape: readonly number[] } {
    const { dtype, shape } = this.#entry(name);
    return { dtype, shape: [...shape] };
  }

  /**
   * The tensor of that name: read now into its own memory or, with `mmap`, a view of the mapping, which stays alive after
   * close(). Throws ERR_TORCH_FILE if the file was modified since it was opened.
   */
  get(name: string): Tensor {
    const entry = this.#entry(name);
    return ownScope(() => {
      const tensor = namingLoader('safetensors.get', () => read(this.#source, entry, this.#device));
      this.#file.demandUnchanged();
      return tensor;
    });
  }

  #entry(name: string): TensorEntry {
    const entry = this.#source.header.entries.get(name);
    if (entry === undefined) throw argumentError('safetensors.get', 'name', 'the name of a tensor in the file', name);
    return entry;
  }

  /** Closes the file. Its tensors stay valid. */
  close(): void {
    this.#file.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

/** Opens a file without reading its tensors. `using file = torch.safetensors.open('model.safetensors')`. */
export function open<const V extends string = Device>(path: FilePath, options: LoadOptions<V> = {}): SafetensorsFile {
  const given: MapOptions & { device?: string | undefined } = options;
  return new SafetensorsFile(path, given as LoadOptions);
}

/**
 * All tensors of a file, or of bytes in memory, by name. They are copied into their own memory; `mmap` maps the file
 * instead, or shares the memory of the bytes.
 *
 * @throws ERR_TORCH_FILE if it is not a safetensors file, or its header does not match its data
 */
export function load<const V extends string = Device>(
  source: FilePath | Uint8Array,
  options: LoadOptions<V> = {},
): Record<string, Tensor> {
  const { device, mmap } = ownOptions('safetensors.load', options, ['device', 'mmap']);
  return withSource(wanted, source, mmap, (bytes) => readAll(sourceOf(bytes), device));
}

function readAll(source: Source, device: string | undefined): Record<string, Tensor> {
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
 * All tensors of a file from a stream, a Blob or bytes. Each is read into its own memory without a further copy, and nothing
 * is read ahead. The header is checked before the first tensor is read.
 *
 * @throws ERR_TORCH_FILE as `load` does, ERR_TORCH_STREAM if the stream fails or ends early
 */
export async function loadFromStream<const V extends string = Device>(
  source: ByteSource,
  options: Omit<LoadOptions<V>, 'mmap'> & StreamOptions = {},
): Promise<Record<string, Tensor>> {
  const { device, ...how } = ownOptions('safetensors.loadFromStream', options, ['device', 'signal', 'maxBytes']);
  return readStream('safetensors.loadFromStream', source, how, async (reader) => {
    const first = await reader.take(8, 'its length');
    demandBeginning(first, wanted);
    const length = headerLength(first, Number.MAX_SAFE_INTEGER);
    const header = parseHeader(await reader.take(length, 'the header'), null);
    const data = new Map<TensorEntry, Tensor>();
    const inOrder = [...header.entries].sort(([, a], [, b]) => a.begin - b.begin || a.end - b.end);
    try {
      for (const [name, entry] of inOrder) {
        data.set(entry, await reader.takeTensor(entry.end - entry.begin, `tensor ${JSON.stringify(name)}`));
      }
      if (!(await reader.isAtEnd())) throw fileError(`expected ${reader.at - length - 8} bytes of data, got more`);
      return readAll({ header, bytes: (entry) => data.get(entry)! }, device);
    } finally {
      for (const bytes of data.values()) bytes.dispose();
    }
  });
}

const namesOf = new Map(Object.entries(dtypes).map(([name, [dtype]]) => [dtype, name]));

interface Part {
  name: string;
  tensor: Tensor;
  dtype: string;
  bytes: number;
}

/** The tensors to write, in the format's order: the widest dtypes first, so that all are aligned, then by name. */
function partsOf(fn: string, tensors: Record<string, Tensor>): Part[] {
  const expected = 'an object of Tensors by name';
  if (Array.isArray(tensors)) throw argumentError(fn, 'tensors', expected, tensors); // it would be saved by its indices
  demandNamed(fn, 'tensors', expected, tensors);
  const parts = Object.entries(tensors).map(([name, given]): Part => {
    const tensor = bare(given);
    if (!isTensor(tensor)) throw argumentError(fn, `tensors.${name}`, 'a Tensor', tensor);
    demandName(fn, 'tensors', name);
    if (name === '__metadata__') throw argumentError(fn, 'tensors', 'names other than __metadata__', name);
    if (tensor.disposed) throw disposedError(fn, tensor._handle, `tensors.${name}`);
    const dtype = namesOf.get(tensor.dtype);
    if (dtype === undefined || tensor.layout !== 'strided') {
      throw argumentError(fn, `tensors.${name}`, 'a dense Tensor of a dtype that safetensors supports', tensor);
    }
    return { name, tensor, dtype, bytes: tensor.nbytes };
  });
  const size = ({ dtype }: Part) => dtypes[dtype]![1];
  return parts.sort((a, b) => size(b) - size(a) || (a.name < b.name ? -1 : 1));
}

function headerOf(parts: readonly Part[], metadata: Record<string, string> | undefined): Buffer {
  const fields: string[] = [];
  if (metadata !== undefined) {
    demandNamed('safetensors.save', 'metadata', 'an object of strings', metadata);
    for (const [key, value] of Object.entries(metadata)) {
      if (typeof value !== 'string') throw argumentError('safetensors.save', `metadata.${key}`, 'a string', value);
      for (const text of [key, value]) demandName('safetensors.save', 'metadata', text);
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
  // Padded with spaces to a multiple of 8, so that the data is aligned in the file.
  const length = Math.ceil(text.length / 8) * 8;
  if (length > MAX_HEADER) throw fileError(`expected a header of at most ${MAX_HEADER} bytes, got ${length}`);
  const header = Buffer.alloc(8 + length, ' ');
  header.writeBigUInt64LE(BigInt(length));
  text.copy(header, 8);
  return header;
}

/** The bytes of a file with these tensors. Tensors that share memory are each written in full. */
export function serialize(tensors: Record<string, Tensor>, options: SaveOptions = {}): NodeBuffer {
  const { metadata } = ownOptions('safetensors.serialize', options, ['metadata']);
  const parts = partsOf('safetensors.serialize', tensors);
  return Buffer.concat([headerOf(parts, metadata), ...parts.map(({ tensor }) => bytesOfTensor(tensor))]);
}

/** Writes a file, one tensor at a time. It replaces an existing file once it is completely written. */
export function save(tensors: Record<string, Tensor>, path: FilePath, options?: SaveOptions): void;
/** Writes a file, with the path first. It replaces an existing file once it is completely written. */
export function save(path: FilePath, tensors: Record<string, Tensor>, options?: SaveOptions): void;
export function save(first: unknown, second: unknown, options: SaveOptions = {}): void {
  const { metadata } = ownOptions('safetensors.save', options, ['metadata']);
  const { value, path } = valueAndPath('safetensors.save', first, second);
  const parts = partsOf('safetensors.save', value as Record<string, Tensor>);
  const header = headerOf(parts, metadata);
  writeWhole(path, (file) => {
    file.put(header);
    for (const { tensor } of parts) ownScope(() => file.putTensor(flat(tensor)));
  });
}

/**
 * The bytes of a file as a ReadableStream, produced on demand, 1 MiB at a time. It keeps the tensors' memory alive, so they may
 * be disposed meanwhile.
 */
export function saveToStream(tensors: Record<string, Tensor>, options: SaveOptions = {}): ByteStream {
  const { metadata } = ownOptions('safetensors.saveToStream', options, ['metadata']);
  const parts = partsOf('safetensors.saveToStream', tensors);
  const header = headerOf(parts, metadata);
  const held = parts.map(({ tensor }) => tensor.detach() as Tensor);
  function* chunks(): Generator<Uint8Array> {
    yield header;
    for (const tensor of held) yield* chunksOfTensor(tensor);
  }
  return byteStream(chunks(), held);
}
