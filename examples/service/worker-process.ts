/** One worker, as seen by the service: what it is asked is answered, also when it dies. */
import { type ChildProcess, fork } from 'node:child_process';
import * as path from 'node:path';
import { ModelRefused, Unavailable } from './failures';
import type { Question, Questions, Reply, Subject, WorkerSettings } from './messages';

interface Pending {
  resolve(answer: unknown): void;
  reject(reason: Error): void;
}

export class WorkerProcess {
  readonly #child: ChildProcess;
  readonly #pending = new Map<number, Pending>();
  #lastId = 0;
  #gone: Error | undefined;
  /** Resolves with how it ended, in words. */
  readonly ended: Promise<string>;

  constructor(settings: WorkerSettings) {
    this.#child = fork(path.join(__dirname, 'worker.js'), {
      serialization: 'advanced', // typed arrays as they are
      env: { ...process.env, SERVICE_WORKER: JSON.stringify(settings) },
    });
    this.#child.on('message', (reply: Reply) => this.#take(reply));
    this.ended = new Promise((resolve) => {
      const end = (how: string) => {
        this.#fail(how);
        resolve(how);
      };
      this.#child.once('error', (error) => end(error.message));
      this.#child.once('exit', (code, signal) => end(signal ?? `status ${code}`));
    });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** @throws Unavailable when the worker ends before it has answered, or what it answers with */
  ask<S extends Subject>(subject: S, content: Questions[S]['content']): Promise<Questions[S]['answer']> {
    return new Promise((resolve, reject) => {
      if (this.#gone !== undefined) return reject(this.#gone);
      const id = ++this.#lastId;
      this.#pending.set(id, { resolve: resolve as Pending['resolve'], reject });
      // A send that fails means that the worker is ending, and its end answers.
      this.#child.send({ id, subject, content } as Question, () => {});
    });
  }

  /** Lets it end in order. */
  async close(): Promise<void> {
    if (this.#child.connected) this.#child.disconnect();
    await this.ended;
  }

  /** Ends it at once. */
  kill(): void {
    this.#child.kill('SIGKILL');
  }

  #take(reply: Reply): void {
    const pending = this.#pending.get(reply.id);
    this.#pending.delete(reply.id);
    if ('answer' in reply) pending?.resolve(reply.answer);
    else pending?.reject(errorOf(reply.code, reply.message));
  }

  #fail(how: string): void {
    this.#gone = new Unavailable('WORKER_GONE', `the worker that had this request has ended (${how})`);
    for (const { reject } of this.#pending.values()) reject(this.#gone);
    this.#pending.clear();
  }
}

const errorOf = (code: string, message: string): Error =>
  code === 'MODEL_REFUSED' ? new ModelRefused(message) : Object.assign(new Error(message), { code });
