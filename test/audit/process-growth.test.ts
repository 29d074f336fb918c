/** Growth of the process beside that of tensors: when memory runs out, what graphs and malloc hold. */
import { analyse } from '../../cli/analysis/analyse';
import type { Capture } from '../../cli/capture/capture';
import { CaptureParser } from '../../cli/capture/reader';
import { renderText } from '../../cli/reporters/text';
import { plainColors as colors } from '../../cli/terminal/colors';
import { SNAPSHOT_BEGINS, SNAPSHOT_ENDS } from '../../lib/observe/audit/marks';
import { CaptureBuilder, leakyCapture } from './capture-builder';
import { testFolder } from './command';

const folder = testFolder();
const limit = { bytes: 2 ** 30, from: 'cgroup' as const };
const MS = 250;

const parse = (builder: CaptureBuilder): Capture => {
  const parser = new CaptureParser();
  parser.feed(builder.build());
  return parser.finish();
};

test('the forecast is a range, from the larger of the rate of the leak and of the process', () => {
  const capture = parse(leakyCapture(96).end());
  for (const [i, tick] of capture.ticks.entries()) tick.rss = 2e8 + i * 2 ** 20 + (i % 5) * 2 ** 18;
  const report = analyse(capture, { limit });
  const { msToMemoryLimit, earliestMsToMemoryLimit: from, latestMsToMemoryLimit: to } = report.summary;
  expect(from).toBeLessThan(msToMemoryLimit!);
  expect(to).toBeGreaterThan(msToMemoryLimit!);
  expect(renderText(report, { colors, folder })).toMatch(
    /The process grows by 2\d\d\.\d MiB per minute\. At that rate, .* memory run out in [\d.]+ (s|min \d+ s) to /,
  );
});

test('the process is expected to grow as in the second half, not as at its start', () => {
  const capture = parse(leakyCapture(96).end());
  for (const [i, tick] of capture.ticks.entries()) tick.rss = 2e8 + (Math.min(i, 48) * 1.5 + i) * 2 ** 20;
  const { summary } = analyse(capture, { limit });
  expect(summary.rssGrowthBytesPerMinute).toBeCloseTo(240 * 2 ** 20, -6);
});

test('growth of the process that goes with a graph is counted to the graph, not to malloc', () => {
  const builder = new CaptureBuilder().site(1, ['/srv/a.js', 5, 3]);
  for (let i = 1; i <= 96; i++) {
    builder.graphs({ site: 1, tensors: 1, nodes: 1000 * i, flags: 6 });
    builder.tick({ ms: i * MS, collections: i >> 2 }, [
      { site: 1, liveTensors: 1, liveBytes: 4, allocatedTensors: 250 * i, oldestBirthMs: i * MS },
    ]);
  }
  const capture = parse(builder.end());
  for (const [i, tick] of capture.ticks.entries()) tick.rss = 2e8 + i * 2 ** 20;
  const { sites, summary } = analyse(capture, { limit });
  expect(sites[0]!.graph!.processBytesPerMinute).toBeCloseTo(240 * 2 ** 20, -6);
  expect(sites[0]!.growthBytesPerMinute).toBeCloseTo(240 * 2 ** 20, -6);
  expect(summary.retainedGrowthBytesPerMinute).toBe(0);
  const text = renderText(analyse(capture, { limit }), { colors, folder });
  expect(text).not.toContain('malloc');
  expect(text.replace(/\s+/g, ' ')).toMatch(
    /retains 2\d\d\.\d MiB per minute that .* \(2\d\d\.\d MiB of it in nodes of the graph\)/,
  );
});

test('a heap snapshot of `leak-audit why` makes the process larger, but is not growth of the program', () => {
  const builder = leakyCapture(96);
  builder.mark(64 * MS, SNAPSHOT_BEGINS).mark(76 * MS, SNAPSHOT_ENDS);
  const capture = parse(builder.end());
  const snapshot = (i: number) => Math.min(12, Math.max(0, i - 63)) * 8 * 2 ** 20;
  for (const [i, tick] of capture.ticks.entries()) tick.rss = 2e8 + i * 2 ** 14 + snapshot(i);
  const { summary } = analyse(capture, { limit });
  const rate = (60_000 / MS) * 2 ** 14;
  expect(summary).toMatchObject({ rssGrowthBytesPerMinute: rate, retainedGrowthBytesPerMinute: rate });
  capture.marks = [];
  expect(analyse(capture, { limit }).summary.rssGrowthBytesPerMinute).toBeGreaterThan(4 * rate);
});
