/** Causes that the counts of a capture show: kept graphs, tensors that become larger. */
import { analyse } from '../../cli/analysis/analyse';
import { CaptureParser } from '../../cli/capture/reader';
import { renderText } from '../../cli/reporters/text';
import { plainColors as colors } from '../../cli/terminal/colors';
import { CaptureBuilder } from './capture-builder';

const MS = 250;
const ROUNDS = 60;

function reportOf(builder: CaptureBuilder) {
  const parser = new CaptureParser();
  parser.feed(builder.end().build());
  return analyse(parser.finish(), { limit: { bytes: 2 ** 30, from: 'cgroup' } });
}

/** One site that keeps a tensor of 1 KiB a round, each with a graph of so many nodes. */
function keeping(nodes: number): CaptureBuilder {
  const builder = new CaptureBuilder().site(1, ['/srv/a.js', 5, 3]);
  for (let i = 1; i <= ROUNDS; i++) {
    builder.graphs({ site: 1, tensors: i, nodes });
    builder.tick({ ms: i * MS }, [{ site: 1, liveTensors: i, liveBytes: i * 1024, oldestBirthMs: 100 }]);
  }
  return builder;
}

test('many tensors that carry a graph each: losses in a list', () => {
  const report = reportOf(keeping(40));
  expect(report.sites[0]!.cause).toEqual({
    kind: 'kept-graphs',
    text: '60 tensors have an autograd graph, the largest of 40 nodes',
    remedy: 'use detach() or item() before you keep a value',
  });
  expect(renderText(report, { colors, folder: '/srv' })).toContain(
    'Cause: 60 tensors have an autograd graph, the largest of 40 nodes; use detach()',
  );
});

test('a value that is extended in each step, or inputs that grow', () => {
  const builder = new CaptureBuilder().site(1, ['/srv/a.js', 5, 3]);
  for (let i = 1; i <= ROUNDS; i++) {
    const liveBytes = 4096 * i;
    builder.tick({ ms: i * MS }, [{ site: 1, liveTensors: 1, liveBytes, allocatedTensors: i, oldestBirthMs: i * MS }]);
  }
  const report = reportOf(builder);
  expect(report.sites[0]).toMatchObject({
    verdict: 'leak',
    cause: { kind: 'larger-tensors', text: 'its tensors become larger, not more: from 32.0 KiB to 212.0 KiB each' },
  });
});
