import { judge } from '../../cli/rules';
import { falseDiscovery } from '../../cli/rules/statistics/false-discovery';
import { upperTail } from '../../cli/rules/statistics/normal';
import { select } from '../../cli/rules/statistics/select';
import { floorOf, steps, teeth } from '../../cli/rules/statistics/shape';
import { theilSen } from '../../cli/rules/statistics/theil-sen';
import type { SiteHistory } from '../../cli/rules/verdict';
import { enoughRounds, roundsNeeded } from '../../cli/rules/warmup';
import { history, ROUND_MS, random } from './simulation';

const ROUNDS = 48;
const MS = ROUND_MS;

const verdicts = (series: SiteHistory[]) => series.map((one) => judge(one).verdict);
const share = (all: string[], wanted: string) => all.filter((one) => one === wanted).length / all.length;
const seeds = Array.from({ length: 200 }, (_, i) => i + 1);

test('the rounds that a verdict needs are the least that are enough, however long the warm-up is', () => {
  for (const options of [{}, { warmup: 0 }, { warmup: 40 }, { warmup: 2 ** 52 }]) {
    const rounds = roundsNeeded(options);
    expect([enoughRounds(rounds, options), enoughRounds(rounds - 1, options)]).toEqual([true, false]);
  }
});

test('Theil–Sen finds the slope of a line and ignores an outlier', () => {
  const x = Array.from({ length: 20 }, (_, i) => i);
  const y = x.map((i) => 3 * i + 1);
  expect(theilSen(x, y)).toMatchObject({ slope: 3, low: 3, high: 3 });
  expect(theilSen(x, y).p).toBeLessThan(1e-9);
  y[10] = 1e6;
  expect(theilSen(x, y).slope).toBe(3);
});

test('Theil–Sen does not find significance in noise', () => {
  const rand = random(7);
  const x = Array.from({ length: 40 }, (_, i) => i);
  const noise = x.map(() => rand());
  const { low, high, p } = theilSen(x, noise);
  expect(low).toBeLessThanOrEqual(0);
  expect(high).toBeGreaterThanOrEqual(0);
  expect(p).toBeGreaterThan(0.01);
});

test('an order statistic is the value that sorting would put there', () => {
  for (const seed of seeds) {
    const rand = random(seed);
    // Few kinds of values have many ties; in order, and in reverse, they are what a steady leak gives.
    const values = Array.from({ length: 1 + Math.floor(60 * rand()) }, () => Math.floor((1 + (seed % 40)) * rand()));
    if (seed % 3 === 1) values.sort((a, b) => a - b);
    if (seed % 3 === 2) values.sort((a, b) => b - a);
    const sorted = Float64Array.from(values).sort();
    const index = Math.floor(values.length * rand());
    const parted = Float64Array.from(values);
    expect([seed, select(parted, index)]).toEqual([seed, sorted[index]]);
    expect(parted.slice(0, index).sort()).toEqual(sorted.slice(0, index));
  }
});

test('autocorrelated values have less weight', () => {
  const alarms = (memory: number) =>
    seeds.filter((seed) => {
      const rand = random(seed);
      let value = 0;
      const x = Array.from({ length: 60 }, (_, i) => i);
      const y = x.map(() => {
        value = memory * value + rand() + rand() + rand() - 1.5;
        return value;
      });
      return theilSen(x, y).p <= 0.01;
    }).length / seeds.length;
  expect(alarms(0)).toBeLessThanOrEqual(0.03);
  expect(alarms(0.8)).toBeLessThanOrEqual(0.1);
});

test('the tail of the normal distribution', () => {
  expect(upperTail(0)).toBeCloseTo(0.5, 6);
  expect(upperTail(2.326)).toBeCloseTo(0.01, 4);
  expect(upperTail(-1.645)).toBeCloseTo(0.95, 4);
  expect(upperTail(6) / 9.866e-10).toBeCloseTo(1, 3);
});

