/** Parquet files, through the program's `hyparquet`. */

import { open } from 'node:fs/promises';
import { ownOptions } from '../../addon/options';
import type { TypedArray } from '../../elements/create';
import { upTo } from '../../errors/arity';
import { argumentError } from '../../errors/errors';
import { importPeer } from '../../errors/peer';
import { type FilePath, pathOf } from '../../files/paths';
import { disposeAll } from '../../lifetimes/movable';
import { isTypedArray } from '../../tensor/nested';
import { define } from '../arguments';
import { IterableDataset } from '../dataset';
import { type Columns, columnOf, fileError, joined, namesOf } from './columns';
import { type Cursor, placeOf } from './cursor';

const FN = 'utils.data.readParquet';

/** The parts of hyparquet that are used here. */
interface AsyncBuffer {
  readonly byteLength: number;
  slice(start: number, end?: number): Promise<ArrayBuffer>;
}
interface Range {
  readonly rowStart: number;
  readonly rowEnd: number;
}
interface Metadata {
  readonly row_groups: readonly { readonly num_rows: bigint }[];
}
interface Schema {
  readonly children: readonly Schema[];
  readonly element: {
    readonly name: string;
    readonly type?: string;
    readonly converted_type?: string;
    readonly logical_type?: { readonly isSigned?: boolean; readonly bitWidth?: number };
  };
}
interface Hyparquet {
  parquetMetadataAsync(file: AsyncBuffer): Promise<Metadata>;
  parquetSchema(metadata: Metadata): Schema;
  parquetScan(options: object): Promise<{
    readonly ranges: readonly Range[];
    readColumn(of: Range & { column: string }): Promise<ArrayLike<unknown>>;
  }>;
}

export interface ReadParquetOptions {
  /** Names of the columns (default: all). */
  columns?: readonly string[] | undefined;
  /** The first row, and the row after the last one. */
  rowStart?: number | undefined;
  rowEnd?: number | undefined;
  /** Codecs beyond Snappy and no compression: `compressors` of the package `hyparquet-compressors`. */
  compressors?: object | undefined;
}
const known = ['columns', 'rowStart', 'rowEnd', 'compressors'] as const;

interface Opened {
  readonly file: AsyncBuffer;
  readonly metadata: Metadata;
  readonly hyparquet: Hyparquet;
  readonly schema: readonly Schema[];
  readonly names: readonly string[];
  readonly rows: number;
}

/** What hyparquet says of a damaged file, with a code. Errors that have one pass unchanged. */
function coded(fn: string, path: string, error: unknown): unknown {
  if ((error as { code?: unknown }).code !== undefined) return error;
  return Object.assign(fileError(fn, `${path}: ${(error as Error).message}`), { cause: error });
}

/** Runs `use` on the open file, and closes it. */
async function opened<T>(fn: string, path: FilePath, use: (opened: Opened) => Promise<T>): Promise<T> {
  const hyparquet = (await importPeer(fn, 'hyparquet')) as Hyparquet;
  const name = pathOf(fn, 'path', path);
  const handle = await open(name);
  try {
    const { size } = await handle.stat();
    const file: AsyncBuffer = {
      byteLength: size,
      async slice(start, end = size) {
        if (!(start >= 0 && end <= size)) throw fileError(fn, `${name}: the file is truncated`);
        const bytes = new Uint8Array(Math.max(0, end - start));
        let got = 0;
        while (got < bytes.length) {
          const { bytesRead } = await handle.read(bytes, got, bytes.length - got, start + got);
          if (bytesRead === 0) throw fileError(fn, `${name}: the file is truncated`);
          got += bytesRead;
        }
        return bytes.buffer;
      },
    };
    const metadata = await hyparquet.parquetMetadataAsync(file);
    const schema = hyparquet.parquetSchema(metadata).children;
    const names = schema.map(({ element }) => element.name);
    const rows = metadata.row_groups.reduce((sum, group) => sum + Number(group.num_rows), 0);
    return await use({ file, metadata, hyparquet, schema, names, rows });
  } catch (error) {
    throw coded(fn, name, error);
  } finally {
    await handle.close();
  }
}

/** The values of columns in a range of rows, in the parts that the row groups give. */
async function partsOf(
  { file, metadata, hyparquet }: Opened,
  columns: readonly string[],
  { rowStart, rowEnd }: Range,
  compressors: object | undefined,
): Promise<Map<string, ArrayLike<unknown>[]>> {
  const parts = new Map(columns.map((column) => [column, [] as ArrayLike<unknown>[]]));
  if (rowStart >= rowEnd) return parts;
  const options = { file, metadata, columns: [...columns], rowStart, rowEnd };
  const scan = await hyparquet.parquetScan(compressors === undefined ? options : { ...options, compressors });
  for (const range of scan.ranges) {
    for (const [column, list] of parts) list.push(await scan.readColumn({ ...range, column }));
  }
  return parts;
}

const flat = (parts: readonly ArrayLike<unknown>[]): unknown[] => parts.flatMap((part) => Array.from(part));

const DTYPES = { DOUBLE: 'float64', FLOAT: 'float32', INT32: 'int32', INT64: 'int64', BOOLEAN: 'bool' } as const;

