/**
 * Collects single items into batches. An item waits at most `maxWaitMs` for other items while a batch could run, and at most
 * `queueTimeoutMs` in total; beyond `maxQueue` items are refused. So under overload items are refused instead of waiting
 * ever longer.
 */
import { AsyncResource } from 'node:async_hooks';
import { ClientGone, Unavailable } from './failures';

export interface BatcherOptions<Item, Answer> {
  maxBatch: number;
  maxWaitMs: number;
  maxQueue: number;
  queueTimeoutMs: number;
  /** How many batches may currently run at the same time. Call `wake` when that grows. */
  slots(): number;
  /** Answers in the order of the items. */
  run(items: Item[]): Promise<Answer[]> | Answer[];
}

/** An accepted item. */
export interface Ticket<Answer> {
  answer: Promise<Answer>;
  /** Removes the item from the queue, if it is still there. */
  cancel(): void;
}

interface Entry<Item, Answer> {
  item: Item;
  since: number;
  resolve(answer: Answer): void;
  reject(reason: Error): void;
}

export class Batcher<Item, Answer> {
  readonly #options: BatcherOptions<Item, Answer>;
  #queue: Entry<Item, Answer>[] = [];
  #running = 0;
  #timer: NodeJS.Timeout | undefined;
  readonly #expiry: NodeJS.Timeout;
  /** Batches start in this context instead of that of the last request, whose scope ends before theirs. */
  readonly #context = new AsyncResource('Batcher');

  constructor(options: BatcherOptions<Item, Answer>) {
    this.#options = options;
    this.#expiry = setInterval(() => this.#expire(), Math.min(1000, Math.ceil(options.queueTimeoutMs / 4))).unref();
  }

  /** Waiting items. */
  get waiting(): number {
    return this.#queue.length;
  }

  /** Running batches. */
  get running(): number {
    return this.#running;
  }

  /** @throws Unavailable when the queue is full */
  add(item: Item): Ticket<Answer> {
    const { maxBatch, maxQueue } = this.#options;
    if (this.#queue.length >= maxQueue) throw new Unavailable('QUEUE_FULL', `${maxQueue} requests are waiting already`);
    let entry: Entry<Item, Answer>;
    const answer = new Promise<Answer>((resolve, reject) => {
      entry = { item, since: performance.now(), resolve, reject };
    });
    this.#queue.push(entry!);
    // With a timer, a batch begins when the first item has waited long enough.
    if (this.#timer === undefined || this.#queue.length >= maxBatch) this.wake();
    return { answer, cancel: () => this.#cancel(entry) };
  }

  /** Starts as many batches as possible. */
  wake(): void {
    this.#context.runInAsyncScope(() => this.#beginAll());
  }

  stop(): void {
    clearTimeout(this.#timer);
    clearInterval(this.#expiry);
  }

  #beginAll(): void {
    const { maxBatch, maxWaitMs, slots } = this.#options;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    while (this.#queue.length > 0 && this.#running < slots()) {
      const left = maxWaitMs - (performance.now() - this.#queue[0]!.since);
      if (this.#queue.length < maxBatch && left > 0) {
        this.#timer = setTimeout(() => this.#beginAll(), left);
        return;
      }
      void this.#run(this.#queue.splice(0, maxBatch));
    }
  }

  async #run(entries: Entry<Item, Answer>[]): Promise<void> {
    this.#running++;
    try {
      const answers = await this.#options.run(entries.map(({ item }) => item));
      for (const [i, { resolve }] of entries.entries()) resolve(answers[i]!);
    } catch (error) {
      for (const { reject } of entries) reject(error as Error);
    } finally {
      this.#running--;
      this.#beginAll();
    }
  }

  #cancel(entry: Entry<Item, Answer>): void {
    const at = this.#queue.indexOf(entry);
    if (at < 0) return;
    this.#queue.splice(at, 1);
    entry.reject(new ClientGone('the client went'));
  }

  #expire(): void {
    const { queueTimeoutMs } = this.#options;
    const limit = performance.now() - queueTimeoutMs;
    const late = this.#queue.findIndex(({ since }) => since > limit);
    const expired = this.#queue.splice(0, late < 0 ? this.#queue.length : late);
    for (const { reject } of expired) {
      reject(new Unavailable('QUEUE_TIMEOUT', `no batch had room within ${queueTimeoutMs} ms`));
    }
  }
}
