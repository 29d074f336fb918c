/** Which process is meant, whether it may be attached to, and if not, why. All of it from /proc. */
import * as fs from 'node:fs';
import * as os from 'node:os';
import { UsageError } from '../errors';

/** Of Linux. */
const MOST_PID = 2 ** 22;

export interface Target {
  pid: number;
  /** Where the library in it listens, as native/audit/attach.cpp names it. */
  address: string;
}

/** Throws a UsageError in one line where it cannot be. */
export function findTarget(text: string): Target {
  if (!/^\d{1,10}$/.test(text) || Number(text) < 1 || Number(text) > MOST_PID)
    throw new UsageError(`'${text}' is no process id`);
  const pid = Number(text);
  const status = statusOf(pid);
  const field = (name: string) => new RegExp(`^${name}:\\s*(.*)$`, 'm').exec(status)?.[1]?.split(/\s+/) ?? [];
  const leader = Number(field('Tgid')[0]);
  if (leader !== pid) throw new UsageError(`${pid} is a thread of process ${leader}, not a process`);
  if (/^[ZX]/.test(field('State')[0] ?? '')) throw new UsageError(`process ${pid} has ended`);
  const uid = Number(field('Uid')[1]);
  if (uid !== process.geteuid?.())
    throw new UsageError(`process ${pid} belongs to another user (uid ${uid}): run leak-audit as that user`);
  if (/^[Tt]/.test(field('State')[0] ?? ''))
    throw new UsageError(`process ${pid} is stopped, and answers once it goes on: kill -CONT ${pid}`);
  // Its number where it lives, which is another one than here if it is in a container.
  const ownPid = Number(field('NSpid').at(-1) ?? pid);
  const address = `libtorch-node/${pidSpace(pid)}/${ownPid}/`.padEnd(ADDRESS_LENGTH, '.');
  if (!listens(pid, address)) throw new UsageError(whyNot(pid));
  return { pid, address };
}

/** As long as an address can be: what libuv fills up differs between its versions. */
const ADDRESS_LENGTH = 107;

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

/** The number of a namespace; that of our own where we may not ask. */
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

const pidSpace = (pid: number) => spaceOf(pid, 'pid');

/** The table is read in parts: where others come and go meanwhile, a line can be missing in it. */
const LOOKS = 3;

function listenerAt(address: string): string | undefined {
  for (let look = 0; look < LOOKS; look++) {
    const found = read('/proc/net/unix')
      .split('\n')
      .find((one) => one.endsWith(` @${address}`) && one.split(/\s+/)[3] === '00010000');
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Whether the process itself holds the socket of this address: anybody could have taken the name. */
function listens(pid: number, address: string): boolean {
  const line = listenerAt(address);
  if (line === undefined) return false;
  const socket = `socket:[${line.trim().split(/\s+/)[6]}]`;
  let descriptors: string[];
  try {
    descriptors = fs.readdirSync(`/proc/${pid}/fd`);
  } catch {
    return true; // it hides them; what is told to an impostor is worth nothing to it
  }
  return descriptors.some((fd) => {
    try {
      return fs.readlinkSync(`/proc/${pid}/fd/${fd}`) === socket;
    } catch {
      return false; // closed meanwhile
    }
  });
}

function whyNot(pid: number): string {
  if (spaceOf(pid, 'net') !== spaceOf('self', 'net'))
    return `process ${pid} is in a container, or another network: run leak-audit inside (docker exec, nsenter)`;
  const environment = read(`/proc/${pid}/environ`).split('\0');
  return whySilent(pid, {
    loaded: /\/libtorch_node[^/]*\.node$/m.test(read(`/proc/${pid}/maps`)),
    refuses: environment.includes('LIBTORCH_NODE_ATTACH=0'),
    ageMs: ageOf(pid),
  });
}

/** Older ones have loaded what they load at their start, also on a machine that is slow. */
const STARTING_MS = 60_000;

/** Exported for tests: what a process that does not listen is said to be. */
export function whySilent(
  pid: number,
  { loaded, refuses, ageMs }: { loaded: boolean; refuses: boolean; ageMs: number },
): string {
  if (loaded && refuses) return `process ${pid} does not listen: it was started with LIBTORCH_NODE_ATTACH=0`;
  const starting = ageMs < STARTING_MS ? ': it may still be starting, so try again in a moment' : '';
  if (!loaded) return `process ${pid} has not loaded libtorch-node${starting}`;
  if (starting !== '') return `process ${pid} does not listen yet${starting}`;
  return `process ${pid} does not listen: it has an older libtorch-node, or set LIBTORCH_NODE_ATTACH=0 itself`;
}

/** Of /proc/PID/stat: hundredths of a second for programs, whatever the kernel counts in. */
const TICKS_PER_SECOND = 100;
/** The fields after the name, which may hold anything, begin with the third. */
const START_TIME = 22 - 3;

/** How long it has run; 0 where that cannot be told. */
function ageOf(pid: number): number {
  const stat = read(`/proc/${pid}/stat`);
  const started = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[START_TIME]) / TICKS_PER_SECOND;
  return Number.isNaN(started) ? 0 : Math.max(0, os.uptime() - started) * 1000;
}

function read(file: string): string {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
