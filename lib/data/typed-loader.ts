/** torch.utils.data.DataLoader with its types: a constructor of a class could not make the type of a batch from that of a sample. */
import type { Generator } from './arguments';
import type { BatchOf, Collated, Converted, Unsaid } from './batch-types';
import type { AnyIterable, MapDataset } from './dataset';
import { DataLoader as Loader } from './loader';
import type { DataLoaderOptions, SampleOptions } from './options';
import type { DataLoaderState } from './progress';

type Source<S> = MapDataset<S> | readonly S[] | AnyIterable<S>;

/** A dataset whose class is not known: only what is read in order may have no length. */
type AnyDataset<S> = MapDataset<S> | readonly S[] | (AnyIterable<S> & { readonly length?: number | undefined });

/** The constructor of loaders: B is the type of a batch, S of a sample, D of the dataset. */
export interface DataLoaderConstructor {
  new <B = Unsaid, S = any, D = AnyDataset<S>>(
    dataset: D & Source<S>,
    options: SampleOptions<S, B>,
  ): DataLoader<BatchOf<B, Converted<S>>, S, D>;
  new <B = Unsaid, S = any, D = AnyDataset<S>>(
    dataset: D & Source<S>,
    options?: DataLoaderOptions<S, B>,
  ): DataLoader<BatchOf<B, Collated<S>>, S, D>;
  readonly prototype: DataLoader;
}

/** Batches of a dataset: `for await (const batch of loader)`; each loop is one pass. */
export interface DataLoader<B = any, S = any, D = AnyDataset<S>> extends AsyncIterable<B>, Iterable<B> {
  /** The dataset; an array or a tensor as it was passed. */
  readonly dataset: D;
  readonly batchSize: number | null;
  readonly dropLast: boolean;
  readonly numWorkers: number;
  readonly sampler: Iterable<number> | null;
  readonly batchSampler: Iterable<ArrayLike<number>> | null;
  readonly generator: Generator | null;
  /** The number of the pass under way, or of the next one. */
  readonly epoch: number;
  /** The number of batches; undefined if the dataset or the sampler has no length. */
  readonly length: number | undefined;
  /** A pass, which `await using` ends as well. */
  [Symbol.asyncIterator](): AsyncIterableIterator<B> & { [Symbol.asyncDispose](): Promise<void> };
  /** For synchronous datasets without workers. `using` ends the pass as well. */
  [Symbol.iterator](): IterableIterator<B> & { [Symbol.dispose](): void };
  /**
   * Where the pass is: save it between two batches, and `loadStateDict` continues after the last one, also in another
   * process. The default generator is not part of it: `torch.getRngState()`.
   */
  stateDict(): DataLoaderState;
  /** The next pass continues where this state was taken. */
  loadStateDict(state: DataLoaderState): void;
  /**
   * Ends the workers, which otherwise stay for the next pass, until the loader is collected or the process ends. The promise
   * resolves when they have ended.
   */
  dispose(): Promise<void>;
  [Symbol.dispose](): void;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Makes loaders; the interface of this name has their members. */
export const DataLoader: DataLoaderConstructor = Loader as unknown as DataLoaderConstructor;
