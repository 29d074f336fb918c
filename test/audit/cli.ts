/** The built command, for tests. */
import { type ChildProcess, spawn } from 'node:child_process';
import * as path from 'node:path';

export const ROOT = path.resolve(__dirname, '../..');
export const CLI = path.join(ROOT, 'dist/cli/leak-audit.js');
export const fixture = (name: string): string => path.join(__dirname, 'fixtures', name);

export interface Outcome {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

/** Runs a command to its end; `onOutput` gets the stdout so far. */
export function execute(
  command: string[],
  options: { env?: Record<string, string>; onOutput?: (child: ChildProcess, stdout: string) => void } = {},
): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const [file, ...args] = command as [string, ...string[]];
    const env = { ...process.env, ...options.env };
    const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'pipe'], env });
    let stdout = '';
    let stderr = '';
    child.stdout!.on('data', (chunk) => {
      stdout += chunk;
      options.onOutput?.(child, stdout);
    });
    child.stderr!.on('data', (chunk) => {
      stderr += chunk;
    });
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
}

/** `leak-audit …`. */
export const leakAudit = (...args: string[]): Promise<Outcome> => execute([process.execPath, CLI, ...args]);
