/** The end of a program does not hide leaks: neither releasing tensors at the end nor idling before it. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { analyse } from '../../cli/analysis/analyse';
import type { Report } from '../../cli/analysis/report';
import { CaptureParser } from '../../cli/capture/reader';
import { renderText } from '../../cli/reporters/text';
import { finalPhase } from '../../cli/rules/final-phase';
import { plainColors as colors } from '../../cli/terminal/colors';
import { CaptureBuilder } from './capture-builder';
import { auditProgram, fixture, testFolder } from './command';

const MS = 50;
const read = (builder: CaptureBuilder) => {
  const parser = new CaptureParser();
  parser.feed(builder.build());
  return parser.capture;
};

interface Ending {
  /** Rounds in which the leak grows. */
  grows?: number;
  /** Rounds after that. */
  lingers?: number;
  /** The part that stays alive then. */
  keeps?: number;
  /** Over how many rounds the rest is released, one after the other. */
  drains?: number;
  /** The bytes of a line that first allocates in the round of the fall. */
  reduces?: number;
  /** Whether other lines continue working. */
  others?: 'work on' | 'none';
  /** ms of a mark `shutdown`. */
  shutdown?: number;
}

/** A site that grows by 4 KiB a round beside one that makes and drops tensors, and the rounds after. */
function ending(given: Ending): CaptureBuilder {
  const { grows = 80, lingers = 1, keeps = 0, drains = 1, reduces, others, shutdown } = given;
  const builder = new CaptureBuilder().site(1, ['/srv/cache.js', 8, 1]).site(2, ['/srv/work.js', 2, 1]);
  builder.site(3, ['/srv/reduce.js', 3, 1]);
  for (let i = 1; i <= grows + lingers; i++) {
    const [made, works] = [Math.min(i, grows), others === 'work on' ? i : Math.min(i, grows)];
    const drained = Math.round(grows * (1 - (i - grows) / drains));
    const live = i <= grows ? i : Math.max(drained, Math.min(keeps, grows));
    const rows = [
      { site: 1, liveTensors: live, liveBytes: live * 4096, allocatedTensors: made, allocatedBytes: made * 4096 },
    ];
    if (others !== 'none') {
      rows.push({ site: 2, liveTensors: 0, liveBytes: 0, allocatedTensors: 5 * works, allocatedBytes: 500 * works });
    }
    if (reduces !== undefined && i > grows) {
      rows.push({ site: 3, liveTensors: 1, liveBytes: 4, allocatedTensors: 1, allocatedBytes: reduces });
    }
    const tick = { ms: i * MS, tensors: live, bytes: live * 4096, allocatedBytes: live * 4096 };
    builder.tick({ ...tick, collections: i >> 3 }, rows);
    if (shutdown !== undefined && i * MS <= shutdown && (i + 1) * MS > shutdown) builder.mark(shutdown, 'shutdown');
  }
  return builder.end();
}

const reportOf = (given: Ending) => analyse(read(ending(given)));
const sentence = (given: Ending) => renderText(reportOf(given), { colors, folder: '/srv' }).trim().split('\n')[0];

test('freed in the last round: not clean, with the line, the time of the release and how to find out', () => {
  const report = reportOf({});
  expect(report).toMatchObject({ verdict: 'insufficient', summary: { insufficient: 'grew-to-the-end' } });
  expect(report.sites[0]).toMatchObject({ line: 8, kind: 'grew-to-the-end', liveTensors: 0, freedMs: MS });
  expect(sentence({})).toMatch(
    /^INSUFFICIENT {2}cache\.js:8:1 grew by .* until the end, and was freed only in the last 50 ms: a leak, or results that were collected and then used\. Run it longer, or call torch\.audit\.mark\('shutdown'\)/,
  );
});

test('a service that idles at the end and holds the leaked tensors: a leak', () => {
  for (const given of [{ keeps: 80 }, { keeps: 80, others: 'none' as const }]) {
    const { verdict, sites } = reportOf({ lingers: 20, ...given });
    expect({ given, verdict, line: sites[0]!.line }).toEqual({ given, verdict: 'leak', line: 8 });
  }
});
test('a service that idles longer may have a full cache: insufficient; one that idles for most of its life has a cache', () => {
  expect(reportOf({ lingers: 80, keeps: 80, others: 'none' })).toMatchObject({
    verdict: 'insufficient',
    summary: { insufficient: 'grew-to-the-end' },
    sites: [{ line: 8, kind: 'grew-to-the-end' }],
  });
  expect(reportOf({ lingers: 400, keeps: 80, others: 'none' }).verdict).toBe('clean');
});

