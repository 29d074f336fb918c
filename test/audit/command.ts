/** The built `leak-audit`, in child processes. */
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { type Outcome, run } from '../support/child';
import { ordinaryEnv } from '../support/sanitized';

export const ROOT = path.resolve(__dirname, '../..');
export const CLI = path.join(ROOT, 'dist/cli/leak-audit.js');

export function leakAudit(args: string[], env: NodeJS.ProcessEnv = {}): Promise<Outcome> {
  return run(process.execPath, [CLI, ...args], { env: { ...ordinaryEnv(), ...env } });
}

/** A folder for the files of one test file, removed after it. */
export function testFolder(): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'leak-audit-test-'));
  afterAll(() => fs.rmSync(folder, { recursive: true, force: true }));
  return folder;
}
