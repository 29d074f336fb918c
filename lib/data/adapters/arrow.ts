/** Tables of Apache Arrow, through the program's `apache-arrow`. */
import { readFileSync } from 'node:fs';
import { ownOptions } from '../../addon/options';
import type { TypedArray } from '../../elements/create';
import { argumentError } from '../../errors/errors';
import { peer } from '../../errors/peer';
import { type FilePath, pathOf } from '../../files/paths';
import { disposeAll } from '../../lifetimes/movable';
import { isTypedArray } from '../../tensor/nested';
import { define } from '../arguments';
import { type Columns, columnOf, fileError, joined, namesOf } from './columns';

const FN = 'utils.data.readArrow';

/** The parts of apache-arrow that are used here. */
interface Vector {
  readonly length: number;
  readonly nullCount: number;
  readonly stride: number;
  readonly type: { toString(): string; readonly listSize?: number };
  readonly data: readonly { readonly values?: unknown; readonly length: number }[];
  getChildAt(index: number): Vector | null;
  get(row: number): unknown;
  toArray(): unknown;
}
export interface ArrowTable {
  readonly schema: { readonly fields: readonly { readonly name: string }[] };
  getChild(name: string): unknown;
}
interface Arrow {
  tableFromIPC(bytes: Uint8Array): ArrowTable;
}

export interface ReadArrowOptions {
  /** Names of the columns (default: all). */
  columns?: readonly string[] | undefined;
}

/** Types whose memory is a typed array of numbers that tensors have. */
const NUMBERS = /^Int(8|16|32|64)$|^Uint8$|^Float(32|64)$/;

function columnOfVector(name: string, vector: Vector): Columns[string] {
  const type = String(vector.type);
  if (vector.nullCount > 0) throw fileError(FN, `column '${name}' has ${vector.nullCount} nulls, expected none`);
  if (NUMBERS.test(type)) return joined([vector.toArray() as TypedArray]);
  const { listSize } = vector.type;
  const child = listSize === undefined ? null : vector.getChildAt(0);
  if (child !== null && NUMBERS.test(String(child.type))) {
    const flat = columnOfVector(name, child) as ReturnType<typeof joined>;
    return flat.view([vector.length, listSize!]);
  }
  if (!/^(Bool|Utf8|LargeUtf8|Dictionary<.*Utf8.*>)$/.test(type)) {
    throw fileError(
      FN,
      `column '${name}' is of type ${type}: expected signed or 8-bit integers, floats of 32 or 64 bits, booleans, strings or lists of one size`,
    );
  }
  return columnOf(
    FN,
    name,
    Array.from({ length: vector.length }, (_, row) => vector.get(row)),
    type === 'Bool' ? 'bool' : undefined,
  );
}

const isTable = (value: unknown): value is ArrowTable =>
  typeof (value as Partial<ArrowTable> | null)?.getChild === 'function';

/**
 * The columns of a table of `apache-arrow`, or of a file or bytes in Arrow's IPC format (Feather). Columns of numbers are
 * tensors that share the table's memory; booleans are a copy, strings a list.
 *
 * @throws ERR_TORCH_FILE if the file is damaged, or a column has nulls or another type; ERR_TORCH_MISSING_PACKAGE without apache-arrow, for a file
 */
export function readArrow(source: FilePath | Uint8Array | ArrowTable, options: ReadArrowOptions = {}): Columns {
  const columns = namesOf(FN, ownOptions(FN, options, ['columns']).columns);
  const table = isTable(source) ? source : tableOf(source);
  const names = table.schema.fields.map((field) => field.name);
  const read: Columns = {};
  let whole = false;
  try {
    for (const name of columns ?? names) {
      if (!names.includes(name)) throw argumentError(FN, 'options.columns', `names from ${names.join(', ')}`, name);
      define(read, name, columnOfVector(name, table.getChild(name) as Vector));
    }
    whole = true;
    return read;
  } finally {
    if (!whole) disposeAll(read);
  }
}

function tableOf(source: unknown): ArrowTable {
  const arrow = peer(FN, 'apache-arrow') as Arrow;
  const bytes = isTypedArray(source) ? (source as Uint8Array) : readFileSync(pathOf(FN, 'source', source));
  let table: ArrowTable;
  try {
    table = arrow.tableFromIPC(bytes);
  } catch (error) {
    throw Object.assign(fileError(FN, `not Arrow's IPC format: ${(error as Error).message}`), { cause: error });
  }
  // What apache-arrow makes of bytes without a message.
  if (table.schema.fields.length === 0) throw fileError(FN, "expected columns in Arrow's IPC format, got none");
  return table;
}
