/** Programs that leave what they drop to the collector, so that the number of live tensors says little. */
import { analyse } from '../../cli/analysis/analyse';
import type { Report } from '../../cli/analysis/report';
import { CaptureParser } from '../../cli/capture/reader';
import { type BirthInput, CaptureBuilder } from './capture-builder';
import { random } from './simulation';

const ROUND_MS = 100;
const REQUEST_MS = 2;
const COLLECTION_MS = 750;

interface Held {
  readonly birth: number;
  /** Dropped, and freed by the next collection. */
  isGarbage: boolean;
}

/** What each request does with `held`, by the id of a tensor. A tensor that it deletes is disposed. */
type Request = (number: number, held: Map<number, Held>) => void;

/**
 * A recording of a program that makes a tensor in each request and ends by process.exit. `scavengeMs`: the time between two
 * scavenges, which free garbage without a full collection.
 */
function recorded(rounds: number, request: Request, scavengeMs: (number: number) => number = () => Infinity): Report {
  const builder = new CaptureBuilder({ intervalMs: ROUND_MS }).site(1, ['/srv/app.js', 3, 1]);
  const held = new Map<number, Held>();
  let [made, collectedMs, collections, scavenges] = [0, 0, 0, 0];
  let nextScavenge = scavengeMs(0);
  for (let ms = ROUND_MS; ms <= rounds * ROUND_MS; ms += ROUND_MS) {
    const births: BirthInput[] = [];
    const dead: number[] = [];
    for (let at = ms - ROUND_MS; at < ms; at += REQUEST_MS) {
      if (at - collectedMs >= COLLECTION_MS) {
        [collectedMs, collections] = [at, collections + 1];
      }
      if (at === collectedMs || at >= nextScavenge) {
        nextScavenge = at + scavengeMs(++scavenges);
        for (const [id, { isGarbage }] of held) {
          if (!isGarbage) continue;
          held.delete(id);
          dead.push(id);
        }
      }
      made++;
      held.set(made, { birth: at, isGarbage: false });
      births.push({ id: made, site: 1, birthMs: at, bytes: 512 });
      const before = [...held.keys()];
      request(made, held);
      dead.push(...before.filter((id) => !held.has(id)));
    }
    const oldestBirthMs = Math.min(...[...held.values()].map(({ birth }) => birth));
    const row = { site: 1, liveTensors: held.size, liveBytes: 512 * held.size, oldestBirthMs };
    builder.births(...births).deaths(...dead);
    builder.tick({ ms, collectedMs, collections }, [{ ...row, allocatedTensors: made, allocatedBytes: 512 * made }]);
  }
  const parser = new CaptureParser();
  parser.feed(builder.end().build());
  return analyse(parser.capture);
}

const drop = (held: Map<number, Held>, id: number) => {
  const one = held.get(id);
  if (one !== undefined) one.isGarbage = true;
};

const LENGTHS = [50, 51, 53, 57, 61];

test('one request in ten never ends: its tensor is found under the garbage of the others', () => {
  for (let seed = 1; seed <= 20; seed++) {
    const rand = random(7919 * seed);
    const request: Request = (id, held) => {
      if (id > 3 && (id - 3) % 10 !== 0) drop(held, id - 3);
    };
    const report = recorded(51, request, () => 300 + 700 * rand());
    expect([seed, report.verdict, report.sites[0]!.line]).toEqual([seed, 'leak', 3]);
    expect(report.sites[0]!.confidence).toBeGreaterThanOrEqual(0.99);
  }
});

test('one key in forty is never evicted: not a full cache', () => {
  for (const rounds of LENGTHS) {
    const report = recorded(rounds, (id, held) => {
      if (id > 50 && (id - 50) % 40 !== 0) drop(held, id - 50);
    });
    expect([rounds, report.verdict, report.sites[0]!.line]).toEqual([rounds, 'leak', 3]);
  }
});

test('a cache of 32, or 400, is clean, whether it disposes of what it evicts or leaves it to the collector', () => {
  for (const rounds of LENGTHS) {
    for (const size of [32, 400]) {
      const disposes = recorded(rounds, (id, held) => void held.delete(id - size));
      const leaves = recorded(rounds, (id, held) => drop(held, id - size));
      expect([rounds, size, disposes.verdict, leaves.verdict]).toEqual([rounds, size, 'clean', 'clean']);
    }
  }
});

test('a cache that is replaced within a round, but not in the last one: as many are live as before', () => {
  // The last of the full collections comes at 6.0 s.
  for (const last of [2940, 2950, 2960, 2970]) {
    const report = recorded(61, (id, held) => {
      if (id <= last) held.delete(id - 32);
      else held.delete(id);
    });
    expect([last, report.verdict]).toEqual([last, 'clean']);
  }
});

