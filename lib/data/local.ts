/** Passes without workers: each batch is read when it is asked for. */
import { native } from '../addon/native';
import { codedError, type TorchError } from '../errors/errors';
import { disposeAll } from '../lifetimes/movable';
import { scope } from '../lifetimes/scope';
import { asUser } from '../lifetimes/user-code';
import { type Site, siteOfCall } from '../observe/recording';
import type { Batches } from './batches';
import type { AnyIterable, MapDataset } from './dataset';
import { batchOf, Fetcher, type Form, type Pass, refuseAsync } from './fetch';
import { closeIterator, demandIterator, demandStep } from './iteration';
import { type Limits, limited } from './limited';
import { isStateful, type PassProgress } from './progress';
import { isPromise } from './read-each';

const FN = 'utils.data.DataLoader';

/** Where batches come from: undefined at the end, or a promise. */
export interface Source {
  next(): unknown;
  /** Ends early. `abort`: at once, without waiting for what is under way; also if it is ending already. */
  end(abort?: boolean): unknown;
  /** The index of the sample that holds up the next batch, if it is known. */
  readonly at?: number | undefined;
}

/** Batches of a dataset that is read by index. */
export class IndexedSource implements Source {
  readonly #fetcher: Fetcher;
  constructor(
    dataset: MapDataset,
    form: Form,
    readonly batches: Batches,
    readonly pass: Pass,
    readonly progress: PassProgress,
  ) {
    this.#fetcher = new Fetcher(dataset, form);
  }

  next(): unknown {
    const batch = this.batches.next();
    if (batch === null) return END;
    const value = this.#fetcher.batch(batch.indices, this.pass);
    if (!isPromise(value)) {
      this.progress.advance(batch.mark);
      return value;
    }
    return value.then((read) => {
      this.progress.advance(batch.mark);
      return read;
    });
  }

  end(): void {
    this.batches.end();
  }
}

export const END: unique symbol = Symbol('end');
const NOTHING = (): void => {};

/** Batches of a dataset that is read in order. */
export class StreamSource implements Source {
  #iterator: Iterator<unknown> | AsyncIterator<unknown> | null = null;
  #ended: boolean;
  constructor(
    readonly dataset: AnyIterable,
    readonly form: Form,
    readonly size: number,
    readonly dropLast: boolean,
    /** Batches to leave out. */
    public skip: number,
    readonly progress: Pick<PassProgress, 'ended'> & { advance(...read: Parameters<PassProgress['advance']>): void },
    readonly sync: boolean,
    /** Called with the number of a sample before the dataset is asked for it. */
    readonly note: (index: number) => void = NOTHING,
    /** The number of the next sample. */
    public at = 0,
  ) {
    this.#ended = progress.ended;
  }

  next(): unknown {
    if (this.#ended) return END;
    this.#iterator ??= asUser(() => this.#start());
    let samples = this.#read([]);
    // A loop, since a continued pass may leave out any number of batches.
    while (!isPromise(samples) && this.#isSkipped(samples)) samples = this.#ended ? [] : this.#read([]);
    return isPromise(samples)
      ? this.#later(samples, siteOfCall(native, StreamSource.prototype.next))
      : this.#batch(samples);
  }

  async #later(first: PromiseLike<unknown[]>, site: Site | undefined): Promise<unknown> {
    let samples = await first;
    while (this.#isSkipped(samples)) samples = this.#ended ? [] : await this.#read([]);
    return this.#batch(samples, site);
  }

  /** Whether it is one of the batches to leave out. */
  #isSkipped(samples: unknown[]): boolean {
    if (this.skip === 0 || this.#isOver(samples)) return false;
    this.skip--;
    return true;
  }

  /** Whether no batch is made of them. */
  #isOver(samples: unknown[]): boolean {
    return samples.length === 0 || (this.dropLast && samples.length < this.size);
  }

  #start(): Iterator<unknown> | AsyncIterator<unknown> {
    const { dataset } = this;
    const iterable = dataset as Partial<Iterable<unknown> & AsyncIterable<unknown>>;
    // An iterator that is not asynchronous is faster, and serves both loops.
    const name = typeof iterable[Symbol.iterator] === 'function' ? Symbol.iterator : Symbol.asyncIterator;
    return demandIterator(FN, 'dataset', iterable[name]!());
  }

  /** Reads samples until the batch is complete. */
  #read(samples: unknown[]): unknown[] | Promise<unknown[]> {
    while (samples.length < this.size) {
      this.note(this.at);
      const step = asUser(() => this.#iterator!.next());
      if (isPromise(step)) {
        if (this.sync) refuseAsync(step);
        return this.#readAsync(samples, step as PromiseLike<IteratorResult<unknown>>);
      }
      const { done, value } = demandStep(FN, 'dataset', step);
      if (done) {
        this.#over();
        break;
      }
      samples.push(value);
      this.at++;
    }
    return samples;
  }

  async #readAsync(samples: unknown[], first: PromiseLike<IteratorResult<unknown>>): Promise<unknown[]> {
    let step = demandStep(FN, 'dataset', await first);
    for (;;) {
      if (step.done) {
        this.#over();
        break;
      }
      this.at++;
      if (samples.push(step.value) >= this.size) break;
      this.note(this.at);
      step = demandStep(FN, 'dataset', await (this.#iterator as AsyncIterator<unknown>).next());
    }
    return samples;
  }

  #over(): void {
    this.#ended = true;
  }

