/**
 * The header of a safetensors file: 8 bytes of length, then JSON. It is untrusted input, so it is checked completely before
 * any data is read. (Format: huggingface/safetensors.)
 */
import { TextDecoder } from 'node:util';
import type { DType } from '../../../types/base';
import { codedError, type TorchError } from '../../errors/errors';
import { elementsOf, quote, showShape } from '../names';

/** The largest header that the format allows, in bytes. */
export const MAX_HEADER = 100_000_000;

/** The dtype of each name in the file, and bytes per element. */
export const dtypes: Readonly<Record<string, readonly [dtype: DType, bytes: number]>> = {
  BOOL: ['bool', 1],
  U8: ['uint8', 1],
  I8: ['int8', 1],
  F8_E5M2: ['float8_e5m2', 1],
  F8_E4M3: ['float8_e4m3fn', 1],
  I16: ['int16', 2],
  U16: ['uint16', 2],
  F16: ['float16', 2],
  BF16: ['bfloat16', 2],
  I32: ['int32', 4],
  U32: ['uint32', 4],
  F32: ['float32', 4],
  C64: ['complex64', 8],
  F64: ['float64', 8],
  I64: ['int64', 8],
  U64: ['uint64', 8],
};

/** The header entry of one tensor. */
export interface TensorEntry {
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** Offset of its first byte, from the end of the header. */
  readonly begin: number;
  readonly end: number;
}

export interface Header {
  /** Offset of the data in the file. */
  readonly dataStart: number;
  readonly metadata: Readonly<Record<string, string>>;
  readonly entries: ReadonlyMap<string, TensorEntry>;
}

/** The error for an invalid file. */
export const fileError = (what: string): TorchError => codedError(Error, 'ERR_TORCH_FILE', `safetensors: ${what}`);

/** The length of the header, from the first 8 bytes of a file of `size` bytes. */
export function headerLength(first: Uint8Array, size: number): number {
  if (size < 8 || first.length < 8) throw fileError(`expected at least 8 bytes, got ${size}`);
  const length = new DataView(first.buffer, first.byteOffset, 8).getBigUint64(0, true);
  if (length > BigInt(MAX_HEADER)) throw fileError(`expected a header of at most ${MAX_HEADER} bytes, got ${length}`);
  if (Number(length) > size - 8)
    throw fileError(`the header has ${length} bytes, but the file ends after ${size - 8} of them`);
  return Number(length);
}

/** Parses a header. `dataBytes` is the number of bytes that follow it, null for a stream. */
export function parseHeader(bytes: Uint8Array, dataBytes: number | null): Header {
  if (bytes[0] !== 0x7b) throw fileError('the header does not begin with {');
  const text = readJson(() => new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  refuseAmbiguous(text); // before parsing: deeply nested values are expensive to build and to show
  const parsed = readJson(() => JSON.parse(text) as Record<string, unknown>);
  const entries = new Map<string, TensorEntry>();
  let metadata: Record<string, string> = {};
  for (const [name, value] of Object.entries(parsed)) {
    if (name === '__metadata__') metadata = readMetadata(value);
    else entries.set(name, readEntry(name, value));
  }
  refuseHoles(entries, dataBytes);
  return { dataStart: 8 + bytes.length, metadata, entries };
}

function readJson<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw fileError(`the header is not JSON: ${quote((error as Error).message)}`);
  }
}

/** The header, its entries and their lists. */
const MAX_DEPTH = 3;

/**
 * Refuses duplicate keys (JSON.parse takes the last, another reader may take the first) and nesting deeper than a valid
 * header has. Text that is not JSON is left to the parser.
 */
function refuseAmbiguous(text: string): void {
  const open: Set<string>[] = [];
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const token = text[at];
    if (token === '{' || token === '[') {
      if (++depth > MAX_DEPTH) throw fileError('the header is nested too deeply');
      if (token === '{') open.push(new Set());
    } else if (token === '}' || token === ']') {
      depth--;
      if (token === '}') open.pop();
    } else if (token === '"') {
      const end = endOfString(text, at);
      if (isBeforeColon(text, end)) refuseDuplicate(text.slice(at, end), open.at(-1));
      at = end - 1;
    }
  }
}

/** The position after the closing quote. Not a regular expression, whose stack a long string would overflow. */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}

function isBeforeColon(text: string, from: number): boolean {
  let at = from;
  while (at < text.length && ' \n\r\t'.includes(text[at]!)) at++;
  return text[at] === ':';
}

function refuseDuplicate(quoted: string, keys: Set<string> | undefined): void {
  const key = readJson(() => JSON.parse(quoted) as string);
  if (keys?.has(key)) throw fileError(`duplicate key ${quote(key)}`);
  keys?.add(key);
}

function readMetadata(value: unknown): Record<string, string> {
  const isRecord = typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!isRecord || Object.values(value).some((text) => typeof text !== 'string')) {
    throw fileError('__metadata__ is not an object of strings');
  }
  return value as Record<string, string>;
}

const isSize = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

function readEntry(name: string, value: unknown): TensorEntry {
  const bad = (what: string) => fileError(`tensor ${quote(name)}: ${what}`);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw bad('expected an object');
  const { dtype, shape, data_offsets: offsets, ...rest } = value as Record<string, unknown>;
  const [extra] = Object.keys(rest);
  if (extra !== undefined) throw bad(`unknown key ${quote(extra)}`);
  const known = typeof dtype === 'string' && Object.hasOwn(dtypes, dtype) ? dtypes[dtype] : undefined;
  if (known === undefined) throw bad(`unknown dtype ${quote(dtype)}`);
  if (!Array.isArray(shape) || !shape.every(isSize)) throw bad('shape is not a list of sizes');
  if (!Array.isArray(offsets) || offsets.length !== 2 || !offsets.every(isSize)) {
    throw bad('data_offsets is not two offsets');
  }
  const [begin, end] = offsets as [number, number];
  const elements = elementsOf(shape);
  if (elements === undefined) throw bad(`shape ${showShape(shape)} has more elements than can be counted`);
  const bytes = elements * known[1];
  if (begin > end || bytes !== end - begin) {
    throw bad(`${dtype} of shape ${showShape(shape)} takes ${bytes} bytes, data_offsets give it ${end - begin}`);
  }
  return { dtype: known[0], shape, begin, end };
}

/** Tensors must be contiguous and cover all of the data. */
function refuseHoles(entries: ReadonlyMap<string, TensorEntry>, dataBytes: number | null): void {
  const sorted = [...entries].sort(([, a], [, b]) => a.begin - b.begin || a.end - b.end);
  let at = 0;
  for (const [name, { begin, end }] of sorted) {
    if (begin !== at) {
      const what = begin < at ? 'overlaps the one before it' : `leaves a gap of ${begin - at} bytes before it`;
      throw fileError(`tensor ${quote(name)} ${what}`);
    }
    at = end;
  }
  if (dataBytes !== null && at !== dataBytes)
    throw fileError(`the tensors take ${at} bytes, the file has ${dataBytes} bytes of data`);
}
