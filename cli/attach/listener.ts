/**
 * The socket on which the library in a process listens, found among the process's descriptors. The name proves nothing,
 * because any user can take it; only /proc shows that a listening socket belongs to the process.
 */
import * as fs from 'node:fs';
import { UsageError } from '../errors/errors';

export interface Listener {
  /** In the abstract namespace, without the leading zero byte. */
  address: string;
  /** Unique to the socket while it exists. */
  inode: string;
}

/** The kernel returns the table in parts, so a line can be missing when other sockets open or close meanwhile. */
const ATTEMPTS = 3;
/** A line of /proc/net/unix: the flag for listening, inode, abstract name. */
const LINE = /^\S+ \S+ \S+ 00010000 \S+ \S+ +(\d+) @(\S+)$/gm;

/** The process's socket whose name begins with `prefix`; the oldest if there are several. */
export function findListener(pid: number, prefix: string): Listener | undefined {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const own = socketsOf(pid);
    const found = named(prefix).filter(({ inode }) => own.has(inode));
    found.sort((a, b) => Number(a.inode) - Number(b.inode));
    if (found.length > 0) return found[0];
  }
  return undefined;
}

/**
 * Whether the process still has the socket, and the socket still has the name. If this holds before and after connecting,
 * the connection is to this process.
 */
export function isStill(pid: number, { address, inode }: Listener): boolean {
  return findListener(pid, address)?.inode === inode;
}

function named(prefix: string): Listener[] {
  let table: string;
  try {
    table = fs.readFileSync('/proc/net/unix', 'utf8');
  } catch (error) {
    throw new UsageError(`cannot read /proc/net/unix (${codeOf(error)}), which lists the owners of sockets`);
  }
  return [...table.matchAll(LINE)]
    .map(([, inode, address]) => ({ inode: inode!, address: address! }))
    .filter(({ address }) => address.startsWith(prefix));
}

/** The inodes of the sockets that the process holds. */
function socketsOf(pid: number): Set<string> {
  const folder = `/proc/${pid}/fd`;
  let descriptors: string[];
  try {
    descriptors = fs.readdirSync(folder);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') throw new UsageError(`process ${pid} has ended`);
    throw new UsageError(
      `cannot read the open files of process ${pid} (${codeOf(error)}), so its socket cannot be verified. ` +
        'If it changed its user after its start, start it as that user',
    );
  }
  const inodes = new Set<string>();
  for (const fd of descriptors) {
    try {
      const inode = /^socket:\[(\d+)\]$/.exec(fs.readlinkSync(`${folder}/${fd}`))?.[1];
      if (inode !== undefined) inodes.add(inode);
    } catch {
      // Closed in the meantime.
    }
  }
  return inodes;
}

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code ?? 'unknown';
