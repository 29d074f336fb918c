/** torch.utils.data.DataLoader with its types: a constructor of a class could not make the type of a batch from that of a sample. */
import type { Generator } from './arguments';
import type { BatchOf, Collated, Converted, Unsaid } from './batch-types';
import type { AnyIterable, MapDataset } from './dataset';
import { DataLoader as Loader } from './loader';
import type { DataLoaderOptions, SampleOptions } from './options';
import type { DataLoaderState } from './progress';

/** The constructor of loaders: B is the type of a batch, S of a sample. */
export interface DataLoaderConstructor {
  new <B = Unsaid, S = any>(
    dataset: MapDataset<S> | readonly S[] | AnyIterable<S>,
    options: SampleOptions<S, B>,
  ): DataLoader<BatchOf<B, Converted<S>>, S>;
  new <B = Unsaid, S = any>(
    dataset: MapDataset<S> | readonly S[] | AnyIterable<S>,
    options?: DataLoaderOptions<S, B>,
  ): DataLoader<BatchOf<B, Collated<S>>, S>;
  readonly prototype: DataLoader;
}

/** Batches of a dataset: `for await (const batch of loader)`; each loop is one pass. */
// biome-ignore lint/correctness/noUnusedVariables: declarations name it, DataLoader<Batch, Sample>
export interface DataLoader<B = any, S = any> extends AsyncIterable<B>, Iterable<B> {
  /** The dataset; an array or a tensor as it was passed. */
  readonly dataset: MapDataset | readonly any[] | AnyIterable;
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
