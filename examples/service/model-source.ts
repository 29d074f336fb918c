/**
 * The model file, watched: what replaces it is loaded, tried, and takes over between two batches. What is damaged, is no such
 * model, or is gone leaves the present one in place, and `problem` says so until the file is good again.
 */
import { readFile, stat } from 'node:fs/promises';
import type { Backend } from './backend';
import { Unavailable } from './failures';
import { versionOf } from './model';

export interface SourceStatus {
  /** Of the model that answers. */
  version: string;
  loadedAt: string;
  /** Why the file as it is now was not taken; null when it was. */
  problem: string | null;
}

export type Outcome = 'replaced' | 'unchanged' | 'refused';

export class ModelSource {
  readonly #file: string;
  readonly #backend: Backend;
  readonly #onOutcome: (outcome: Outcome) => void;
  #status: SourceStatus | undefined;
  /** Of the file as it was last looked at. */
  #signature = '';
  #timer: NodeJS.Timeout | undefined;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(file: string, backend: Backend, onOutcome: (outcome: Outcome) => void) {
    this.#file = file;
    this.#backend = backend;
    this.#onOutcome = onOutcome;
  }

  get status(): SourceStatus | undefined {
    return this.#status;
  }

  /** The first model has to be good. @throws ModelRefused, or what reading the file gives */
  async open(pollMs: number): Promise<void> {
    this.#signature = await this.#look();
    await this.#take();
    this.#timer = setInterval(() => void this.reload(false), pollMs).unref();
  }

  close(): Promise<unknown> {
    clearInterval(this.#timer);
    return this.#turn;
  }

  /** Takes the file as it is now; unless asked to, only one that has changed. One after the other. */
  reload(always: boolean): Promise<void> {
    const turn = this.#turn.then(() => this.#reload(always));
    this.#turn = turn;
    return turn;
  }

  async #reload(always: boolean): Promise<void> {
    const signature = await this.#look();
    if (signature === this.#signature && !always) return;
    this.#signature = signature;
    try {
      await this.#take();
    } catch (error) {
      // Not the file's fault where no worker was there: it is tried again at the next look.
      if (error instanceof Unavailable) this.#signature = '';
      this.#keep((error as Error).message);
    }
  }

  /** Two writes within the clock's resolution differ in length or in inode; those that do not, SIGHUP takes. */
  async #look(): Promise<string> {
    try {
      const { mtimeMs, ctimeMs, size, ino } = await stat(this.#file);
      return [mtimeMs, ctimeMs, size, ino].join();
    } catch (error) {
      return (error as NodeJS.ErrnoException).code!;
    }
  }

  async #take(): Promise<void> {
    const bytes = await readFile(this.#file);
    const version = versionOf(bytes);
    if (this.#status?.version !== version) {
      await this.#backend.load({ bytes, version });
      this.#status = { version, loadedAt: new Date().toISOString(), problem: null };
      console.log(`model ${version} answers from now on`);
      this.#onOutcome('replaced');
    } else {
      this.#status.problem = null;
      this.#onOutcome('unchanged');
    }
  }

  #keep(problem: string): void {
    this.#status!.problem = problem;
    console.error(`model ${this.#status!.version} stays: ${problem}`);
    this.#onOutcome('refused');
  }
}
