import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { analyse } from '../../cli/analysis/analyse';
import { checkDevice } from '../../cli/analysis/device';
import { CaptureParser } from '../../cli/capture/reader';
import { memoryLimit } from '../../cli/machine/memory-limit';
import { LiveLines, sparkline } from '../../cli/reporters/live';
import { renderText } from '../../cli/reporters/text';
import { colorsFor } from '../../cli/terminal/colors';
import { formatBytes, formatDuration, parseBytes, parseCount, parseDuration } from '../../cli/terminal/units';
import { CaptureBuilder, leakyCapture } from './capture-builder';
import { random } from './simulation';

const colors = colorsFor({ isTTY: false });
const read = (builder: CaptureBuilder) => {
  const parser = new CaptureParser();
  parser.feed(builder.build());
  return parser.capture;
};
const limit = { bytes: 2 ** 30, from: 'cgroup' as const };
const text = (builder: CaptureBuilder) => renderText(analyse(read(builder), { limit }), { colors, folder: '/srv' });

test('with a leak, its site comes first in the report, with rate and age', () => {
  const report = analyse(read(leakyCapture().end()));
  expect(report.verdict).toBe('leak');
  expect(report.sites.map((site) => site.verdict)).toEqual(['leak', 'steady']);
  expect(report.sites[0]).toMatchObject({
    file: '/srv/app.js',
    line: 10,
    column: 5,
    function: 'handle',
    liveTensors: 48,
    liveBytes: 48 * 1024,
    growthBytesPerMinute: 1024 * 240,
    oldestMs: 48 * 250 - 100,
    devices: ['cpu'],
  });
  expect(report.sites[0]!.stack).toHaveLength(2);
  expect(report.timeline).toHaveLength(48);
  expect(report.timeline[47]).toMatchObject({ ms: 12_000, liveTensors: 49, rss: 1e8, heapUsed: 1e7, external: 1e6 });
});

test('the first sentences name the line, the rate, the confidence and the remaining time', () => {
  expect(text(leakyCapture().end()).trim().split('\n')[0]).toBe(
    'LEAK  app.js:10:5 (handle) leaks 240.0 KiB (240 tensors) per minute, from the start, with more than 99.9% confidence. ' +
      "At this rate, the control group's 1.0 GiB of memory run out in 2 d 18 h.",
  );
});

test('the report has confidence, bounds, and kinds beside the verdicts', () => {
  const { sites, summary } = analyse(read(leakyCapture().end()), { limit });
  expect(sites[0]).toMatchObject({
    kind: 'leak',
    growthLowBytesPerMinute: 240 * 1024,
    growthHighBytesPerMinute: 240 * 1024,
  });
  expect(sites[0]!.confidence).toBeGreaterThan(0.999);
  expect(sites[1]).toMatchObject({ kind: 'steady', confidence: null });
  expect(summary).toMatchObject({ memoryLimitBytes: 2 ** 30, memoryLimitFrom: 'cgroup' });
  expect(summary.msToMemoryLimit).toBe(Math.round(((2 ** 30 - 1e8) / (240 * 1024)) * 60_000));
  expect(analyse(read(leakyCapture(4).end()), { limit }).summary.msToMemoryLimit).toBeNull();
});

test('the limit is that of the control group if it is less than the machine’s memory', () => {
  expect(memoryLimit('/no/such/root')).toEqual({ bytes: os.totalmem(), from: 'machine' });
  const root = fs.mkdtempSync(path.join(os.tmpdir(), 'limit-'));
  const write = (file: string, content: string) => {
    fs.mkdirSync(path.dirname(path.join(root, file)), { recursive: true });
    fs.writeFileSync(path.join(root, file), content);
  };
  write('proc/self/cgroup', '0::/\n');
  write('proc/self/mountinfo', '36 25 0:31 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n');
  write('sys/fs/cgroup/memory.max', '67108864\n');
  expect(memoryLimit(root)).toEqual({ bytes: 64 * 2 ** 20, from: 'cgroup' });
  fs.rmSync(root, { recursive: true });
});

