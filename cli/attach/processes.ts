/** The processes that can be attached to: those of this user with a loaded libtorch-node. */
import * as fs from 'node:fs';
import { UsageError } from '../errors/errors';
import { recordingOf } from './answers';
import { Connection } from './connection';
import type { Snapshot } from './figures';
import { askSnapshot } from './snapshot';
import { findTarget, StoppedError } from './target';

/** A busy process still answers: it is asked in a thread of its own. */
const TIMEOUT_MS = 5000;
const MAX_COMMAND = 4096;
const MINUTE = 60_000;

export interface ProcessFigures {
  pid: number;
  command: string;
  tensors: number;
  bytes: number;
  rss: number;
  /** Growth of the live tensors while it was watched; negative if they became fewer. */
  tensorsPerMinute: number;
  bytesPerMinute: number;
  /** What records it: `run`, `attach`, or null. */
  recordedBy: string | null;
}

export interface ProcessList {
  version: number;
  /** Most bytes first. */
  processes: ProcessFigures[];
  /** Processes that listen but did not answer, with the reason. */
  silent: { pid: number; reason: string }[];
}

/** The ids of processes that listen, each in its own pid namespace. */
export function listening(): Set<number> {
  let table: string;
  try {
    table = fs.readFileSync('/proc/net/unix', 'utf8');
  } catch (error) {
    throw new UsageError(`cannot read /proc/net/unix (${(error as NodeJS.ErrnoException).code})`);
  }
  return new Set([...table.matchAll(/ @libtorch-node\/\d*\/(\d+)\//g)].map(([, pid]) => Number(pid)));
}

/** The ids of processes of this user that listen. */
function candidates(): number[] {
  const names = listening();
  if (names.size === 0) return [];
  return fs
    .readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const own = /^NSpid:.*?(\d+)$/m.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
        if (!names.has(Number(own ?? pid))) return false;
        findTarget(String(pid));
        return true;
      } catch (error) {
        // Else ended, of another user, or not a process with the library.
        return error instanceof StoppedError && error.listens;
      }
    });
}

/** `watchMs`: the time between the two looks that give the rates. */
export async function attachableProcesses(watchMs: number): Promise<ProcessList> {
  const silent: ProcessList['silent'] = [];
  const all = await Promise.all(
    candidates().map(async (pid) => {
      try {
        return await figuresOf(pid, watchMs);
      } catch (error) {
        if (!(error instanceof UsageError)) throw error;
        silent.push({ pid, reason: error.message });
        return undefined;
      }
    }),
  );
  const processes = all.filter((one) => one !== undefined);
  return { version: 1, processes: processes.sort((a, b) => b.bytes - a.bytes || a.pid - b.pid), silent };
}

async function figuresOf(pid: number, watchMs: number): Promise<ProcessFigures> {
  const connection = await Connection.open(String(pid), TIMEOUT_MS);
  try {
    const recording = recordingOf(await connection.ask('status'));
    const begin = performance.now();
    const { snapshot: before } = await askSnapshot(connection);
    await new Promise((resolve) => setTimeout(resolve, watchMs));
    const { snapshot: now } = await askSnapshot(connection);
    const minutes = (performance.now() - begin) / MINUTE;
    const rate = (of: (snapshot: Snapshot) => number) => Math.round((of(now) - of(before)) / minutes);
    const { tensors, bytes, rss } = now;
    return {
      pid,
      command: commandOf(pid),
      tensors,
      bytes,
      rss,
      tensorsPerMinute: rate((snapshot) => snapshot.tensors),
      bytesPerMinute: rate((snapshot) => snapshot.bytes),
      recordedBy: recording === null ? null : (recording.by ?? 'attach'),
    };
  } finally {
    connection.close();
  }
}

function commandOf(pid: number): string {
  try {
    return fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').slice(0, MAX_COMMAND).split('\0').filter(Boolean).join(' ');
  } catch {
    return ''; // it has ended
  }
}
