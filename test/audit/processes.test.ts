/** Several processes in one capture. */
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { analyse } from '../../cli/analysis/analyse';
import { Flag, fileHeader } from '../../cli/capture/format';
import { joinChildren, removeChildren } from '../../cli/capture/join';
import { CaptureFollower, readCapture } from '../../cli/capture/reader';
import { nextCommand } from '../../cli/wording/next';
import { Service, until } from '../support/service';
import { CaptureBuilder } from './capture-builder';
import { CLI, leakAudit } from './command';

let folder: string;
let file: string;
beforeEach(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'audit-processes-'));
  file = path.join(folder, 'c.ltna');
});
afterEach(() => fs.rmSync(folder, { recursive: true }));

const row = (live: number, extra = {}) => ({ site: 1, liveTensors: live, liveBytes: live * 100, ...extra });
const START = { clockMs: 1_000_000, intervalMs: 100 };

/** Rounds at 100, 200, … 1000 ms with one tensor. */
function main(): CaptureBuilder {
  const builder = new CaptureBuilder(START).site(1, ['/main.js', 1, 1]).births({ id: 1, site: 1, bytes: 100 });
  for (let i = 1; i <= 10; i++) builder.tick({ ms: i * 100, peakAllocatedBytes: 500 }, [row(1)]);
  return builder;
}

/** Lives from 300 to 700 ms of the main process, with that many tensors; its peak is at its end. */
function child(pid: number, live: number, startMs = 300): CaptureBuilder {
  const start = { ...START, pid, clockMs: START.clockMs + startMs, command: 'node child.js' };
  const builder = new CaptureBuilder(start).site(1, ['/child.js', 5, 1]).label(1, { route: `/${pid}` });
  builder.births({ id: 1, site: 1, label: 1, bytes: 100, birthMs: 50 });
  for (let i = 1; i <= 4; i++) {
    const peak = i === 4 ? 900 : live * 100;
    builder.tick({ ms: i * 100, peakAllocatedBytes: peak }, [row(live, { label: 1, oldestBirthMs: 50 })]);
  }
  return builder;
}

test('children are aligned in time, and sums are those of the running processes', () => {
  fs.writeFileSync(file, main().end().build());
  fs.writeFileSync(`${file}.77.child`, child(77, 4).end().build());
  fs.writeFileSync(`${file}.78-1.child`, child(78, 5).build());
  fs.writeFileSync(path.join(folder, 'other.ltna.79.child'), 'not ours');
  expect(joinChildren(file)).toBe(2);
  expect(fs.readdirSync(folder).sort()).toEqual(['c.ltna', 'other.ltna.79.child']);
  const capture = readCapture(file);
  expect(capture.lost).toBe(0);
  expect(capture.processes).toEqual([
    expect.objectContaining({ pid: 42, startMs: 0, ended: 'exit' }),
    expect.objectContaining({ pid: 77, startMs: 300, command: 'node child.js', ended: 'exit' }),
    expect.objectContaining({ pid: 78, startMs: 300, endMs: 700, ended: 'killed' }),
  ]);
  expect(capture.ticks.map((tick) => tick.ms)).toEqual([100, 200, 300, 400, 500, 600, 700, 800, 900, 1000]);
  expect(capture.ticks.map((tick) => tick.tensors)).toEqual([1, 1, 1, 10, 10, 10, 10, 1, 1, 1]);
  // Every row is in the totals, in each round.
  for (const [round, tick] of capture.ticks.entries()) {
    let live = 0;
    for (const series of capture.series.values()) {
      const last = series.ticks.filter((at) => at <= round).length - 1;
      live += series.liveTensors[last] ?? 0;
    }
    expect(live).toBe(tick.tensors);
  }
  // 100 + 400 + 500 together is the peak of the sums; a process alone had 900; the sum of the peaks would be 2300.
  expect(capture.ticks[3]!.peakAllocatedBytes).toBe(1000);
  expect(capture.ticks.at(-1)!.peakAllocatedBytes).toBe(1000);
  const live = [...capture.liveTensors()];
  expect(live.map(({ birthMs, process }) => [process, birthMs])).toEqual([
    [0, 0],
    [1, 350],
    [2, 350],
  ]);
  expect(live.map(({ labelId }) => capture.labels.get(labelId)?.route)).toEqual([undefined, '/77', '/78']);
  expect(capture.stacks.get(live[1]!.siteId)).not.toBe(capture.stacks.get(live[0]!.siteId));
  const report = analyse(capture);
  expect(report.sites.map((site) => site.file).sort()).toEqual(['/child.js', '/main.js']);
  expect(report.summary).toMatchObject({ liveTensors: 1, peakAllocatedBytes: 1000 });
});

