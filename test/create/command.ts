/** Runs create-libtorch-node, and makes what it runs on: folders, a fake npm. */
import { spawn } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { folder } from '../package/folder';
import { type Outcome, run } from '../support/child';
import { ordinaryEnv } from '../support/sanitized';
import { ROOT } from '../support/torch';

export const PACKAGE = path.join(ROOT, 'packages/create-libtorch-node');
export const program = path.join(PACKAGE, 'index.mjs');

/** As a user's shell: without the variables of `npm test`, but for the one of jest.config.cjs. */
export function environment(more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  const plain = Object.entries(ordinaryEnv()).filter(
    ([name]) => !/^(npm_(?!config_update_notifier)|CI$|NODE_OPTIONS|JEST)/.test(name),
  );
  return { ...Object.fromEntries(plain), ...more };
}

/** Runs it in a folder, without a terminal. */
export const create = (cwd: string, args: string[], env: NodeJS.ProcessEnv = {}): Promise<Outcome> =>
  run('/bin/sh', ['-c', 'cd "$0" && exec "$@"', cwd, process.execPath, program, ...args], { env: environment(env) });

/** A PATH on which `npm` is this shell script. */
export function withNpm(script: string): { PATH: string } {
  const bin = folder();
  fs.writeFileSync(path.join(bin, 'npm'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return { PATH: `${bin}:/usr/bin:/bin` };
}

/** Every file below a folder, sorted. */
export const below = (dir: string): string[] =>
  (fs.readdirSync(dir, { recursive: true }) as string[])
    .filter((name) => fs.statSync(path.join(dir, name)).isFile())
    .sort();

/** Python's pty runs the program on a terminal, as util-linux's script would, and passes on its exit status. */
const onTerminal = 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))';

/** Runs it on a terminal. Each answer is typed when its question has appeared. */
export function answering(
  cwd: string,
  args: string[],
  answers: [question: string, keys: string][],
): Promise<{ code: number | null; text: string }> {
  const child = spawn('/usr/bin/python3', ['-c', onTerminal, process.execPath, program, ...args], {
    cwd,
    env: environment({ TERM: 'xterm' }),
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let [text, seen] = ['', 0];
  const rest = [...answers];
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      text += chunk;
      // One chunk may hold several of the texts that are waited for.
      for (let at = 0; rest[0] !== undefined; ) {
        at = text.indexOf(rest[0][0], seen);
        if (at < 0) break;
        const [question, keys] = rest.shift()!;
        seen = at + question.length;
        child.stdin.write(keys);
      }
    });
  }
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, text })));
}