test('a buffer that is dropped almost as often as collections come: what is held at one is gone at the next', () => {
  for (const rounds of LENGTHS) {
    for (const period of [350, 353, 357, 706, 735]) {
      const buffer: number[] = [];
      const report = recorded(rounds, (id, held) => {
        buffer.push(id);
        if (id % period === 0) for (const one of buffer.splice(0)) drop(held, one);
      });
      expect([rounds, period, report.verdict]).toEqual([rounds, period, 'clean']);
    }
    // All live ones rise as well: not certainly clean, but not a leak.
    const buffer: number[] = [];
    const slower = recorded(rounds, (id, held) => {
      buffer.push(id);
      if (id % 338 === 0) for (const one of buffer.splice(0)) drop(held, one);
    });
    expect([rounds, slower.verdict]).toEqual([rounds, 'insufficient']);
  }
});

test('few leaks over a large cache, of which the garbage hides most: in doubt or a leak, never clean', () => {
  for (const rounds of [101, 121, 151, 201]) {
    for (const one of [100, 150]) {
      const report = recorded(rounds, (id, held) => {
        if (id > 200 && (id - 200) % one !== 0) drop(held, id - 200);
      });
      expect([rounds, one, report.sites[0]!.line, report.verdict]).toEqual([
        rounds,
        one,
        3,
        expect.not.stringMatching('clean'),
      ]);
    }
  }
});

test('a leak beside a buffer that is emptied about as often as collections come: in doubt', () => {
  for (const [rounds, period, isClean] of [
    [151, 490, false],
    [201, 490, false],
    [151, 490, true],
    [201, 490, true],
  ] as const) {
    const buffer: number[] = [];
    const report = recorded(rounds, (id, held) => {
      if (!isClean && id % 25 === 0) return;
      buffer.push(id);
      if (id % period === 0) for (const one of buffer.splice(0)) drop(held, one);
    });
    expect([rounds, isClean, report.verdict]).toEqual([rounds, isClean, isClean ? 'clean' : 'insufficient']);
  }
});

/** A site whose tensors are `bytes` large, of which `live(i)` live after round i, while the program makes 50 others a round. */
function steady(rounds: number, bytes: number, live: (round: number) => number): Report {
  const builder = new CaptureBuilder().site(1, ['/srv/app.js', 3, 1]).site(2, ['/srv/app.js', 9, 1]);
  for (let i = 1; i <= rounds; i++) {
    const count = live(i);
    const kept = { site: 1, liveTensors: count, liveBytes: bytes * count, allocatedTensors: count };
    builder.tick({ ms: 100 * i }, [kept, { site: 2, liveTensors: 0, liveBytes: 0, allocatedTensors: 50 * i }]);
  }
  const parser = new CaptureParser();
  parser.feed(builder.end().build());
  return analyse(parser.capture);
}

test('growth in doubt is not memory that no tensor accounts for', () => {
  for (const bytes of [400, 1 << 20]) {
    // A cache of rare keys, and a leak in bursts that had none at the end.
    const slow = steady(61, bytes, (i) => Math.round(300 * (i / 61) ** 0.35));
    const bursts = steady(48, bytes, (i) => 10 * [14, 17, 19, 22, 25, 28, 38, 41].filter((at) => at <= i).length);
    for (const report of [slow, bursts]) {
      expect(report.sites[0]!.hiddenGrowthBytesPerMinute).toBe(0);
      expect([bytes, report.verdict, report.sites.map(({ line, verdict }) => [line, verdict])]).toEqual([
        ...[bytes, 'insufficient'],
        [
          [3, 'insufficient'],
          [9, 'steady'],
        ],
      ]);
    }
  }
});

test('memory that no tensor accounts for and that grows ever more slowly is in doubt, not clean', () => {
  const builder = new CaptureBuilder().site(1, ['/srv/app.js', 3, 1]);
  for (let i = 1; i <= 61; i++) {
    const row = { site: 1, liveTensors: 1, liveBytes: 4, allocatedTensors: 50 * i, oldestBirthMs: 100 * i - 50 };
    builder.tick({ ms: 100 * i, allocatedBytes: 4 + Math.round(3e8 * (i / 61) ** 0.35) }, [row]);
  }
  const parser = new CaptureParser();
  parser.feed(builder.end().build());
  const report = analyse(parser.capture);
  expect([report.verdict, report.summary.insufficient]).toEqual(['insufficient', 'young-sites']);
});
