/** torch.utils.data.DataLoader; its types are in typed-loader.ts. */

import { refuseRecording } from '../autograd/tuples';
import { warn } from '../call/warnings';
import { upTo } from '../errors/arity';
import { argumentError } from '../errors/errors';
import { tensors } from '../lifetimes/walk';
import { isTensor } from '../tensor/tensor';
import type { Generator } from './arguments';
import { batchesOf, chunked } from './batches';
import type { AnyIterable, MapDataset } from './dataset';
import { type Form, stacksSamples } from './fetch';
import { AsyncPass, IndexedSource, type Source, StreamSource, SyncPass } from './local';
import { type DataLoaderOptions, type Plan, planOf } from './options';
import { drawSeed } from './order';
import {
  type DataLoaderState,
  isStateful,
  type OrderFacts,
  PassProgress,
  readState,
  restoreGenerators,
  resumeOf,
  stateBetween,
  stateOfPass,
  statesOf,
} from './progress';
import { numberOfBatches } from './samplers';
import type { DataLoader as Public } from './typed-loader';
import { WorkerSource } from './workers/pass';
import { demandNoWorker, Pool } from './workers/pool';

const FN = 'utils.data.DataLoader';

/** Ends the workers of loaders that were collected. */
const collected = new FinalizationRegistry<Pool>((pool) => void pool.end());

/** Ends passes with workers whose iterators were collected. */
const abandoned = new FinalizationRegistry<Source>((source) => {
  // Nobody is left to be told of an error.
  Promise.resolve(source.end()).catch(() => {});
});

export class DataLoader<B = any, S = any> implements Public<B, S> {
  readonly #plan: Plan;
  /** The number of the next pass. */
  #next = 0;
  #current: PassProgress | null = null;
  /** The state with which the next pass begins. */
  #loaded: DataLoaderState | null = null;
  #pool: Pool | null = null;
  /** Whether an earlier pass had a batch. */
  #gave = false;

  /** The dataset; an array or a tensor as it was passed. */
  readonly dataset: MapDataset | readonly any[] | AnyIterable;

  constructor(...passed: [dataset: MapDataset | readonly any[] | AnyIterable, options?: DataLoaderOptions]) {
    // Python takes the options by position too: their own error is more useful than that of their number.
    const most = typeof passed[1] === 'number' ? Number.POSITIVE_INFINITY : 2;
    const [dataset, options = {}] = upTo('utils.data.DataLoader', most, passed);
    this.#plan = planOf(dataset, options);
    this.dataset = dataset;
  }

  get batchSize(): number | null {
    return this.#plan.batchSize;
  }
  get dropLast(): boolean {
    return this.#plan.dropLast;
  }
  get numWorkers(): number {
    return this.#plan.numWorkers;
  }
  get sampler(): Iterable<number> | null {
    return this.#plan.sampler;
  }
  get batchSampler(): Iterable<ArrayLike<number>> | null {
    return this.#plan.batchSampler;
  }
  get generator(): Generator | null {
    return this.#plan.generator;
  }
  /** The number of the pass under way, or of the next one. */
  get epoch(): number {
    return this.#current?.epoch ?? this.#loaded?.epoch ?? this.#next;
  }

  /** The number of batches; undefined if the dataset or the sampler has no length. */
  get length(): number | undefined {
    const { stream, sampler, batchSampler, batchSize, dropLast } = this.#plan;
    const from = (stream ?? batchSampler ?? sampler) as { length?: unknown };
    const length = typeof from.length === 'number' ? from.length : undefined;
    return batchSampler === null ? numberOfBatches(length, batchSize ?? 1, dropLast) : length;
  }

