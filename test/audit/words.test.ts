/** The words of a report: cause and remedy, forecast, onset, source, next command. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { analyse } from '../../cli/analysis/analyse';
import { Redaction, redactReport } from '../../cli/analysis/redact';
import type { Report } from '../../cli/analysis/report';
import type { Capture } from '../../cli/capture/capture';
import { CaptureParser } from '../../cli/capture/reader';
import { calledName } from '../../cli/code/function-names';
import { linesAt } from '../../cli/code/text';
import { renderText } from '../../cli/reporters/text';
import { plainColors as colors } from '../../cli/terminal/colors';
import { checked } from '../../cli/why/analyst';
import { withHolders } from '../../cli/why/held';
import { position } from '../../cli/wording/position';
import { verdictSentence } from '../../cli/wording/sentence';
import { CaptureBuilder, leakyCapture } from './capture-builder';
import { testFolder } from './command';

const folder = testFolder();
const limit = { bytes: 2 ** 30, from: 'cgroup' as const };
const MS = 250;
const ROUNDS = 60;

const parse = (builder: CaptureBuilder): Capture => {
  const parser = new CaptureParser();
  parser.feed(builder.build());
  return parser.finish();
};
const reportOf = (builder: CaptureBuilder): Report => analyse(parse(builder), { limit });
const shown = (report: Report, more: { allFrames?: boolean } = {}) => renderText(report, { colors, folder, ...more });

const written = (name: string, text: string): string => {
  const file = path.join(folder, name);
  fs.writeFileSync(file, text);
  return file;
};

interface Round {
  i: number;
  builder: CaptureBuilder;
}

/** One site that keeps a tensor of 1 KiB a round. */
function keeping(
  each: (round: Round) => void = () => {},
  site: [string, number, number, string?] = ['/srv/a.js', 5, 3],
) {
  const builder = new CaptureBuilder().site(1, site).shape(1, [16]);
  for (let i = 1; i <= ROUNDS; i++) {
    each({ i, builder });
    builder.tick({ ms: i * MS }, [{ site: 1, liveTensors: i, liveBytes: i * 1024, oldestBirthMs: 100 }]);
  }
  return builder.end();
}

test('small views that hold large storages: their sizes, and clone() as the remedy', () => {
  const report = reportOf(
    keeping(({ i, builder }) =>
      builder.births({ id: i, site: 1, shape: 1, bytes: 1024, isView: true, birthMs: i * MS }),
    ),
  );
  expect(report.sites[0]!.cause).toEqual({
    kind: 'view-pins-base',
    text: '64 B views hold 1.0 KiB storages',
    remedy: 'keep a copy of the part: `.clone()`',
  });
  expect(shown(report)).toContain(
    'Cause: 64 B views hold 1.0 KiB storages; keep a copy of the part: `.clone()`. At this rate',
  );
});

test('views that together use their storage pin nothing', () => {
  const parts = reportOf(
    keeping(({ i, builder }) => {
      const births = Array.from({ length: 16 }, (_, k) => ({ id: 16 * i + k, storage: i, birthMs: i * MS }));
      builder.births(...births.map((birth) => ({ ...birth, site: 1, shape: 1, bytes: 1024, isView: true })));
    }),
  );
  expect(parts.sites[0]!.cause).toBeUndefined();
});

test('tensors of a scope that never closed', () => {
  const report = reportOf(
    keeping(({ i, builder }) => {
      builder.births({ id: i, site: 1, shape: 1, bytes: 64, owner: 3, birthMs: i * MS });
      builder.scopes([i, 0x100001]);
    }),
  );
  expect(report.sites[0]!.cause).toMatchObject({
    kind: 'open-scope',
    text: '60 tensors are owned by a scope that never closed',
  });
  // With --why, also where the scope was opened.
  const [site] = report.sites;
  const share = { file: site!.file, line: site!.line, column: site!.column, function: '', tensors: 60, bytes: 3840 };
  const held = checked({
    ...{ pid: 1, thread: 0, pausedMs: 1, tensors: 60, bytes: 3840 },
    heldBy: [{ path: ['1 scope'], openedAt: 'open (server.js:12)', tensors: 60, bytes: 3840, sites: [share] }],
  });
  const found = withHolders(report, [held]);
  expect(verdictSentence(found, '/srv')).toContain(
    'a scope that never closed, opened at open (server.js:12); close it',
  );
  expect(JSON.stringify(redactReport(found, new Redaction()))).not.toContain('server.js');
});

