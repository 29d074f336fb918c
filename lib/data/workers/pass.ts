/** A pass with workers: they read batches ahead, within a number of batches and of bytes; the order is that of the batches. */
import { codedError, describe, type TorchError } from '../../errors/errors';
import { scope } from '../../lifetimes/scope';
import type { Batches, Mark } from '../batches';
import { END, type Source } from '../local';
import type { Plan } from '../options';
import type { Progress } from '../progress';
import type { FromWorker, StreamForm, ToWorker } from './messages';
import { discard, unpack } from './packed';
import { discardRecipe, type Recipe, recipeOf } from './recipe';
import { type Job, type Listener, Thread } from './thread';

const FN = 'utils.data.DataLoader';
/** How often a batch is done again whose worker was terminated. */
const MOST_KILLED = 3;

type Answer = Extract<FromWorker, { type: 'batch' | 'over' }> | { readonly type: 'failed'; readonly error: unknown };

/** The workers of a loader, which stay from pass to pass. */
export class Pool {
  readonly threads: Thread[] = [];
  /** The largest batch so far. */
  largest = 0;
  #passes = 0;

  get nextPass(): number {
    return this.#passes++;
  }

  async end(): Promise<void> {
    await Promise.all(this.threads.splice(0).map((thread) => thread.terminate()));
  }
}

export class WorkerSource implements Source, Listener {
  readonly #plan: Plan;
  readonly #pool: Pool;
  /** Null for a dataset that is read in order. */
  readonly #batches: Batches | null;
  readonly #progress: Progress;
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
  #wake: (() => void) | null = null;
  /** The cursor behind the last batch that came, for a worker that replaces another. */
  #cursor: StreamForm['cursor'] = null;

  constructor(plan: Plan, pool: Pool, batches: Batches | null, progress: Progress, skip: number) {
    this.#plan = plan;
    this.#pool = pool;
    this.#batches = batches;
    this.#progress = progress;
    this.#skip = skip;
    this.#pass = pool.nextPass;
    const { resumed } = progress;
    if (resumed !== null && 'dataset' in resumed) this.#cursor = { value: resumed.dataset };
    this.#recipe = recipeOf((plan.map ?? plan.stream)!, plan.worker);
    pool.threads.splice(0, pool.threads.length, ...pool.threads.filter(({ alive }) => alive));
    // One worker reads what can only be read in order.
    const wanted = batches === null ? 1 : plan.numWorkers;
    while (pool.threads.length < wanted) pool.threads.push(new Thread());
    for (const thread of pool.threads) this.#open(thread);
  }

  next(): unknown {
    this.#ask();
    const answer = this.#take();
    return answer === null ? this.#wait() : this.#give(answer);
  }