test('a child that leaked until its end is a leak', () => {
  const start = { ...START, clockMs: START.clockMs + 10 };
  const builder = new CaptureBuilder({ ...start, pid: 7 }).site(1, ['/child.js', 5, 1]);
  for (let i = 1; i <= 40; i++) builder.tick({ ms: i * 100 }, [row(i)]);
  const parent = new CaptureBuilder(START).site(1, ['/main.js', 1, 1]);
  for (let i = 1; i <= 60; i++) parent.tick({ ms: i * 100 }, [row(1)]);
  fs.writeFileSync(file, parent.end().build());
  fs.writeFileSync(`${file}.7.child`, builder.end().build());
  joinChildren(file);
  const report = analyse(readCapture(file));
  expect(report.sites[0]).toMatchObject({ file: '/child.js', verdict: 'leak', liveTensors: 0 });
  // `run --why` would record and ask the parent alone.
  expect(nextCommand(report)).toMatch(/^leak-audit why PID {3}\(/);
  const short = { verdict: 'insufficient' as const, summary: { ...report.summary, sufficientMs: 5000 } };
  expect(nextCommand({ ...report, ...short })).toMatch(/^leak-audit run --follow-children -- /);
});

test.each([
  ['empty', Buffer.alloc(0)],
  ['no capture', Buffer.from('something else')],
  ['never claimed', fileHeader(0)],
  ['flagged', child(7, 1).build().fill(Flag.lost, 12, 13)],
  ['damaged', child(7, 1).build().fill(0xff, 60, 70)],
])('a %s child file flags lost events', (_, content) => {
  fs.writeFileSync(file, main().end().build());
  fs.writeFileSync(`${file}.7.child`, content);
  joinChildren(file);
  const capture = readCapture(file);
  expect(capture.lost).toBeGreaterThan(0);
  expect(capture.ticks).toHaveLength(10);
});

test('files left by an interrupted run are removed, and nothing else', () => {
  fs.writeFileSync(`${file}.7.child`, '');
  fs.writeFileSync(`${file}.7x.child`, '');
  removeChildren(file);
  expect(fs.readdirSync(folder)).toEqual(['c.ltna.7x.child']);
});

test('a child that cannot make its file flags the capture of the program', async () => {
  const long = path.join(folder, `${'x'.repeat(245)}.ltna`); // the names of its children's files are too long
  const service = await Service.start({ command: run('--check', '--follow-children', '-o', long) });
  await service.tell('hold 1');
  await startChildren(service);
  expect(await service.tell('end 0')).toBe(0);
  expect(await service.tell('kill 1')).toBe('SIGKILL');
  service.say('exit');
  const outcome = await service.outcome;
  expect(outcome.stderr).toMatch(/leak-audit: this process is not recorded: cannot create .*File name too long/);
  expect(outcome.stderr).toMatch(/at least 1 event was lost/);
  expect(outcome.code).toBe(0);
  expect((await leakAudit('check', long)).code).toBe(4);
  const capture = readCapture(long);
  expect(capture.lost).toBe(1);
  expect(capture.end?.reason).toBe('exit');
}, 600_000);

/** `leak-audit run` of a program that a test gives commands. */
const run = (...options: string[]) => [process.execPath, CLI, 'run', '--quiet', ...options, '--', 'node'];

async function startChildren(service: Service): Promise<void> {
  for (const [child, tensors] of [10, 20].entries()) {
    expect(await service.tell('fork')).toBe(child);
    await service.tell(`child ${child} hold ${tensors}`);
  }
}

/** Of a growing capture; undefined before the first round. */
function lastRound(name: string): { ms: number; tensors: number } | undefined {
  const follower = new CaptureFollower(path.join(folder, name));
  try {
    follower.poll();
    return follower.capture.ticks.at(-1);
  } finally {
    follower.close();
  }
}

test('--follow-children records a program’s children; without it, the children do not see the audit', async () => {
  const args = ['--interval', '200ms', '--json', path.join(folder, 'r.json'), '--follow-children'];
  const service = await Service.start({ command: run(...args, '-o', file) });
  await service.tell('hold 1');
  expect(await service.tell('bare')).toBe(0);
  await startChildren(service);
  expect(await service.tell('end 0')).toBe(0);
  // The other is killed after both captures show the tensors.
  const children = () => fs.readdirSync(folder).filter((name) => name.endsWith('.child'));
  await until(
    async () => lastRound('c.ltna')?.tensors === 1 && children().some((name) => lastRound(name)?.tensors === 20),
  );
  expect(await service.tell('kill 1')).toBe('SIGKILL');
  const { ms } = lastRound('c.ltna')!;
  await until(async () => lastRound('c.ltna')!.ms > ms + 400);
  service.say('exit');
  const outcome = await service.outcome;
  expect(outcome.stderr).toBe('');
  expect(outcome.code).toBe(0);
  const capture = readCapture(file);
  expect(capture.processes.map((one) => one.ended).sort()).toEqual(['exit', 'exit', 'killed']);
  expect(capture.processes[0]!.startMs).toBe(0);
  expect(capture.lost).toBe(0);
  const most = capture.processes.map((_, process) => [...capture.liveTensors()].filter((t) => t.process === process));
  expect(most.map((tensors) => tensors.length).sort((a, b) => a - b)).toEqual([1, 10, 20]);
  expect(Math.max(...capture.ticks.map((tick) => tick.tensors))).toBeGreaterThanOrEqual(21);
  expect(capture.ticks.at(-1)!.tensors).toBe(1);
  expect(fs.readdirSync(folder).sort()).toEqual(['c.ltna', 'r.json']);
}, 600_000);
