/** Programs in Python that use PyTorch: each is a fork of one process that has imported it (python3.py). */
import { spawn } from 'node:child_process';
import { once as event } from 'node:events';
import * as fs from 'node:fs';
import * as net from 'node:net';
import * as path from 'node:path';
import type { Outcome } from './child';
import { once } from './once';
import { limitMs, ordinaryEnv } from './sanitized';

const socketPath = () => path.join(process.env.LTN_RUN_FOLDER!, 'python3.socket');

/** Starts the process, which ends with the run of Jest. */
async function start(folder: string): Promise<void> {
  const errors = fs.openSync(path.join(folder, 'stderr'), 'w');
  const args = [path.join(__dirname, 'python3.py'), socketPath(), process.env.LTN_JEST_PID!];
  const child = spawn('/usr/bin/python3', args, {
    detached: true,
    stdio: ['ignore', 'pipe', errors],
    env: ordinaryEnv(),
  });
  fs.closeSync(errors);
  const [said] = await Promise.race([event(child.stdout!, 'data'), event(child, 'close')]);
  if (String(said) !== 'ready') {
    const why = fs.readFileSync(path.join(folder, 'stderr'), 'utf8');
    throw new Error(`PyTorch is missing, the oracle of these tests (Debian: apt-get install python3-torch): ${why}`);
  }
  child.stdout!.destroy();
  child.unref();
}

/** `/usr/bin/python3 ARGS` to its end, without the sanitizers. Kills it after `limitMs`. */
export async function python3(
  args: string[],
  options: { input?: string; limitMs?: number; env?: NodeJS.ProcessEnv } = {},
): Promise<Outcome> {
  await once('python3', start);
  const connection = net.connect(socketPath());
  const limit = setTimeout(
    () => connection.destroy(new Error('the time is over')),
    limitMs(options.limitMs ?? 120_000),
  );
  const { input = '', env = ordinaryEnv() } = options;
  connection.write(`${JSON.stringify({ args, env, cwd: process.cwd(), input })}\n`);
  let answer = '';
  try {
    for await (const part of connection.setEncoding('utf8')) answer += part;
  } finally {
    clearTimeout(limit);
  }
  return JSON.parse(answer) as Outcome;
}
