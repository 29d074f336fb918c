/** One worker, as seen by the service: every question gets an answer, also when the worker dies. */
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
  /** Resolves with a description of how it ended. */
  readonly ended: Promise<string>;

  constructor(settings: WorkerSettings) {
    this.#child = fork(path.join(__dirname, 'worker.js'), {
      serialization: 'advanced', // supports typed arrays
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

  /** @throws Unavailable if the worker ends before it answers, or the error that it answers with */
  ask<S extends Subject>(subject: S, content: Questions[S]['content']): Promise<Questions[S]['answer']> {
    return new Promise((resolve, reject) => {
      if (this.#gone !== undefined) return reject(this.#gone);
      const id = ++this.#lastId;
      this.#pending.set(id, { resolve: resolve as Pending['resolve'], reject });
      // A failed send means that the worker is ending; its end rejects the question.
      this.#child.send({ id, subject, content } as Question, () => {});
    });
  }

  /** Ends it gracefully. */
  async close(): Promise<void> {
    if (this.#child.connected) this.#child.disconnect();
    await this.ended;
  }

  /** Kills it. */
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
    this.#gone = new Unavailable('WORKER_GONE', `the worker with this request has ended (${how})`);
    for (const { reject } of this.#pending.values()) reject(this.#gone);
    this.#pending.clear();
  }
}

const errorOf = (code: string, message: string): Error =>
  code === 'MODEL_REFUSED' ? new ModelRefused(message) : Object.assign(new Error(message), { code });
