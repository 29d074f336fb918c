/** Control groups of Linux, with texts from real machines. */
import { parseBytesLimit, parseCpuQuota, parseMemberships, parseMounts, readCgroup } from '../../cli/machine/cgroup';
import { GIB, MIB, machine, v1Mounts, v2Mount } from './machine';

describe('a control group of version 2', () => {
  it('in a container: the mount shows its own group as the root', () => {
    const root = machine({
      '/proc/self/cgroup': '0::/\n',
      '/proc/self/mountinfo': v2Mount,
      '/sys/fs/cgroup/memory.max': `${512 * MIB}\n`,
      '/sys/fs/cgroup/memory.high': 'max\n',
      '/sys/fs/cgroup/cpu.max': '150000 100000\n',
    });
    expect(readCgroup(root)).toEqual({
      version: 2,
      memory: { bytes: 512 * MIB, file: '/sys/fs/cgroup/memory.max' },
      memoryHigh: null,
      cpus: 1.5,
    });
  });

  it('the limit of a parent group applies if it is smaller', () => {
    const group = '/sys/fs/cgroup/system.slice/app.service';
    const root = machine({
      '/proc/self/cgroup': '0::/system.slice/app.service\n',
      '/proc/self/mountinfo': v2Mount,
      [`${group}/memory.max`]: `${4 * GIB}\n`,
      [`${group}/memory.high`]: `${3 * GIB}\n`,
      [`${group}/cpu.max`]: 'max 100000\n',
      '/sys/fs/cgroup/system.slice/memory.max': `${2 * GIB}\n`,
      '/sys/fs/cgroup/system.slice/cpu.max': '400000 100000\n',
      '/sys/fs/cgroup/other/memory.max': `${MIB}\n`,
    });
    expect(readCgroup(root)).toEqual({
      version: 2,
      memory: { bytes: 2 * GIB, file: '/sys/fs/cgroup/system.slice/memory.max' },
      memoryHigh: { bytes: 3 * GIB, file: `${group}/memory.high` },
      cpus: 4,
    });
  });

  it('without limits', () => {
    const root = machine({ '/proc/self/cgroup': '0::/user.slice\n', '/proc/self/mountinfo': v2Mount });
    expect(readCgroup(root)).toEqual({ version: 2, memory: null, memoryHigh: null, cpus: null });
  });
});

describe('a control group of version 1', () => {
  it('reads the tree of each controller', () => {
    const root = machine({
      '/proc/self/cgroup': '5:memory:/docker/1f\n4:cpu,cpuacct:/docker/1f\n0::/\n',
      '/proc/self/mountinfo': v1Mounts('/'),
      '/sys/fs/cgroup/memory/docker/1f/memory.limit_in_bytes': `${GIB}\n`,
      '/sys/fs/cgroup/memory/memory.limit_in_bytes': '9223372036854771712\n',
      '/sys/fs/cgroup/cpu,cpuacct/docker/1f/cpu.cfs_quota_us': '50000\n',
      '/sys/fs/cgroup/cpu,cpuacct/docker/1f/cpu.cfs_period_us': '100000\n',
    });
    expect(readCgroup(root)).toEqual({
      version: 1,
      memory: { bytes: GIB, file: '/sys/fs/cgroup/memory/docker/1f/memory.limit_in_bytes' },
      memoryHigh: null,
      cpus: 0.5,
    });
  });

  it('in a container without its own namespace, with the group as the mount', () => {
    const root = machine({
      '/proc/self/cgroup': '5:memory:/docker/1f\n',
      '/proc/self/mountinfo': v1Mounts('/docker/1f'),
      '/sys/fs/cgroup/memory/memory.limit_in_bytes': `${256 * MIB}\n`,
    });
    expect(readCgroup(root).memory).toEqual({
      bytes: 256 * MIB,
      file: '/sys/fs/cgroup/memory/memory.limit_in_bytes',
    });
  });
});

it('no control groups, no files: no limits', () => {
  expect(readCgroup(machine({}))).toEqual({ version: null, memory: null, memoryHigh: null, cpus: null });
  expect(
    readCgroup(machine({ '/proc/self/cgroup': 'nonsense', '/proc/self/mountinfo': '- cgroup' })).memory,
  ).toBeNull();
});

it('reads this machine', () => {
  const { memory, cpus } = readCgroup();
  if (memory !== null) expect(memory.bytes).toBeGreaterThan(0);
  if (cpus !== null) expect(cpus).toBeGreaterThan(0);
});

describe('texts', () => {
  it.each([
    ['max\n', null],
    ['-1\n', null],
    ['9223372036854771712\n', null],
    ['', null],
    [null, null],
    ['0\n', 0],
    ['536870912\n', 512 * MIB],
  ])('a limit of %j is %p bytes', (text, bytes) => {
    expect(parseBytesLimit(text)).toBe(bytes);
  });

  it.each([
    ['max', '100000', null],
    ['-1', '100000', null],
    ['200000', '100000', 2],
    ['25000', '50000', 0.5],
    [null, null, null],
  ])('a quota of %p per %p is %p processors', (quota, period, cpus) => {
    expect(parseCpuQuota(quota, period)).toBe(cpus);
  });

  it('names with colons, commas and spaces', () => {
    expect(parseMemberships('12:cpu,cpuacct:/a:b/c d\n1:name=systemd:/x\n0::/\n')).toEqual([
      { controllers: ['cpu', 'cpuacct'], path: '/a:b/c d' },
      { controllers: ['name=systemd'], path: '/x' },
      { controllers: [], path: '/' },
    ]);
    expect(
      parseMounts(
        '36 25 0:31 /a\\040b /mnt/my\\040tree rw shared:9 - cgroup2 cgroup rw\n24 1 8:1 / / rw - ext4 /dev/sda rw',
      ),
    ).toEqual([{ version: 2, controllers: ['rw'], root: '/a b', point: '/mnt/my tree' }]);
  });
});
