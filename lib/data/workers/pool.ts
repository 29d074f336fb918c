/** The workers of a loader, which stay from pass to pass and work for all passes under way. */
import { argumentError, codedError } from '../../errors/errors';
import { Thread } from './thread';

const FN = 'utils.data.DataLoader';

/** Whether this thread is a worker of a loader. */
let serving = false;
export function setServing(): void {
  serving = true;
}

/**
 * A worker starts no workers, as in Python. A program whose own file has the dataset is imported by its workers, where it runs
 * again: without this, each of them would start more, without end.
 */
export function demandNoWorker(numWorkers: number): void {
  if (!serving) return;
  const how = 'put the dataset in a module of its own, or run the program only if isMainThread of node:worker_threads';
  throw argumentError(
    FN,
    'numWorkers',
    `0 in a worker of a loader, which imports the module of its dataset (${how})`,
    numWorkers,
  );
}

export class Pool {
  readonly threads: Thread[] = [];
  /** The largest batch so far, in bytes; null before the first. */
  largest: number | null = null;
  /** The loader was disposed. */
  ended = false;
  #passes = 0;

  get nextPass(): number {
    return this.#passes++;
  }

  /** Starts the threads that are missing. */
  start(wanted: number): void {
    while (this.threads.length < wanted) this.threads.push(this.#thread());
  }

  async end(): Promise<void> {
    this.ended = true;
    await Promise.all(this.threads.splice(0).map((thread) => thread.terminate()));
  }

  #thread(): Thread {
    return new Thread((thread) => this.#exit(thread));
  }

  /** Another thread takes its place, if a pass needs it. */
  #exit(thread: Thread): void {
    const { threads } = this;
    const jobs = thread.jobs.splice(0);
    const listeners = [...thread.passes];
    thread.passes.clear();
    const place = threads.indexOf(thread);
    let next: Thread | Error = codedError(Error, 'ERR_TORCH_DISPOSED', `${FN}: the loader was disposed`);
    if (place >= 0) {
      threads.splice(place, 1);
      try {
        if (listeners.some(([, { ended }]) => !ended)) {
          next = this.#thread();
          threads.splice(place, 0, next);
        }
      } catch (error) {
        next = error as Error; // nobody catches what is thrown here
      }
    }
    for (const [pass, listener] of listeners) {
      const own = jobs.filter((job) => job.pass === pass);
      try {
        listener.exit(thread, own, own.length > 0 && own[0] === jobs[0], next);
      } catch (error) {
        listener.broken(error); // nobody catches what is thrown here
      }
    }
  }
}
