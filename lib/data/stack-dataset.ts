/** torch.utils.data.StackDataset. */
import { argumentError } from '../errors/errors';
import { tensors } from '../lifetimes/walk';
import { isPlain } from '../tensor/places';
import type { Tensor } from '../tensor/tensor';
import { placeOf } from './arguments';
import type { SampleContext } from './context';
import { Dataset, isMapDataset, type MapDataset, mapDatasetOf } from './dataset';
import { allOf, isPromise, readEach } from './read-each';

const FN = 'utils.data.StackDataset';

/** The datasets by name. */
type Parts = Record<string, MapDataset | readonly any[] | Tensor>;

const isNamed = (value: unknown): value is Parts =>
  typeof value === 'object' && value !== null && isPlain(value) && !isMapDataset(value);

/**
 * Datasets of one length side by side: sample i is `[a.getItem(i), b.getItem(i), …]`, or with `{ x: a, y: b }`
 * `{ x: a.getItem(i), y: b.getItem(i) }`.
 */
export class StackDataset<T = any> extends Dataset<T> {
  readonly datasets: readonly MapDataset[];
  /** The names of an object's datasets; null if they were given in order. */
  readonly names: readonly string[] | null;

  constructor(datasets: { readonly [K in keyof T]: MapDataset<T[K]> | readonly T[K][] });
  constructor(datasets: Record<string, MapDataset | readonly any[] | Tensor>);
  constructor(...datasets: (MapDataset | readonly any[] | Tensor)[]);
  constructor(...given: (Parts | MapDataset | readonly any[] | Tensor)[]) {
    super();
    const [first] = given;
    const byName = given.length === 1 && isNamed(first);
    this.names = byName ? Object.keys(first) : null;
    const parts = byName ? Object.values(first) : given;
    if (parts.length === 0) throw argumentError(FN, 'datasets', 'one dataset or more', byName ? first : undefined);
    this.datasets = parts.map((one, i) => mapDatasetOf(FN, one, this._place(i)));
    this.datasets.forEach(({ length }, i) => {
      if (length === this.length) return;
      throw argumentError(FN, this._place(i), `a dataset of ${this.length} samples, as the first`, length);
    });
  }

  get length(): number {
    return this.datasets[0]!.length;
  }
  getItem(index: number, context?: SampleContext): T | PromiseLike<T> {
    const place = placeOf(FN, this.length, index);
    const samples = readEach(this.datasets.length, (i) => this.datasets[i]!.getItem(place, context));
    if (!Array.isArray(samples)) return samples;
    return samples.some(isPromise) ? allOf(samples).then((all) => this._named(all)) : this._named(samples);
  }
  private _place(i: number): string {
    return this.names === null ? `datasets[${i}]` : `datasets.${this.names[i]}`;
  }
  private _named(samples: unknown[]): T {
    const { names } = this;
    return (names === null ? samples : Object.fromEntries(names.map((name, i) => [name, samples[i]]))) as T;
  }
  override get [tensors](): unknown {
    return this.datasets;
  }
}