  #batch(samples: unknown[], site?: Site): unknown {
    if (this.#isOver(samples)) return END;
    this.note(this.at - samples.length);
    const batch = scope(() => batchOf(samples, this.form, site));
    if (!isPromise(batch)) return this.#advanced(batch);
    return batch.then((value) => this.#advanced(value));
  }

  /** The cursor is that of now: one that is read later may be behind samples of a batch that fails or is aborted. */
  #advanced(batch: unknown): unknown {
    const { dataset } = this;
    this.progress.advance(null, this.#ended, isStateful(dataset) ? { value: dataset.stateDict() } : null);
    return batch;
  }

  end(): unknown {
    if (this.#ended) return undefined;
    this.#ended = true;
    return this.#iterator === null ? undefined : closeIterator(FN, 'dataset', this.#iterator);
  }
}

/** The iterator of a `for await` loop. */
export class AsyncPass implements AsyncIterableIterator<any> {
  #ended = false;
  /** The last call, while it or one before it is under way: calls run one after the other. */
  #last: Promise<unknown> | null = null;
  /** Whether a batch, or the end of the pass, took longer than it may. */
  #tooLate = false;

  constructor(
    readonly source: Source,
    readonly progress: PassProgress,
    readonly limits: Limits,
    /** Whether batches have new tensors alone. Others may be the dataset's, or the program's. */
    readonly makesBatches: boolean,
  ) {}

  next(): Promise<IteratorResult<any>> {
    return this.#inTurn(() => this.#step());
  }

  return(value?: any): Promise<IteratorResult<any>> {
    return this.#inTurn(() => this.#stop(value));
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Ends the pass, as a `break` does. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  #inTurn<T>(run: () => T | Promise<T>): Promise<T> {
    const call = this.#last === null ? run() : this.#last.then(run, run);
    if (!(call instanceof Promise)) return Promise.resolve(call);
    this.#last = call;
    const over = (): void => {
      if (this.#last === call) this.#last = null;
    };
    call.then(over, over);
    return call;
  }

  #step(): IteratorResult<any> | Promise<IteratorResult<any>> {
    if (this.#ended) return { value: undefined, done: true };
    try {
      this.limits.signal?.throwIfAborted();
      const value = this.source.next();
      return isPromise(value) ? this.#wait(value) : this.#result(value);
    } catch (error) {
      return this.#fail(error);
    }
  }

  async #wait(value: PromiseLike<unknown>): Promise<IteratorResult<any>> {
    try {
      return this.#result(await limited(value, this.limits, () => this.#late(), this.#release));
    } catch (error) {
      return this.#fail(error);
    }
  }

  #result(value: unknown): IteratorResult<any> {
    if (value !== END) {
      this.progress.give();
      return { value, done: false };
    }
    this.#ended = true;
    this.progress.finish();
    return { value: undefined, done: true };
  }

  /** A batch that nobody takes. */
  readonly #release = (batch: unknown): void => {
    if (this.makesBatches && batch !== END) disposeAll(batch);
  };

  #late(): TorchError {
    this.#tooLate = true;
    const { at } = this.source;
    const why = at === undefined ? '' : `: sample ${at} takes longer`;
    const what = `expected a batch within ${this.limits.timeoutMs} ms (timeoutMs), got none${why}`;
    const error = codedError(Error, 'ERR_TORCH_TIMEOUT', `${FN}: ${what}`);
    return at === undefined ? error : Object.assign(error, { index: at });
  }

  async #fail(error: unknown): Promise<never> {
    this.#ended = true;
    const abort = this.#tooLate || this.limits.signal?.aborted === true;
    try {
      const end = this.source.end(abort);
      // A dataset that never answers must not hold up a pass that was aborted or took too long.
      if (!abort) await end;
      else if (isPromise(end)) end.then(NOTHING, NOTHING);
    } catch {
      // The first error is the one to report.
    }
    throw error;
  }

  async #stop(value: unknown): Promise<IteratorResult<any>> {
    if (!this.#ended) {
      this.#ended = true;
      await this.#end();
    }
    return { value, done: true };
  }

  /** Within the time of a batch: after it, nothing waits for the sample that is being read. */
  async #end(): Promise<void> {
    const end = this.source.end();
    const { timeoutMs } = this.limits;
    if (timeoutMs === null || !isPromise(end)) return void (await end);
    try {
      await limited(end, { signal: null, timeoutMs }, () => this.#late(), NOTHING);
    } catch (error) {
      if (!this.#tooLate) throw error;
      await this.source.end(true);
    }
  }
}

/** The iterator of a `for` loop. */
export class SyncPass implements IterableIterator<any> {
  #ended = false;
  constructor(
    readonly source: Source,
    readonly progress: PassProgress,
    readonly signal: AbortSignal | null,
  ) {}

  next(): IteratorResult<any> {
    if (this.#ended) return { value: undefined, done: true };
    try {
      this.signal?.throwIfAborted();
      const value = this.source.next();
      refuseAsync(value);
      if (value !== END) {
        this.progress.give();
        return { value, done: false };
      }
    } catch (error) {
      this.#fail(error);
    }
    this.#ended = true;
    this.progress.finish();
    return { value: undefined, done: true };
  }

  #fail(error: unknown): never {
    try {
      this.return();
    } catch {
      // The first error is the one to report.
    }
    throw error;
  }

  return(value?: any): IteratorResult<any> {
    if (!this.#ended) {
      this.#ended = true;
      this.source.end();
    }
    return { value, done: true };
  }

  [Symbol.iterator](): this {
    return this;
  }

  /** Ends the pass, as a `break` does. */
  [Symbol.dispose](): void {
    this.return();
  }
}
