/** `leak-audit diff`: sites that grew, shrank, appeared and disappeared; with --normalize, more work alone is not a change. */
import { writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { analyse } from '../../cli/analysis/analyse';
import { type Diff, diffReports } from '../../cli/analysis/diff';
import { CaptureParser } from '../../cli/capture/reader';
import { CaptureBuilder, type Row } from './capture-builder';
import { leakAudit, testFolder } from './command';

const folder = testFolder();
const file = (name: string) => path.join(folder, name);

type Site = Omit<Row, 'site'> & { at: [file: string, line: number, column: number, fn?: string] };

function capture(...sites: Site[]): CaptureBuilder {
  const builder = new CaptureBuilder();
  for (const [i, { at }] of sites.entries()) builder.site(i + 1, at);
  const rows = sites.map(({ at, ...row }, i) => ({ ...row, site: i + 1 }));
  return builder.tick({ ms: 250 }, rows).end();
}

function diff(a: CaptureBuilder, b: CaptureBuilder, options = {}): Diff {
  const [one, other] = [a, b].map((builder) => {
    const parser = new CaptureParser();
    parser.feed(builder.build());
    return analyse(parser.capture);
  });
  return diffReports(one!, other!, options);
}

const site = (line: number, liveTensors: number, liveBytes: number, allocatedTensors = liveTensors): Site => ({
  at: ['/srv/a.ts', line, 1, `f${line}`],
  liveTensors,
  liveBytes,
  allocatedTensors,
});
const changes = ({ sites }: Diff) => Object.fromEntries(sites.map((one) => [one.line, one.change]));

test('each site is grown, shrunk, new, gone or the same; the largest change comes first', () => {
  const a = capture(site(1, 10, 1e6), site(2, 10, 1e6), site(3, 10, 1e6), site(4, 10, 1e6), site(5, 100, 100));
  const b = capture(site(1, 20, 3e6), site(2, 5, 2e5), site(3, 10, 1_000_500), site(6, 1, 5e6), site(5, 300, 300));
  const result = diff(a, b);
  expect(changes(result)).toEqual({ 1: 'grown', 2: 'shrunk', 3: 'same', 4: 'gone', 5: 'grown', 6: 'new' });
  expect(result.sites.map((one) => one.line)).toEqual([6, 1, 5, 4, 2, 3]);
  expect(result.counts).toEqual({ grown: 2, new: 1, shrunk: 1, gone: 1, same: 1 });
  expect(result.sites[0]).toMatchObject({ a: null, liveBytesChange: 5e6, b: { liveBytes: 5e6 } });
  expect(result.liveBytesChange).toBe(3e6 + 2e5 + 1_000_500 + 5e6 + 300 - 4e6 - 100);
});

test('a moved line is matched by its function, unless that is ambiguous', () => {
  const at = (line: number, fn: string): Site => ({ ...site(1, 10, 1e6), at: ['/srv/a.ts', line, 3, fn] });
  const moved = diff(capture(at(10, 'load')), capture(at(14, 'load')));
  expect(moved.sites).toHaveLength(1);
  expect(moved.sites[0]).toMatchObject({ line: 14, change: 'same', movedFrom: { line: 10, column: 3 } });
  const unclear = diff(capture(at(10, 'load'), at(11, 'load')), capture(at(14, 'load')));
  expect(unclear.counts).toMatchObject({ new: 1, gone: 2 });
});

test('after normalization, twice the work with twice the tensors is unchanged', () => {
  const a = capture(site(1, 10, 1e6, 100), site(2, 4, 4e5, 900));
  const b = capture(site(1, 20, 2e6, 200), site(2, 16, 16e5, 1800));
  expect(diff(a, b).counts).toMatchObject({ grown: 2 });
  const result = diff(a, b, { normalize: true });
  expect(result.normalized).toEqual({ by: 'allocatedTensors', a: 1000, b: 2000, factor: 0.5 });
  expect(changes(result)).toEqual({ 1: 'same', 2: 'grown' });
  expect(result.sites[0]).toMatchObject({
    line: 2,
    liveBytesChange: 4e5,
    b: { liveBytes: 8e5, allocatedTensors: 900 },
  });
});

describe('the command', () => {
  beforeAll(() => {
    writeFileSync(file('a.ltna'), capture(site(1, 10, 2 ** 20, 100), site(2, 3, 2 ** 20)).build());
    writeFileSync(file('b.ltna'), capture(site(1, 20, 2 ** 21, 200), site(3, 3, 2 ** 20)).build());
  });

  test('reports the change in its first line, and exits with 0', async () => {
    const { code, stdout, stderr } = await leakAudit(['diff', file('a.ltna'), file('b.ltna')]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout.trim().split('\n')[0]).toBe(
      '+1.0 MiB  Live bytes: 2.0 MiB in A, 3.0 MiB in B; sites: 1 grown, 1 new, 1 gone.',
    );
    expect(stdout).toMatch(/^grown +1\.0 MiB +2\.0 MiB +\+1\.0 MiB +\+10 +insufficient +\/srv\/a\.ts:1:1 f1$/m);
    expect(stdout).toMatch(/^gone +1\.0 MiB +- +-1\.0 MiB +-3 +insufficient +\/srv\/a\.ts:2:1 f2$/m);
  });

  test('--normalize prints its divisor; --json - prints only the difference', async () => {
    const normalized = await leakAudit(['diff', '--normalize', file('a.ltna'), file('b.ltna')]);
    expect(normalized.stdout).toMatch(/tensors made: 103 in A, 203 in B, so B's figures are multiplied by 0\.5074/);
    const { stdout } = await leakAudit(['diff', '--json', '-', '--redact-sources', file('a.ltna'), file('b.ltna')]);
    const parsed = JSON.parse(stdout) as Diff;
    expect(parsed.sites.map((one) => [one.file, one.line, one.change])).toEqual([
      ['file-1', 1, 'grown'],
      ['file-1', 3, 'new'],
      ['file-1', 2, 'gone'],
    ]);
    expect(stdout).not.toMatch(/srv|node /);
  });

  test('colours only if requested', async () => {
    const plain = await leakAudit(['diff', file('a.ltna'), file('b.ltna')], { FORCE_COLOR: '1', NO_COLOR: '1' });
    const painted = await leakAudit(['diff', file('a.ltna'), file('b.ltna')], { FORCE_COLOR: '1', NO_COLOR: '' });
    expect(plain.stdout).toBe(stripVTControlCharacters(plain.stdout));
    expect(painted.stdout).not.toBe(plain.stdout);
    expect(stripVTControlCharacters(painted.stdout)).toBe(plain.stdout);
  });
});