test('a scope that never closed has the line that opened it, if the capture knows it', () => {
  const report = reportOf(
    keeping(({ i, builder }) => {
      if (i === 1) builder.site(7, ['/srv/session.js', 4, 24, 'Session']);
      builder.births({ id: i, site: 1, shape: 1, bytes: 64, owner: 3, birthMs: i * MS, environment: 2 });
      builder.scopes([i, 0x100001]).openings([2, 0x100001, 7]);
    }),
  );
  expect(report.sites[0]!.cause).toMatchObject({ kind: 'open-scope', place: { file: '/srv/session.js', line: 4 } });
  expect(verdictSentence(report, '/srv')).toContain('that never closed, opened at session.js:4:24 (Session); close it');
  expect(JSON.stringify(redactReport(report, new Redaction()))).not.toContain('ession');
  const other = reportOf(
    keeping(({ i, builder }) => {
      builder.births({ id: i, site: 1, shape: 1, bytes: 64, owner: 3, birthMs: i * MS, environment: 1 });
      builder.scopes([i, 0x100001]).openings([2, 0x100001, 7]);
    }),
  );
  expect(other.sites[0]!.cause).not.toHaveProperty('place');
});

test('growth that began when a worker thread ended names the thread', () => {
  const builder = new CaptureBuilder().site(1, ['/srv/main.js', 5, 3]);
  builder.environment = 2;
  builder.site(2, ['/srv/model.js', 7, 3], [path.join(folder, 'scorer.js'), 30, 1]);
  for (let i = 1; i <= ROUNDS; i++) {
    if (i === 21) builder.environmentEnd(2);
    const live = Math.max(1, i - 20);
    builder.tick({ ms: i * MS }, [
      { site: 1, liveTensors: live, liveBytes: live * 1024, allocatedTensors: i, oldestBirthMs: 100 },
      { site: 2, liveTensors: 0, liveBytes: 0, allocatedTensors: Math.min(i, 20) },
    ]);
  }
  const report = reportOf(builder.end());
  expect(report.sites[0]!.cause).toMatchObject({ kind: 'dead-worker', worker: { thread: 2, ms: 5000 } });
  expect(shown(report)).toMatch(
    /it grows since a worker thread ended \(thread 2, scorer\.js, ended 5\.0 s after the start\); listen to its `exit` event/,
  );
  expect(shown(redactReport(report, new Redaction()))).not.toContain('scorer');
});

test('a queue that is drained too slowly: both rates, in the order of births', () => {
  const builder = new CaptureBuilder().site(1, ['/srv/a.js', 5, 3]);
  for (let i = 1; i <= ROUNDS; i++) {
    // Of four tensors a round, the three oldest are released.
    const row = { liveTensors: i, liveBytes: i * 1024, allocatedTensors: 4 * i, allocatedBytes: 4096 * i };
    builder.tick({ ms: i * MS }, [{ site: 1, ...row, oldestBirthMs: Math.floor((i * 3) / 4) * MS }]);
  }
  const [site] = reportOf(builder.end()).sites;
  expect(site).toMatchObject({ verdict: 'leak', hiddenGrowthBytesPerMinute: 0, cause: { kind: 'slow-consumer' } });
  expect(site!.cause!.text).toMatch(/^16\.0 tensors per second are made and 12\.0 released, the oldest first/);
  expect(site!.growthTensorsPerMinute).toBeCloseTo(240, -1);
});

/**
 * 4 tensors a round. Those of the first 20 rounds are garbage, collected every 6 rounds; of later rounds, `kept` of 4 stay and
 * the others are released in the order of their birth.
 */
