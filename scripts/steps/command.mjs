/** Runs other programs, with output to a log file or to the terminal. */
import { spawn } from 'node:child_process';
import { createWriteStream, mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { logDir, root } from '../paths.mjs';
import { StepError } from './errors.mjs';

/** Running children. A signal to this process is forwarded to them, and this process ends after them. */
const running = new Set();
let interrupted = 0;

function onSignal(signal, status) {
  interrupted = status;
  if (running.size === 0) process.exit(status);
  for (const child of running) child.kill(signal);
}
process.on('SIGINT', () => onSignal('SIGINT', 130));
process.on('SIGTERM', () => onSignal('SIGTERM', 143));

function start(command, args, options) {
  const child = spawn(command, args, { cwd: root, ...options });
  running.add(child);
  const done = new Promise((resolve, reject) => {
    child.once('error', (error) => {
      running.delete(child);
      reject(
        error.code === 'ENOENT'
          ? new StepError(`${command} was not found on the PATH; \`npm run setup\` says what is missing.`)
          : error,
      );
    });
    child.once('close', (code, signal) => {
      running.delete(child);
      if (interrupted) process.exit(interrupted);
      resolve({ code: code ?? 128, signal });
    });
  });
  return { child, done };
}

const tail = (file, lines) => readFileSync(file, 'utf8').trimEnd().split('\n').slice(-lines).join('\n');

/**
 * Runs a command with its output in build/logs/<log>.log; a failure shows the end of that log.
 * @param {string} log
 * @param {string} command
 * @param {string[]} args
 * @param {{ append?: boolean, env?: NodeJS.ProcessEnv, cwd?: string }} [options]
 */
export async function runLogged(log, command, args, { append = false, ...options } = {}) {
  mkdirSync(logDir, { recursive: true });
  const file = path.join(logDir, `${log}.log`);
  const out = createWriteStream(file, { flags: append ? 'a' : 'w' });
  const closed = new Promise((resolve) => out.once('close', resolve));
  out.write(`$ ${[command, ...args].join(' ')}\n`);
  let status;
  try {
    const { child, done } = start(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout.pipe(out, { end: false });
    child.stderr.pipe(out, { end: false });
    status = await done;
  } finally {
    out.end();
    await closed;
  }
  if (status.code === 0) return;
  const why = status.signal ? `was ended by ${status.signal}` : `failed with status ${status.code}`;
  throw new StepError(`${tail(file, 40)}\n\n${path.basename(command)} ${why}. Full log: ${path.relative(root, file)}`);
}

/**
 * Runs a command on this process's terminal.
 * @param {string} command
 * @param {string[]} args
 * @param {object} [options] of child_process.spawn
 * @returns {Promise<number>} its exit status, 128 when a signal ended it
 */
export async function runShown(command, args, options = {}) {
  const { code } = await start(command, args, { ...options, stdio: 'inherit' }).done;
  return code;
}
