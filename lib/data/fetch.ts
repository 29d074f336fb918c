/** Reads batches from a dataset, in the thread of the loader or in a worker. */
import { native } from '../addon/native';
import { argumentError, refusal } from '../errors/errors';
import { scope } from '../lifetimes/scope';
import { atSite, type Site, siteOfCall } from '../observe/recording';
import { defaultCollate, defaultConvert } from './collate';
import { SampleContext } from './context';
import { isBatch, type MapDataset, placeIn, RowDataset, Subset, TensorDataset } from './dataset';
import { failedPlace } from './failed-place';
import type { Indices } from './order';
import { allOf, isPromise, readEach } from './read-each';

const FN = 'utils.data.DataLoader';

/** How the samples of a batch become the batch. */
export interface Form {
  /** False: each sample is a batch of its own. */
  readonly batched: boolean;
  /** The program's function; null for the default. `false`: the samples stay a list. */
  readonly collate: ((samples: any) => unknown) | null | false;
}

/** What the random numbers of a pass depend on. */
export interface Pass {
  readonly seed: bigint;
  readonly epoch: number;
}

interface Reader {
  readonly dataset: MapDataset;
  /** How it is read: rows of tensors, lists of indices, or single indices. */
  readonly by: 'rows' | 'lists' | 'items';
  place(index: number): number;
}

const SAME = (index: number): number => index;

const isPlainSubset = (dataset: unknown): dataset is Subset =>
  dataset instanceof Subset &&
  dataset.getItem === Subset.prototype.getItem &&
  dataset.getItems === Subset.prototype.getItems;

function waysOf(dataset: MapDataset): Reader['by'] {
  for (const { prototype } of [TensorDataset, RowDataset]) {
    // A class of the program that overrides getItem means that one.
    if (dataset.getItems === prototype.getItems) return dataset.getItem === prototype.getItem ? 'rows' : 'items';
  }
  return typeof dataset.getItems === 'function' ? 'lists' : 'items';
}

function readerOf(dataset: MapDataset): Reader {
  if (!isPlainSubset(dataset)) return { dataset, by: waysOf(dataset), place: SAME };
  const { indices } = dataset;
  const inner = readerOf(dataset.dataset);
  return { ...inner, place: (index) => inner.place(placeIn(indices, index)) };
}

/** Whether each batch of the dataset consists of new tensors; `getItems` of the program may give others. */
export const stacksSamples = (dataset: MapDataset): boolean => readerOf(dataset).by !== 'lists';

const NOBODY = (): void => {};

export class Fetcher {
  readonly #reader: Reader;
  readonly #form: Form;
  /** Called with the index of a sample before the dataset is asked for it. */
  readonly #note: (index: number) => void;

  constructor(dataset: MapDataset, form: Form, note: (index: number) => void = NOBODY) {
    this.#reader = readerOf(dataset);
    this.#form = form;
    this.#note = note;
  }

  /** The batch. Tensors that the dataset makes for it and that are not in it are released. */
  batch(indices: Indices, pass: Pass): unknown {
    const { by, dataset } = this.#reader;
    const { batched, collate } = this.#form;
    if (by === 'rows' && batched && collate === null) {
      const rows = dataset as TensorDataset | RowDataset;
      if (this.#note !== NOBODY) this.#noteRow(indices.list(), rows.length);
      return this.#reader.place === SAME ? rows._rows(indices) : rows.getItems(this.#places(indices.list()));
    }
    return scope(() => this.#read(indices.list(), pass));
  }

  /** Rows are read at once: notes the first index that is out of range, or the first. */
  #noteRow(list: readonly number[], length: number): void {
    const wrong = list.find((index) => {
      const place = this.#reader.place === SAME ? index : 0;
      return place >= length || place < -length;
    });
    this.#note(wrong ?? list[0]!);
  }

  #places(list: readonly number[]): number[] {
    return list.map((index) => this.#reader.place(index));
  }

  #read(list: number[], pass: Pass): unknown {
    const contexts = list.map((index) => new SampleContext(pass.seed, pass.epoch, index));
    const end = (): void => {
      for (const context of contexts) context._end();
    };
    let waits = false;
    try {
      const samples = this.#samples(list, contexts);
      if (!isPromise(samples)) return this.#batch(samples, list);
      waits = true;
      const site = siteOfCall(native, Fetcher.prototype.batch);
      return (async () => {
        try {
          return this.#batch(await samples, list, site);
        } finally {
          end();
        }
      })();
    } finally {
      if (!waits) end();
    }
  }

  /** A list of samples, or a batch; or a promise of it. */
  #samples(list: number[], contexts: SampleContext[]): unknown {
    const { dataset, by } = this.#reader;
    if (by === 'lists' && this.#form.batched) {
      this.#note(list[0]!);
      const all = dataset.getItems!(this.#places(list), contexts);
      if (isPromise(all)) {
        return all.then(undefined, (error: unknown) => {
          this.#note(list[failedPlace(error)] ?? list[0]!);
          throw error;
        });
      }
      return Array.isArray(all) && !isBatch(all) && all.some(isPromise) ? allOf(all, (i) => this.#note(list[i]!)) : all;
    }
    const samples = readEach(list.length, (i) => {
      this.#note(list[i]!);
      return dataset.getItem(this.#reader.place(list[i]!), contexts[i]);
    });
    return Array.isArray(samples) && samples.some(isPromise) ? allOf(samples, (i) => this.#note(list[i]!)) : samples;
  }

  #batch(samples: unknown, list: readonly number[], site?: Site): unknown {
    this.#note(list[0]!);
    try {
      return this.#whole(samples, list, site);
    } catch (error) {
      this.#note(list[failedPlace(error)] ?? list[0]!);
      throw error;
    }
  }

  #whole(samples: unknown, list: readonly number[], site?: Site): unknown {
    const { batched, collate } = this.#form;
    if (!batched) return finish((samples as unknown[])[0], collate, defaultConvert, site);
    if (collate === null && (!Array.isArray(samples) || isBatch(samples))) return samples;
    if (Array.isArray(samples) && !isBatch(samples) && samples.length !== list.length) {
      const expected = `getItems to return ${list.length} samples, or a batch that is not an array`;
      throw argumentError(FN, 'dataset', expected, samples);
    }
    return finish(samples, collate, defaultCollate, site);
  }
}

/** Samples of an iterable dataset as a batch. `site`: as of finish(). */
export function batchOf(samples: unknown[], { batched, collate }: Form, site?: Site): unknown {
  if (!batched) return finish(samples[0], collate, defaultConvert, site);
  return finish(samples, collate, defaultCollate, site);
}

/** `site`: the line that asked for the batch, if it is made after an await, when the stack does not have that line. */
function finish(
  samples: unknown,
  collate: Form['collate'],
  usual: (samples: any) => unknown,
  site: Site | undefined,
): unknown {
  if (collate === false) return samples;
  if (collate !== null) return collate(samples);
  return site === undefined ? usual(samples) : atSite(site, () => usual(samples));
}

export function refuseAsync(value: unknown): void {
  if (!isPromise(value)) return;
  // Nobody is left to be told of its error.
  value.then(
    () => {},
    () => {},
  );
  const expected = 'a synchronous dataset in a synchronous loop (otherwise, use `for await`)';
  throw refusal(FN, 'dataset', expected, 'one that returns promises');
}
