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
