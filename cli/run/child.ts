/** The audited program: started as if leak-audit were not there. */
import { type ChildProcess, spawn } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import { UsageError } from '../errors';

export interface Ending {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** Those that end or steer a program. Terminal size and job control reach it without us. */
const FORWARDED: NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'];
/** Those that a terminal sends to everything in its foreground, so to the program as well. */
const FROM_TERMINAL = new Set<NodeJS.Signals>(['SIGINT', 'SIGQUIT']);

const WHY_NOT: Record<string, string> = { ENOENT: 'not found', EACCES: 'not a program that may be run' };

/** Runs it to its end. Its standard streams are ours; of the environment only `variables` differ. */
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
    // Before there is a child: a signal that comes right after it has begun must not end this process alone.
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

/** Whether a terminal would send its signals to our process group. */
function inForeground(): boolean {
  try {
    const stat = fs.readFileSync('/proc/self/stat', 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' '); // state ppid pgrp session tty tpgid
    return fields[2] === fields[5];
  } catch {
    return process.stdin.isTTY === true;
  }
}

/** Ends this process as the program ended. */
export function dieBy(signal: NodeJS.Signals): void {
  process.kill(process.pid, signal);
  // Delivery is asynchronous: stay until it comes. A signal that does not kill leaves the shell's convention.
  setTimeout(() => process.exit(128 + signalNumber(signal)), 1000);
}

function signalNumber(signal: NodeJS.Signals): number {
  return os.constants.signals[signal] ?? 0;
}
