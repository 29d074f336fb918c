/** The arguments of a DataLoader. */
import { types } from 'node:util';
import type { FileUrl, Signal } from '../../types/base';
import { ownOptions, timeoutOf } from '../addon/options';
import { argumentError } from '../errors/errors';
import { isTensor } from '../tensor/tensor';
import { countOf, flagOf, type Generator, generatorOf } from './arguments';
import type { Order } from './batches';
import { type AnyIterable, hasRows, isIterable, isMapDataset, type MapDataset, mapDatasetOf } from './dataset';
import type { Limits } from './limited';
import { RandomSampler, SequentialSampler } from './samplers';

const FN = 'utils.data.DataLoader';

/** A module whose export makes the dataset in each worker. */
export interface WorkerModule {
  /** A `file:` URL or an absolute path. */
  module: FileUrl | string;
  /** A class, a function that returns the dataset or a promise of it, or the dataset itself. Default: 'default'. */
  export?: string | undefined;
  /** Arguments of the class or function: values that can be posted, and tensors. */
  args?: readonly unknown[] | undefined;
}

/** Options of a DataLoader of samples of type S, whose batches have the type B. */
export interface DataLoaderOptions<S = any, B = any> extends LoadingOptions {
  /** Samples in a batch. Default: 1. Null: each sample is a batch of its own. */
  batchSize?: number | null | undefined;
  /** Makes the batch of a list of samples. Runs in this thread. Default: `defaultCollate`. */
  collateFn?: ((samples: S[]) => B | PromiseLike<B>) | undefined;
}

/** Options without batches. */
export interface SampleOptions<S = any, B = any> extends LoadingOptions {
  batchSize: null;
  /** Converts a sample. Runs in this thread. */
  collateFn?: ((sample: S) => B | PromiseLike<B>) | undefined;
}

/** The options that do not depend on the samples. */
export interface LoadingOptions {
  /** A new random order for each pass. Default: false. */
  shuffle?: boolean | undefined;
  /** The order of the indices. */
  sampler?: Iterable<number> | undefined;
  /** Lists of indices, one for each batch. */
  batchSampler?: Iterable<ArrayLike<number>> | undefined;
  /** Threads that read batches ahead. Default: 0, none. */
  numWorkers?: number | undefined;
  /** Leave out the last batch if it is smaller. Default: false. */
  dropLast?: boolean | undefined;
  /** With workers: the most bytes of batches that are read ahead. Default: 256 MiB. */
  prefetchBytes?: number | undefined;
  /** With workers: the most batches that each reads ahead. Default: 2. */
  prefetchFactor?: number | undefined;
  /** As in Python, with workers. They always stay for the next pass; `dispose()` ends them. */
  persistentWorkers?: true | undefined;
  /** Draws the order and the seed of each pass. Default: the default generator. */
  generator?: Generator | null | undefined;
  /** Ends a pass: it rejects with the signal's reason. */
  signal?: Signal | undefined;
  /**
   * The most milliseconds for a batch that is not there at once (Python's `timeout` is in seconds): the pass rejects with
   * `ERR_TORCH_TIMEOUT`, and the worker that reads a sample is replaced. Default: no limit.
   */
  timeoutMs?: number | undefined;
  /** With workers: what makes the dataset there, if it is not one of `torch.utils.data` and its class names no module. */
  worker?: WorkerModule | FileUrl | string | undefined;
}

const known = [
  'batchSize',
  'shuffle',
  'sampler',
  'batchSampler',
  'numWorkers',
  'collateFn',
  'dropLast',
  'prefetchBytes',
  'prefetchFactor',
  'persistentWorkers',
  'generator',
  'signal',
  'timeoutMs',
  'worker',
] as const;

export interface Plan extends Order {
  /** Exactly one of these two. */
  readonly map: MapDataset | null;
  readonly stream: AnyIterable | null;
  readonly collateFn: ((samples: any) => unknown) | null;
  readonly numWorkers: number;
  readonly prefetchBytes: number;
  readonly prefetchFactor: number;
  readonly generator: Generator | null;
  readonly limits: Limits;
  readonly worker: Required<WorkerModule> | null;
}

const isIterableOf = (value: unknown): value is Iterable<never> =>
  typeof (value as Iterable<unknown> | null | undefined)?.[Symbol.iterator] === 'function';

function iterableOf<T>(name: string, value: unknown): Iterable<T> | null {
  if (value === undefined || value === null) return null;
  const given: unknown = isTensor(value) ? value.toArray() : value; // a tensor that is iterated gives tensors
  if (!isIterableOf(given) || typeof given === 'string') throw argumentError(FN, name, 'an iterable', value);
  return given;
}

function wholeOf(name: string, value: unknown, usual: number, least: number): number {
  if (value === undefined) return usual;
  if (!(Number.isSafeInteger(value) || value === Number.POSITIVE_INFINITY) || (value as number) < least) {
    throw argumentError(FN, name, `an integer of ${least} or more`, value);
  }
  return value as number;
}

