/** Starts the built example's programs, and ends them. */
import { type ChildProcess, spawn } from 'node:child_process';
import * as path from 'node:path';

export const ROOT = path.resolve(__dirname, '../..');
const DIGITS = path.join(ROOT, 'dist/examples/digits');

export interface Outcome {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface Running {
  child: ChildProcess;
  ended: Promise<Outcome>;
  /** What is on stdout once `pattern` is there; rejects when the program ends before. */
  shows(pattern: RegExp): Promise<RegExpExecArray>;
}

export function start(program: string, args: string[], variables: Record<string, string> = {}): Running {
  const child = spawn(process.execPath, [path.join(DIGITS, program), ...args], {
    cwd: ROOT,
    env: { ...process.env, ...variables },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  let listener = () => {};
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
    listener();
  });
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  const ended = new Promise<Outcome>((resolve) => {
    child.on('close', (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
  const shows = (pattern: RegExp) =>
    new Promise<RegExpExecArray>((resolve, reject) => {
      listener = () => {
        const found = pattern.exec(stdout);
        if (found !== null) resolve(found);
      };
      listener();
      void ended.then(() => reject(new Error(`${program} ended without ${pattern}: ${stdout}${stderr}`)));
    });
  return { child, ended, shows };
}

export const run = (program: string, args: string[]): Promise<Outcome> => start(program, args).ended;
