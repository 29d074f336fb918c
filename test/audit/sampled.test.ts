/** Captures of mode `sample`: exact totals and work decide, lines are named as far as samples allow. */
import { analyse } from '../../cli/analysis/analyse';
import { Redaction, redactReport } from '../../cli/analysis/redact';
import { CaptureParser } from '../../cli/capture/reader';
import { renderText } from '../../cli/reporters/text';
import { plainColors as colors } from '../../cli/terminal/colors';
import { CaptureBuilder } from './capture-builder';

const MS = 50;
const BYTES = 8192;
const COARSE = 512 * 1024;
const START = { mode: 'sample', sampleBytes: COARSE };

interface Given {
  rounds?: number;
  /** One of so many storages is recorded, and stands for all of them. */
  oneOf?: number;
  /** How many tensors of the leaking line are live in a round. */
  live?: (round: number) => number;
  /** How many more bytes libtorch holds. */
  hidden?: (round: number) => number;
  distance?: number;
  collectEvery?: number;
}

/** A line that makes a tensor a round beside one that makes ten and drops them. */
function sampled(given: Given) {
  const { rounds = 96, oneOf = 1, live = (i) => i, hidden = () => 0, distance = COARSE, collectEvery = 12 } = given;
  const builder = new CaptureBuilder(START).site(1, ['/srv/cache.js', 8, 1]).site(2, ['/srv/work.js', 2, 1]);
  let recorded = 0;
  for (let i = 1; i <= rounds; i++) {
    const drawn = Math.floor(live(i) / oneOf);
    while (recorded < drawn)
      builder.births({ id: ++recorded, site: 1, birthMs: i * MS - 1, bytes: BYTES, weight: oneOf, owner: 1 });
    while (recorded > drawn) builder.deaths(recorded--);
    const seen = drawn * oneOf;
    const rows = [
      { site: 1, liveTensors: seen, liveBytes: seen * BYTES, allocatedTensors: Math.floor(i / oneOf) * oneOf },
      { site: 2, liveTensors: 0, liveBytes: 0, allocatedTensors: 10 * oneOf * Math.floor(i / oneOf) },
    ].filter(({ allocatedTensors }) => allocatedTensors > 0);
    const bytes = live(i) * BYTES;
    const collected = { collections: Math.floor(i / collectEvery), collectedMs: (i - (i % collectEvery)) * MS };
    const totals = { ms: i * MS, tensors: live(i), bytes, allocatedBytes: bytes + hidden(i), ...collected };
    builder.sampling(11 * i, distance).tick(totals, rows);
  }
  const parser = new CaptureParser();
  parser.feed(builder.end().build());
  return analyse(parser.capture);
}

test('every storage recorded: judged as in full mode, against exact work', () => {
  const report = sampled({ distance: 1 });
  expect(report).toMatchObject({ verdict: 'leak', sites: [{ line: 8, verdict: 'leak' }, {}] });
  expect(sampled({ distance: 1, live: (i) => Math.min(i, 20) }).verdict).toBe('clean');
});

test('a line with enough samples is a leak; with a few it is named, because the totals are certain', () => {
  for (const oneOf of [4, 16, 32]) {
    const { verdict, sites } = sampled({ oneOf });
    expect({ oneOf, verdict, first: sites[0] }).toMatchObject({ oneOf, verdict: 'leak', first: { line: 8 } });
  }
});

test('growth without a sample is a leak of an unknown line, never clean', () => {
  const report = sampled({ oneOf: 1000 });
  expect(report).toMatchObject({ verdict: 'leak', sites: [{ file: '(not sampled)', line: 0 }] });
  expect(report.sites[0]!.growthTensorsPerMinute).toBeCloseTo(60_000 / MS, 0);
  expect(report.summary.unexplainedGrowthBytesPerMinute).toBe(0);
  expect(redactReport(report, new Redaction()).sites.map(({ file }) => file)).toEqual(['(not sampled)']);
});

test('memory without tensors is what exceeds the exact totals', () => {
  expect(sampled({ oneOf: 1000, live: () => 5, hidden: (i) => i * 40_000 })).toMatchObject({
    verdict: 'leak',
    sites: [{ file: '(not in JS tensors)' }],
  });
});

test('memory without tensors that fills ever more slowly is not certainly a cache, unless all samples are there', () => {
  const given = { live: () => 5, hidden: (i: number) => Math.round(2e6 * (1 - Math.exp(-i / 30))) };
  expect(sampled({ ...given, oneOf: 1000 })).toMatchObject({
    verdict: 'insufficient',
    sites: [{ verdict: 'insufficient' }],
  });
  expect(sampled({ ...given, distance: 1 }).verdict).toBe('clean');
});

test('totals that rise and fall, or a cache that fills, are clean', () => {
  for (const live of [(i: number) => 20 + (i % 6), (i: number) => Math.min(3 * i, 90), () => 40]) {
    for (const oneOf of [1, 4, 1000])
      expect({ oneOf, verdict: sampled({ oneOf, live }).verdict }).toMatchObject({ verdict: 'clean' });
  }
});

test('growth from collection to collection under garbage: not clean, and the distance that suffices', () => {
  const live = (i: number) => Math.floor(i / 16) * 6 + (i % 16) * 6;
  const report = sampled({ oneOf: 1000, live, rounds: 60, collectEvery: 16 });
  expect(report).toMatchObject({ verdict: 'insufficient', summary: { insufficient: 'few-samples' } });
  const { sufficientSampleBytes } = report.summary;
  expect(sufficientSampleBytes).toBeGreaterThan(BYTES / 4);
  expect(sufficientSampleBytes).toBeLessThan(8 * BYTES);
  expect(renderText(report, { colors, folder: '/srv' })).toContain(
    `too few of its storages were sampled to be certain. Use --sample-bytes ${sufficientSampleBytes}, or record for longer`,
  );
});

test('grown until the end and freed there: insufficient', () => {
  const report = sampled({ oneOf: 1000, live: (i) => (i < 96 ? i : 0) });
  expect(report).toMatchObject({ verdict: 'insufficient', summary: { insufficient: 'grew-to-the-end' } });
});
