/**
 * The header of a safetensors file: 8 bytes of length, then JSON. It comes from strangers, so everything in it is checked
 * before a byte of data is looked at. (Format: huggingface/safetensors.)
 */
import type { DType } from '../../../types/base';
import { codedError, type TorchError } from '../../errors';

/** The largest header that the format allows, in bytes. */
export const MOST_HEADER = 100_000_000;

/** Names in the file, and bytes an element. */
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

/** What a file says of one tensor. */
export interface TensorEntry {
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** Where its elements lie, in bytes from the end of the header. */
  readonly begin: number;
  readonly end: number;
}

export interface Header {
  /** Bytes before the data. */
  readonly dataStart: number;
  readonly metadata: Readonly<Record<string, string>>;
  readonly entries: ReadonlyMap<string, TensorEntry>;
}

/** A file that is not what it says. */
export const fileError = (what: string): TorchError => codedError(Error, 'ERR_TORCH_FILE', `safetensors: ${what}`);

/** The length of the header by the first 8 bytes of a file of `size` bytes. */
export function headerLength(first: Uint8Array, size: number): number {
  if (size < 8 || first.length < 8) throw fileError(`expected at least 8 bytes, got ${size}`);
  const length = new DataView(first.buffer, first.byteOffset, 8).getBigUint64(0, true);
  if (length > BigInt(MOST_HEADER)) throw fileError(`a header of ${length} bytes, at most ${MOST_HEADER} are allowed`);
  if (Number(length) > size - 8)
    throw fileError(`the header has ${length} bytes, the file ends after ${size - 8} of them`);
  return Number(length);
}

/** Reads a header; `dataBytes` is what follows it, null where nobody knows yet. */
export function parseHeader(bytes: Uint8Array, dataBytes: number | null): Header {
  if (bytes[0] !== 0x7b) throw fileError('the header does not begin with {');
  let text: string;
  let parsed: unknown;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    parsed = JSON.parse(text);
  } catch (error) {
    throw fileError(`the header is no JSON: ${(error as Error).message}`);
  }
  refuseDuplicates(text);
  const entries = new Map<string, TensorEntry>();
  let metadata: Record<string, string> = {};
  for (const [name, value] of Object.entries(parsed as Record<string, unknown>)) {
    if (name === '__metadata__') metadata = readMetadata(value);
    else entries.set(name, readEntry(name, value));
  }
  refuseHoles(entries, dataBytes);
  return { dataStart: 8 + bytes.length, metadata, entries };
}

/** JSON.parse takes the last of equal keys; another reader may take the first. */
function refuseDuplicates(text: string): void {
  const open: Set<string>[] = [];
  const tokens = /"(?:[^"\\]|\\.)*"(\s*:)?|[{}]/g;
  for (const [token, colon] of text.matchAll(tokens)) {
    if (token === '{') open.push(new Set());
    else if (token === '}') open.pop();
    else if (colon !== undefined) {
      const key = JSON.parse(token.slice(0, token.lastIndexOf('"') + 1)) as string;
      const keys = open[open.length - 1]!;
      if (keys.has(key)) throw fileError(`the key ${JSON.stringify(key)} comes twice`);
      keys.add(key);
    }
  }
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
  const bad = (what: string) => fileError(`tensor ${JSON.stringify(name)}: ${what}`);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw bad('expected an object');
  const { dtype, shape, data_offsets: offsets, ...rest } = value as Record<string, unknown>;
  const [extra] = Object.keys(rest);
  if (extra !== undefined) throw bad(`unknown key ${JSON.stringify(extra)}`);
  const known = typeof dtype === 'string' && Object.hasOwn(dtypes, dtype) ? dtypes[dtype] : undefined;
  if (known === undefined) throw bad(`unknown dtype ${JSON.stringify(dtype)}`);
  if (!Array.isArray(shape) || !shape.every(isSize)) throw bad('shape is not a list of sizes');
  if (!Array.isArray(offsets) || offsets.length !== 2 || !offsets.every(isSize)) {
    throw bad('data_offsets are not two offsets');
  }
  const [begin, end] = offsets as [number, number];
  let bytes = BigInt(known[1]);
  for (const size of shape) bytes *= BigInt(size);
  if (begin > end || bytes !== BigInt(end - begin)) {
    throw bad(`${dtype} of shape [${shape.join(', ')}] has ${bytes} bytes, data_offsets give it ${end - begin}`);
  }
  return { dtype: known[0], shape, begin, end };
}

/** The tensors lie one after the other and fill the data. */
function refuseHoles(entries: ReadonlyMap<string, TensorEntry>, dataBytes: number | null): void {
  const sorted = [...entries].sort(([, a], [, b]) => a.begin - b.begin || a.end - b.end);
  let at = 0;
  for (const [name, { begin, end }] of sorted) {
    if (begin !== at) {
      const what = begin < at ? 'overlaps the one before it' : `leaves a gap of ${begin - at} bytes before it`;
      throw fileError(`tensor ${JSON.stringify(name)} ${what}`);
    }
    at = end;
  }
  if (dataBytes !== null && at !== dataBytes)
    throw fileError(`the tensors have ${at} bytes, the file has ${dataBytes} bytes of data`);
}
