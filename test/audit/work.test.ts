/** What growth is measured against: not the work that a leak causes, and time as well where the leak follows a timer. */
import { analyse } from '../../cli/analysis/analyse';
import { CaptureParser } from '../../cli/capture/reader';
import { CaptureBuilder, type Row } from './capture-builder';

const MS = 250;
const ROUNDS = 60;

/** `rows`: of each round, by the number of the site. */
function reportOf(rows: (round: number) => Row[]) {
  const builder = new CaptureBuilder();
  for (const { site } of rows(1)) builder.site(site, [`/srv/line-${site}.js`, 1, 1]);
  for (let i = 1; i <= ROUNDS; i++) builder.tick({ ms: i * MS }, rows(i));
  const parser = new CaptureParser();
  parser.feed(builder.end().build());
  return analyse(parser.capture);
}

const kept = (site: number, live: number): Row => ({
  site,
  liveTensors: live,
  liveBytes: live * 1024,
  allocatedTensors: live,
});
const dropped = (site: number, made: number): Row => ({
  site,
  liveTensors: 0,
  liveBytes: 0,
  allocatedTensors: Math.round(made),
});

/** The verdict, and the site that is listed first. */
const first = ({ verdict, sites }: ReturnType<typeof analyse>) => [verdict, sites[0]];

describe('a line that computes for each tensor that another line holds', () => {
  /** Made until `round` by a line that makes 30 tensors a round for each one of `live`. */
  const perHeld = (live: (round: number) => number, round: number) => {
    let made = 0;
    for (let i = 1; i <= round; i++) made += 30 * live(i);
    return made;
  };
  const report = (live: (round: number) => number) =>
    reportOf((i) => [kept(1, live(i)), dropped(2, 20 * i), dropped(3, perHeld(live, i))]);

  test('hooks that are registered anew in each epoch leak, though each makes more work', () => {
    expect(first(report((i) => i))).toMatchObject(['leak', { file: '/srv/line-1.js', kind: 'leak' }]);
  });

  test('a cache that fills is still a cache, whatever is computed for its entries', () => {
    const cache = (i: number) => Math.round(100 * (1 - Math.exp(-i / 12)));
    expect(first(report(cache))).toMatchObject(['clean', { file: '/srv/line-1.js', verdict: 'cache' }]);
  });
});

test('a cache of keys of which some are rare is not a leak because its load is constant', () => {
  const live = (i: number) => Math.round(150 * Math.log(1 + i));
  const report = reportOf((i) => [kept(1, live(i)), dropped(2, 200 * i), dropped(3, 600 * i)]);
  expect(report.verdict).not.toBe('leak');
});

test('what a timer keeps is a leak among many lines, also while the pace of requests drifts', () => {
  const made = [0];
  for (let i = 1; i <= ROUNDS; i++) made.push(made[i - 1]! + Math.round(300 - 4 * i));
  const others = [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];
  const report = reportOf((i) => [kept(1, 2 * i), ...others.map((site) => dropped(site, made[i]!))]);
  expect(first(report)).toMatchObject(['leak', { file: '/srv/line-1.js' }]);
});

describe('a program that becomes a hundred times as fast', () => {
  /** Tensors made until the round by requests, of which there are many more after two thirds of the rounds. */
  const requests = (round: number) => 10 * round + 1000 * Math.max(0, round - 40);

  test('what a timer keeps is not called a cache', () => {
    const report = reportOf((i) => [kept(1, 2 * i), dropped(2, requests(i))]);
    expect(report.summary.insufficient).toBe('grew-to-the-end');
    expect(first(report)).toMatchObject(['insufficient', { file: '/srv/line-1.js', kind: 'grew-to-the-end' }]);
  });

  test('what requests fill is a cache, also if they become three times as many', () => {
    const three = (round: number) => 10 * round + 20 * Math.max(0, round - 30);
    const cache = (i: number) => Math.round(120 * (1 - Math.exp(-three(i) / 300)));
    const report = reportOf((i) => [kept(1, cache(i)), dropped(2, 10 * three(i))]);
    expect(first(report)).toMatchObject(['clean', { file: '/srv/line-1.js', verdict: 'cache' }]);
  });
});

describe('tensors that live for 25 rounds', () => {
  /** Born until `round`: two a round, and four from round 34 on. */
  const born = (round: number) => 2 * Math.max(0, round) + 2 * Math.max(0, round - 34);
  const expiring = (i: number): Row => ({
    ...kept(1, born(i) - born(i - 25)),
    allocatedTensors: born(i),
    oldestBirthMs: Math.max(1, i - 24) * MS,
  });

  test('are not a leak because twice as many are made', () => {
    expect(first(reportOf((i) => [expiring(i), dropped(2, 20 * i)]))).toMatchObject([
      'insufficient',
      { file: '/srv/line-1.js', kind: 'insufficient' },
    ]);
  });

  test('are a leak if some stay', () => {
    const staying = (i: number): Row => {
      const stay = Math.max(0, i - 20);
      return { ...expiring(i), liveTensors: expiring(i).liveTensors + stay, oldestBirthMs: (i > 20 ? 20 : 1) * MS };
    };
    expect(first(reportOf((i) => [staying(i), dropped(2, 20 * i)]))).toMatchObject([
      'leak',
      { file: '/srv/line-1.js' },
    ]);
  });

  test('are a leak if they live longer and longer', () => {
    const ageing = (i: number): Row => ({
      ...kept(1, born(i) - born(Math.floor(i / 2))),
      allocatedTensors: born(i),
      oldestBirthMs: Math.floor(i / 2 + 1) * MS,
    });
    expect(first(reportOf((i) => [ageing(i), dropped(2, 20 * i)]))).toMatchObject(['leak', { file: '/srv/line-1.js' }]);
  });
});

describe('a line that makes five tensors in each round', () => {
  const report = (live: (round: number) => number) =>
    reportOf((i) => [{ ...kept(1, live(i)), allocatedTensors: 5 * i }, dropped(2, 20 * i)]);

  test('and is full just before the end is not called a leak', () => {
    expect(first(report((i) => Math.min(5 * i, 275)))).toMatchObject([
      'insufficient',
      { file: '/srv/line-1.js', kind: 'insufficient' },
    ]);
  });

  test('and keeps them is a leak, also if it keeps some of them in bursts and none at the end', () => {
    expect(report((i) => 5 * i).verdict).toBe('leak');
    expect(report((i) => 21 * Math.floor(Math.min(i, 58) / 7)).verdict).toBe('leak');
  });
});

test('a tensor that is made once, of results that other lines collected, is not called a leak', () => {
  const joined = 49;
  const live = (i: number) => (i < joined ? 2 * i : 0);
  const builder = new CaptureBuilder();
  for (const site of [1, 2, 3]) builder.site(site, [`/srv/line-${site}.js`, 1, 1]);
  for (let i = 1; i <= ROUNDS; i++) {
    const rows = [{ ...kept(1, live(i)), allocatedTensors: 2 * Math.min(i, joined) }, dropped(2, 20 * i)];
    const one = { site: 3, liveTensors: 1, liveBytes: 2 * joined * 1024, oldestBirthMs: joined * MS };
    const all = i < joined ? rows : [...rows, one];
    const bytes = all.reduce((sum, { liveBytes }) => sum + liveBytes, 0);
    builder.tick({ ms: i * MS, bytes, allocatedBytes: bytes }, all);
  }
  const parser = new CaptureParser();
  parser.feed(builder.end().build());
  expect(analyse(parser.capture).verdict).not.toBe('leak');
});