function late(kept: number) {
  const builder = new CaptureBuilder().site(1, ['/srv/a.js', 5, 3]);
  for (let i = 1; i <= ROUNDS; i++) {
    const later = Math.max(0, i - 20);
    const garbage = i < 24 ? Math.min(i, 20) % 6 : 0;
    const live = 4 * garbage + kept * later;
    const oldest = garbage > 0 ? Math.min(i, 20) - garbage : Math.min(i, 20) + Math.floor(((4 - kept) * later) / 4);
    builder.tick({ ms: i * MS, collections: Math.floor(i / 6) }, [
      { site: 1, liveTensors: live, liveBytes: live * 1024, allocatedTensors: 4 * i, oldestBirthMs: oldest * MS },
    ]);
  }
  return reportOf(builder.end()).sites[0]!;
}

test('a leak that begins after a time of garbage is not a slow consumer: nothing is released since', () => {
  const site = late(4);
  expect(site).toMatchObject({ verdict: 'leak', oldestMs: 40 * MS });
  expect(site.onsetMs).toBeGreaterThan(4000);
  expect(site.cause).toBeUndefined();
});

test('a consumer that becomes slow later: both rates, since then', () => {
  const site = late(2);
  expect(site).toMatchObject({ verdict: 'leak', cause: { kind: 'slow-consumer' } });
  expect(site.onsetMs).toBeGreaterThan(4000);
  const [made, released] = site.cause!.text.match(/[\d.]+/g)!.map(Number);
  expect(made).toBeCloseTo(16, 0);
  expect(Math.abs(released! - 8)).toBeLessThan(1);
});

test('models loaded per call: the line shows it, and they have their bytes there', () => {
  const source = written('predict.js', 'function predict() {\n  models.push(torch.jit.load(file));\n}\n');
  const builder = new CaptureBuilder().site(1, [source, 2, 25, 'predict']);
  for (let i = 1; i <= ROUNDS; i++)
    builder.tick({ ms: i * MS, bytes: i * 4096, allocatedBytes: i * 4096 }, [
      { site: 1, liveTensors: i, liveBytes: 0, oldestBirthMs: 100 },
    ]);
  const [site] = reportOf(builder.end()).sites;
  expect(site).toMatchObject({ verdict: 'leak', liveBytes: ROUNDS * 4096 });
  expect(site!.cause).toMatchObject({
    kind: 'model-per-call',
    text: '60 models loaded here are kept, 240.0 KiB together',
  });
});

test('models loaded per call have the bytes that the capture counts at their line', () => {
  const source = written('load.js', 'function predict() {\n  models.push(torch.jit.load(file));\n}\n');
  const sites = reportOf(keeping(() => {}, [source, 2, 25, 'predict'])).sites;
  expect(sites[0]!.cause!.text).toBe('60 models loaded here are kept, 60.0 KiB together');
});

test('the onset is the change point, with a mark below the history', () => {
  const builder = new CaptureBuilder().site(1, ['/srv/a.js', 5, 3]);
  for (let i = 1; i <= ROUNDS; i++) {
    const live = 40 + Math.max(0, i - 24);
    builder.tick({ ms: i * MS }, [{ site: 1, liveTensors: live, liveBytes: live * 1024, oldestBirthMs: 100 }]);
  }
  const report = reportOf(builder.end());
  expect(report.sites[0]!.sinceMs).toBe(100);
  expect(Math.abs(report.sites[0]!.onsetMs! - 24 * MS)).toBeLessThanOrEqual(MS);
  const [, bars, mark] = /^( {4}[▁-█]+ {2}0 to [^\n]*)\n(.*)$/m.exec(shown(report))!;
  expect(bars).toMatch(/^ {4}▅/); // from zero: 40 of 76
  expect(mark!.indexOf('^') - 4).toBe(Math.floor((report.sites[0]!.onsetMs! / (ROUNDS * MS)) * 48));
  expect(mark).toMatch(/\^ grows since (5\.8|6\.0|6\.3) s$/);
});

