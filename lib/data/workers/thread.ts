/** One worker of a loader. */
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { Cell, type FromWorker, type ToWorker, type WorkerData } from './messages';
import { discard } from './packed';

/** Whom a thread tells what happens. */
export interface Listener {
  message(thread: Thread, message: FromWorker): void;
  /** It has ended: by `process.exit` or an error of the program, or, with neither, because it was terminated. */
  exit(thread: Thread, exited: boolean, error: unknown): void;
}

/** A request under way. */
export interface Job {
  readonly id: number;
  readonly indices: number[] | null;
  /** How many workers were terminated while they had it. */
  killed: number;
}

export class Thread {
  /** What it was asked for and has not answered, in this order. */
  readonly jobs: Job[] = [];
  alive = true;
  /** The loader's pass under way; null between passes. */
  listener: Listener | null = null;
  readonly #worker: Worker;
  readonly #cells: Float64Array;
  #error: unknown;

  constructor() {
    const cells = new SharedArrayBuffer(Cell.Count * 8);
    this.#cells = new Float64Array(cells);
    const workerData: WorkerData = { library: join(__dirname, '../../index.js'), cells };
    this.#worker = new Worker(join(__dirname, 'main.js'), { workerData });
    this.#worker.unref();
    this.#worker.on('message', (message: FromWorker) => {
      if (this.listener !== null) this.listener.message(this, message);
      else if (message.type === 'batch') discard(message.packed);
    });
    this.#worker.on('error', (error) => {
      this.#error = error;
    });
    this.#worker.on('exit', () => {
      this.alive = false;
      const exited = this.#cells[Cell.Exited] === 1;
      this.listener?.exit(this, exited, this.#error);
    });
  }

  /** The index of the sample that it reads, or read last. */
  get index(): number {
    return this.#cells[Cell.Index]!;
  }

  post(message: ToWorker): void {
    this.#worker.postMessage(message);
  }

  /** Keeps the process running, or not. */
  hold(wanted: boolean): void {
    if (!this.alive) return;
    if (wanted) this.#worker.ref();
    else this.#worker.unref();
  }

  terminate(): Promise<unknown> {
    return this.#worker.terminate();
  }
}
