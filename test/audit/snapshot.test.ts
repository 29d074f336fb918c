/** The text of `leak-audit snapshot`. */
import type { Snapshot } from '../../cli/attach/figures';
import { renderSnapshot } from '../../cli/reporters/snapshot';
import { plainColors } from '../../cli/terminal/colors';
import { displayWidth } from '../../cli/terminal/size';
import { counted } from '../../cli/terminal/units';

const site = (line: number, live: number, file = `/srv/app/${line}.ts`) => ({
  file,
  line,
  column: 7,
  function: 'handle',
  stack: [],
  devices: ['cpu'],
  liveTensors: live,
  liveBytes: live * 1000,
  allocatedTensors: live,
  allocatedBytes: live * 1000,
});

const snapshotOf = (tensors: number, sites: Snapshot['sites']): Snapshot => ({
  version: 1,
  pid: 4_194_304,
  tensors,
  storages: tensors,
  bytes: tensors * 4,
  allocatedBytes: 1e9,
  peakAllocatedBytes: 1e9,
  rss: 1023.9 * 2 ** 40,
  devices: [
    {
      device: 'cuda:15',
      tensors,
      storages: tensors,
      bytes: 2 ** 49,
      allocatedBytes: 2 ** 49,
      peakAllocatedBytes: 2 ** 49,
    },
  ],
  sites,
  mode: sites && 'full',
  made: sites && { tensors, bytes: tensors },
  ms: sites && 1000,
});

const textOf = (snapshot: Snapshot, columns?: number) =>
  renderSnapshot(snapshot, {
    colors: plainColors,
    folder: '/elsewhere',
    ...(columns === undefined ? {} : { columns }),
  });

test('one tensor is singular', () => {
  expect([0, 1, 2, 1234].map((n) => counted(n, 'tensor'))).toEqual([
    '0 tensors',
    '1 tensor',
    '2 tensors',
    '1,234 tensors',
  ]);
  expect(textOf(snapshotOf(1, null))).toMatch(/^process 4194304: 1 tensor on 1 storage holds 4 B; /);
  expect(textOf(snapshotOf(2, null))).toMatch(/: 2 tensors on 2 storages hold 8 B; /);
  const sites = Array.from({ length: 22 }, (_, i) => site(i + 1, 1));
  expect(textOf(snapshotOf(22, sites))).toMatch(/^… and 2 more sites$/m);
  expect(textOf(snapshotOf(21, sites.slice(1)))).toMatch(/^… and 1 more site$/m);
});

test('without sites the table is omitted', () => {
  expect(textOf({ ...snapshotOf(2, []), mode: 'counters' })).toMatch(/\n\nno sites \(--mode counters\)\n\nrecorded /);
  expect(textOf(snapshotOf(0, []))).toMatch(/\n\nno tensor was made yet\n\nrecorded for 1\.0 s \(--mode full\)\n$/);
});

test('lines fit 80 columns, and earlier tensors are not called made', () => {
  const before = { ...site(0, 9), file: '(before attach)', line: 0, column: 0, function: '' };
  const sites = [
    before,
    site(1, 123_456_789, `/srv/${'deep/'.repeat(40)}a.ts`),
    site(2, 1, `/srv/${'模型/'.repeat(40)}b.ts`),
  ];
  for (const shown of [sites, null]) {
    const lines = textOf(snapshotOf(123_456_789, shown), 80).trimEnd().split('\n');
    expect(lines.filter((line) => displayWidth(line) > 80)).toEqual([]);
    expect(lines.slice(0, 2)).toEqual([
      'process 4194304: 123,456,789 tensors on 123,456,789 storages hold 471.0 MiB',
      'RSS 1023.9 TiB',
    ]);
  }
  expect(textOf(snapshotOf(10, sites))).toMatch(/^ +9 +8\.8 KiB +- +- {2}\(before attach\)$/m);
});
