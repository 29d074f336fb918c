/** `leak-audit report A B …`: several processes in one report. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { PacketType } from '../../cli/capture/format';
import { CaptureBuilder } from './capture-builder';
import { leakAudit, testFolder } from './command';

const folder = testFolder();
const file = (name: string) => path.join(folder, name);
const ROUNDS = 60;
const LATE = [0, 1000, 6000];
const MODEL: [string, number, number, string] = ['/srv/app/model.js', 3, 5, 'load'];
const LEAK: [string, number, number, string] = ['/srv/app/server.js', 42, 14, 'classify'];

/** A process that began `lateMs` later than the first; its own sites have other ids. */
function process(pid: number, lateMs: number, leaks: boolean, start: object = {}, reason = 'exit'): Buffer {
  const [model, leak] = leaks ? [1, 2] : [2, 1];
  // Another machine: its monotonic clock has nothing to do with that of the first.
  const clockMs = pid * 1_000_000;
  const builder = new CaptureBuilder({
    ...{ pid, command: `node server.js ${pid}`, startedAt: 1_700_000_000_000 + lateMs, clockMs, intervalMs: 250 },
    ...start,
  }).site(model, MODEL);
  if (leaks) builder.site(leak, LEAK);
  for (let i = 1; i <= ROUNDS; i++) {
    const rows = [{ site: model, liveTensors: 4, liveBytes: 400_000, allocatedTensors: 4, oldestBirthMs: 10 }];
    const grown = { site: leak, liveTensors: i, liveBytes: i * 65_536, allocatedTensors: 10 * i, oldestBirthMs: 300 };
    builder.tick({ ms: i * 250 }, leaks ? [...rows, grown] : rows);
  }
  return builder.text(PacketType.End, { reason, ms: ROUNDS * 250, lost: 0 }).build();
}

beforeAll(() => {
  fs.writeFileSync(file('a.ltna'), process(11, 0, false));
  fs.writeFileSync(file('b.ltna'), process(22, 1000, true, {}, 'detached'));
  fs.writeFileSync(file('c.ltna'), process(33, 6000, true));
  fs.writeFileSync(file('sample.ltna'), process(44, 0, false, { mode: 'sample' }));
  fs.writeFileSync(file('text.ltna'), 'not a capture');
});

test('each site says in which processes it is, and rounds are aligned by the time of day', async () => {
  const given = ['c.ltna', 'a.ltna', 'b.ltna'].map(file);
  const { code, stdout, stderr } = await leakAudit(['report', ...given, '--json', '-']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const report = JSON.parse(stdout);
  expect(report.verdict).toBe('leak');
  const seconds = ROUNDS / 4;
  expect(report.processes).toEqual(
    [11, 22, 33].map((pid, i) => ({
      ...{ file: file(`${'abc'[i]}.ltna`), pid, command: `node server.js ${pid}` },
      ...{ startMs: LATE[i], endMs: LATE[i]! + seconds * 1000, ended: i === 1 ? 'detached' : 'exit' },
    })),
  );
  const [leak, model] = report.sites;
  expect(leak).toMatchObject({ file: LEAK[0], line: 42, verdict: 'leak' });
  const bytes = ROUNDS * 65_536;
  // Both still held them when the last recording ended; the first process had exited.
  expect(leak.inProcesses).toEqual([
    { process: 1, liveTensors: ROUNDS, liveBytes: bytes, allocatedTensors: 10 * ROUNDS },
    { process: 2, liveTensors: ROUNDS, liveBytes: bytes, allocatedTensors: 10 * ROUNDS },
  ]);
  expect(model).toMatchObject({ file: MODEL[0], line: 3 });
  expect(model.inProcesses.map((one: any) => [one.process, one.liveTensors])).toEqual([
    [1, 4],
    [2, 4],
    [0, 0],
  ]);
  // The sum of the running processes, at the last round of the first one.
  const at = report.timeline.find(({ ms }: { ms: number }) => ms === seconds * 1000);
  expect(at.liveTensors).toBe(12 + (ROUNDS - 4) + (ROUNDS - 24));
  expect(report.summary.liveTensors).toBe(8 + 2 * ROUNDS);
});

test('as text, and without names on request', async () => {
  const given = ['a.ltna', 'b.ltna', 'c.ltna'].map(file);
  const { code, stdout } = await leakAudit(['report', ...given]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^LEAK {2}/m);
  expect(stdout).toMatch(/^#2 +22 +1\.0 s +15\.0 s +detached +.*b\.ltna {2}node server\.js 22$/m);
  expect(stdout).toMatch(/server\.js:42:14 {2}in 2 of 3 processes: #2 3\.8 MiB, #3 3\.8 MiB$/m);
  const redacted = await leakAudit(['report', ...given, '--redact-sources']);
  expect(redacted.code).toBe(0);
  expect(redacted.stdout).toMatch(/in 2 of 3 processes/);
  expect(redacted.stdout).not.toMatch(/server\.js|model\.js|\.ltna/);
  const one = await leakAudit(['report', file('a.ltna'), '--json', '-']);
  expect(JSON.parse(one.stdout)).not.toHaveProperty('processes');
});

test('what cannot be merged is refused in a line', async () => {
  const cases: [string[], RegExp][] = [
    [['a.ltna', 'text.ltna'], /text\.ltna: .*not a leak-audit capture/],
    [['a.ltna', 'none.ltna'], /none\.ltna: no such file/],
    [['a.ltna', 'sample.ltna'], /sample\.ltna: expected a capture in mode full, as .*a\.ltna, got mode sample/],
    [['a.ltna', 'a.ltna'], /capture 1 and capture 2 are both .*: expected different files/],
  ];
  for (const [names, message] of cases) {
    const { code, stdout, stderr } = await leakAudit(['report', ...names.map(file)]);
    expect({ code, stdout, lines: stderr.trim().split('\n').length }).toEqual({ code: 2, stdout: '', lines: 1 });
    expect(stderr).toMatch(message);
  }
});
