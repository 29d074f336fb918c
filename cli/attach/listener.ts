/**
 * Where the library in a process listens: found among the process's own descriptors. A name proves nothing, since anybody
 * may hold one; that a listening socket is the process's own, /proc alone can tell.
 */
import * as fs from 'node:fs';
import { UsageError } from '../errors';

export interface Listener {
  /** Of the abstract namespace, without its leading zero byte. */
  address: string;
  /** Of the socket: no other has it while it is there. */
  inode: string;
}

/** The table is read in parts: where others come and go meanwhile, a line can be missing in it. */
const LOOKS = 3;
/** /proc/net/unix: what listens (the flag), its inode, its abstract name. */
const LINE = /^\S+ \S+ \S+ 00010000 \S+ \S+ +(\d+) @(\S+)$/gm;

/** The socket of the process whose name begins so; of two, the one that was made first. */
export function findListener(pid: number, prefix: string): Listener | undefined {
  for (let look = 0; look < LOOKS; look++) {
    const own = socketsOf(pid);
    const found = named(prefix).filter(({ inode }) => own.has(inode));
    found.sort((a, b) => Number(a.inode) - Number(b.inode));
    if (found.length > 0) return found[0];
  }
  return undefined;
}

/**
 * Whether the process still holds the socket, and the socket the name. Asked once a connection is there: what was so
 * before and after it was so meanwhile, and the connection is to this process.
 */
export function isStill(pid: number, { address, inode }: Listener): boolean {
  return findListener(pid, address)?.inode === inode;
}

function named(prefix: string): Listener[] {
  let table: string;
  try {
    table = fs.readFileSync('/proc/net/unix', 'utf8');
  } catch (error) {
    throw new UsageError(`cannot read /proc/net/unix (${codeOf(error)}), which tells whose a socket is`);
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
      `process ${pid} does not show its open files (${codeOf(error)}), so nobody can tell whether a socket is its own: ` +
        'it changed its user after its start, say; start it as that user',
    );
  }
  const inodes = new Set<string>();
  for (const fd of descriptors) {
    try {
      const inode = /^socket:\[(\d+)\]$/.exec(fs.readlinkSync(`${folder}/${fd}`))?.[1];
      if (inode !== undefined) inodes.add(inode);
    } catch {
      // Closed meanwhile.
    }
  }
  return inodes;
}

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code ?? 'unknown';