/** The dtype of a column, or of the numbers in its lists: lists of numbers that may be null do not tell it themselves. */
function dtypeOf(name: string, column: Schema | undefined): (typeof DTYPES)[keyof typeof DTYPES] | undefined {
  let leaf = column;
  while (leaf?.children.length === 1) leaf = leaf.children[0];
  if (leaf === undefined || leaf.children.length > 0) return undefined;
  const { type = '', converted_type: converted = '', logical_type: logical } = leaf.element;
  if (/^UINT_(32|64)$/.test(converted) || (logical?.isSigned === false && logical.bitWidth! >= 32)) {
    throw fileError(FN, `column '${name}' has unsigned integers, expected signed ones`);
  }
  return converted === 'DECIMAL' ? 'float64' : DTYPES[type as keyof typeof DTYPES];
}

/** A row's number, if one was passed. */
function rowOf(name: 'rowStart' | 'rowEnd', value: unknown): void {
  if (value === undefined || (Number.isSafeInteger(value) && (value as number) >= 0)) return;
  throw argumentError(FN, `options.${name}`, 'an integer of 0 or more', value);
}

function wantedOf(fn: string, given: readonly string[] | undefined, names: readonly string[]): readonly string[] {
  const columns = namesOf(fn, given);
  for (const name of columns ?? []) {
    if (!names.includes(name)) throw argumentError(fn, 'options.columns', `names from ${names.join(', ')}`, name);
  }
  return columns ?? names;
}

/**
 * The columns of a Parquet file: numbers and booleans are tensors, strings a list. Only the requested columns, and the row groups of
 * the requested rows, are read.
 *
 * @throws ERR_TORCH_FILE if the file is damaged, or a column has nulls or values of several types; ERR_TORCH_MISSING_PACKAGE without hyparquet
 */
export async function readParquet(path: FilePath, options: ReadParquetOptions = {}): Promise<Columns> {
  const { columns, rowStart = 0, rowEnd, compressors } = ownOptions(FN, options, known);
  rowOf('rowStart', rowStart);
  rowOf('rowEnd', rowEnd);
  return opened(FN, path, async (of) => {
    const end = Math.min(rowEnd ?? of.rows, of.rows);
    const wanted = wantedOf(FN, columns, of.names);
    const lists = await partsOf(of, wanted, { rowStart, rowEnd: end }, compressors);
    const dtypes = new Map(wanted.map((name) => [name, dtypeOf(name, of.schema[of.names.indexOf(name)])]));
    const read: Columns = {};
    let whole = false;
    try {
      for (const [name, parts] of lists) {
        const numbers = parts.length > 0 && parts.every(isTypedArray);
        const column = numbers ? joined(parts as TypedArray[]) : columnOf(FN, name, flat(parts), dtypes.get(name));
        define(read, name, column);
      }
      whole = true;
      return read;
    } finally {
      if (!whole) disposeAll(read);
    }
  });
}

export interface ParquetRowsOptions {
  columns?: readonly string[] | undefined;
  compressors?: object | undefined;
}

/**
 * The rows of Parquet files in order, as objects; one row group is in memory at a time. Its state is the place in the files, so a
 * loader continues without reading what came before.
 */
export class ParquetRows extends IterableDataset<Record<string, unknown>> {
  static module = __filename;
  readonly files: readonly string[];
  readonly options: ParquetRowsOptions;

  constructor(files: FilePath | readonly FilePath[], options?: ParquetRowsOptions);
  constructor(...passed: [files: FilePath | readonly FilePath[], options?: ParquetRowsOptions]) {
    super();
    const [files, options = {}] = upTo('utils.data.ParquetRows', 2, passed);
    const fn = 'utils.data.ParquetRows';
    this.files = (Array.isArray(files) ? files : [files]).map((file) => pathOf(fn, 'files', file));
    this.options = ownOptions(fn, options, ['columns', 'compressors']);
  }

  override async *[Symbol.asyncIterator](): AsyncGenerator<Record<string, unknown>> {
    const fn = 'utils.data.ParquetRows';
    const cursor = placeOf(this).begin();
    const { columns, compressors } = this.options;
    for (; cursor.file < this.files.length; cursor.file++, cursor.at = 0) {
      for (;;) {
        const rows = await opened(fn, this.files[cursor.file]!, async (of) => {
          let end = 0;
          for (const group of of.metadata.row_groups) {
            end += Number(group.num_rows);
            if (end > cursor.at) break;
          }
          if (cursor.at >= end) return [];
          const range = { rowStart: cursor.at, rowEnd: end };
          const lists = await partsOf(of, wantedOf(fn, columns, of.names), range, compressors);
          const values = [...lists].map(([name, parts]) => [name, flat(parts)] as const);
          return Array.from({ length: end - cursor.at }, (_, i) =>
            Object.fromEntries(values.map(([name, list]) => [name, list[i]])),
          );
        });
        if (rows.length === 0) break;
        for (const row of rows) {
          cursor.at++;
          yield row;
        }
      }
    }
    placeOf(this).end(cursor);
  }

  stateDict(): Cursor {
    return placeOf(this).state();
  }
  loadStateDict(state: Cursor): void {
    placeOf(this).load('utils.data.ParquetRows', state, this.files.length);
  }
}