test('a process that grows without its tensors and V8: the allocator keeps freed memory', () => {
  const capture = read(leakyCapture(96).end());
  for (const [i, tick] of capture.ticks.entries()) tick.rss = 2e8 + i * 2 ** 20;
  const { summary } = analyse(capture, { limit });
  expect(summary.rssGrowthBytesPerMinute).toBeCloseTo(240 * 2 ** 20, -6);
  expect(summary.retainedGrowthBytesPerMinute).toBeCloseTo(240 * (2 ** 20 - 1024), -6);
  const shown = renderText(analyse(capture, { limit }), { colors, folder: '/srv' });
  expect(shown).toMatch(/process memory outside tensors and V8 grows by 240\.0 MiB per minute/);
  expect(analyse(read(leakyCapture(96).end())).summary.retainedGrowthBytesPerMinute).toBe(0);
});

test('growth only after the last collection may be garbage; survivors of it are held', () => {
  const verdict = (survives: boolean) => {
    const capture = read(leakyCapture(96).end());
    for (const [i, tick] of capture.ticks.entries()) tick.collections = i < 40 ? 3 : 4;
    const series = [...capture.series.values()][0]!;
    if (!survives) for (let i = 0; i < 96; i++) series.liveTensors[i] = i < 40 ? i : i - 38;
    if (!survives) series.liveBytes = series.liveTensors.map((n) => n * 1024);
    return analyse(capture, { limit }).sites.find(({ line }) => line === 10)!.verdict;
  };
  expect(verdict(true)).toBe('leak');
  expect(verdict(false)).not.toBe('leak');
});

test('one hundred sites of noise beside a leak: only the leak is reported', () => {
  const rand = random(5);
  const builder = new CaptureBuilder();
  for (let site = 1; site <= 101; site++) builder.site(site, ['/srv/app.js', site, 1]);
  for (let i = 1; i <= 96; i++) {
    const rows = Array.from({ length: 101 }, (_, k) => {
      const liveTensors = k === 100 ? 3 * i : Math.round(50 + 40 * rand());
      return { site: k + 1, liveTensors, liveBytes: 1000 * liveTensors, allocatedTensors: 100 * i };
    });
    builder.tick({ ms: i * 250 }, rows);
  }
  const leaks = analyse(read(builder.end()), { limit }).sites.filter((site) => site.verdict === 'leak');
  expect(leaks.map(({ line }) => line)).toEqual([101]);
});

test('a killed program and a torn tail are reported', () => {
  const bytes = leakyCapture().build();
  const parser = new CaptureParser();
  parser.feed(bytes.subarray(0, bytes.length - 5));
  const report = analyse(parser.capture);
  expect(report.summary.ended).toBe('killed');
  const shown = renderText(report, { colors, folder: '/srv' });
  expect(shown).toMatch(/the capture has no end: the program was killed/);
  expect(shown).toMatch(/the capture is truncated/);
});

test('a program without tensors is clean, a program that never loaded the library is not', () => {
  const report = analyse(new CaptureParser().capture);
  expect(report).toMatchObject({ verdict: 'insufficient', sites: [], timeline: [] });
  expect(report.summary.insufficient).toBe('not-loaded');
  expect(renderText(report, { colors, folder: '/' })).toMatch(/^\s*INSUFFICIENT {2}nothing was recorded/);
  const loaded = new CaptureBuilder().tick({ ms: 250 }).end();
  expect(analyse(read(loaded))).toMatchObject({ verdict: 'clean', summary: { insufficient: null } });
  expect(text(loaded)).toMatch(/^\s*CLEAN {2}The program made no tensors\.\n/);
});

test('totals alone do not make a report clean, unless nothing is alive', () => {
  const totals = (tensors: number) => {
    const builder = new CaptureBuilder({ mode: 'counters' });
    for (let i = 1; i <= 40; i++) builder.tick({ ms: 250 * i, tensors, bytes: 4 * tensors });
    return builder.end();
  };
  expect(analyse(read(totals(1))).summary.insufficient).toBe('counters');
  expect(text(totals(1))).toMatch(/INSUFFICIENT {2}1 tensor is alive, and only totals were recorded/);
  expect(analyse(read(totals(0))).verdict).toBe('clean');
});