test('what ends one by one after the last request, over many rounds, is freed only at the end too', () => {
  for (const given of [
    { lingers: 12, drains: 12 },
    { lingers: 20, drains: 20 },
    { lingers: 20, drains: 12, keeps: 4 },
  ]) {
    const report = reportOf(given);
    expect({ given, verdict: report.verdict, kind: report.sites[0]!.kind }).toEqual({
      given,
      verdict: 'insufficient',
      kind: 'grew-to-the-end',
    });
  }
  // The fall begins with the last work: a dip before it is not the end of the growth.
  const live = [...Array.from({ length: 80 }, (_, i) => i + 1), 70, 74, 60, 50, 40, 30, 20, 10, 0];
  const work = live.map((_, i) => Math.min(i, 79));
  expect(finalPhase(live, work)).toEqual({ rounds: 80, fell: true, doubtful: false });
  // A little work goes on during the fall, which begins at its highest round.
  const fall = [...Array.from({ length: 80 }, (_, i) => i + 1), 70, 60, 50, 40, 30, 20, 10, 0];
  const less = fall.map((_, i) => (i < 80 ? 10 * i : 790 + i - 79));
  expect(finalPhase(fall, less)).toEqual({ rounds: 80, fell: true, doubtful: false });
});

test('a phase that is freed while the program continues is steady', () => {
  expect(reportOf({ lingers: 20, others: 'work on' }).verdict).toBe('clean');
  expect(reportOf({ lingers: 200 }).verdict).toBe('clean');
});

test('collected, then used: insufficient, with the line and how to find out', () => {
  for (const given of [
    { reduces: 4 },
    { reduces: 80 * 4096 },
    { reduces: 80 * 4096, keeps: 80 },
    { reduces: 4, lingers: 10 },
  ]) {
    const report = reportOf(given);
    expect({ given, verdict: report.verdict, why: report.summary.insufficient }).toEqual({
      given,
      verdict: 'insufficient',
      why: 'grew-to-the-end',
    });
  }
});

test('tensors alive at the mark `shutdown` are judged as alive at the end, later ones are not judged', () => {
  expect(reportOf({ reduces: 4, shutdown: 80 * MS }).verdict).toBe('leak');
  expect(reportOf({ lingers: 20, shutdown: 82 * MS, others: 'work on' }).verdict).toBe('clean');
});

test('a short run that grew until it was freed at its end is not clean', () => {
  expect(reportOf({ grows: 9 })).toMatchObject({ verdict: 'insufficient', sites: [{ line: 8 }, {}] });
});

test('memory without tensors is judged the same way', () => {
  const builder = new CaptureBuilder().site(1, ['/srv/loss.js', 8, 1]);
  for (let i = 1; i <= 100; i++) {
    const row = { site: 1, liveTensors: 1, liveBytes: 4, allocatedTensors: Math.min(i, 80) };
    builder.tick({ ms: i * MS, tensors: 1, bytes: 4, allocatedBytes: Math.min(i, 80) * 40_000 }, [row]);
  }
  const report = analyse(read(builder.end()));
  expect(report).toMatchObject({ verdict: 'leak', sites: [{ line: 8 }] });
});

test('memory without tensors that is freed at the end: not clean, with the line and the time of the release', () => {
  const builder = new CaptureBuilder().site(1, ['/srv/loss.js', 8, 1]);
  for (let i = 1; i <= 100; i++) {
    const row = { site: 1, liveTensors: i < 100 ? 1 : 0, liveBytes: 4, allocatedTensors: i };
    builder.tick({ ms: i * MS, tensors: 1, bytes: 4, allocatedBytes: i < 100 ? i * 40_000 : 0 }, [row]);
  }
  const report = analyse(read(builder.end()));
  expect(report).toMatchObject({ verdict: 'insufficient', summary: { insufficient: 'grew-to-the-end' } });
  expect(report.sites).toMatchObject([{ line: 8, kind: 'grew-to-the-end', freedMs: MS }]);
  expect(report.sites[0]!.hiddenGrowthBytesPerMinute).toBeGreaterThan(0);
});

const folder = testFolder();

test('a real program whose tokens are disposed at its end: insufficient, with the line', async () => {
  const json = path.join(folder, 'tokens.json');
  const program = [process.execPath, fixture('released-tokens.cjs'), '300'];
  const outcome = await auditProgram('run', '--quiet', '--interval', '25ms', '--json', json, '--', ...program);
  expect(outcome).toMatchObject({ code: 0 });
  const { verdict, sites } = JSON.parse(fs.readFileSync(json, 'utf8')) as Report;
  expect({ verdict, first: sites[0] }).toMatchObject({
    verdict: 'insufficient',
    first: { line: 8, kind: 'grew-to-the-end', liveTensors: 0 },
  });
}, 60_000);

test('a series is judged before a quiet end or a final fall, else to its end', () => {
  const work = [1, 2, 3, 4, 5, 6, 7, 8];
  expect(finalPhase(work, work)).toBeUndefined();
  expect(finalPhase([1, 2, 3, 4, 5, 6, 7, 0], work)).toEqual({ rounds: 7, fell: true, doubtful: false });
  expect(finalPhase([1, 2, 3, 4, 5, 6, 6, 6], [1, 2, 3, 4, 5, 6, 6, 6])).toEqual({
    rounds: 6,
    fell: false,
    doubtful: false,
  });
  expect(finalPhase([1, 2, 3, 0, 0, 0, 0, 0], [1, 2, 3, 3, 3, 3, 3, 3])).toMatchObject({ rounds: 3, doubtful: true });
  expect(finalPhase([1, 2, 3, 4, 5, 0, 0, 0], work)).toBeUndefined();
});