test('Benjamini and Hochberg: their example of 15 hypotheses, 4 of them significant at 5%', () => {
  const p = [
    ...[0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344],
    ...[0.0459, 0.324, 0.4262, 0.5719, 0.6528, 0.759, 1],
  ];
  const adjusted = falseDiscovery(p);
  expect(adjusted.filter((q) => q <= 0.05)).toHaveLength(4);
  expect(adjusted[3]).toBeCloseTo((0.0095 * 15) / 4, 10);
  expect(falseDiscovery([...p].reverse())).toEqual([...adjusted].reverse());
  expect(falseDiscovery([])).toEqual([]);
});

test('the floor is the memory that is never freed', () => {
  expect(floorOf([1, 5, 2, 7, 3])).toEqual([1, 2, 2, 3, 3]);
});

test('steps are the relevant ones, teeth are rises that were freed again', () => {
  expect(steps([0, 1, 2, 3, 4])).toBe(4);
  expect(steps([0, 0, 97, 98, 99, 100])).toBe(1);
  expect(steps([5, 5])).toBe(0);
  expect(teeth([0, 5, 10, 1, 4, 9, 2, 3, 4], 6)).toEqual([
    { begin: 0, top: 2, end: 3 },
    { begin: 3, top: 5, end: 6 },
  ]);
  expect(teeth([0, 1, 2, 3], 1)).toEqual([]);
});

test('steady leaks are found, also noisy and slow ones', () => {
  const leaks = seeds.map((seed) => {
    const rand = random(seed);
    const rate = 1 + 5 * rand();
    let held = 0;
    return history(ROUNDS, () => {
      held += rate * (0.5 + rand());
      return held + 10 * rand();
    });
  });
  expect(share(verdicts(leaks), 'leak')).toBeGreaterThanOrEqual(0.99);
});

test('the rate of a leak is right', () => {
  const judged = judge(history(ROUNDS, (i) => 2 * i, 1000));
  expect(judged.verdict).toBe('leak');
  expect(judged.growthBytesPerMinute).toBeCloseTo((2 * 1000 * 60_000) / MS, -2);
  expect(judged.growthTensorsPerMinute).toBeCloseTo((2 * 60_000) / MS, 0);
});

test('a single growing tensor is a leak too', () => {
  const one = history(ROUNDS, () => 1);
  one.liveBytes = one.liveBytes.map((_, i) => i * 4096);
  expect(judge(one).verdict).toBe('leak');
});

test('a leak in a program that then becomes idle is still a leak', () => {
  const one = history(ROUNDS, (i) => Math.min(i, 32) * 3);
  one.work = one.ms.map((_, i) => Math.min(i, 32) * 100);
  expect(judge(one).verdict).toBe('leak');
});

test('caches that fill and stay full are caches', () => {
  const caches = seeds.map((seed) => {
    const rand = random(seed);
    const capacity = 50 + 500 * rand();
    const time = 2 + 8 * rand();
    return history(ROUNDS, (i) => capacity * (1 - Math.exp(-i / time)) + 2 * rand());
  });
  const found = verdicts(caches);
  expect(share(found, 'leak')).toBeLessThanOrEqual(0.01);
  expect(share(found, 'cache')).toBeGreaterThanOrEqual(0.95);
});

test('a bounded cache that fills linearly is not a leak either', () => {
  for (const full of [4, 8, 16, 24, 32]) {
    expect(judge(history(ROUNDS, (i) => Math.min(i, full) * 10)).verdict).toBe('cache');
  }
});

test('kinds: a filling cache, a full one, a sawtooth, steady, a leak', () => {
  const kind = (tensors: (i: number) => number) => judge(history(ROUNDS, tensors)).kind;
  expect(kind((i) => 300 * (1 - Math.exp(-i / 12)))).toBe('filling-cache');
  expect(kind((i) => Math.min(i, 20) * 10)).toBe('full-cache');
  expect(kind((i) => (i % 7) * 20)).toBe('sawtooth');
  expect(kind(() => 20)).toBe('steady');
  expect(kind((i) => 5 * i)).toBe('leak');
  expect(judge(history(10, (i) => i)).kind).toBe('insufficient');
});

test('a batch that is incomplete at the end is not a leak; the first of its kind may be one', () => {
  const wave = (i: number) => (i % 20) * 10;
  expect(judge(history(57, wave))).toMatchObject({ verdict: 'steady', kind: 'sawtooth' });
  expect(judge(history(57, (i) => (i < 20 ? 0 : wave(i - 20) + i * 10))).verdict).toBe('leak');
});

