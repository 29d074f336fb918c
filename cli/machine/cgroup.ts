/**
 * The limits of this process's control group on memory and processor time. Supports version 2 (one tree, memory.max) and
 * version 1 (a tree per controller, memory.limit_in_bytes). Limits of enclosing groups apply as well.
 */
import * as fs from 'node:fs';
import * as path from 'node:path';

export interface CgroupLimits {
  version: 1 | 2 | null;
  /** The smallest hard limit on memory in bytes, and its file; null for no limit. */
  memory: { bytes: number; file: string } | null;
  /** The smallest soft limit (memory.high), above which the kernel slows the process down. */
  memoryHigh: { bytes: number; file: string } | null;
  /** The quota in processors; null for no quota. */
  cpus: number | null;
}

/** `4:memory:/docker/1f` */
interface Membership {
  controllers: string[];
  path: string;
}

/** A mounted tree: the files of group `root` are at `point`. */
interface Mount {
  version: 1 | 2;
  controllers: string[];
  root: string;
  point: string;
}

/** Lines of /proc/self/cgroup. */
export function parseMemberships(text: string): Membership[] {
  return text
    .split('\n')
    .map((line) => /^\d+:([^:]*):(.*)$/.exec(line))
    .filter((match) => match !== null)
    .map((match) => ({ controllers: match[1]!.split(',').filter(Boolean), path: match[2]! }));
}

/** The control group trees in the lines of /proc/self/mountinfo. */
export function parseMounts(text: string): Mount[] {
  const mounts: Mount[] = [];
  for (const line of text.split('\n')) {
    // 36 25 0:31 /root /point rw,… [optional fields] - cgroup source rw,memory
    const [before, after] = line.split(' - ');
    const [type, , options = ''] = (after ?? '').split(' ');
    if (type !== 'cgroup' && type !== 'cgroup2') continue;
    const [, , , root = '/', point = ''] = before!.split(' ').map(unescapeOctal);
    mounts.push({ version: type === 'cgroup2' ? 2 : 1, controllers: options.split(','), root, point });
  }
  return mounts;
}

/** `\040` is a space in mountinfo. */
const unescapeOctal = (text: string): string =>
  text.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));

/** A limit in bytes, or null for no limit: `max`, -1, and version 1's maximum (about 2^63). */
export function parseBytesLimit(text: string | null): number | null {
  if (text === null || !/^\d+\s*$/.test(text)) return null;
  const bytes = Number(text);
  return bytes >= 2 ** 60 ? null : bytes;
}

/** `200000 100000` is two processors, `max 100000` no quota. */
export function parseCpuQuota(quota: string | null, period: string | null): number | null {
  const [time, length] = [Number(quota), Number(period)];
  return time > 0 && length > 0 ? time / length : null;
}

/** The folders of our group and the enclosing groups in the mounted tree, innermost first. */
function groupFolders(mount: Mount, group: string): string[] {
  // Without its own cgroup namespace, a container sees the full path of its group, but the mount shows only the end of it.
  const inside = mount.root !== '/' && group.startsWith(mount.root) ? group.slice(mount.root.length) : group;
  const folders: string[] = [];
  for (let at = path.posix.join('/', inside); ; at = path.posix.dirname(at)) {
    folders.push(path.posix.join(mount.point, at));
    if (at === '/') return folders;
  }
}

const readText = (file: string): string | null => {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch {
    return null; // missing or not readable: no known limit
  }
};

/** Reads the limits. `root`: the folder that contains /proc and /sys; another one for tests. */
export function readCgroup(root = '/'): CgroupLimits {
  const at = (file: string) => path.join(root, file);
  const limits: CgroupLimits = { version: null, memory: null, memoryHigh: null, cpus: null };
  const memberships = parseMemberships(readText(at('/proc/self/cgroup')) ?? '');
  const mounts = parseMounts(readText(at('/proc/self/mountinfo')) ?? '');

  /** The folders with limits of `controller`. A version 1 tree takes precedence over the unified one. */
  const foldersOf = (controller: string): { version: 1 | 2; folders: string[] } | null => {
    const version1 = mounts.find((mount) => mount.version === 1 && mount.controllers.includes(controller));
    const mount = version1 ?? mounts.find((other) => other.version === 2);
    const group = memberships.find(({ controllers }) =>
      version1 === undefined ? controllers.length === 0 : controllers.includes(controller),
    );
    if (mount === undefined || group === undefined) return null;
    return { version: mount.version, folders: groupFolders(mount, group.path) };
  };

  const smallest = (folders: string[], name: string): CgroupLimits['memory'] => {
    const found = folders
      .map((folder) => path.posix.join(folder, name))
      .map((file) => ({ file, bytes: parseBytesLimit(readText(at(file))) }))
      .filter((limit): limit is { file: string; bytes: number } => limit.bytes !== null);
    return found.length === 0 ? null : found.reduce((a, b) => (b.bytes < a.bytes ? b : a));
  };

  const memory = foldersOf('memory');
  if (memory !== null) {
    limits.version = memory.version;
    limits.memory = smallest(memory.folders, memory.version === 2 ? 'memory.max' : 'memory.limit_in_bytes');
    limits.memoryHigh = memory.version === 2 ? smallest(memory.folders, 'memory.high') : null;
  }

  const cpu = foldersOf('cpu');
  const quotas = (cpu?.folders ?? []).map((folder) => {
    if (cpu!.version === 2) {
      const [quota = '', period = ''] = (readText(at(path.posix.join(folder, 'cpu.max'))) ?? '').trim().split(' ');
      return parseCpuQuota(quota, period);
    }
    const read = (name: string) => readText(at(path.posix.join(folder, name)));
    return parseCpuQuota(read('cpu.cfs_quota_us'), read('cpu.cfs_period_us'));
  });
  const known = quotas.filter((quota) => quota !== null);
  limits.cpus = known.length === 0 ? null : Math.min(...known);
  return limits;
}
