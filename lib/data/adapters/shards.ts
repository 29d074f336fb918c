/** Shards: files of tensors by name, with a row for each sample. */

import { ownOptions } from '../../addon/options';
import { ops } from '../../autograd/tuples';
import { upTo } from '../../errors/arity';
import { argumentError, type TorchError } from '../../errors/errors';
import { npz } from '../../files/npy';
import { type FilePath, pathOf } from '../../files/paths';
import * as safetensors from '../../files/safetensors';
import { disposeAll, keep } from '../../lifetimes/movable';
import { ownScope } from '../../lifetimes/scope';
import type { Tensor } from '../../tensor/tensor';
import { countOf, define, demandIndices, flagOf, placeOf } from '../arguments';
import { Dataset } from '../dataset';
import { Listed } from '../order';
import { fileError, namesOf } from './columns';

const FN = 'utils.data.ShardDataset';

type Shard = Record<string, Tensor>;

export interface ShardDatasetOptions {
  /** Names of the tensors (default: those of the first shard). */
  columns?: readonly string[] | undefined;
  /** Map the files instead of reading them; npz files must not be compressed. Default: true. */
  mmap?: boolean | undefined;
  /** How many shards stay open, the last ones that were read. Default: 8. */
  maxOpen?: number | undefined;
}

/** The shards that a dataset has open, by number, the last one read at the end. */
const open = new WeakMap<object, Map<number, Shard>>();

/** What a file has. The error of a damaged one names it: there may be thousands. */
function contentsOf(file: string, mmap: boolean): Shard {
  try {
    return (file.endsWith('.npz') ? npz.load(file, { mmap }) : safetensors.load(file, { mmap })) as Shard;
  } catch (error) {
    const { code, message } = Object(error) as TorchError;
    throw code === 'ERR_TORCH_FILE' ? Object.assign(fileError(FN, `${file}: ${message}`), { cause: error }) : error;
  }
}

function load(file: string, columns: readonly string[] | null, mmap: boolean): Shard {
  const read: Shard = {};
  const all = contentsOf(file, mmap);
  let whole = false;
  try {
    for (const name of columns ?? Object.keys(all)) {
      const tensor = Object.hasOwn(all, name) ? all[name] : undefined;
      if (tensor === undefined) throw fileError(FN, `${file} has no tensor '${name}'`);
      if (tensor.ndim === 0) throw fileError(FN, `${file}: expected rows in '${name}', got a tensor of no dimensions`);
      define(read, name, tensor);
    }
    const rows = Object.values(read).map((tensor) => tensor.shape[0]);
    if (rows.length === 0 || rows.some((count) => count !== rows[0])) {
      throw fileError(FN, `${file}: expected tensors with the same number of rows, got ${rows.join(', ') || 'none'}`);
    }
    whole = true;
    return read;
  } finally {
    for (const [name, tensor] of Object.entries(all)) if (!whole || !Object.hasOwn(read, name)) tensor.dispose();
  }
}

/**
 * The rows of `.npz` and safetensors files, one file after the other: sample i is `{ name: tensor[i], … }`. Files are read when
 * a row of them is asked for. `dispose()` closes them.
 *
 * @throws ERR_TORCH_FILE if a file lacks a tensor, its tensors have different numbers of rows, or the rows of two files differ in
 * dtype or shape
 */
export class ShardDataset extends Dataset<Record<string, Tensor>> {
  static module = __filename;
  readonly files: readonly string[];
  readonly columns: readonly string[];
  /** The index after the last row of each file. */
  readonly cumulativeSizes: readonly number[];
  readonly mmap: boolean;
  readonly maxOpen: number;