test('with totals only, memory of tensors is not counted as hidden memory', () => {
  const growing = (bytes: number) => {
    const builder = new CaptureBuilder({ mode: 'counters' });
    for (let i = 1; i <= 40; i++) {
      builder.tick({ ms: 250 * i, tensors: i, bytes: bytes * i, allocatedBytes: 40_000 * i });
    }
    return analyse(read(builder.end()));
  };
  expect(growing(40_000)).toMatchObject({ verdict: 'insufficient', sites: [], summary: { insufficient: 'counters' } });
  expect(growing(20_000).sites).toEqual([
    expect.objectContaining({ file: '(not in JS tensors)', verdict: 'leak', hiddenGrowthBytesPerMinute: 4_800_000 }),
  ]);
});

test('a site that started to grow too late to be judged prevents a clean report', () => {
  const late = (grows: boolean) => {
    const builder = new CaptureBuilder().site(1, ['/srv/old.js', 1, 1]).site(2, ['/srv/late.js', 2, 1]);
    for (let i = 1; i <= 96; i++) {
      const n = i <= 84 ? 0 : grows ? i - 84 : 3;
      const rows = [{ site: 1, liveTensors: 1, liveBytes: 64, allocatedTensors: 10 * i }];
      builder.tick({ ms: i * 250 }, n === 0 ? rows : [...rows, { site: 2, liveTensors: n, liveBytes: n * 4096 }]);
    }
    return builder.end();
  };
  const report = analyse(read(late(true)));
  expect(report.verdict).toBe('insufficient');
  expect(report.summary.insufficient).toBe('young-sites');
  expect(report.sites[0]).toMatchObject({ line: 2, verdict: 'insufficient', growthBytesPerMinute: 4096 * 240 });
  expect(text(late(true))).toMatch(
    /INSUFFICIENT {2}late\.js:2:1 grew by 960\.0 KiB \(240 tensors\) per minute, but not long enough to distinguish/,
  );
  expect(analyse(read(late(false))).verdict).toBe('clean'); // it appeared late and is constant
});

test('sites omitted from the table count in the verdict', () => {
  const report = analyse(read(leakyCapture().end()), { minAgeMs: 3_600_000, limit });
  expect(report).toMatchObject({ verdict: 'leak', sites: [], summary: { leaks: 1, minAgeMs: 3_600_000 } });
  const shown = renderText(report, { colors, folder: '/srv' });
  expect(shown).toMatch(/^\s*LEAK {2}1 site leaks 240\.0 KiB per minute\. At this rate,/);
  expect(shown).toMatch(/note: --min-age hides 1 site that leaks/);
});

test('a report of one device names it', () => {
  const builder = new CaptureBuilder().site(1, ['/a.js', 1, 1]).site(2, ['/a.js', 2, 1]);
  for (let i = 1; i <= 48; i++) {
    builder.tick({ ms: i * 250 }, [
      { site: 1, liveTensors: i, liveBytes: 1024 * i },
      { site: 2, liveTensors: 1, liveBytes: 20, allocatedTensors: i, deviceType: 1, deviceIndex: 0 },
    ]);
  }
  const report = analyse(read(builder.end()), { device: 'cuda', limit });
  expect(report).toMatchObject({ verdict: 'clean', summary: { device: 'cuda' } });
  expect(renderText(report, { colors, folder: '/' })).toMatch(
    /CLEAN {2}Device cuda only: no site kept growing in 12\.0 s; 1 tensor \(20 B\) was alive at the end/,
  );
  expect(() => checkDevice([read(builder)], 'bogus')).toThrow(
    '--device bogus: expected a device of the capture (cpu, cuda:0)',
  );
  expect(() => checkDevice([read(builder)], 'cuda')).not.toThrow();
});

test('a short run is insufficient if something is alive, else clean', () => {
  expect(analyse(read(leakyCapture(5).end())).verdict).toBe('insufficient');
  const short = new CaptureBuilder().site(1, ['/a.js', 1, 1]);
  short.tick({ ms: 250 }, [{ site: 1, liveTensors: 5, liveBytes: 50 }]);
  short.tick({ ms: 500 }, [{ site: 1, liveTensors: 0, liveBytes: 0, allocatedTensors: 9, allocatedBytes: 90 }]).end();
  const report = analyse(read(short));
  expect(report.verdict).toBe('clean');
  expect(report.sites[0]).toMatchObject({ allocatedTensors: 9, liveTensors: 0, oldestMs: null, verdict: 'steady' });
});

