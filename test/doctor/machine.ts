/** Folders that simulate a machine's /proc and /sys. */
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';

export const MIB = 2 ** 20;
export const GIB = 2 ** 30;

const made: string[] = [];
afterAll(() => {
  for (const folder of made.splice(0)) fs.rmSync(folder, { recursive: true });
});

/** An empty folder, removed after the tests. */
export function folder(): string {
  const made_ = fs.mkdtempSync(path.join(os.tmpdir(), 'libtorch-node-doctor-'));
  made.push(made_);
  return made_;
}

/** A root with these files, by their full names. */
export function machine(files: Record<string, string>): string {
  const root = folder();
  fs.mkdirSync(path.join(root, 'proc'));
  for (const [name, text] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
    fs.writeFileSync(path.join(root, name), text);
  }
  return root;
}

/** Lines of /proc/self/mountinfo, as systemd and container runtimes write them. */
export const v2Mount = [
  '21 1 254:0 / / rw,relatime - ext4 /dev/vda rw',
  '30 23 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot',
  '',
].join('\n');

export const v1Mounts = (root: string): string =>
  [
    '31 23 0:28 / /sys/fs/cgroup ro - tmpfs tmpfs ro,mode=755',
    `32 31 0:29 ${root} /sys/fs/cgroup/cpu,cpuacct ro,relatime master:9 - cgroup cgroup rw,cpu,cpuacct`,
    `35 31 0:32 ${root} /sys/fs/cgroup/memory ro,relatime master:12 - cgroup cgroup rw,memory`,
    '41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw',
    '',
  ].join('\n');

/** A container of version 2 with this much memory. */
export const container = (bytes: number, more: Record<string, string> = {}): string =>
  machine({
    '/proc/self/cgroup': '0::/\n',
    '/proc/self/mountinfo': v2Mount,
    '/sys/fs/cgroup/memory.max': `${bytes}\n`,
    ...more,
  });
