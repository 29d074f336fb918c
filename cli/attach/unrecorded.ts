/**
 * Finds a process of the program that uses the library and is not recorded, because only the first one is without
 * `--follow-children`: the report would say nothing of its leaks.
 */
import * as fs from 'node:fs';
import { recordingOf } from './answers';
import { Connection } from './connection';
import { listening } from './processes';

const LOOK_MS = 1000;
const TIMEOUT_MS = 5000;

/**
 * Calls `found` once, with the first such process. Returns a function that stops the search. `recorded`: the process that is
 * recorded, once that is known; at its end it says that it is not recorded any more.
 */
export function watchUnrecorded(recorded: () => number | undefined, found: (pid: number) => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  const stop = () => {
    stopped = true;
    clearTimeout(timer);
  };
  const later = () => {
    if (!stopped) timer = setTimeout(look, LOOK_MS).unref();
  };
  /** Processes that need not be asked again. */
  const known = new Set<number>();
  async function look(): Promise<void> {
    const pid = await firstUnrecorded(known).catch(() => undefined); // such as no /proc/net/unix: then none is known
    if (stopped) return;
    const first = pid === undefined ? undefined : recorded();
    if (pid === undefined || first === undefined) return later();
    if (pid !== first) return found(pid);
    known.add(pid);
    later();
  }
  later();
  return stop;
}

/** Adds the others to `known`. */
async function firstUnrecorded(known: Set<number>): Promise<number | undefined> {
  for (const pid of listening()) {
    if (known.has(pid) || !isBelow(pid, process.pid)) continue;
    if (!(await isRecorded(pid))) return pid;
    known.add(pid);
  }
  return undefined;
}

/** One that ends meanwhile counts as recorded. */
async function isRecorded(pid: number): Promise<boolean> {
  let connection: Connection | undefined;
  try {
    connection = await Connection.open(String(pid), TIMEOUT_MS);
    return recordingOf(await connection.ask('status')) !== null;
  } catch {
    return true;
  } finally {
    connection?.close();
  }
}

/** Whether the process descends from the other one. */
function isBelow(pid: number, ancestor: number): boolean {
  for (let one = parentOf(pid); one > 1; one = parentOf(one)) if (one === ancestor) return true;
  return false;
}

/** 0 if the process has ended. */
function parentOf(pid: number): number {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]); // state ppid
  } catch {
    return 0;
  }
}
