/** One worker of a loader. */
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { Cell, ENDINGS, type FromWorker, type ToWorker, type WorkerData } from './messages';
import { discard } from './packed';

/** A pass that a thread works for. */
export interface Listener {
  readonly ended: boolean;
  message(message: FromWorker): void;
  /**
   * The thread has ended. `jobs`: those of this pass that it had; `failed`: it worked at the first of them. `next`: the thread
   * in its place, or why there is none.
   */
  exit(thread: Thread, jobs: Job[], failed: boolean, next: Thread | Error): void;
  /** The pass cannot go on. */
  broken(error: unknown): void;
}

/** A request under way. */
export interface Job {
  readonly pass: number;
  readonly id: number;
  readonly indices: number[] | null;
  /** How many workers were terminated while they had it. */
  killed: number;
}

export class Thread {
  /** What it was asked for and has not answered, in this order, also of passes that end. */
  readonly jobs: Job[] = [];
  /** The passes that it works for, by their numbers. */
  readonly passes = new Map<number, Listener>();
  /** The error that ended it. */
  error: unknown;
  readonly #worker: Worker;
  readonly #cells: Float64Array;
  #alive = true;
  #held = 0;

  constructor(onExit: (thread: Thread) => void) {
    const cells = new SharedArrayBuffer(Cell.Count * 8);
    this.#cells = new Float64Array(cells);
    const workerData: WorkerData = { library: join(__dirname, '../../index.js'), cells };
    this.#worker = new Worker(join(__dirname, 'main.js'), { workerData });
    this.#worker.unref();
    this.#worker.on('message', (message: FromWorker) => this.#message(message));
    this.#worker.on('messageerror', (error) => {
      // The message does not say which pass it is of.
      for (const listener of this.passes.values()) listener.broken(error);
    });
    this.#worker.on('error', (error) => {
      this.error = error;
    });
    this.#worker.on('exit', () => {
      this.#alive = false; // which ends every hold
      onExit(this);
    });
  }

  #message(message: FromWorker): void {
    const { pass, type } = message;
    const listener = this.passes.get(pass);
    if (type === 'ended') {
      this.passes.delete(pass);
      // What waited before the end is not answered.
      this.jobs.splice(0, this.jobs.length, ...this.jobs.filter((job) => job.pass !== pass));
    } else {
      const place = this.jobs.findIndex((job) => job.pass === pass && job.id === message.id);
      if (place >= 0) this.jobs.splice(place, 1);
    }
    if (listener !== undefined) listener.message(message);
    else if (type === 'batch') discard(message.packed);
  }

  /** The index of the sample that it reads, or read last. */
  get index(): number {
    return this.#cells[Cell.Index]!;
  }

  /** Why it ended by itself, without an error. Null: it was terminated. */
  get ending(): string | null {
    return ENDINGS[this.#cells[Cell.Ending]!] ?? null;
  }

  post(message: ToWorker): void {
    this.#worker.postMessage(message);
  }

  /** Keeps the process running, until as many calls with `false`. */
  hold(wanted: boolean): void {
    this.#held += wanted ? 1 : -1;
    if (!this.#alive) return;
    if (this.#held > 0) this.#worker.ref();
    else this.#worker.unref();
  }

  /** The process stays until it has ended, also if a pass that waits for it is answered before. */
  terminate(): Promise<unknown> {
    this.hold(true);
    return this.#worker.terminate();
  }
}
