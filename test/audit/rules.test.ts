import { theilSen } from '../../cli/rules/theil_sen';
import { floorOf, judge, type SiteHistory } from '../../cli/rules/verdict';

/** Mulberry32: the same series in every run. */
function random(seed: number): () => number {
  let a = seed;
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

const ROUNDS = 48;
const MS = 250;

/** `tensors(i)` living tensors of `size` bytes after round i. */
function history(rounds: number, tensors: (i: number) => number, size = 4096): SiteHistory {
  const liveTensors = Array.from({ length: rounds }, (_, i) => Math.max(0, Math.round(tensors(i))));
  return {
    ms: liveTensors.map((_, i) => (i + 1) * MS),
    liveTensors,
    liveBytes: liveTensors.map((n) => n * size),
    work: liveTensors.map((_, i) => (i + 1) * 100),
  };
}

const verdicts = (series: SiteHistory[]) => series.map((one) => judge(one).verdict);
const share = (all: string[], wanted: string) => all.filter((one) => one === wanted).length / all.length;
const seeds = Array.from({ length: 200 }, (_, i) => i + 1);

test('Theil–Sen finds the slope of a line and is deaf to an outlier', () => {
  const x = Array.from({ length: 20 }, (_, i) => i);
  const y = x.map((i) => 3 * i + 1);
  expect(theilSen(x, y)).toEqual({ slope: 3, low: 3 });
  y[10] = 1e6;
  expect(theilSen(x, y).slope).toBe(3);
});

test('Theil–Sen does not vouch for noise', () => {
  const rand = random(7);
  const x = Array.from({ length: 40 }, (_, i) => i);
  expect(
    theilSen(
      x,
      x.map(() => rand()),
    ).low,
  ).toBeLessThanOrEqual(0);
});

test('the floor is what is never given back', () => {
  expect(floorOf([1, 5, 2, 7, 3])).toEqual([1, 2, 2, 3, 3]);
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

test('one tensor that grows is a leak too', () => {
  const one = history(ROUNDS, () => 1);
  one.liveBytes = one.liveBytes.map((_, i) => i * 4096);
  expect(judge(one).verdict).toBe('leak');
});

test('a leak in a program that then becomes idle is still one', () => {
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

test('a bounded cache that fills in a straight line is none either', () => {
  for (const full of [4, 8, 16, 24, 32]) {
    expect(judge(history(ROUNDS, (i) => Math.min(i, full) * 10)).verdict).toBe('cache');
  }
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

test('too few rounds are insufficient, unless nothing lives', () => {
  expect(judge(history(10, (i) => i * 100)).verdict).toBe('insufficient');
  expect(judge(history(10, (i) => (i < 9 ? 100 : 0))).verdict).toBe('steady');
});

test('a few tensors more are a trifle', () => {
  expect(judge(history(ROUNDS, (i) => Math.floor(i / 12), 100)).verdict).not.toBe('leak');
});

test('many tensors of which none is old are garbage; a few may be replaced by ever larger ones', () => {
  const many = history(ROUNDS, (i) => i);
  expect(judge({ ...many, oldestBirthMs: many.ms[40]! }).verdict).toBe('steady');
  expect(judge({ ...many, oldestBirthMs: many.ms[5]! }).verdict).toBe('leak');
  const one = { ...many, liveTensors: many.liveTensors.map(() => 1) };
  expect(judge({ ...one, oldestBirthMs: many.ms.at(-1)! }).verdict).toBe('leak');
});

test('a tensor that grows among much garbage of its own line is found', () => {
  const found = seeds.slice(0, 50).map((seed) => {
    const rand = random(seed);
    const one = history(ROUNDS, (i) => 1 + ((i + seed) % 4) * (8 + 4 * rand()));
    one.liveBytes = one.liveTensors.map((n, i) => n * 2000 * (i + 1));
    return { ...one, oldestBirthMs: one.ms.at(-2)! };
  });
  expect(share(verdicts(found), 'leak')).toBeGreaterThanOrEqual(0.9);
});

test('what did not survive the last full collection is garbage, however long ago that was', () => {
  const many = { ...history(ROUNDS, (i) => i), oldestBirthMs: 16 * MS };
  expect(judge(many).verdict).toBe('leak');
  expect(judge({ ...many, lastCollectionMs: 15 * MS }).verdict).toBe('steady');
  expect(judge({ ...many, lastCollectionMs: 40 * MS }).verdict).toBe('leak');
});
