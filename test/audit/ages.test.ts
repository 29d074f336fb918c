/** Ages of live bytes: proved by counters, and exact from single tensors. */
import { CaptureParser } from '../../cli/capture/reader';
import { BoundedAges, exactAges } from '../../cli/page/ages';
import { type BirthInput, CaptureBuilder } from './capture-builder';

/** A capture with one round per second. */
function captureOf(rounds: number, births: BirthInput[] = []) {
  const builder = new CaptureBuilder();
  if (births.length > 0) builder.births(...births);
  for (let i = 1; i <= rounds; i++) builder.tick({ ms: i * 1000 });
  const parser = new CaptureParser();
  parser.feed(builder.build());
  return parser.capture;
}

const ROUNDS = 120;
const bounded = (live: (second: number) => number, allocated: (second: number) => number) => {
  const ages = new BoundedAges(captureOf(ROUNDS));
  const rounds = Array.from({ length: ROUNDS }, (_, i) => i + 1);
  ages.add(rounds.map(live), rounds.map(allocated));
  return ages.ages.bins.map(({ bytes, sureBytes }) => [bytes, sureBytes]);
};

test('the bins end with the capture', () => {
  expect(new BoundedAges(captureOf(ROUNDS)).ages.bins.map(({ fromMs, toMs }) => [fromMs, toMs])).toEqual([
    [0, 100],
    [100, 1000],
    [1000, 10_000],
    [10_000, 60_000],
    [60_000, null],
  ]);
});

test('if nothing was freed, every age is proved', () => {
  const one = (second: number) => second * 10;
  expect(bounded(one, one)).toEqual([
    [10, 10],
    [0, 0],
    [90, 90],
    [500, 500],
    [600, 600],
  ]);
});

test('if everything was replaced recently, no old age is proved; tensors after a complete release are young', () => {
  // 100 bytes are always alive; each second 100 are allocated and freed.
  const [, , , , oldest] = bounded(
    () => 100,
    (second) => 100 * second,
  );
  expect(oldest).toEqual([100, 0]);
  // All was freed 5 s before the end.
  const cleared = bounded(
    (second) => (second === ROUNDS - 5 ? 0 : 100),
    (second) => 100 * second,
  );
  expect(cleared.slice(3)).toEqual([
    [0, 0],
    [0, 0],
  ]);
});

const live = (...births: BirthInput[]) => captureOf(ROUNDS, births);
const any = () => true;

test('with single tensors, a storage counts once, at its oldest live tensor', () => {
  const capture = live(
    { id: 1, site: 1, storage: 1, birthMs: 119_950, bytes: 10 },
    { id: 2, site: 1, storage: 1, birthMs: 119_990, bytes: 10, isView: true },
    { id: 3, site: 1, storage: 2, birthMs: 100_000, bytes: 5, isView: true },
    { id: 4, site: 1, storage: 2, birthMs: 30_000, bytes: 5, isView: true }, // its base is freed
    { id: 5, site: 1, storage: 3, birthMs: -4000, bytes: 7, weight: 3 },
  );
  const { exact, bins } = exactAges(capture, any);
  expect(exact).toBe(true);
  expect(bins.map(({ bytes }) => bytes)).toEqual([10, 0, 0, 0, 26]);
  expect(exactAges(capture, (device) => device === 'cuda:0').bins.map(({ bytes }) => bytes)).toEqual([0, 0, 0, 0, 0]);
});

test('the oldest come first, at most the requested number', () => {
  const births = [30, 10, 50, 20, 10, 40].map((birthMs, i) => ({ id: 1 + i, site: 1, birthMs, storage: i }));
  const found = live(...births).oldestTensors(4, any);
  expect(found.map(({ birthMs, storage }) => [birthMs, storage])).toEqual([
    [10, 1],
    [10, 4],
    [20, 3],
    [30, 0],
  ]);
  expect(live(...births).oldestTensors(4, () => false)).toEqual([]);
  expect(live().oldestTensors(4, any)).toEqual([]);
});