test('stacks that end at the same position are one site', () => {
  const builder = new CaptureBuilder()
    .site(1, ['/a.js', 1, 1, 'f'], ['/a.js', 10, 1])
    .site(2, ['/a.js', 1, 1, 'f'], ['/a.js', 20, 1]);
  builder.tick({ ms: 250 }, [
    { site: 1, liveTensors: 1, liveBytes: 10 },
    { site: 2, liveTensors: 2, liveBytes: 30 },
  ]);
  const { sites } = analyse(read(builder));
  expect(sites).toHaveLength(1);
  expect(sites[0]).toMatchObject({ liveTensors: 3, liveBytes: 40 });
  expect(sites[0]!.stack[1]).toMatchObject({ line: 20 });
});

test('devices and ages can be selected', () => {
  const builder = new CaptureBuilder().site(1, ['/a.js', 1, 1]).site(2, ['/a.js', 2, 1]);
  builder.tick({ ms: 1000 }, [
    { site: 1, liveTensors: 1, liveBytes: 10, oldestBirthMs: 900 },
    { site: 2, liveTensors: 1, liveBytes: 20, oldestBirthMs: 100, deviceType: 1, deviceIndex: 0 },
  ]);
  expect(analyse(read(builder), { device: 'cuda' }).sites.map((site) => site.line)).toEqual([2]);
  expect(analyse(read(builder), { device: 'cuda:0' }).sites.map((site) => site.devices)).toEqual([['cuda:0']]);
  expect(analyse(read(builder), { minAgeMs: 500 }).sites.map((site) => site.line)).toEqual([2]);
});

test('live lines are aligned and end in a sparkline', () => {
  const lines: string[] = [];
  const live = new LiveLines((line) => lines.push(line), colors);
  for (const tick of read(leakyCapture(3)).ticks) live.show(tick);
  expect(lines).toHaveLength(4);
  expect(lines[3]).toMatch(/^ +0\.8s +4 +4 +7\.0 KiB +7\.0 KiB +0 B +95\.4 MiB {2}▆▇█\n$/);
  // From zero, so that noise does not look like growth.
  const builder = new CaptureBuilder();
  for (const [i, bytes] of [260, 266, 255, 262].entries()) builder.tick({ ms: 250 * (i + 1), bytes });
  for (const tick of read(builder).ticks) live.show(tick);
  expect(lines.at(-1)).toMatch(/ {2}[▁▂▃▄▅▆▇█]{2}▁▁▁▁\n$/);
  const alone: string[] = [];
  const level = new LiveLines((line) => alone.push(line), colors);
  for (const tick of read(builder).ticks) level.show(tick);
  expect(alone.at(-1)).toMatch(/ {2}████\n$/);
  expect(sparkline([5, 5])).toBe('▁▁');
  expect(sparkline([260, 266, 0])).toBe('██▁');
  expect(sparkline([260, 266])).toBe('▁▃'); // noise stays low
});

test('units, formatted and parsed', () => {
  expect(formatBytes(0)).toBe('0 B');
  expect(formatBytes(1023.96 * 1024)).toBe('1.0 MiB');
  expect(formatDuration(61_000)).toBe('1 min 1 s');
  expect([999, 999.6, 59_940, 59_960].map(formatDuration)).toEqual(['999 ms', '1.0 s', '59.9 s', '1 min 0 s']);
  expect(parseDuration('500ms')).toBe(500);
  expect(parseDuration('2m')).toBe(120_000);
  expect(parseBytes('64MiB')).toBe(64 * 2 ** 20);
  expect(() => parseDuration('5')).toThrow(/expected a duration/);
  expect(() => parseDuration('0s')).toThrow(/expected a duration/);
  expect(() => parseBytes('5 parsecs')).toThrow(/expected a size/);
  expect(parseCount('12')).toBe(12);
  for (const count of ['-1', '1.5', '99999999999999999999'])
    expect(() => parseCount(count)).toThrow(/expected a whole number/);
});

