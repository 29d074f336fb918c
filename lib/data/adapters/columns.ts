/** Tables in memory: columns by name, and the dataset of their rows. */

import { isPlainObject } from '../../addon/options';
import { ops } from '../../autograd/tuples';
import { fromTypedArray, type TypedArray, tensor } from '../../elements/create';
import { upTo } from '../../errors/arity';
import { argumentError, codedError, describe, type TorchError } from '../../errors/errors';
import { ownScope } from '../../lifetimes/scope';
import { tensors } from '../../lifetimes/walk';
import { isTypedArray } from '../../tensor/nested';
import { isTensor, type Tensor } from '../../tensor/tensor';
import { demandIndices, placeOf } from '../arguments';
import { Dataset } from '../dataset';
import { Listed } from '../order';

/** Columns of a table: tensors, whose first dimension is the rows, and lists of other values. */
export type Columns = Record<string, Tensor | readonly unknown[]>;

export const fileError = (fn: string, what: string): TorchError =>
  Object.assign(codedError(Error, 'ERR_TORCH_FILE', `${fn}: ${what}`), { op: fn });

/** The names of columns that are asked for. */
export function namesOf(fn: string, columns: unknown): readonly string[] | undefined {
  if (columns === undefined || (Array.isArray(columns) && columns.every((name) => typeof name === 'string'))) {
    return columns;
  }
  throw argumentError(fn, 'options.columns', 'a list of names', columns);
}

/** The values of a column as a tensor; strings stay a list. `dtype`: of numbers and booleans, if the file tells it. */
export function columnOf(
  fn: string,
  name: string,
  values: readonly unknown[],
  dtype?: 'float64' | 'float32' | 'int32' | 'int64' | 'bool',
): Tensor | readonly unknown[] {
  // Without rows the values do not tell whether they would be strings.
  if (values.length === 0) return dtype === undefined ? values : (tensor([], { dtype }) as Tensor);
  const [first] = values;
  const kind = typeof first;
  const refuse = (expected: string, row: number): never => {
    throw fileError(fn, `column '${name}': expected ${expected}, got ${describe(values[row])} in row ${row}`);
  };
  const wrong = values.findIndex((value) => typeof value !== kind || value === null);
  if (wrong >= 0) refuse('values of one type', wrong);
  if (kind === 'object' && !isTypedArray(first) && !Array.isArray(first)) {
    refuse('numbers, booleans, strings, or lists of numbers', 0);
  }
  if (kind === 'string') return values;
  const options = dtype === undefined || kind === 'boolean' ? {} : { dtype };
  if (kind !== 'object') return tensor(values as number[], options) as Tensor;
  if (!isTypedArray(first)) return tensor(values as number[][], options) as Tensor;
  return ownScope(() => ops().stack!(values.map((value) => fromTypedArray(value as TypedArray)))) as Tensor;
}

/** Typed arrays one after the other as one tensor; a single one shares its memory. */
export function joined(parts: readonly TypedArray[]): Tensor {
  if (parts.length === 1) return fromTypedArray(parts[0]!) as Tensor;
  return ownScope(() => ops().cat!(parts.map((part) => fromTypedArray(part)))) as Tensor;
}

const FN = 'utils.data.TableDataset';

/** Undefined for what is neither a tensor nor a list, which is refused later, by its name. */
const rowsOf = (column: Columns[string] | null | undefined): number | undefined =>
  isTensor(column) ? column.shape[0] : column?.length;

/** The rows of columns: sample i is `{ name: column[i], … }`; a batch is one `indexSelect` for each tensor. */
export class TableDataset extends Dataset<Record<string, unknown>> {
  static module = __filename;
  readonly columns: Readonly<Columns>;

  constructor(columns: Columns);
  constructor(...passed: [columns: Columns]) {
    super();
    const [columns] = upTo(FN, 1, passed);
    const fn = FN;
    if (!isPlainObject(columns) || Object.keys(columns).length === 0) {
      throw argumentError(fn, 'columns', 'an object of tensors and lists', columns);
    }
    const entries = Object.entries(columns);
    const rows = rowsOf(entries[0]![1]);
    for (const [name, column] of entries) {
      if (!isTensor(column) && !Array.isArray(column)) {
        throw argumentError(fn, `columns.${name}`, 'a Tensor or a list', column);
      }
      if (rows === undefined || rowsOf(column) !== rows) {
        throw argumentError(fn, `columns.${name}`, rows === undefined ? 'a Tensor with rows' : `${rows} rows`, column);
      }
    }
    this.columns = { ...columns };
  }

  get length(): number {
    return rowsOf(Object.values(this.columns)[0]!)!;
  }

  getItem(index: number): Record<string, unknown> {
    const at = placeOf(FN, this.length, index);
    return each(this, (column) => (isTensor(column) ? column.select(0, at) : column[at]));
  }

  /** The batch of these rows: lists stay lists. */
  override getItems(indices: number[]): Record<string, unknown> {
    demandIndices(FN, indices);
    const places = new Listed(Array.from(indices, (index) => placeOf(FN, this.length, index)));
    return each(this, (column) =>
      isTensor(column) ? places.rows([column])[0] : places.list().map((at) => column[at]),
    );
  }

  override get [tensors](): unknown {
    return Object.values(this.columns).filter(isTensor);
  }
}

// Not a private method: a worker's copy is made without the constructor.
const each = ({ columns }: TableDataset, of: (column: Columns[string]) => unknown): Record<string, unknown> =>
  Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, of(column)]));