test('the bounds contain the rate, and are narrower with more rounds', () => {
  const width = (rounds: number) => {
    const rand = random(11);
    const one = judge(history(rounds, (i) => 3 * i + 30 * rand(), 1000));
    const rate = (3 * 1000 * 60_000) / MS;
    expect(one.lowBytesPerMinute).toBeLessThanOrEqual(rate);
    expect(one.highBytesPerMinute).toBeGreaterThanOrEqual(rate);
    return one.highBytesPerMinute - one.lowBytesPerMinute;
  };
  expect(width(200)).toBeLessThan(width(48));
});

test('garbage between collections is steady', () => {
  const sawteeth = seeds.map((seed) => {
    const rand = random(seed);
    const period = 3 + Math.floor(8 * rand());
    const phase = Math.floor(period * rand());
    const slope = 1 + 50 * rand();
    return history(ROUNDS, (i) => ((i + phase) % period) * slope + 3 * rand());
  });
  expect(share(verdicts(sawteeth), 'leak')).toBeLessThanOrEqual(0.01);
});

test('noise without a trend is steady', () => {
  const noise = seeds.map((seed) => {
    const rand = random(seed);
    return history(ROUNDS, () => 100 + 100 * rand());
  });
  expect(share(verdicts(noise), 'leak')).toBeLessThanOrEqual(0.01);
});

test('weights that are loaded once are steady', () => {
  expect(judge(history(ROUNDS, () => 20)).verdict).toBe('steady');
  expect(judge(history(ROUNDS, (i) => (i < 3 ? 0 : 20))).verdict).toBe('steady');
});

test('too few rounds are insufficient, unless nothing is alive', () => {
  expect(judge(history(10, (i) => i * 100)).verdict).toBe('insufficient');
  expect(judge(history(10, (i) => (i < 9 ? 100 : 0))).verdict).toBe('steady');
});

test('a few more tensors are negligible', () => {
  expect(judge(history(ROUNDS, (i) => Math.floor(i / 12), 100)).verdict).not.toBe('leak');
});

test('many tensors without an old one are garbage; a few may be replaced by ever larger ones', () => {
  const many = history(ROUNDS, (i) => i);
  expect(judge({ ...many, oldestBirthMs: many.ms[40]! }).verdict).toBe('steady');
  expect(judge({ ...many, oldestBirthMs: many.ms[5]! }).verdict).toBe('leak');
  const one = { ...many, liveTensors: many.liveTensors.map(() => 1) };
  expect(judge({ ...one, oldestBirthMs: many.ms.at(-1)! }).verdict).toBe('leak');
});

test('a growing tensor among much garbage of the same line is found', () => {
  const found = seeds.slice(0, 50).map((seed) => {
    const rand = random(seed);
    const one = history(ROUNDS, (i) => 1 + ((i + seed) % 4) * (8 + 4 * rand()));
    one.liveBytes = one.liveTensors.map((n, i) => n * 2000 * (i + 1));
    return { ...one, oldestBirthMs: one.ms.at(-2)! };
  });
  expect(share(verdicts(found), 'leak')).toBeGreaterThanOrEqual(0.9);
});

test('tensors that did not survive the last full collection are garbage, however long ago it was', () => {
  const many = { ...history(ROUNDS, (i) => i), oldestBirthMs: 16 * MS };
  expect(judge(many).verdict).toBe('leak');
  expect(judge({ ...many, lastCollectionMs: 15 * MS }).verdict).toBe('steady');
  expect(judge({ ...many, lastCollectionMs: 40 * MS }).verdict).toBe('leak');
});

test('long series are thinned out, however they grow: the pairs of all rounds would take gigabytes', () => {
  const rounds = 50_000;
  const ms = Array.from({ length: rounds }, (_, i) => 100 * i);
  const slow = ms.map((_, i) => Math.round(3000 * ((i + 1) / rounds) ** 0.3));
  expect(judge({ ms, liveTensors: slow, liveBytes: slow.map((n) => 400 * n) }).verdict).toBe('insufficient');
});