/** A worker thread whose site grows by 1 KiB a round until its end, and 50 rounds in all. */
function workerCapture(rounds: number, workers = 1): CaptureBuilder {
  const builder = new CaptureBuilder();
  for (let worker = 0; worker < workers; worker++) {
    builder.environment = 3 + worker;
    builder.site(1 + worker, ['/worker.js', 5, 1]);
    const row = (live: number, allocated: number) => ({
      site: 1 + worker,
      liveTensors: live,
      liveBytes: live * 1024,
      allocatedTensors: allocated,
    });
    for (let i = 1; i <= 50; i++) {
      if (i === rounds + 1) builder.environmentEnd(3 + worker);
      builder.tick({ ms: (50 * worker + i) * 250 }, [i <= rounds ? row(i, i) : row(0, rounds)]);
    }
  }
  return builder;
}

test('a worker thread that grew and ended too soon to judge prevents a clean report; many such threads do not', () => {
  const report = analyse(read(workerCapture(10)));
  expect(report).toMatchObject({ verdict: 'insufficient', summary: { insufficient: 'young-sites' } });
  expect(report.sites[0]).toMatchObject({ liveTensors: 0, verdict: 'insufficient', growthTensorsPerMinute: 240 });
  expect(analyse(read(workerCapture(10, 3))).verdict).toBe('clean');
});

test('a worker thread that leaked until its end is a leak', () => {
  const report = analyse(read(workerCapture(40)));
  expect(report.verdict).toBe('leak');
  expect(report.sites[0]).toMatchObject({ liveTensors: 0, oldestMs: null, sinceMs: 0, verdict: 'leak' });
});

test('growing memory without tensors is reported', () => {
  const builder = new CaptureBuilder();
  for (let i = 1; i <= 48; i++) builder.tick({ ms: i * 250, tensors: 1, bytes: 4, allocatedBytes: 4 + i * 10_000 });
  const report = analyse(read(builder.end()));
  expect(report.summary.unexplainedGrowthBytesPerMinute).toBe(2_400_000);
  expect(text(builder)).toMatch(/memory of libtorch that no tensor accounts for grows by 2\.3 MiB per minute/);
  expect(analyse(read(leakyCapture())).summary.unexplainedGrowthBytesPerMinute).toBe(0);
});

describe('hidden growth is a leak, attributed to', () => {
  /** Site 1 always holds one tensor and replaces it, site 2 makes 10,000 bytes a round, site 3 nothing. */
  const capture = (rootHolds: number, madeBytes: number) => {
    const builder = new CaptureBuilder();
    for (const site of [1, 2, 3]) builder.site(site, ['/srv/app.js', site, 1]);
    for (let i = 1; i <= 48; i++) {
      builder.tick({ ms: i * 250, allocatedBytes: 1000 + i * 10_000 }, [
        { site: 1, liveTensors: rootHolds, liveBytes: 4, allocatedTensors: i, allocatedBytes: 4 * i },
        { site: 2, liveTensors: 0, liveBytes: 0, allocatedTensors: i, allocatedBytes: madeBytes * i },
        { site: 3, liveTensors: 2, liveBytes: 800, allocatedTensors: 2, allocatedBytes: 800 },
      ]);
    }
    return analyse(read(builder.end()), { limit });
  };

  test('the line that replaces its tensors', () => {
    const report = capture(1, 10_000);
    expect(report.verdict).toBe('leak');
    expect(report.sites[0]).toMatchObject({ line: 1, verdict: 'leak', hiddenGrowthBytesPerMinute: 2_400_000 });
  });

  test('else the line that allocates as much', () => {
    expect(capture(0, 10_300).sites[0]).toMatchObject({ line: 2, verdict: 'leak' });
  });

  test('else it is not attributed', () => {
    const report = capture(0, 5000);
    expect(report.verdict).toBe('leak');
    expect(report.sites[0]).toMatchObject({ file: '(not in JS tensors)', line: 0, verdict: 'leak' });
    expect(renderText(report, { colors, folder: '/srv' })).toMatch(
      /LEAK {2}\(not in JS tensors\) most likely retains 2\.3 MiB per minute that no tensor accounts for/,
    );
  });
});
