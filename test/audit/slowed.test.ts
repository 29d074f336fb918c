/** Programs that become slower, and runs with few collections: a leak is not taken for a cache that fills. */
import { analyse } from '../../cli/analysis/analyse';
import { CaptureParser } from '../../cli/capture/reader';
import { renderText } from '../../cli/reporters/text';
import { plainColors as colors } from '../../cli/terminal/colors';
import { CaptureBuilder } from './capture-builder';

const MS = 50;
const ROUNDS = 120;

const reportOf = (builder: CaptureBuilder) => {
  const parser = new CaptureParser();
  parser.feed(builder.end().build());
  return analyse(parser.capture);
};

/** Ever fewer in a round, without an end. */
const slower = (round: number) => Math.round(400 * (1 - Math.exp(-round / 45)));

/** A program whose only line keeps what it makes: `cpuMs` is the processor time until each round. */
function onlyLine(cpuMs?: (round: number) => number) {
  const builder = new CaptureBuilder().site(1, ['/srv/uploads.js', 8, 1]);
  for (let i = 1; i <= ROUNDS; i++) {
    const live = slower(i);
    const rows = [{ site: 1, liveTensors: live, liveBytes: live * 400, allocatedTensors: live }];
    builder.tick({ ms: i * MS, ...(cpuMs === undefined ? {} : { cpuMs: cpuMs(i) }) }, rows);
  }
  return reportOf(builder);
}

test('growth that slows down with the program is not called a cache', () => {
  const report = onlyLine((i) => 100 + 3 * slower(i));
  expect(report).toMatchObject({
    verdict: 'insufficient',
    summary: { insufficient: 'grew-to-the-end' },
    sites: [{ line: 8, kind: 'grew-to-the-end', freedMs: null }],
  });
  expect(renderText(report, { colors, folder: '/srv' })).toMatch(
    /^\nINSUFFICIENT {2}uploads\.js:8:1 grew by .* until the end: a leak, a cache that fills, or results that were/,
  );
});

test('growth that slows down while the program works on is a cache; so is that of captures without processor times', () => {
  for (const cpuMs of [(i: number) => 100 + 20 * i, undefined]) {
    expect(onlyLine(cpuMs)).toMatchObject({ verdict: 'clean', sites: [{ kind: 'filling-cache' }] });
  }
});

/** Memory that no tensor accounts for, beside a line that makes tensors and drops them. */
function hidden(bytesAt: (round: number) => number, made: (round: number) => number, collectEvery: number) {
  const builder = new CaptureBuilder().site(1, ['/srv/train.js', 3, 1]);
  for (let i = 1; i <= ROUNDS; i++) {
    const rows = [
      { site: 1, liveTensors: 2, liveBytes: 512, allocatedTensors: made(i), allocatedBytes: 256 * made(i) },
    ];
    const collected = { collections: Math.floor(i / collectEvery), collectedMs: (i - (i % collectEvery)) * MS };
    builder.tick({ ms: i * MS, tensors: 2, bytes: 512, allocatedBytes: 512 + bytesAt(i), ...collected }, rows);
  }
  return reportOf(builder);
}

test('memory that no tensor accounts for is judged by the work of a program that slows down', () => {
  const report = hidden((i) => 1000 * slower(i), slower, 8);
  expect(report).toMatchObject({ verdict: 'leak', sites: [{ line: 3 }] });
  expect(
    hidden(
      (i) => 1000 * slower(i),
      (i) => 10 * i,
      8,
    ).verdict,
  ).toBe('clean');
});

test('memory that rose at each of a few collections is not clean', () => {
  const steps = (i: number) => 70_000 * Math.floor(i / 30);
  const report = hidden(steps, (i) => 10 * i, 30);
  expect(report).toMatchObject({ verdict: 'insufficient', sites: [{ line: 3, verdict: 'insufficient' }] });
  expect(
    hidden(
      (i) => Math.min(steps(i), 140_000),
      (i) => 10 * i,
      30,
    ).verdict,
  ).toBe('clean');
});

/** A program of which each step takes longer, because each registers four hooks, which compute in all later steps. */
function slowingSteps(mostHooks: number) {
  const builder = new CaptureBuilder();
  for (let line = 1; line <= 6; line++) builder.site(line, ['/srv/hooks.js', line, 1]);
  let computed = 0;
  let before = 0;
  for (let i = 1; i <= 96; i++) {
    const steps = Math.round(14.7 * i ** 0.65);
    for (let step = before; step < steps; step++) computed += Math.min(mostHooks, 4 * step);
    before = steps;
    const hooks = Math.min(mostHooks, 4 * steps);
    const garbage = (site: number, allocatedTensors: number, liveTensors = 0) => ({
      ...{ site, liveTensors, allocatedTensors },
      liveBytes: 16 * liveTensors,
    });
    builder.tick({ ms: i * 250 }, [
      { site: 1, liveTensors: hooks, liveBytes: 850 * hooks, allocatedTensors: hooks },
      ...[garbage(2, computed, 209), garbage(3, computed, 209)],
      ...[garbage(4, hooks), garbage(5, 3 * steps), garbage(6, 2 * steps)],
    ]);
  }
  return reportOf(builder);
}

test('hooks that are registered in each step, and slow the steps, are a leak, but not if they are limited', () => {
  const { verdict, sites } = slowingSteps(Number.POSITIVE_INFINITY);
  expect({ verdict, site: sites[0] }).toMatchObject({ verdict: 'leak', site: { line: 1, verdict: 'leak' } });
  expect(slowingSteps(500)).toMatchObject({ verdict: 'clean' });
});
