/** A program that runs while the test observes it. */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Outcome } from './child';
import { ROOT } from './torch';

export interface Running {
  child: ChildProcess;
  ended: Promise<Outcome>;
  /** The match once the stdout has one, or either stream; rejects if the program ends before. */
  shows(pattern: RegExp, where?: 'stdout' | 'either'): Promise<RegExpExecArray>;
  /** The stderr so far. */
  said(): string;
}

/** `env` is the whole environment. */
export function startProgram(
  command: string,
  args: string[],
  env: NodeJS.ProcessEnv = process.env,
  stdin: 'ignore' | 'pipe' = 'ignore',
): Running {
  const child = spawn(command, args, {
    cwd: ROOT,
    env,
    stdio: [stdin, 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  const listeners = new Set<() => void>();
  child.stdout!.on('data', (chunk) => {
    stdout += chunk;
    for (const listener of listeners) listener();
  });
  child.stderr!.on('data', (chunk) => {
    stderr += chunk;
    for (const listener of listeners) listener();
  });
  const ended = new Promise<Outcome>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
  const shows: Running['shows'] = (pattern, where = 'stdout') =>
    new Promise<RegExpExecArray>((resolve, reject) => {
      const look = () => {
        const found = pattern.exec(where === 'stdout' ? stdout : stdout + stderr);
        if (found !== null) resolve(found);
      };
      listeners.add(look);
      look();
      const late = () => reject(new Error(`${args[0]} ended without ${pattern}: ${stdout}${stderr}`));
      ended.then(late, reject);
    });
  return { child, ended, shows, said: () => stderr };
}
