/** Memory that tokens of `share()` hold: the line that allocated it, and the cause. */
import { analyse } from '../../cli/analysis/analyse';
import type { Report } from '../../cli/analysis/report';
import { CaptureParser } from '../../cli/capture/reader';
import { verdictSentence } from '../../cli/wording/sentence';
import { CaptureBuilder } from './capture-builder';

const MS = 250;
const ROUNDS = 60;

function reportOf(builder: CaptureBuilder): Report {
  const parser = new CaptureParser();
  parser.feed(builder.build());
  return analyse(parser.finish(), { limit: { bytes: 2 ** 30, from: 'cgroup' } });
}

test('tokens are counted, with the line that made them; where none waits, those that were taken are the likely cause', () => {
  const tokens = (waiting: number, taken = 1) => {
    const builder = new CaptureBuilder().site(1, ['/srv/a.js', 5, 3]).site(2, ['/srv/a.js', 9, 3, 'publish']);
    for (let i = 1; i <= ROUNDS; i++) {
      builder.graphs({ site: 1, tensors: 0, nodes: 0, hiddenStorages: i, hiddenBytes: i * 8192 });
      builder.tokens({
        site: 2,
        origin: 1,
        made: 2 * i,
        taken: taken * i,
        waiting: waiting * i,
        bytes: waiting * i * 8192,
      });
      builder.tick({ ms: i * MS, allocatedBytes: i * 8192 }, [
        { site: 1, liveTensors: 0, liveBytes: 0, allocatedTensors: i, allocatedBytes: i * 8192 },
      ]);
    }
    return reportOf(builder.end());
  };
  expect(tokens(1).sites[0]!.cause).toMatchObject({
    kind: 'tokens',
    tokens: { made: 120, taken: 60, waiting: 60, waitingBytes: 60 * 8192 },
    place: { line: 9, function: 'publish' },
  });
  const sentence = verdictSentence(tokens(1), '/srv');
  expect(sentence).toMatch(/^LEAK {2}a\.js:5:3 retains .* that no tensor accounts for/);
  expect(sentence).toContain(
    'Cause: 60 of 120 tokens of `share()` were not taken and hold 480.0 KiB, made at a.js:9:3 (publish); take each',
  );
  // None waits: what is held is most likely theirs too, since neither a tensor nor a graph holds it.
  expect(tokens(0).sites[0]!.cause).toMatchObject({ kind: 'tokens', place: { line: 9 } });
  expect(verdictSentence(tokens(0), '/srv')).toContain(
    'Cause: 60 storages are held by neither a tensor nor a graph: probably `share()` tokens that were taken and are kept, made at',
  );
  // Those that were never taken were disposed of.
  expect(tokens(0, 0).sites[0]!.cause).toBeUndefined();
});

test('memory that kept tokens hold counts for the line that allocated it, not for the one that took them', () => {
  const builder = new CaptureBuilder().site(1, ['/srv/a.js', 5, 3]).site(2, ['/srv/a.js', 9, 3]);
  builder.environment = 2;
  builder.site(3, ['/srv/worker.js', 4, 3]);
  for (let i = 1; i <= ROUNDS; i++) {
    builder.graphs(
      { site: 1, tensors: 0, nodes: 0, hiddenStorages: i, hiddenBytes: i * 8000 },
      { site: 3, tensors: 0, nodes: 0, hiddenStorages: i, hiddenBytes: i * 8192 },
    );
    builder.tokens({ site: 2, origin: 1, made: i, taken: i, waiting: 0, bytes: 0 });
    const made = { liveTensors: 0, liveBytes: 0, allocatedTensors: i, allocatedBytes: i * 8192 };
    builder.tick({ ms: i * MS, allocatedBytes: i * 8192 }, [
      { site: 1, ...made },
      { site: 3, ...made },
    ]);
  }
  const { sites } = reportOf(builder.end());
  expect(sites[0]).toMatchObject({ file: '/srv/a.js', line: 5, verdict: 'leak', cause: { place: { line: 9 } } });
});

test('storages that neither a tensor nor a graph holds are tokens; with a graph they are not', () => {
  const tokens = (nodes: number) => {
    const builder = new CaptureBuilder().site(1, ['/srv/a.js', 5, 3]).site(2, ['/srv/a.js', 9, 3]);
    for (let i = 1; i <= ROUNDS; i++) {
      builder.graphs(
        { site: 1, tensors: 0, nodes: 0, hiddenStorages: i, hiddenBytes: i * 8192 },
        { site: 2, tensors: nodes > 0 ? 1 : 0, nodes },
      );
      builder.tick({ ms: i * MS, allocatedBytes: i * 8192 }, [
        { site: 1, liveTensors: 0, liveBytes: 0, allocatedTensors: i, allocatedBytes: i * 8192 },
      ]);
    }
    return reportOf(builder.end());
  };
  expect(tokens(0).sites[0]).toMatchObject({ line: 5, verdict: 'leak', cause: { kind: 'tokens' } });
  expect(tokens(0).sites[0]!.cause!.text).toMatch(/^60 storages are held by neither a tensor nor a graph: `share\(\)`/);
  expect(tokens(7).sites[0]!.cause).toBeUndefined();
});
