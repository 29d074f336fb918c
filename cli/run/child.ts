/** Runs the audited program with its own streams, arguments and signals. */
import { type ChildProcess, spawn } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import { UsageError } from '../errors/errors';

export interface Ending {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** Signals that end or control a program. Those for terminal size and job control reach it directly. */
const FORWARDED: NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'];
/** Signals that a terminal sends to its whole foreground group, so also to the program. */
const FROM_TERMINAL = new Set<NodeJS.Signals>(['SIGINT', 'SIGQUIT']);

const WHY_NOT: Record<string, string> = { ENOENT: 'not found', EACCES: 'not executable' };

/** Runs the program to its end. It inherits the standard streams and the environment, with `variables` added. */
export function runChild(program: string[], variables: Record<string, string>): Promise<Ending> {
  return new Promise((resolve, reject) => {
    const [file, ...args] = program as [string, ...string[]];
    let child: ChildProcess;
    const forward = (signal: NodeJS.Signals) => {
      if (!(FROM_TERMINAL.has(signal) && inForeground())) child.kill(signal);
    };
    const finish = () => {
      for (const signal of FORWARDED) process.off(signal, forward);
    };
    // Installed before the child exists, so that a signal right after its start does not end only this process.
    for (const signal of FORWARDED) process.on(signal, forward);
    try {
      child = spawn(file, args, { stdio: 'inherit', env: { ...process.env, ...variables } });
    } catch (error) {
      finish();
      throw error;
    }
    child.once('error', (error: NodeJS.ErrnoException) => {
      finish();
      reject(new UsageError(`cannot run '${file}': ${WHY_NOT[error.code ?? ''] ?? error.message}`));
    });
    child.once('exit', (code, signal) => {
      finish();
      resolve({ code, signal });
    });
  });
}

/** Whether a terminal sends its signals to our process group. */
function inForeground(): boolean {
  try {
    const stat = fs.readFileSync('/proc/self/stat', 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' '); // state ppid pgrp session tty tpgid
    return fields[2] === fields[5];
  } catch {
    return process.stdin.isTTY === true;
  }
}

/** Ends this process with the signal that ended the program. */
export function exitBySignal(signal: NodeJS.Signals): void {
  process.kill(process.pid, signal);
  // Delivery is asynchronous, so wait for it. If the signal does not kill, exit with the shell's status for it.
  setTimeout(() => process.exit(128 + signalNumber(signal)), 1000);
}

function signalNumber(signal: NodeJS.Signals): number {
  return os.constants.signals[signal] ?? 0;
}
