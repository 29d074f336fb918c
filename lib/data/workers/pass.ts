/** A pass with workers: they read batches ahead, within a number of batches and of bytes; the order is that of the batches. */
import { native } from '../../addon/native';
import { codedError, describe, type TorchError } from '../../errors/errors';
import { scope } from '../../lifetimes/scope';
import { atSite, type Site, siteOfCall } from '../../observe/recording';
import type { Batch, Batches, Mark } from '../batches';
import { END, type Source } from '../local';
import type { Plan } from '../options';
import type { PassProgress } from '../progress';
import { isPromise } from '../read-each';
import { received } from './errors';
import type { FromWorker, StreamForm, ToWorker } from './messages';
import { discard, unpack } from './packed';
import type { Pool } from './pool';
import { demandPostable, discardRecipe, type Recipe, recipeOf } from './recipe';
import type { Job, Listener, Thread } from './thread';

const FN = 'utils.data.DataLoader';
/** How often a batch is done again whose worker was terminated. */
const MAX_KILLED = 3;

type Answer = Extract<FromWorker, { type: 'batch' | 'over' }> | { readonly type: 'failed'; readonly error: unknown };

export class WorkerSource implements Source, Listener {
  readonly #plan: Plan;
  readonly #pool: Pool;
  /** Null for a dataset that is read in order. */
  readonly #batches: Batches | null;
  readonly #progress: PassProgress;
  readonly #recipe: Recipe;
  readonly #pass: number;
  readonly #skip: number;
  readonly #marks = new Map<number, Mark | null>();
  readonly #answers = new Map<number, Answer>();
  /** Batches that were asked for, and those that were given to the program. */
  #asked = 0;
  #given = 0;
  /** The bytes of the answers. */
  #held = 0;
  /** The number of batches, once it is known. */
  #total = Number.POSITIVE_INFINITY;
  #ended = false;
  /** Why no more batches come. */
  #broken: unknown = null;
  /** What `iterator.return()` of the dataset threw. */
  #closing: TorchError | null = null;
  #wakes: (() => void)[] = [];
  /** The cursor after the last batch that came, for a worker that replaces another. */
  #cursor: StreamForm['cursor'] = null;