function workersOf(value: unknown): number {
  if (value === Number.POSITIVE_INFINITY) throw argumentError(FN, 'numWorkers', 'an integer of 0 or more', value);
  return wholeOf('numWorkers', value, 0, 0);
}

/** Python's default is false: workers that end with each pass. Here they stay. */
function demandPersistent(value: unknown, numWorkers: number): void {
  if (value === undefined) return;
  if (value !== true) throw argumentError(FN, 'persistentWorkers', 'true, as workers stay until dispose()', value);
  if (numWorkers === 0) throw argumentError(FN, 'persistentWorkers', 'none without numWorkers', value);
}

function signalOf(value: unknown): AbortSignal | null {
  if (value === undefined || value === null) return null;
  if (typeof (value as AbortSignal).addEventListener === 'function') return value as AbortSignal;
  throw argumentError(FN, 'signal', 'an AbortSignal', value);
}

function workerOf(value: unknown): Required<WorkerModule> | null {
  if (value === undefined || value === null) return null;
  if (typeof value === 'string' || isUrl(value)) return { module: value, export: 'default', args: [] };
  const {
    module,
    export: name = 'default',
    args = [],
  } = ownOptions(FN, value as WorkerModule, ['module', 'export', 'args']);
  if (typeof module !== 'string' && !isUrl(module))
    throw argumentError(FN, 'worker.module', 'a file: URL or a path', module);
  if (typeof name !== 'string') throw argumentError(FN, 'worker.export', 'a string', name);
  if (!Array.isArray(args)) throw argumentError(FN, 'worker.args', 'an array', args);
  return { module, export: name, args };
}

const isUrl = (value: unknown): value is FileUrl =>
  typeof value === 'object' && value !== null && !types.isProxy(value) && typeof (value as URL).href === 'string';

const DEFAULT_BYTES = 256 * 1024 * 1024;

export function planOf(dataset: unknown, options: DataLoaderOptions): Plan {
  const given = ownOptions(FN, options, known);
  const isMap = Array.isArray(dataset) || hasRows(dataset) || isMapDataset(dataset);
  if (!isMap && !isIterable(dataset)) {
    throw argumentError(FN, 'dataset', 'a dataset with getItem(index) and length, or an iterable', dataset);
  }
  const shuffle = flagOf(FN, 'shuffle', given.shuffle, false);
  const dropLast = flagOf(FN, 'dropLast', given.dropLast, false);
  const sampler = iterableOf<number>('sampler', given.sampler);
  const batchSampler = iterableOf<ArrayLike<number>>('batchSampler', given.batchSampler);
  const refuse = (name: string, value: unknown, with_: string): void => {
    const none = typeof value === 'boolean' ? `${name}: false` : `no ${name}`;
    if (value) throw argumentError(FN, name, `${none} with ${with_}`, value);
  };
  if (!isMap) {
    refuse('shuffle', shuffle, 'an iterable dataset');
    refuse('sampler', sampler, 'an iterable dataset');
    refuse('batchSampler', batchSampler, 'an iterable dataset');
  }
  if (sampler !== null) refuse('shuffle', shuffle, 'a sampler');
  if (batchSampler !== null) {
    refuse('batchSize', given.batchSize !== undefined && given.batchSize !== 1 && given.batchSize, 'a batchSampler');
    refuse('shuffle', shuffle, 'a batchSampler');
    refuse('sampler', sampler, 'a batchSampler');
    refuse('dropLast', dropLast, 'a batchSampler');
  }
  const { batchSize = 1, collateFn } = given;
  const size = batchSize === null || batchSampler !== null ? null : countOf(FN, 'batchSize', batchSize);
  if (size === null && batchSampler === null) refuse('dropLast', dropLast, 'batchSize null');
  if (collateFn != null && typeof collateFn !== 'function')
    throw argumentError(FN, 'collateFn', 'a function', collateFn);
  const generator = generatorOf(FN, given.generator);
  const map = isMap ? mapDatasetOf<any>(FN, dataset) : null;
  const numWorkers = workersOf(given.numWorkers);
  demandPersistent(given.persistentWorkers, numWorkers);
  return {
    map,
    stream: map === null ? (dataset as AnyIterable) : null,
    batchSize: size,
    dropLast,
    batchSampler,
    sampler: map === null || batchSampler !== null ? null : (sampler ?? samplerOf(map, shuffle, generator)),
    collateFn: collateFn ?? null,
    numWorkers,
    prefetchBytes: wholeOf('prefetchBytes', given.prefetchBytes, DEFAULT_BYTES, 1),
    prefetchFactor: wholeOf('prefetchFactor', given.prefetchFactor, 2, 1),
    generator,
    limits: { signal: signalOf(given.signal), timeoutMs: timeoutOf(FN, given.timeoutMs) ?? null },
    worker: workerOf(given.worker),
  };
}

const samplerOf = (dataset: MapDataset, shuffle: boolean, generator: Generator | null): Iterable<number> =>
  shuffle ? new RandomSampler(dataset, { generator: generator ?? undefined }) : new SequentialSampler(dataset);
