/** Parquet files, through the program's `hyparquet`. */
import { open } from 'node:fs/promises';
import { ownOptions } from '../../addon/options';
import type { TypedArray } from '../../elements/create';
import { argumentError } from '../../errors/errors';
import { type FilePath, pathOf } from '../../files/paths';
import { disposeAll } from '../../lifetimes/movable';
import { importPeer } from '../../metrics/peer';
import { isTypedArray } from '../../tensor/nested';
import { IterableDataset } from '../dataset';
import { type Columns, columnOf, fileError, joined } from './columns';
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
  readonly schema: readonly { readonly name: string; readonly num_children?: number }[];
}
interface Hyparquet {
  parquetMetadataAsync(file: AsyncBuffer): Promise<Metadata>;
  parquetScan(options: object): Promise<{
    readonly ranges: readonly Range[];
    readColumn(of: Range & { column: string }): Promise<ArrayLike<unknown>>;
  }>;
}

export interface ReadParquetOptions {
  /** Names of the columns (default: all). */
  columns?: readonly string[] | undefined;
  /** The first row, and the row behind the last one. */
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
  readonly names: readonly string[];
  readonly rows: number;
}

/** Runs `use` on the open file, and closes it. */
async function opened<T>(fn: string, path: FilePath, use: (opened: Opened) => Promise<T>): Promise<T> {
  const hyparquet = (await importPeer(fn, 'hyparquet')) as Hyparquet;
  const handle = await open(pathOf(fn, 'path', path));
  try {
    const { size } = await handle.stat();
    const file: AsyncBuffer = {
      byteLength: size,
      async slice(start, end = size) {
        const bytes = new Uint8Array(Math.max(0, end - start));
        let got = 0;
        while (got < bytes.length) {
          const { bytesRead } = await handle.read(bytes, got, bytes.length - got, start + got);
          if (bytesRead === 0) throw fileError(fn, 'the file is truncated');
          got += bytesRead;
        }
        return bytes.buffer;
      },
    };
    const metadata = await hyparquet.parquetMetadataAsync(file);
    const names = metadata.schema.slice(1).flatMap(({ name, num_children }) => (num_children ? [] : [name]));
    const rows = metadata.row_groups.reduce((sum, group) => sum + Number(group.num_rows), 0);
    return await use({ file, metadata, hyparquet, names, rows });
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

function wantedOf(fn: string, columns: readonly string[] | undefined, names: readonly string[]): readonly string[] {
  for (const name of columns ?? []) {
    if (!names.includes(name)) throw argumentError(fn, 'options.columns', `names from ${names.join(', ')}`, name);
  }
  return columns ?? names;
}

/**
 * The columns of a Parquet file: numbers and booleans are tensors, strings a list. Only the asked columns and the row groups of the
 * asked rows are read.
 *
 * @throws ERR_TORCH_FILE if a column has nulls or values of several types; ERR_TORCH_MISSING_PACKAGE without hyparquet
 */
export async function readParquet(path: FilePath, options: ReadParquetOptions = {}): Promise<Columns> {
  const { columns, rowStart = 0, rowEnd, compressors } = ownOptions(FN, options, known);
  return opened(FN, path, async (of) => {
    const end = Math.min(rowEnd ?? of.rows, of.rows);
    const wanted = wantedOf(FN, columns, of.names);
    const lists = await partsOf(of, wanted, { rowStart, rowEnd: end }, compressors);
    const read: Columns = {};
    let whole = false;
    try {
      for (const [name, parts] of lists) {
        const numbers = parts.length > 0 && parts.every(isTypedArray);
        read[name] = numbers ? joined(parts as TypedArray[]) : columnOf(FN, name, flat(parts));
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

  constructor(files: FilePath | readonly FilePath[], options: ParquetRowsOptions = {}) {
    super();
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