  /** A pass, which `await using` ends as well. */
  [Symbol.asyncIterator](): AsyncIterableIterator<B> & { [Symbol.asyncDispose](): Promise<void> } {
    const progress = this.#begin();
    const source = this.#source(progress, false);
    const pass = new AsyncPass(source, progress, this.#plan.limits, this._makesBatches);
    if (this.#plan.numWorkers > 0) abandoned.register(pass, source);
    return pass;
  }

  /** For synchronous datasets without workers. `using` ends the pass as well. */
  [Symbol.iterator](): IterableIterator<B> & { [Symbol.dispose](): void } {
    if (this.#plan.numWorkers > 0) {
      throw argumentError(FN, 'numWorkers', '0 in a synchronous loop (with workers, use `for await`)', this.numWorkers);
    }
    const progress = this.#begin();
    return new SyncPass(this.#source(progress, true), progress, this.#plan.limits.signal);
  }

  /**
   * Where the pass is: save it between two batches, and `loadStateDict` continues after the last one, also in another
   * process. The default generator is not part of it: `torch.getRngState()`.
   */
  stateDict(): DataLoaderState {
    const dataset = this.#plan.map ?? this.#plan.stream;
    if (this.#current !== null) return stateOfPass(this.#current, this.#generators, dataset, this.#facts);
    return this.#loaded === null
      ? stateBetween(this.#next, this.#generators, dataset, this.#facts)
      : { ...this.#loaded, generators: [...this.#loaded.generators] };
  }

  /** The next pass continues where this state was taken. */
  loadStateDict(state: DataLoaderState): void {
    const { map, stream, numWorkers } = this.#plan;
    const read = readState(state, this.#generators, this.#facts, isStateful(stream));
    restoreGenerators(read, this.#generators);
    // A dataset that is read in order has its cursor in the worker.
    const dataset: unknown = map ?? (numWorkers > 0 ? null : stream);
    if ('dataset' in read && isStateful(dataset)) dataset.loadStateDict?.(read.dataset);
    this.#loaded = read;
    this.#current = null;
    this.#next = read.epoch;
  }

  /**
   * Ends the workers, which otherwise stay for the next pass, until the loader is collected or the process ends. The promise
   * resolves when they have ended.
   */
  async dispose(): Promise<void> {
    const pool = this.#pool;
    this.#pool = null;
    await pool?.end();
  }

  [Symbol.dispose](): void {
    void this.dispose();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }

  /** @internal Whether every tensor of a batch is new: the program cannot hold it already. */
  get _makesBatches(): boolean {
    const { numWorkers, batchSize, batchSampler, collateFn, map } = this.#plan;
    if (collateFn !== null) return false; // it runs in this thread, also with workers
    if (numWorkers > 0) return true;
    return (batchSize !== null || batchSampler !== null) && (map === null || stacksSamples(map));
  }

  #newPool(): Pool {
    const pool = new Pool();
    collected.register(this, pool);
    return pool;
  }

  /** For scopes: a loader has no tensors of a scope, only its dataset has. */
  get [tensors](): unknown {
    const { dataset } = this;
    return isTensor(dataset) || tensors in (dataset as object) ? [dataset] : [];
  }

  get #generators(): Generator[] {
    const { generator } = this.#plan;
    const of = this.#plan.stream === null ? (chunked(this.#plan)?.sampler._generator ?? null) : null;
    return [...new Set([generator, of])].filter((one) => one !== null);
  }

  /** What a state says of this loader. */
  get #facts(): OrderFacts {
    const { stream, batchSize } = this.#plan;
    if (stream !== null) return { kind: 'iterable', samples: null, batchSize };
    const of = chunked(this.#plan);
    if (of === null) return { kind: 'sampler', samples: null, batchSize };
    const { sampler } = of;
    return { kind: sampler._isRandom ? 'random' : 'sequential', samples: sampler.length, batchSize: of.size };
  }

  /** Python draws a seed from the loader's generator for each pass. */
  #begin(): PassProgress {
    refuseRecording(FN);
    if (this.#plan.numWorkers > 0) demandNoWorker(this.#plan.numWorkers);
    this.#plan.limits.signal?.throwIfAborted();
    const loaded = this.#loaded;
    this.#loaded = null;
    const epoch = this.#next++;
    this.#gave ||= (this.#current?.position ?? 0) > 0;
    const seed = loaded?.seed == null ? drawSeed(this.#plan.generator) : BigInt(loaded.seed);
    const progress = new PassProgress(epoch, seed, loaded, statesOf(this.#generators), () => {
      if (this.#current === progress) this.#current = null;
      this.#finished(progress.position);
    });
    this.#current = progress;
    return progress;
  }

  /** An epoch without samples would look like one that went well. */
  #finished(batches: number): void {
    const { stream, batchSampler } = this.#plan;
    if (batches > 0) this.#gave = true;
    else if (this.#gave && (stream !== null || chunked(this.#plan) === null)) {
      const what = stream !== null ? 'dataset' : batchSampler !== null ? 'batchSampler' : 'sampler';
      const other = stream !== null ? ', or a StreamDataset' : '';
      const once = `a generator or a stream can be read only once, so pass an iterable that begins anew${other}`;
      warn(`${FN}: the ${what} gave no batch in this pass, but some in an earlier one: ${once}`);
    }
  }

  #source(progress: PassProgress, sync: boolean): Source {
    const plan = this.#plan;
    const resume = resumeOf(progress.resumed);
    const batched = plan.batchSize !== null || plan.batchSampler !== null;
    const hasCursor = progress.resumed !== null && 'dataset' in progress.resumed && isStateful(plan.stream);
    const skip = hasCursor ? 0 : (resume?.batches ?? 0);
    if (plan.numWorkers > 0) {
      this.#pool ??= this.#newPool();
      const batches = plan.stream === null ? batchesOf(plan, resume) : null;
      return new WorkerSource(plan, this.#pool, batches, progress, skip);
    }
    const form: Form = { batched, collate: plan.collateFn };
    if (plan.stream !== null) {
      return new StreamSource(plan.stream, form, plan.batchSize ?? 1, plan.dropLast, skip, progress, sync);
    }
    return new IndexedSource(plan.map!, form, batchesOf(plan, resume), progress, progress);
  }
}
