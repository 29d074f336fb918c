/** Programs in child processes, for tests that could crash or affect this one. */
import { spawn } from 'node:child_process';
import { limitMs } from './sanitized';
import { LIB } from './torch';

export interface Outcome {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

/** Runs a command to its end; `input` goes to its stdin. Kills it after `limitMs`. */
export function run(
  command: string,
  args: string[],
  options: { input?: string; limitMs?: number; env?: NodeJS.ProcessEnv } = {},
): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'], env: options.env ?? process.env });
    const limit = setTimeout(() => child.kill('SIGKILL'), limitMs(options.limitMs ?? 120_000));
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (chunk) => {
      stdout += chunk;
    });
    child.stderr.on('data', (chunk) => {
      stderr += chunk;
    });
    child.on('error', reject);
    child.on('close', (code, signal) => {
      clearTimeout(limit);
      resolve({ code, signal, stdout, stderr });
    });
    child.stdin.on('error', () => {}); // a child may end before it reads everything
    child.stdin.end(options.input ?? '');
  });
}

/** Runs a Node program that starts with `torch` and `vmHwm`, `rss` in kB, and prints with `answer(value)`. */
export async function program(
  source: string,
  nodeOptions: string[] = [],
  options: { limitMs?: number; env?: NodeJS.ProcessEnv } = {},
): Promise<Outcome & { answer: any }> {
  const prelude = `
    const torch = require(${JSON.stringify(`${LIB}/index.js`)});
    const kilobytes = (name) => Number(new RegExp(name + ':\\\\s+(\\\\d+) kB').exec(require('fs').readFileSync('/proc/self/status', 'utf8'))[1]);
    const peakMB = () => kilobytes('VmHWM') / 1024;
    const rssMB = () => kilobytes('VmRSS') / 1024;
    const counts = () => { const { tensors, storages, bytes } = torch.memory(); return { tensors, storages, bytes }; };
    const answer = (value) => console.log('ANSWER ' + JSON.stringify(value));
  `;
  const outcome = await run(process.execPath, [...nodeOptions, '-e', prelude + source], options);
  const line = /^ANSWER (.*)$/m.exec(outcome.stdout)?.[1];
  return { ...outcome, answer: line === undefined ? undefined : JSON.parse(line) };
}

/** The same, and it must succeed and answer. */
export async function ask(
  source: string,
  nodeOptions: string[] = [],
  options: { limitMs?: number } = {},
): Promise<any> {
  const { answer, code, signal, stderr } = await program(source, nodeOptions, options);
  expect({ code, signal, stderr }).toEqual({ code: 0, signal: null, stderr: '' });
  return answer;
}
