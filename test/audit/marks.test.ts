/** Named points in time, from the capture to each report. */
import { writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { analyse } from '../../cli/analysis/analyse';
import { PacketType, packet } from '../../cli/capture/format';
import { CaptureParser } from '../../cli/capture/reader';
import { memoryLimit } from '../../cli/machine/memory-limit';
import { limitMs } from '../support/sanitized';
import { torch, untyped } from '../support/torch';
import { launch, open, picture } from './browser';
import { CaptureBuilder } from './capture-builder';
import { leakAudit, testFolder } from './command';

const folder = testFolder();
jest.setTimeout(limitMs(120_000));
const file = (name: string) => path.join(folder, name);

const HOSTILE = 'deploy \x1b[31m<img src=x>\u2066';

function marked(start: object = {}): CaptureBuilder {
  const builder = new CaptureBuilder(start).site(1, ['/srv/a.ts', 1, 1, 'f']);
  for (let i = 1; i <= 40; i++) {
    builder.tick({ ms: i * 1000 }, [{ site: 1, liveTensors: i, liveBytes: i * 50_000 }]);
    if (i === 10) builder.mark(10_500, HOSTILE);
    if (i === 38) builder.mark(38_200, 'rolled back');
  }
  return builder;
}

const read = (builder: CaptureBuilder) => {
  const parser = new CaptureParser();
  parser.feed(builder.build());
  return parser.finish();
};

test('reports list them, and the page draws them with their names', async () => {
  writeFileSync(file('app.ltna'), marked().end().build());
  const { code, stdout } = await leakAudit(['report', file('app.ltna'), '--html', file('app.html')]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/ at {2}mark\n +10\.5 s {2}deploy \\u001b\[31m<img src=x>\\u2066\n +38\.2 s {2}rolled back\n/);
  expect(stdout).not.toContain('\x1b[31m');
  const json = JSON.parse((await leakAudit(['report', file('app.ltna'), '--json', '-'])).stdout);
  expect(json.marks).toEqual([
    { ms: 10_500, name: HOSTILE },
    { ms: 38_200, name: 'rolled back' },
  ]);

  const browser = await launch();
  try {
    const { page, complaints } = await open(browser, file('app.html'));
    const timeline = page.locator('#timeline');
    expect(await timeline.locator('line.mark').count()).toBe(2);
    expect(await timeline.locator('text.mark-name').allTextContents()).toEqual([HOSTILE, 'rolled back']);
    const [first, second] = await page.evaluate<number[]>(
      `[...document.querySelectorAll('#timeline line.mark')].map((line) => Number(line.getAttribute('x1')))`,
    );
    expect(first).toBeLessThan(second!);
    await picture(page, 'leak-audit-report-marks', false);
    expect(complaints).toEqual([]);
  } finally {
    await browser.close();
  }
});

test('they survive repair, work in captures of several processes, and do not disturb other commands', async () => {
  const child = marked({ pid: 43, clockMs: 5000 }).build().subarray(16); // without its file header
  const both = marked({ clockMs: 0 }).end();
  both.packet(PacketType.Process, Buffer.from('{"pid":43}'));
  const bytes = Buffer.concat([both.build(), child]);
  const parser = new CaptureParser();
  parser.feed(bytes);
  expect(parser.finish().marks.map(({ ms }) => ms)).toEqual([10_500, 15_500, 38_200, 43_200]);

  const damaged = Buffer.concat([bytes, packet(PacketType.Mark, Buffer.alloc(9)).subarray(0, 25)]);
  writeFileSync(file('damaged.ltna'), damaged);
  expect((await leakAudit(['repair', file('damaged.ltna'), '-o', file('whole.ltna')])).code).toBe(0);
  const json = JSON.parse((await leakAudit(['report', file('whole.ltna'), '--json', '-'])).stdout);
  expect(json.marks).toHaveLength(4);
  expect((await leakAudit(['diff', file('whole.ltna'), file('damaged.ltna')])).code).toBe(0);
  expect((await leakAudit(['export', file('whole.ltna'), '--csv', file('out.csv')])).code).toBe(0);
});

test('redacted reports show a mark without its text', async () => {
  writeFileSync(file('app.ltna'), marked().end().build());
  const { stdout } = await leakAudit(['report', file('app.ltna'), '--redact-sources', '--json', '-']);
  expect(JSON.parse(stdout).marks.map((mark: { name: string }) => mark.name)).toEqual(['mark-1', 'mark-2']);
});

test('the limit of the recorded process counts; an invalid one is ignored', () => {
  const limit = { bytes: 123_456_789, from: 'cgroup' };
  expect(analyse(read(marked({ memoryLimit: limit }))).summary).toMatchObject({
    memoryLimitBytes: limit.bytes,
    memoryLimitFrom: 'cgroup',
  });
  for (const wrong of [{ bytes: -1, from: 'cgroup' }, { bytes: 5, from: 'elsewhere' }, 'none', null, 7, {}]) {
    const { summary } = analyse(read(marked({ memoryLimit: wrong })));
    expect(summary.memoryLimitBytes).toBe(memoryLimit().bytes);
  }
});

test('torch.audit.mark does nothing without a recording, and refuses invalid names', () => {
  expect(torch.audit.mark('now')).toBeUndefined();
  for (const wrong of ['', 7, undefined, null, {}]) {
    expect(() => untyped.audit.mark(wrong)).toThrow(/audit\.mark.*name.*a non-empty string/);
  }
});
