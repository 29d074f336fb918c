/** Finds the process to attach to in /proc, or the reason why attaching is not possible. */
import * as fs from 'node:fs';
import * as os from 'node:os';
import { UsageError } from '../errors/errors';
import { findListener, type Listener } from './listener';

/** Linux's limit on process ids. */
const MAX_PID = 2 ** 22;

/** A process with the socket on which its library listens. */
export interface Target extends Listener {
  pid: number;
}

/** A stopped process cannot answer. */
export class StoppedError extends UsageError {
  /** `listens`: whether the library in it listens. */
  constructor(
    pid: number,
    readonly listens: boolean,
  ) {
    super(`process ${pid} is stopped: continue it with kill -CONT ${pid}`);
  }
}

/** Whether the process is stopped, as by SIGSTOP; false if it has ended. */
export function isStopped(pid: number): boolean {
  try {
    return /^State:\s*T/m.test(statusOf(pid)); // not t: a debugger stops it for moments
  } catch {
    return false; // it has ended
  }
}

/** @throws {UsageError} with a one-line reason */
export function findTarget(text: string): Target {
  if (!/^\d{1,10}$/.test(text) || Number(text) < 1 || Number(text) > MAX_PID)
    throw new UsageError(`expected a process id, got '${text}'`);
  const pid = Number(text);
  const status = statusOf(pid);
  const field = (name: string) => new RegExp(`^${name}:\\s*(.*)$`, 'm').exec(status)?.[1]?.split(/\s+/) ?? [];
  const leader = Number(field('Tgid')[0]);
  if (leader !== pid) throw new UsageError(`${pid} is a thread of process ${leader}, not a process`);
  if (/^[ZX]/.test(field('State')[0] ?? '')) throw new UsageError(`process ${pid} has ended`);
  const uid = Number(field('Uid')[1]);
  if (uid !== process.geteuid?.())
    throw new UsageError(`process ${pid} belongs to another user (uid ${uid}): run leak-audit as that user`);
  // Its id in its own pid namespace, which differs from `pid` if it runs in a container.
  const ownPid = Number(field('NSpid').at(-1) ?? pid);
  // The prefix that native/audit/attach.cpp uses; the rest is random.
  const listener = findListener(pid, `libtorch-node/${spaceOf(pid, 'pid')}/${ownPid}/`);
  if (/^[Tt]/.test(field('State')[0] ?? '')) throw new StoppedError(pid, listener !== undefined);
  if (listener === undefined) throw new UsageError(whyUnreachable(pid));
  return { pid, ...listener };
}

function statusOf(pid: number): string {
  try {
    return fs.readFileSync(`/proc/${pid}/status`, 'utf8');
  } catch {
    throw new UsageError(
      isThere(pid) ? `process ${pid} belongs to another user` : `there is no process ${pid}`, // hidden, or gone
    );
  }
}

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** The id of a namespace of the process; our own if that of the process cannot be read. */
function spaceOf(pid: number | 'self', kind: 'pid' | 'net'): string {
  for (const process of [pid, 'self']) {
    try {
      return /\d+/.exec(fs.readlinkSync(`/proc/${process}/ns/${kind}`))![0];
    } catch {
      // A process that changed its user hides its links.
    }
  }
  return '';
}

function whyUnreachable(pid: number): string {
  if (spaceOf(pid, 'net') !== spaceOf('self', 'net'))
    return `process ${pid} is in a container or another network namespace: run leak-audit inside it (docker exec, nsenter)`;
  const environment = read(`/proc/${pid}/environ`).split('\0');
  return whySilent(pid, {
    loaded: hasLoaded(pid),
    child: descendantsOf(pid).find(hasLoaded),
    refuses: environment.includes('LIBTORCH_NODE_ATTACH=0'),
    ageMs: ageOf(pid),
  });
}

const hasLoaded = (pid: number): boolean =>
  /\/libtorch_node[^/]*\.node(?: \(deleted\))?$/m.test(read(`/proc/${pid}/maps`));

/** The most processes that are looked at. */
const MAX_DESCENDANTS = 1000;

/** The processes that it has started, and those that they have, the nearest first; none where the kernel does not list them. */
function descendantsOf(pid: number): number[] {
  const all = [pid];
  for (let i = 0; i < all.length && all.length <= MAX_DESCENDANTS; i++) {
    for (const thread of threadsOf(all[i]!)) {
      const children = read(`/proc/${all[i]}/task/${thread}/children`).split(' ').filter(Boolean).map(Number);
      all.push(...children.filter((child) => !all.includes(child)));
    }
  }
  return all.slice(1);
}

function threadsOf(pid: number): string[] {
  try {
    return fs.readdirSync(`/proc/${pid}/task`);
  } catch {
    return []; // it has ended
  }
}

/** After this time a process has loaded its modules, even on a slow machine. */
const STARTING_MS = 60_000;

/** The reason why a process does not listen; `child`: a descendant that has loaded the library. Exported for tests. */
export function whySilent(
  pid: number,
  { loaded, child, refuses, ageMs }: { loaded: boolean; child?: number | undefined; refuses: boolean; ageMs: number },
): string {
  if (loaded && refuses) return `process ${pid} does not listen: it was started with LIBTORCH_NODE_ATTACH=0`;
  const starting = ageMs < STARTING_MS ? ': it may still be starting, so try again in a moment' : '';
  // Such as `npm start` and `timeout`.
  if (!loaded && child !== undefined)
    return `process ${pid} has not loaded libtorch-node, but process ${child}, a descendant of it, has: attach to that one`;
  if (!loaded) return `process ${pid} has not loaded libtorch-node${starting}`;
  if (starting !== '') return `process ${pid} does not listen yet${starting}`;
  return `process ${pid} does not listen: it has an older libtorch-node, set LIBTORCH_NODE_ATTACH=0 itself, or could not open its socket, which it reports by the warning ERR_TORCH_ATTACH`;
}

/** The unit of /proc/PID/stat, regardless of the kernel's own timer frequency. */
const TICKS_PER_SECOND = 100;
/** Index among the fields after the name, which begin with the third; the name may contain any character. */
const START_TIME = 22 - 3;

/** The time since its start; 0 if unknown. */
function ageOf(pid: number): number {
  const stat = read(`/proc/${pid}/stat`);
  const started = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[START_TIME]) / TICKS_PER_SECOND;
  return Number.isNaN(started) ? 0 : Math.max(0, os.uptime() - started) * 1000;
}

function read(file: string): string {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch {
    return ''; // the process ended, or hides the file
  }
}
