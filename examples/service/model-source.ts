/**
 * Watches the model file: a new file is loaded, tested, and used from the next batch on. If the file is damaged, missing or
 * not such a model, the current model stays, and `problem` says why until the file is good again.
 */
import { readFile, stat } from 'node:fs/promises';
import type { Backend } from './backend';
import { Unavailable } from './failures';
import { versionOf } from './model';

export interface SourceStatus {
  /** The version of the current model. */
  version: string;
  loadedAt: string;
  /** Why the current file was refused; null if it is in use. */
  problem: string | null;
}

export type Outcome = 'replaced' | 'unchanged' | 'refused';

export class ModelSource {
  readonly #file: string;
  readonly #backend: Backend;
  readonly #onOutcome: (outcome: Outcome) => void;
  #status: SourceStatus | undefined;
  /** The state of the file at the last check. */
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

  /** The first model must be good. @throws ModelRefused, or an error from reading the file */
  async open(pollMs: number): Promise<void> {
    this.#signature = await this.#look();
    await this.#take();
    this.#timer = setInterval(() => void this.reload(false), pollMs).unref();
  }

  close(): Promise<unknown> {
    clearInterval(this.#timer);
    return this.#turn;
  }

  /** Loads the current file, if it has changed or if forced. Calls run one after the other. */
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
      // Without a worker the file is not at fault, so the next check tries it again.
      if (error instanceof Unavailable) this.#signature = '';
      this.#keep((error as Error).message);
    }
  }

  /** Two writes within the clock's resolution usually differ in length or inode; SIGHUP loads one that does not. */
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
