/** The built `leak-audit`, in child processes. */
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { type Outcome, run } from '../support/child';
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

/** A folder for the files of one test file, removed after it. */
export function testFolder(): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'leak-audit-test-'));
  afterAll(() => fs.rmSync(folder, { recursive: true, force: true }));
  return folder;
}