  constructor(plan: Plan, pool: Pool, batches: Batches | null, progress: PassProgress, skip: number) {
    this.#plan = plan;
    this.#pool = pool;
    this.#batches = batches;
    this.#progress = progress;
    this.#skip = skip;
    this.#pass = pool.nextPass;
    const { resumed } = progress;
    if (resumed !== null && 'dataset' in resumed) this.#cursor = { value: resumed.dataset };
    this.#recipe = recipeOf((plan.map ?? plan.stream)!, plan.worker);
    // One worker reads what can only be read in order.
    pool.start(batches === null ? 1 : plan.numWorkers);
    let opened = false;
    try {
      for (const thread of pool.threads) this.#open(thread);
      opened = true;
    } finally {
      if (!opened) {
        for (const { passes } of pool.threads) passes.delete(this.#pass);
        discardRecipe(this.#recipe);
      }
    }
  }

  get ended(): boolean {
    return this.#ended;
  }

  next(): unknown {
    this.#ask();
    const answer = this.#take();
    return answer === null ? this.#wait(siteOfCall(native, WorkerSource.prototype.next)) : this.#give(answer);
  }

  get at(): number | undefined {
    const thread = this.#pool.threads.find(({ jobs }) =>
      jobs.some(({ pass, id }) => pass === this.#pass && id === this.#given),
    );
    return thread?.index;
  }

  async end(abort = false): Promise<void> {
    if (this.#ended) {
      if (abort) for (const thread of this.#pool.threads) this.#interrupt(thread);
      return;
    }
    this.#ended = true;
    this.#discard();
    const { threads } = this.#pool;
    for (const thread of threads) {
      if (abort && this.#interrupt(thread)) continue;
      if (thread.passes.has(this.#pass)) thread.post({ type: 'end', pass: this.#pass });
    }
    try {
      this.#batches?.end();
    } finally {
      while (threads.some(({ passes }) => passes.has(this.#pass))) await this.#news();
      discardRecipe(this.#recipe);
    }
    if (this.#closing !== null) throw this.#closing;
  }

  #discard(): void {
    for (const answer of this.#answers.values()) if (answer.type === 'batch') discard(answer.packed);
    this.#answers.clear();
  }

  /** Ends a worker that reads a sample of this pass: an aborted pass does not wait for it. */
  #interrupt(thread: Thread): boolean {
    const reads = thread.jobs[0]?.pass === this.#pass;
    if (reads) void thread.terminate();
    return reads;
  }

  #open(thread: Thread): void {
    const { batchSize, batchSampler, dropLast, collateFn } = this.#plan;
    const stream: StreamForm | null =
      this.#batches !== null
        ? null
        : {
            size: batchSize ?? 1,
            dropLast,
            skip: this.#cursor === null ? this.#skip + this.#came : 0,
            first:
              this.#cursor === null ? 0 : ((this.#progress.resumed?.position ?? 0) + this.#came) * (batchSize ?? 1),
            cursor: this.#cursor,
            ended: this.#progress.ended,
          };
    const message: ToWorker = {
      type: 'open',
      pass: this.#pass,
      recipe: this.#recipe,
      batched: batchSize !== null || batchSampler !== null,
      collate: collateFn === null,
      seed: this.#progress.seed,
      epoch: this.#progress.epoch,
      stream,
    };
    try {
      thread.post(message);
    } catch (error) {
      demandPostable(this.#recipe, this.#plan.worker !== null);
      throw error;
    }
    thread.passes.set(this.#pass, this);
  }

  /** The batches of a dataset that is read in order that have come. */
  get #came(): number {
    let came = this.#given;
    while (this.#answers.has(came)) came++;
    return came;
  }

  /** Asks for batches, as many as the limits allow. */
  #ask(): void {
    const { threads, largest } = this.#pool;
    const { prefetchFactor, prefetchBytes, numWorkers } = this.#plan;
    // Without a thread the loader was disposed: their ends are reported.
    if (threads.length === 0) return;
    while (!this.#ended && this.#broken === null && this.#asked < this.#total) {
      const ahead = this.#asked - this.#given;
      if (ahead >= prefetchFactor * numWorkers) return;
      const underWay = ahead - this.#answers.size;
      const bytes = this.#held + (underWay + 1) * (largest ?? 0);
      // One is always read, also if it alone exceeds the limit.
      if (ahead > 0 && prefetchBytes !== Number.POSITIVE_INFINITY && (largest === null || bytes > prefetchBytes))
        return;
      let batch: Batch | null | undefined;
      try {
        batch = this.#batches?.next();
      } catch (error) {
        // The loop rejects after the batches before it.
        this.#answers.set(this.#asked++, { type: 'failed', error });
        this.#total = this.#asked;
        return;
      }
      if (batch === null) {
        this.#total = this.#asked;
        return;
      }
      const id = this.#asked++;
      this.#marks.set(id, batch?.mark ?? null);
      const free = threads.reduce((a, b) => (b.jobs.length < a.jobs.length ? b : a));
      this.#send(free, { pass: this.#pass, id, indices: batch?.indices.list() ?? null, killed: 0 });
    }
  }

  #send(thread: Thread, job: Job): void {
    thread.jobs.push(job);
    thread.post({ type: 'fetch', pass: this.#pass, id: job.id, indices: job.indices });
  }

  message(message: FromWorker): void {
    if (message.type === 'ended') {
      if (message.error !== null) this.#closing ??= failure('the end of the iterator', null, received(message.error));
    } else if (this.#ended || this.#pool.ended) {
      if (message.type === 'batch') discard(message.packed);
    } else if (message.type === 'error') this.#fail(message.id, message.index, received(message.error));
    else this.#answered(message);
    this.#tell();
  }

  broken(error: unknown): void {
    this.#broken ??= failure('a worker cannot go on', null, error);
    this.#tell();
  }

  #answered(message: Extract<FromWorker, { type: 'batch' | 'over' }>): void {
    if (message.type === 'over') this.#total = Math.min(this.#total, message.id);
    else {
      this.#held += message.packed.bytes;
      this.#pool.largest = Math.max(this.#pool.largest ?? 0, message.packed.bytes);
      if (message.cursor !== null) this.#cursor = message.cursor;
    }
    this.#answers.set(message.id, message);
    this.#ask();
  }

  /** `id` null: the dataset could not be made, so no batch comes. */
  #fail(id: number | null, index: number, error: unknown): void {
    if (id === null) this.#broken ??= failure('the dataset cannot be made in a worker', null, error);
    else this.#answers.set(id, { type: 'failed', error: failure(`sample ${index}`, index, error) });
  }

  exit(thread: Thread, jobs: Job[], failed: boolean, next: Thread | Error): void {
    if (this.#pool.ended) this.#discard(); // nothing comes of a disposed loader, also not what was read ahead
    if (next instanceof Error) this.#broken ??= next;
    else if (!this.#ended) this.#replace(thread, jobs, failed, next);
    this.#tell();
  }

  #replace(thread: Thread, jobs: Job[], failed: boolean, next: Thread): void {
    const { error, ending } = thread;
    const [first] = jobs;
    if (failed && first !== undefined) {
      first.killed++;
      const why = error ?? new Error(ending ?? 'the worker was terminated');
      if (error !== undefined || ending !== null || first.killed >= MAX_KILLED) {
        this.#fail(first.id, thread.index, why);
        jobs.shift();
      }
    }
    this.#open(next);
    for (const job of jobs) this.#send(next, job);
  }

  #take(): Answer | null {
    const id = this.#given;
    if (id >= this.#total) return { type: 'over', pass: this.#pass, id };
    const answer = this.#answers.get(id) ?? null;
    this.#answers.delete(id);
    return answer === null && this.#broken !== null ? { type: 'failed', error: this.#broken } : answer;
  }

  async #wait(site: Site | undefined): Promise<unknown> {
    for (;;) {
      await this.#news();
      if (this.#ended) return END;
      const answer = this.#take();
      if (answer !== null) return this.#give(answer, site);
    }
  }

  /** `site`: the line that asked for the batch, if that was in an earlier turn of the event loop. */
  #give(answer: Answer, site?: Site): unknown {
    if (answer.type === 'failed') throw answer.error;
    if (answer.type === 'over') return this.end().then(() => END);
    const id = this.#given++;
    this.#held -= answer.packed.bytes;
    this.#ask();
    const { collateFn } = this.#plan;
    const unpacked = () => (site === undefined ? unpack(answer.packed) : atSite(site, () => unpack(answer.packed)));
    const value = collateFn === null ? unpacked() : scope(() => collateFn(unpacked()));
    const advance = (batch: unknown): unknown => {
      this.#progress.advance(this.#marks.get(id) ?? null, answer.ended, answer.cursor);
      this.#marks.delete(id);
      return batch;
    };
    return isPromise(value) ? value.then(advance) : advance(value);
  }

  /** Waits for a message or an exit. The process stays until then. */
  async #news(): Promise<void> {
    const held = [...this.#pool.threads];
    for (const thread of held) thread.hold(true);
    await new Promise<void>((resolve) => {
      this.#wakes.push(resolve);
    });
    for (const thread of held) thread.hold(false);
  }

  #tell(): void {
    for (const wake of this.#wakes.splice(0)) wake();
  }
}

/** The error of a worker: the `index` of its sample, and the error there as `cause`, with its stack. */
function failure(at: string, index: number | null, error: unknown): TorchError {
  const { message, stack } = (error ?? {}) as Partial<Error>;
  const made = codedError(Error, 'ERR_TORCH_DATA', `${FN}: ${at}: ${message ?? describe(error)}`);
  if (index !== null) made.index = index;
  Object.defineProperty(made, 'cause', { value: error, configurable: true, writable: true });
  if (stack !== undefined) made.stack = `${made.stack}\n  in a worker: ${stack}`;
  return made;
}
