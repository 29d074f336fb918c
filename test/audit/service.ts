/** test/audit/fixtures/service.cjs in a new process, and leak-audit commands on it. */
import { type ChildProcess, spawn } from 'node:child_process';
import * as path from 'node:path';
import { createInterface } from 'node:readline';
import type { Outcome } from '../support/child';
import { type Running as Program, startProgram } from '../support/program';
import { ordinaryEnv } from '../support/sanitized';
import { LIB } from '../support/torch';
import { CLI, leakAudit } from './command';

export { leakAudit };

const FIXTURE = path.join(__dirname, 'fixtures/service.cjs');

/** The live processes started by a test file. */
const running = new Set<Service>();
afterEach(() => {
  for (const service of running) service.kill();
});

export class Service {
  readonly exited: Promise<void>;
  private readonly lines: AsyncIterator<string>;

  private constructor(readonly child: ChildProcess) {
    this.lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
    this.exited = new Promise((resolve) => child.once('exit', () => resolve()));
    running.add(this);
    void this.exited.then(() => running.delete(this));
  }

  static async start(
    env: NodeJS.ProcessEnv = {},
    command: string[] = [process.execPath],
    fixture = FIXTURE,
  ): Promise<Service> {
    const [file, ...args] = command as [string, ...string[]];
    const all = { ...process.env, LTN_LIB: path.join(LIB, 'index.js'), ...env };
    const service = new Service(spawn(file, [...args, fixture], { stdio: ['pipe', 'pipe', 'inherit'], env: all }));
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
    if (done) throw new Error('the service has ended');
    return JSON.parse(value);
  }

  kill(): void {
    this.child.kill('SIGKILL');
  }
}

/** `leak-audit …` in the background. */
export class Running {
  readonly outcome: Promise<Outcome>;
  readonly child: ChildProcess;
  private readonly program: Program;

  constructor(...args: string[]) {
    this.program = startProgram(process.execPath, [CLI, ...args], ordinaryEnv());
    this.child = this.program.child;
    this.outcome = this.program.ended;
  }

  /** Settles once it has written that. */
  async wrote(what: RegExp): Promise<void> {
    await this.program.shows(what, 'either');
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

/** It fails in one line, with status 2. */
export async function refused(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await leakAudit(...args);
  expect({ code, stdout, lines: stderr.trimEnd().split('\n').length }).toEqual({ code: 2, stdout: '', lines: 1 });
  return stderr.trimEnd();
}
