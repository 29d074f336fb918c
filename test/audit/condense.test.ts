/** Captures of any length in bounded memory: which details are condensed, and which stay. */
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import * as path from 'node:path';
import { analyse } from '../../cli/analysis/analyse';
import type { Report } from '../../cli/analysis/report';
import { condense } from '../../cli/capture/condense';
import { CaptureParser } from '../../cli/capture/reader';
import { run } from '../support/child';
import { expectResident, limitMs, ordinaryEnv } from '../support/sanitized';
import { CaptureBuilder, type Row } from './capture-builder';
import { CLI, testFolder } from './command';

const folder = testFolder();
const file = (name: string) => path.join(folder, name);

const read = (builder: CaptureBuilder) => {
  const parser = new CaptureParser();
  parser.feed(builder.build());
  return parser.capture;
};

/** Site 1 leaks, site 2 is a sawtooth with one high peak, site 3 ends with its worker thread. */
function varied(rounds: number): CaptureBuilder {
  const builder = new CaptureBuilder().site(1, ['/a.js', 1, 1]).site(2, ['/a.js', 2, 1]);
  builder.environment = 7;
  builder.site(3, ['/a.js', 3, 1]);
  for (let i = 1; i <= rounds; i++) {
    const saw = i === 1501 ? 1_000_000 : (i % 10) * 1000;
    const inWorker = i <= rounds / 2 ? i * 64 : 0;
    const rows: Row[] = [
      { site: 1, liveTensors: i, liveBytes: i * 100, allocatedTensors: i },
      { site: 2, liveTensors: 1, liveBytes: saw, allocatedTensors: 5 * i, oldestBirthMs: i * 100 },
      { site: 3, liveTensors: inWorker / 64, liveBytes: inWorker, allocatedTensors: Math.min(i, rounds / 2) },
    ];
    builder.tick({ ms: i * 100 }, rows);
    if (i === rounds / 2) builder.environmentEnd(7);
  }
  return builder;
}

test('peaks, the end and the verdicts stay', () => {
  const whole = analyse(read(varied(8000)));
  const capture = read(varied(8000));
  condense(capture, { rounds: 2000, rows: 1e9 });
  expect(capture.ticks.length).toBeLessThanOrEqual(2000);
  expect(capture.ticks.length).toBeGreaterThan(400);
  const thin = analyse(capture);
  expect(thin.sites.map((site) => [site.line, site.verdict])).toEqual(
    whole.sites.map((site) => [site.line, site.verdict]),
  );
  const exact = (report: Report) => ({
    peak: report.summary.peakLiveBytes,
    end: report.timeline.at(-1),
    sites: report.sites.map(({ liveBytes, liveTensors, allocatedTensors, oldestMs }) => ({
      liveBytes,
      liveTensors,
      allocatedTensors,
      oldestMs,
    })),
  });
  expect(exact(thin)).toEqual(exact(whole));
  // The worker's tensors are reported in its last remaining round, not in a later one.
  expect(capture.ticks[capture.ended.get(7)!]!.ms).toBeLessThanOrEqual(400_000);
  expect(capture.ticks[capture.ended.get(7)!]!.ms).toBeGreaterThan(398_000);
});

test('many sites are thinned out by their counters, and a few rounds are left unchanged', () => {
  const capture = read(varied(4000));
  condense(capture, { rounds: 1e9, rows: 6000 });
  const rows = [...capture.series.values()].reduce((sum, series) => sum + series.ticks.length, 0);
  expect(rows).toBeLessThanOrEqual(6000);
  const short = read(varied(1000));
  condense(short, { rounds: 2000, rows: 10 });
  expect(short.ticks).toHaveLength(1000);
});

test(
  'the page of a capture of a million counters takes less than 500 MB',
  async () => {
    const [ROUNDS, SITES, PORTION] = [25_000, 40, 500];
    const capture = openSync(file('big.ltna'), 'w');
    let bytes = 0;
    const sites = Array.from({ length: SITES }, (_, i) => i + 1);
    let builder = new CaptureBuilder();
    const header = builder.build().length;
    for (const site of sites)
      builder.site(site, [`/srv/file${site % 7}.js`, site, 1, `f${site}`], ['/srv/main.js', 1, 1]);
    for (let i = 1; i <= ROUNDS; i++) {
      const rows = sites.map((site) => {
        const liveTensors = site === 1 ? i : 10 + ((i * 7 + site) % 50);
        return {
          site,
          liveTensors,
          liveBytes: liveTensors * 1024,
          allocatedTensors: 400 * i,
          oldestBirthMs: site === 1 ? 0 : i * 1000,
        };
      });
      builder.tick({ ms: i * 1000 }, rows);
      if (i % PORTION > 0) continue;
      const made = builder.build();
      bytes += writeSync(capture, i === PORTION ? made : made.subarray(header));
      builder = new CaptureBuilder();
    }
    closeSync(capture);
    expect(bytes).toBeGreaterThan(ROUNDS * SITES * 40);

    const script = `
    // Not maxRSS, which starts with that of the parent process: Jest's.
    const peak = () => Number(/VmHWM:\\s+(\\d+)/.exec(require('fs').readFileSync('/proc/self/status', 'utf8'))[1]);
    process.on('exit', () => console.error('peak', Math.round(peak() / 1024)));
    process.argv.splice(1, 0, ${JSON.stringify(CLI)});
    require(${JSON.stringify(CLI)});`;
    const args = ['report', file('big.ltna'), '--html', file('big.html'), '--json', file('big.json')];
    // A collector without CPU time lets the heap grow, so the test limits the heap to check the actual need.
    const flags = ['--max-old-space-size=256', '--max-semi-space-size=16'];
    const { code, stderr } = await run(process.execPath, [...flags, '-e', script, ...args], { env: ordinaryEnv() });
    expect(code).toBe(0);
    expectResident(Number(/^peak (\d+)$/m.exec(stderr)![1])).toBeLessThan(500);
    const report = JSON.parse(readFileSync(file('big.json'), 'utf8')) as Report;
    expect(report.summary.rounds).toBe(ROUNDS);
    expect(report.sites.map((site) => site.verdict)[0]).toBe('leak');
    expect(report.sites[0]).toMatchObject({ line: 1, liveTensors: ROUNDS });
    expect(readFileSync(file('big.html')).length).toBeLessThan(1_000_000);
  },
  limitMs(240_000),
);