  async end(abort = false): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    this.#batches?.end();
    for (const answer of this.#answers.values()) if (answer.type === 'batch') discard(answer.packed);
    this.#answers.clear();
    const { threads } = this.#pool;
    for (const thread of threads) {
      // An aborted pass does not wait for the sample that a worker reads.
      if (abort && thread.jobs.length > 0) void thread.terminate();
      else if (thread.alive) thread.post({ type: 'end', pass: this.#pass });
      thread.jobs.length = 0;
    }
    try {
      while (threads.some(({ alive, listener }) => alive && listener === this)) await this.#news();
    } finally {
      discardRecipe(this.#recipe);
    }
  }

  #open(thread: Thread): void {
    const { batchSize, batchSampler, dropLast, collateFn } = this.#plan;
    thread.listener = this;
    const stream: StreamForm | null =
      this.#batches !== null
        ? null
        : {
            size: batchSize ?? 1,
            dropLast,
            skip: this.#cursor === null ? this.#skip + this.#came : 0,
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
    thread.post(message);
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
      const bytes = this.#held + (underWay + 1) * largest;
      // One is always read, also if it alone exceeds the limit.
      if (ahead > 0 && prefetchBytes !== Number.POSITIVE_INFINITY && (largest === 0 || bytes > prefetchBytes)) return;
      const batch = this.#batches?.next();
      if (batch === null) {
        this.#total = this.#asked;
        return;
      }
      const id = this.#asked++;
      this.#marks.set(id, batch?.mark ?? null);
      const free = threads.reduce((a, b) => (b.jobs.length < a.jobs.length ? b : a));
      this.#send(free, { id, indices: batch?.indices.list() ?? null, killed: 0 });
    }
  }

  #send(thread: Thread, job: Job): void {
    thread.jobs.push(job);
    thread.post({ type: 'fetch', pass: this.#pass, id: job.id, indices: job.indices });
  }

  message(thread: Thread, message: FromWorker): void {
    if (message.pass !== this.#pass || this.#ended) {
      if (message.type === 'batch') discard(message.packed);
      if (message.type === 'ended') thread.listener = null;
      this.#tell();
      return;
    }
    const { id } = message as { id: number | null };
    const place = thread.jobs.findIndex((job) => job.id === id);
    if (place >= 0) thread.jobs.splice(place, 1);
    if (message.type === 'error') this.#fail(id, message.index, message.error);
    else if (message.type === 'batch' || message.type === 'over') this.#answered(message);
    this.#tell();
  }

  #answered(message: Extract<FromWorker, { type: 'batch' | 'over' }>): void {
    if (message.type === 'over') this.#total = Math.min(this.#total, message.id);
    else {
      this.#held += message.packed.bytes;
      this.#pool.largest = Math.max(this.#pool.largest, message.packed.bytes);
      if (message.cursor !== null) this.#cursor = message.cursor;
    }
    this.#answers.set(message.id, message);
    this.#ask();
  }

  /** `id` null: the dataset could not be made, so no batch comes. */
  #fail(id: number | null, index: number, error: unknown): void {
    if (id === null) this.#broken ??= failure(null, error);
    else this.#answers.set(id, { type: 'failed', error: failure(index, error) });
  }

  exit(thread: Thread, exited: boolean, error: unknown): void {
    const { threads } = this.#pool;
    const place = threads.indexOf(thread);
    const jobs = thread.jobs.splice(0);
    if (this.#ended) {
      if (place >= 0) threads.splice(place, 1);
      this.#tell();
      return;
    }
    if (place < 0) {
      this.#broken ??= codedError(Error, 'ERR_TORCH_DISPOSED', `${FN}: the loader was disposed`);
      this.#tell();
      return;
    }
    const [first, ...others] = jobs;
    const again = [...others];
    if (first !== undefined) {
      first.killed++;
      const why =
        error ?? (exited ? new Error('the worker called process.exit') : new Error('the worker was terminated'));
      if (error !== undefined || exited || first.killed >= MOST_KILLED) this.#fail(first.id, thread.index, why);
      else again.unshift(first);
    }
    const next = new Thread();
    threads.splice(place, 1, next);
    this.#open(next);
    for (const job of again) this.#send(next, job);
    this.#tell();
  }

  #take(): Answer | null {
    const id = this.#given;
    if (id >= this.#total) return { type: 'over', pass: this.#pass, id };
    const answer = this.#answers.get(id) ?? null;
    this.#answers.delete(id);
    return answer === null && this.#broken !== null ? { type: 'failed', error: this.#broken } : answer;
  }

  async #wait(): Promise<unknown> {
    for (;;) {
      await this.#news();
      if (this.#ended) return END;
      const answer = this.#take();
      if (answer !== null) return this.#give(answer);
    }
  }

  #give(answer: Answer): unknown {
    if (answer.type === 'failed') throw answer.error;
    if (answer.type === 'over') return this.end().then(() => END);
    const id = this.#given++;
    this.#held -= answer.packed.bytes;
    this.#progress.ended = answer.ended;
    this.#progress.cursor = answer.cursor;
    this.#progress.advance(this.#marks.get(id) ?? null);
    this.#marks.delete(id);
    this.#ask();
    const { collateFn } = this.#plan;
    if (collateFn === null) return unpack(answer.packed);
    return scope(() => collateFn(unpack(answer.packed)));
  }

  /** Waits for a message or an exit. The process stays until then. */
  async #news(): Promise<void> {
    const { threads } = this.#pool;
    for (const thread of threads) thread.hold(true);
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    for (const thread of threads) thread.hold(false);
  }

  #tell(): void {
    const wake = this.#wake;
    this.#wake = null;
    wake?.();
  }
}

/** The error of a worker: the `index` of its sample, and the error there as `cause`, with its stack. */
function failure(index: number | null, error: unknown): TorchError {
  const { message, stack } = (error ?? {}) as Partial<Error>;
  const at = index === null ? 'the dataset cannot be made in a worker' : `sample ${index}`;
  const made = codedError(Error, 'ERR_TORCH_DATA', `${FN}: ${at}: ${message ?? describe(error)}`);
  if (index !== null) made.index = index;
  Object.defineProperty(made, 'cause', { value: error, configurable: true, writable: true });
  if (stack !== undefined) made.stack = `${made.stack}\n  in a worker: ${stack}`;
  return made;
}
