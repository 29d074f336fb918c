/** The built `leak-audit`, in child processes. */
import type { ChildProcess } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { type Outcome, run } from '../support/child';
import { type Running as Program, startProgram } from '../support/program';
import { ordinaryEnv } from '../support/sanitized';

export const ROOT = path.resolve(__dirname, '../..');
export const CLI = path.join(ROOT, 'dist/cli/leak-audit.js');
export const fixture = (name: string): string => path.join(__dirname, 'fixtures', name);

/** `leak-audit …` to its end. As a list, the arguments may be followed by more variables of the environment. */
export function leakAudit(...args: string[]): Promise<Outcome>;
export function leakAudit(args: readonly string[], env?: NodeJS.ProcessEnv): Promise<Outcome>;
export function leakAudit(...given: unknown[]): Promise<Outcome> {
  const [args, env] = (Array.isArray(given[0]) ? given : [given]) as [string[], NodeJS.ProcessEnv?];
  return run(process.execPath, [CLI, ...args], { env: { ...ordinaryEnv(), ...env } });
}

/** The same for a command that starts a program, which the sanitizers are to see too. */
export const auditProgram = (...args: string[]): Promise<Outcome> => leakAudit(args, process.env);

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

/** It fails in one line, with status 2. */
export async function refused(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await leakAudit(...args);
  expect({ code, stdout, lines: stderr.trimEnd().split('\n').length }).toEqual({ code: 2, stdout: '', lines: 1 });
  return stderr.trimEnd();
}

/** A folder for the files of one test file, removed after it. */
export function testFolder(): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'leak-audit-test-'));
  afterAll(() => fs.rmSync(folder, { recursive: true, force: true }));
  return folder;
}
