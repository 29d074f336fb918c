/** Starts the ranks of a test: real processes on this machine that meet in a file, so that no port can be taken. */
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

export const PROGRAMS = path.join(__dirname, 'programs');

export interface Ended {
  status: number | null;
  signal: string | null;
  stdout: string;
  stderr: string;
}

/**
 * Whether PyTorch's launcher can meet at an address here: the PyTorch of Debian 13 and forky is built without libuv, and torchrun's
 * store asks for it, whatever USE_LIBUV says. It can meet in a file.
 */
export const torchrunHasAddress = (): boolean =>
  spawnSync('/usr/bin/python3', [
    '-c',
    "import torch; torch.distributed.TCPStore('127.0.0.1', 0, is_master=True, wait_for_workers=False)",
  ]).status === 0;

/** What a program printed, without what later releases of Gloo print when a rank is connected. */
export const withoutGloo = (text: string): string => text.replace(/^\[\S*gloo\/\S+\] INFO .*\n/gm, '');

/** Runs a command to its end. */
export function end(command: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const [file, ...args] = command;
    const child = spawn(file!, args, { env: { ...process.env, GLOO_SOCKET_IFNAME: 'lo', USE_LIBUV: '0', ...env } });
    const ended = { stdout: '', stderr: '' };
    child.stdout.on('data', (chunk) => {
      ended.stdout += chunk;
    });
    child.stderr.on('data', (chunk) => {
      ended.stderr += chunk;
    });
    child.once('error', reject);
    child.once('close', (status, signal) => resolve({ ...ended, stderr: withoutGloo(ended.stderr), status, signal }));
  });
}

/** Runs `commands(method)[rank]` at the same time. `method` is an initMethod of a new file. */
export async function together(commands: (method: string) => readonly string[][]): Promise<Ended[]> {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'ltn-ranks-'));
  try {
    return await Promise.all(commands(`file://${folder}/store`).map((command) => end(command)));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** `node program method rank size` for each rank. */
export const nodes = (program: string, size: number, more: readonly string[] = []) =>
  together((method) =>
    Array.from({ length: size }, (_, rank) => [
      process.execPath,
      path.join(PROGRAMS, program),
      method,
      String(rank),
      String(size),
      ...more,
    ]),
  );

/** What the ranks must have printed: shows their errors otherwise. */
export function expectDone(ended: readonly Ended[]): void {
  expect(ended.map(({ status, stdout, stderr }) => (status === 0 ? stdout.trim() : stderr))).toEqual(
    ended.map(() => 'done'),
  );
}
