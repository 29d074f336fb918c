/** All commands judge the same capture: long ones are condensed, whichever command reads them. */
import { readFileSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { analyse } from '../../cli/analysis/analyse';
import { reportOn } from '../../cli/analysis/loaded';
import type { Report } from '../../cli/analysis/report';
import { loadFollowed } from '../../cli/capture/load';
import { CaptureFollower, readCapture } from '../../cli/capture/reader';
import { CaptureBuilder } from './capture-builder';
import { leakAudit, testFolder } from './command';
import { random } from './simulation';

const folder = testFolder();
const file = (name: string) => path.join(folder, name);
const ROUNDS = 17_000; // more than 16,384
const capture = file('long.ltna');

/** Site 1 leaks ever faster, so that its rate depends on the rounds that are judged; site 2 is garbage. */
beforeAll(() => {
  const rand = random(11);
  const builder = new CaptureBuilder().site(1, ['/srv/a.js', 1, 1, 'leak']).site(2, ['/srv/a.js', 2, 1, 'saw']);
  for (let i = 1; i <= ROUNDS; i++) {
    const waste = Math.floor(rand() * 400);
    const live = Math.floor((i * i) / ROUNDS) + waste;
    builder.tick({ ms: i * 100, collectedMs: i * 100 }, [
      { site: 1, liveTensors: live, liveBytes: live * 1000, allocatedTensors: 40 * i, oldestBirthMs: 100 },
      { site: 2, liveTensors: waste, liveBytes: waste * 1000, allocatedTensors: 40 * i, oldestBirthMs: i * 100 },
    ]);
  }
  writeFileSync(capture, builder.end().build());
});

const leaksOf = ({ sites }: Report) =>
  sites
    .filter(({ verdict }) => verdict === 'leak')
    .map(({ line, growthBytesPerMinute, growthTensorsPerMinute }) => [
      line,
      growthBytesPerMinute,
      growthTensorsPerMinute,
    ]);

test('check and report agree on the verdict, the sites and the rates of a long capture', async () => {
  const [checked, reported] = [
    await leakAudit('check', capture, '--write-baseline', file('leaks.json')),
    await leakAudit('report', capture, '--json', file('report.json')),
  ];
  expect([checked.code, reported.code]).toEqual([0, 0]); // new leaks of a baseline that is written pass
  const report = JSON.parse(readFileSync(file('report.json'), 'utf8')) as Report;
  const known = JSON.parse(readFileSync(file('leaks.json'), 'utf8')) as {
    sites: { line: number; growthBytesPerMinute: number; growthTensorsPerMinute: number }[];
  };
  expect(report).toMatchObject({ verdict: 'leak', summary: { rounds: ROUNDS, leaks: 1 } });
  expect(known.sites.map((site) => [site.line, site.growthBytesPerMinute, site.growthTensorsPerMinute])).toEqual(
    leaksOf(report),
  );
  expect(report.timeline.length).toBeLessThanOrEqual(16_384);
  expect(leaksOf(report)).not.toEqual(leaksOf(analyse(readCapture(capture)))); // of all rounds
});

test('what run and attach followed is judged the same, and --warmup counts rounds of the file', () => {
  const follower = new CaptureFollower(capture);
  const loaded = loadFollowed(follower);
  expect(follower.descriptor).toBeUndefined();
  const report = reportOn(loaded);
  expect(JSON.parse(JSON.stringify(report.sites))).toEqual(
    (JSON.parse(readFileSync(file('report.json'), 'utf8')) as Report).sites,
  );
  const warmup = ROUNDS - 40;
  expect(loaded.capture.ticks.length).toBeLessThan(warmup);
  expect(reportOn(loaded, { warmup }).summary.insufficient).not.toBe('few-rounds');
});