test('under attach, growth from the beginning may be older than the recording', () => {
  const attached = new CaptureBuilder({ attached: true }).site(1, ['/srv/a.js', 5, 3]);
  for (let i = 1; i <= ROUNDS; i++)
    attached.tick({ ms: i * MS }, [{ site: 1, liveTensors: i, liveBytes: i * 1024, oldestBirthMs: 100 }]);
  const text = shown(reportOf(attached.end('detached')));
  expect(text).toContain('since before attaching, or at the latest 100 ms after it');
  expect(text).toContain('next: leak-audit why 42 --site a.js:5');
});

test('a tensor that larger ones replace is young, but its site grows from the start', () => {
  const builder = new CaptureBuilder().site(1, ['/srv/a.js', 5, 3]);
  for (let i = 1; i <= ROUNDS; i++)
    builder.tick({ ms: i * MS }, [{ site: 1, liveTensors: 1, liveBytes: i * 1024, oldestBirthMs: i * MS - 10 }]);
  const report = reportOf(builder.end());
  expect(report.sites[0]).toMatchObject({ verdict: 'leak', sinceMs: ROUNDS * MS - 10, onsetMs: null });
  expect(verdictSentence(report, '/srv')).toContain('a.js:5:3 leaks 240.0 KiB per minute, from the start, with');
});

test('too short: the time that would suffice, and the command for it', () => {
  const report = reportOf(leakyCapture(6).end());
  expect(report.summary).toMatchObject({ insufficient: 'few-rounds', sufficientMs: 18 * MS });
  expect(shown(report)).toContain('from warm-up. 5.0 s would suffice.');
  expect(shown(report)).toContain('next: leak-audit run -- node app.js   (for 5.0 s or longer)');
  expect(reportOf(leakyCapture(18).end()).summary.insufficient).toBeNull();
});

test('three lines of source at the first site; library frames only with --all-frames', () => {
  const source = written('server.js', 'function handle() {\n\tif (ok) {\n\t\tcache.push(torch.randn([4]));\n\t}\n}\n');
  const builder = new CaptureBuilder().site(
    1,
    [source, 3, 14, 'handle'],
    [path.join(folder, 'node_modules/express/router.js'), 7, 1, 'next'],
    [path.join(folder, 'main.js'), 2, 1, 'main'],
  );
  for (let i = 1; i <= ROUNDS; i++)
    builder.tick({ ms: i * MS }, [{ site: 1, liveTensors: i, liveBytes: i * 1024, oldestBirthMs: 100 }]);
  const report = reportOf(builder.end());
  const text = shown(report);
  expect(text).toContain('    2 | if (ok) {\n  > 3 |   cache.push(torch.randn([4]));\n    4 | }\n');
  expect(text).not.toContain('express');
  expect(text).toContain('from main  main.js:2:1\n          1 frame of libraries hidden (--all-frames)');
  expect(shown(report, { allFrames: true })).toContain('from next  node_modules/express/router.js:7:1');
  expect(shown(redactReport(report, new Redaction()))).not.toContain('cache.push');
});

test('only files of code are read, because a capture can name any file', () => {
  const secret = written('secret.pem', 'a key\n');
  expect(linesAt(secret, 1)).toEqual([]);
  expect(linesAt('/srv/none.js', 1)).toEqual([]);
});