  constructor(files: readonly FilePath[], options?: ShardDatasetOptions);
  constructor(...passed: [files: readonly FilePath[], options?: ShardDatasetOptions]) {
    super();
    const [files, options = {}] = upTo(FN, 2, passed);
    const { columns, mmap, maxOpen } = ownOptions(FN, options, ['columns', 'mmap', 'maxOpen']);
    if (!Array.isArray(files) || files.length === 0) throw argumentError(FN, 'files', 'a list of files', files);
    this.files = files.map((file) => pathOf(FN, 'files', file));
    this.mmap = flagOf(FN, 'mmap', mmap, true);
    this.maxOpen = maxOpen === undefined ? 8 : countOf(FN, 'maxOpen', maxOpen);
    let names: readonly string[] | null = namesOf(FN, columns) ?? null;
    const kinds = new Map<string, string>();
    let sum = 0;
    this.cumulativeSizes = this.files.map((file) => {
      const shard = load(file, names, this.mmap);
      names ??= Object.keys(shard);
      sum += shard[names[0]!]!.shape[0]!;
      const described = Object.entries(shard).map(([name, { dtype, shape }]) => [name, `${dtype} [${shape.slice(1)}]`]);
      disposeAll(shard);
      // Otherwise a batch of two files would have another dtype than a batch of one.
      for (const [name, kind] of described as [string, string][]) {
        const first = kinds.get(name) ?? kind;
        kinds.set(name, first);
        if (kind !== first) throw fileError(FN, `${file}: expected rows of ${first} in '${name}', got ${kind}`);
      }
      return sum;
    });
    this.columns = names!;
  }

  get length(): number {
    return this.cumulativeSizes.at(-1)!;
  }

  getItem(index: number): Record<string, Tensor> {
    const { shard, row } = placeIn(this, index);
    return mapped(this.columns, (name) => shardOf(this, shard)[name]!.select(0, row) as Tensor);
  }

  /** The batch of these rows. */
  override getItems(indices: number[]): Record<string, Tensor> {
    demandIndices(FN, indices);
    const places = Array.from(indices, (index) => placeIn(this, index));
    // The first file tells the dtypes of a batch without rows.
    const shards = places.length === 0 ? [0] : [...new Set(places.map(({ shard }) => shard))];
    return ownScope(() => {
      const parts = shards.map((shard) => {
        const rows = new Listed(places.flatMap((place) => (place.shard === shard ? [place.row] : [])));
        const tensors = shardOf(this, shard);
        return rows.rows(this.columns.map((name) => tensors[name]!));
      });
      if (shards.length === 1) return mapped(this.columns, (_, i) => parts[0]![i]!);
      // Where each row of the batch is in the parts, one after the other.
      const order = shards.flatMap((shard) => places.flatMap((place, i) => (place.shard === shard ? [i] : [])));
      const back = new Array<number>(order.length);
      order.forEach((to, i) => {
        back[to] = i;
      });
      const restored = new Listed(back);
      return mapped(this.columns, (_, i) => restored.rows([ops().cat!(parts.map((part) => part[i]!))])[0]!);
    });
  }

  /** Closes the files that are open. */
  dispose(): void {
    const shards = open.get(this);
    open.delete(this);
    if (shards !== undefined) disposeAll([...shards.values()]);
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

const mapped = (names: readonly string[], of: (name: string, i: number) => Tensor): Shard =>
  Object.fromEntries(names.map((name, i) => [name, of(name, i)]));

function placeIn({ cumulativeSizes, length }: ShardDataset, index: number): { shard: number; row: number } {
  const at = placeOf(FN, length, index);
  const shard = cumulativeSizes.findIndex((end) => at < end);
  return { shard, row: at - (shard === 0 ? 0 : cumulativeSizes[shard - 1]!) };
}

function shardOf(dataset: ShardDataset, number: number): Shard {
  const shards = open.get(dataset) ?? new Map<number, Shard>();
  open.set(dataset, shards);
  let shard = shards.get(number);
  if (shard === undefined) {
    shard = load(dataset.files[number]!, dataset.columns, dataset.mmap);
    keep(shard); // for later batches
    const before = number === 0 ? 0 : dataset.cumulativeSizes[number - 1]!;
    const rows = dataset.cumulativeSizes[number]! - before;
    if (Object.values(shard)[0]!.shape[0] !== rows) {
      disposeAll(shard);
      throw fileError(FN, `${dataset.files[number]}: expected ${rows} rows as before, the file has changed`);
    }
  }
  shards.delete(number);
  shards.set(number, shard);
  const [oldest] = shards.keys();
  if (shards.size > dataset.maxOpen) {
    disposeAll(shards.get(oldest!));
    shards.delete(oldest!);
  }
  return shard;
}
