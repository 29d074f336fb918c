/** test/support/service-program.cjs, or another program of its protocol, in a new process. */
import type { ChildProcess } from 'node:child_process';
import * as path from 'node:path';
import { createInterface } from 'node:readline';
import type { Outcome } from './child';
import { startProgram } from './program';
import { LIB } from './torch';

interface StartOptions {
  /** The whole environment, without `variables`. */
  env?: NodeJS.ProcessEnv;
  variables?: NodeJS.ProcessEnv;
  /** What starts the program. */
  command?: string[];
  program?: string;
}

/** The live processes started by a test file. */
const running = new Set<Service>();
afterEach(() => {
  for (const service of running) service.kill();
});

export class Service {
  readonly child: ChildProcess;
  readonly exited: Promise<void>;
  /** Settles when its streams have ended too. */
  readonly outcome: Promise<Outcome>;
  /** Its stderr so far. */
  readonly said: () => string;
  private readonly lines: AsyncIterator<string>;

  private constructor(command: string, args: string[], env: NodeJS.ProcessEnv) {
    const { child, ended, said } = startProgram(command, args, env, 'pipe');
    this.child = child;
    this.outcome = ended;
    this.said = said;
    this.lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
    this.exited = new Promise((resolve) => child.once('exit', () => resolve()));
    running.add(this);
    void this.exited.then(() => running.delete(this));
  }

  static async start({
    env = process.env,
    variables = {},
    command = [process.execPath],
    program = path.join(__dirname, 'service-program.cjs'),
  }: StartOptions = {}): Promise<Service> {
    const [file, ...args] = command as [string, ...string[]];
    const all = { ...env, LTN_LIB: path.join(LIB, 'index.js'), ...variables };
    const service = new Service(file, [...args, program], all);
    expect(await service.answer()).toBe('ready');
    return service;
  }

  get pid(): number {
    return this.child.pid!;
  }

  /** The service's answer to a command. */
  tell(command: string): Promise<any> {
    this.say(command);
    return this.answer();
  }

  say(command: string): void {
    this.child.stdin!.write(`${command}\n`);
  }

  async answer(): Promise<any> {
    const { value, done } = await this.lines.next();
    if (done) throw new Error(`the service has ended: ${this.said()}`);
    return JSON.parse(value);
  }

  kill(): void {
    this.child.kill('SIGKILL');
  }
}

/** Waits until `fn` returns a truthy value; the test's own limit is the timeout. */
export async function until<T>(fn: () => Promise<T | undefined | false>): Promise<T> {
  for (;;) {
    const value = await fn();
    if (value !== undefined && value !== false) return value;
    await pause(50);
  }
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