test('an anonymous function has the name of its variable, or of the function that it is passed to', () => {
  const lines = [
    'const x = { a: (b) => { q1(); }, "c-d": function () { q2(); } };',
    'this.handler = async (y) => q3(y);',
    'module.exports.run = function* () { q4(); };',
    ['list.map(([k]) => q5(k), `', '{v.map((z) => q6(z))} ( {`);'].join('$'),
    "bus.on('data', () => { if (/[(]/.test(1)) { q7(); } });",
    'this.map.forEach(',
    '  // comment (',
    '  async function () { q8(); },',
    ');',
    'q9();',
  ];
  const file = written('names.js', lines.join('\n'));
  const names = Array.from({ length: 9 }, (_, i) => {
    const line = lines.findIndex((text) => text.includes(`q${i + 1}(`));
    return calledName({ file, line: line + 1, column: lines[line]!.indexOf(`q${i + 1}`) + 1, function: '' });
  });
  expect(names).toEqual([
    '(anonymous, a)',
    '(anonymous, c-d)',
    '(anonymous, this.handler)',
    '(anonymous, module.exports.run)',
    '(anonymous, passed to list.map)',
    '(anonymous, passed to v.map)',
    '(anonymous, passed to bus.on)',
    '(anonymous, passed to this.map.forEach)',
    '(top level)',
  ]);
  expect(calledName({ file: '/srv/none.js', line: 1, column: 1, function: '' })).toBe('(anonymous)');
  expect(calledName({ file, line: 10, column: 1, function: 'own' })).toBe('own');
});

test('a static field has the name of its class; a file of classes without bodies is read in one pass', () => {
  const lines = [
    'class A { m() {} static x = s1(); }',
    'class B extends f(A) {}',
    'class C {',
    'class D extends A { }',
    's2()}',
  ];
  const named = (file: string, line: number, column: number) =>
    calledName({ file, line, column, function: '<static_initializer>' });
  const file = written('static.js', lines.join('\n'));
  expect([named(file, 1, lines[0]!.indexOf('s1') + 1), named(file, 2, 1), named(file, 5, 1)]).toEqual([
    'static field of A',
    'static field',
    'static field of C',
  ]);
  // Billions of steps if each class were read to the end: the test would run into its time limit.
  const long = 'class a '.repeat(2 ** 17 - 8);
  expect(named(written('long.js', long), 1, long.length)).toBe('static field');
  const many = 'class a {'.repeat(2 ** 16);
  expect(named(written('many.js', many), 1, many.length)).toBe('static field of a');
});

test('paths are relative where near, else shortened from the left', () => {
  const at = (file: string, from: string) => position({ file, line: 3, column: 7 }, from);
  expect(at('/srv/app/src/a.js', '/srv/app')).toBe('src/a.js:3:7');
  expect(at('/srv/lib/a.js', '/srv/app')).toBe('../lib/a.js:3:7');
  expect(at('/usr/lib/a.js', '/srv/app/one/two/three')).toBe('/usr/lib/a.js:3:7');
  const far = `/usr/${'long/'.repeat(20)}one/two/a.js`;
  expect(at(far, '/srv/app/one/two/three')).toBe('…/one/two/a.js:3:7');
});

test('threads and processes of a site', () => {
  const builder = new CaptureBuilder();
  for (const thread of [1, 2, 3]) {
    builder.environment = thread;
    builder.site(thread, ['/srv/a.js', 5, 3, 'work']);
  }
  for (let i = 1; i <= ROUNDS; i++)
    builder.tick(
      { ms: i * MS },
      [1, 2, 3].map((site) => ({ site, liveTensors: i, liveBytes: i * 1024, oldestBirthMs: 100 })),
    );
  const report = reportOf(builder.end());
  expect(report.sites[0]).toMatchObject({ threads: 3, processes: 1 });
  expect(shown(report)).toContain('/srv/a.js:5:3 work (3 threads)');
});

test('growth of malloc is noted only where it matters', () => {
  const noted = (perRound: number, bytes: number, slower = 1) => {
    const capture = parse(keeping());
    for (const [i, tick] of capture.ticks.entries()) {
      tick.ms *= slower;
      tick.rss = 2e8 + i * perRound;
      for (const series of capture.series.values()) series.liveBytes[i] = (i + 1) * bytes;
      tick.bytes = tick.allocatedBytes = (i + 1) * bytes;
    }
    return /per minute: (.*)freed memory that malloc retains/.exec(shown(analyse(capture, { limit })))?.[1];
  };
  expect(noted(2 ** 20, 1024)).toBe('what a program allocates in its first minute, ');
  expect(noted(2 ** 20, 1024, 10)).toBe('');
  expect(noted(11 * 2 ** 20, 10 * 2 ** 20)).toBeUndefined();
});
