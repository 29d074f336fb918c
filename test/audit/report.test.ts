import { analyse } from '../../cli/analysis';
import { CaptureParser } from '../../cli/capture/reader';
import { colorsFor } from '../../cli/colors';
import { conclude, findLeaks } from '../../cli/commands/check';
import { LiveLines, sparkline } from '../../cli/reporters/live';
import { renderText } from '../../cli/reporters/text';
import { formatBytes, formatDuration, parseBytes, parseDuration } from '../../cli/units';
import { CaptureBuilder, leakyCapture } from './capture_builder';

const colors = colorsFor({ isTTY: false });
const read = (builder: CaptureBuilder) => {
  const parser = new CaptureParser();
  parser.feed(builder.build());
  return parser.capture;
};
const text = (builder: CaptureBuilder) => renderText(analyse(read(builder)), { colors, folder: '/srv' });

test('given a leak, its site comes first in the report, with rate and age', () => {
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

test('the text names the line and the rate in its first sentence', () => {
  expect(text(leakyCapture().end()).trim().split('\n')[0]).toBe(
    'LEAK  app.js:10:5 (handle) leaks 240.0 KiB per minute (240 tensors), from the start.',
  );
});

test('a killed program and a torn tail are told', () => {
  const bytes = leakyCapture().build();
  const parser = new CaptureParser();
  parser.feed(bytes.subarray(0, bytes.length - 5));
  const report = analyse(parser.capture);
  expect(report.summary.ended).toBe('killed');
  const shown = renderText(report, { colors, folder: '/srv' });
  expect(shown).toMatch(/the program was killed/);
  expect(shown).toMatch(/are torn/);
});

test('a program without tensors is clean', () => {
  const report = analyse(new CaptureParser().capture);
  expect(report).toMatchObject({ verdict: 'clean', sites: [], timeline: [] });
  expect(renderText(report, { colors, folder: '/' })).toMatch(/^\s*CLEAN {2}The program made no tensors/);
});

test('a short run is insufficient while something lives, and clean when nothing does', () => {
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

test('devices and ages can be picked', () => {
  const builder = new CaptureBuilder().site(1, ['/a.js', 1, 1]).site(2, ['/a.js', 2, 1]);
  builder.tick({ ms: 1000 }, [
    { site: 1, liveTensors: 1, liveBytes: 10, oldestBirthMs: 900 },
    { site: 2, liveTensors: 1, liveBytes: 20, oldestBirthMs: 100, deviceType: 1, deviceIndex: 0 },
  ]);
  expect(analyse(read(builder), { device: 'cuda' }).sites.map((site) => site.line)).toEqual([2]);
  expect(analyse(read(builder), { device: 'cuda:0' }).sites.map((site) => site.devices)).toEqual([['cuda:0']]);
  expect(analyse(read(builder), { minAgeMs: 500 }).sites.map((site) => site.line)).toEqual([2]);
});

describe('check', () => {
  const status = (builder: CaptureBuilder, options = {}) => {
    const report = analyse(read(builder), options);
    return conclude(report, findLeaks(report, options)).status;
  };
  const steady = (lost = 0) => {
    const builder = new CaptureBuilder().site(1, ['/a.js', 1, 1]);
    for (let i = 1; i <= 40; i++) builder.tick({ ms: i * 250, lost }, [{ site: 1, liveTensors: 3, liveBytes: 3000 }]);
    return builder;
  };

  test('0 clean, 1 leak, 3 too little data, 4 lost events', () => {
    expect(status(steady())).toBe(0);
    expect(status(leakyCapture())).toBe(1);
    expect(status(leakyCapture(4))).toBe(3);
    expect(status(steady(2))).toBe(4);
  });

  test('limits on living bytes and on age', () => {
    expect(status(steady(), { maxLive: 2000 })).toBe(1);
    expect(status(steady(), { maxLive: 4000 })).toBe(0);
    expect(status(steady(), { maxAge: 5000 })).toBe(1);
    expect(status(steady(), { maxAge: 60_000 })).toBe(0);
  });
});

test('live lines are aligned and end in a sparkline', () => {
  const lines: string[] = [];
  const live = new LiveLines((line) => lines.push(line), colors);
  for (const tick of read(leakyCapture(3)).ticks) live.show(tick);
  expect(lines).toHaveLength(4);
  expect(lines[3]).toMatch(/^ +0\.8s +4 +4 +7\.0 KiB +7\.0 KiB +0 B +95\.4 MiB {2}▁▅█\n$/);
  expect(sparkline([5, 5])).toBe('▁▁');
  expect(sparkline([260, 266, 0])).toBe('██▁');
  expect(sparkline([260, 266])).toBe('▁▃'); // noise stays low
});

test('units, there and back', () => {
  expect(formatBytes(0)).toBe('0 B');
  expect(formatBytes(1023.96 * 1024)).toBe('1.0 MiB');
  expect(formatDuration(61_000)).toBe('1 min 1 s');
  expect(parseDuration('500ms')).toBe(500);
  expect(parseDuration('2m')).toBe(120_000);
  expect(parseBytes('64MiB')).toBe(64 * 2 ** 20);
  expect(() => parseDuration('5')).toThrow(/no duration/);
  expect(() => parseDuration('0s')).toThrow(/no duration/);
  expect(() => parseBytes('5 parsecs')).toThrow(/no size/);
});

test('a worker thread that leaked until it ended has leaked', () => {
  const builder = new CaptureBuilder();
  builder.environment = 3;
  builder.site(1, ['/worker.js', 5, 1]);
  const row = (live: number, allocated: number) => ({
    site: 1,
    liveTensors: live,
    liveBytes: live * 1024,
    allocatedTensors: allocated,
  });
  for (let i = 1; i <= 40; i++) builder.tick({ ms: i * 250 }, [row(i, i)]);
  builder.environmentEnd(3);
  for (let i = 41; i <= 50; i++) builder.tick({ ms: i * 250 }, [row(0, 40)]);
  const report = analyse(read(builder));
  expect(report.verdict).toBe('leak');
  expect(report.sites[0]).toMatchObject({ liveTensors: 0, oldestMs: null, sinceMs: 0, verdict: 'leak' });
});

test('memory that grows and that no tensor sees is told', () => {
  const builder = new CaptureBuilder();
  for (let i = 1; i <= 48; i++) builder.tick({ ms: i * 250, tensors: 1, bytes: 4, allocatedBytes: 4 + i * 10_000 });
  const report = analyse(read(builder.end()));
  expect(report.summary.unexplainedGrowthBytesPerMinute).toBe(2_400_000);
  expect(text(builder)).toMatch(/what no tensor sees grows by 2\.3 MiB per minute/);
  expect(analyse(read(leakyCapture())).summary.unexplainedGrowthBytesPerMinute).toBe(0);
});
