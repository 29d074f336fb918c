/** `leak-audit attach` and similar commands on running services, which were started without any flag. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import type { Report } from '../../cli/analysis/report';
import { readCapture } from '../../cli/capture/reader';
import { memoryLimit } from '../../cli/machine/memory-limit';
import { limitMs } from '../support/sanitized';
import { Service, until } from '../support/service';
import { leakAudit, Running, refused, testFolder } from './command';

const folder = testFolder();
jest.setTimeout(limitMs(240_000));
const file = (name: string) => path.join(folder, name);

const reportOf = async (capture: string): Promise<Report> => {
  const { code, stdout, stderr } = await leakAudit('report', capture, '--json', '-');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout);
};

/** A started `attach`. */
async function attached(service: Service, capture: string, ...options: string[]): Promise<Running> {
  const running = new Running('attach', String(service.pid), '-o', capture, ...options);
  await running.wrote(/recording process/);
  return running;
}

const BEFORE = '(before attach)';
/** Waits until the service's thread has reported its earlier tensors, which it does in its event loop. */
const told = (capture: string) => until(async () => fs.readFileSync(capture).includes(BEFORE));
const siteOf = ({ sites }: Report, name: string) =>
  sites.find((site) => site.file === BEFORE || site.function === name);

test('earlier tensors are one site; later ones have their line; detach ends the recording, and attach reports', async () => {
  const service = await Service.start();
  await service.tell('hold 10');
  const { bytes } = await service.tell('memory');
  const listeners = await service.tell('listeners');
  const capture = file('exact');
  const running = await attached(service, capture);
  expect(fs.statSync(capture).mode & 0o777).toBe(0o600);
  await service.tell('hold 5');
  await service.tell('drop 4');
  await service.tell('view');

  const second = await refused('attach', String(service.pid), '-o', capture);
  expect(second).toMatch(/is already recorded \(.*exact\); to stop: leak-audit detach \d+/);

  const { code, stdout } = await leakAudit('detach', String(service.pid));
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining(`capture written to ${capture}`) });
  const outcome = await running.outcome;
  expect({ code: outcome.code, signal: outcome.signal }).toEqual({ code: 0, signal: null });
  expect(outcome.stdout).toMatch(/\(before attach\)/);

  const report = await reportOf(capture);
  expect(report.summary).toMatchObject({ ended: 'detached', liveTensors: 12, lostEvents: 0, liveBytes: bytes + 1024 });
  const figures = report.sites.map(({ file: of, function: fn, liveTensors, liveBytes, allocatedTensors }) => [
    of === BEFORE ? BEFORE : fn,
    { liveTensors, liveBytes, allocatedTensors },
  ]);
  // The view's base is one of the earlier tensors that are still alive.
  expect(Object.fromEntries(figures)).toEqual({
    [BEFORE]: { liveTensors: 6, liveBytes: 6 * 1024, allocatedTensors: 10 },
    hold: { liveTensors: 5, liveBytes: 5 * 1024, allocatedTensors: 5 },
    view: { liveTensors: 1, liveBytes: 0, allocatedTensors: 1 },
  });
  await until(async () => (await service.tell('listeners')) === listeners); // no listener is left in the service

  const again = await refused('detach', String(service.pid));
  expect(again).toMatch(/process \d+ is not recorded/);
  expect(await refused('mark', String(service.pid), 'late')).toMatch(/process \d+ is not recorded/);
});

test('a second capture starts afresh: tensors of the first count as earlier ones', async () => {
  const service = await Service.start();
  for (const [i, count] of [3, 7].entries()) {
    const running = await attached(service, file(`again-${i}`));
    await service.tell(`hold ${count}`);
    await leakAudit('detach', String(service.pid));
    await running.outcome;
  }
  const report = await reportOf(file('again-1'));
  expect(siteOf({ ...report, sites: report.sites.filter((s) => s.file === BEFORE) }, BEFORE)).toMatchObject({
    liveTensors: 3,
    liveBytes: 3 * 1024,
  });
  expect(report.sites.find((site) => site.function === 'hold')).toMatchObject({ liveTensors: 7, allocatedTensors: 7 });
});

test('Ctrl-C and --duration detach; --background returns at once', async () => {
  const service = await Service.start();
  await service.tell('hold 2');
  const running = await attached(service, file('interrupted'));
  await told(file('interrupted'));
  running.child.kill('SIGINT');
  expect(await running.outcome).toMatchObject({ code: 0, stdout: expect.stringContaining(BEFORE) });

  const timed = await leakAudit('attach', String(service.pid), '-o', file('timed'), '--duration', '300ms');
  expect(timed).toMatchObject({ code: 0, stdout: expect.stringMatching(/2 tensors/) });

  const background = await leakAudit('attach', String(service.pid), '-o', file('background'), '--background');
  expect(background).toMatchObject({ code: 0, stderr: '' });
  await service.tell('hold 1');
  await leakAudit('detach', String(service.pid));
  const reports = await Promise.all(['interrupted', 'timed', 'background'].map((name) => reportOf(file(name))));
  expect(reports.map(({ summary }) => [summary.ended, summary.liveTensors])).toEqual([
    ['detached', 2],
    ['detached', 2],
    ['detached', 3],
  ]);
});

test('marks, from outside and from code, are in every report', async () => {
  const service = await Service.start();
  await service.tell('mark unheard'); // without a recording it does nothing
  const running = await attached(service, file('marks'), '--html', file('marks.html'));
  await leakAudit('mark', String(service.pid), 'deploy 7 <b>');
  await service.tell('mark from code');
  await leakAudit('detach', String(service.pid));
  const { stdout } = await running.outcome;
  expect(stdout).toMatch(/ at {2}mark\n.*deploy 7 <b>\n.*from code\n/);
  const { marks, timeline } = await reportOf(file('marks'));
  expect(marks.map(({ name }) => name)).toEqual(['deploy 7 <b>', 'from code']);
  expect(marks[0]!.ms).toBeLessThanOrEqual(marks[1]!.ms);
  expect(marks[1]!.ms).toBeLessThanOrEqual(timeline.at(-1)!.ms);
  const html = fs.readFileSync(file('marks.html'), 'utf8');
  expect(html).toContain('from code');
  expect(html).not.toContain('deploy 7 <b>');
  const redacted = await leakAudit('report', file('marks'), '--redact-sources', '--json', '-');
  expect(redacted.stdout).not.toContain('deploy');
  for (const bad of ['', 'x'.repeat(201), 'two\nlines']) {
    expect(await refused('mark', String(service.pid), bad)).toMatch(/1 to 200 characters/);
  }
});

test('a killed leak-audit leaves a capture with an end, and a service that can be attached to again', async () => {
  const service = await Service.start();
  await service.tell('hold 4');
  const running = await attached(service, file('orphan'));
  running.child.kill('SIGKILL');
  await running.outcome;
  await until(async () => (await reportOf(file('orphan'))).summary.ended === 'abandoned');
  expect((await reportOf(file('orphan'))).summary).toMatchObject({ liveTensors: 4, lostEvents: 0 });
  await service.tell('hold 1');
  expect(await leakAudit('attach', String(service.pid), '-o', file('next'), '--duration', '200ms')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/5 tensors/),
  });
});

test('a stopped service does not block attach: the second Ctrl-C ends it', async () => {
  const service = await Service.start();
  await service.tell('hold 2');
  const running = await attached(service, file('stopped'));
  service.child.kill('SIGSTOP');
  running.child.kill('SIGINT');
  running.child.kill('SIGTERM');
  const { code, stdout } = await running.outcome;
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('memory') });
  service.child.kill('SIGCONT');
  await until(async () => (await reportOf(file('stopped'))).summary.liveTensors === 2);
});

test('if the service is killed or ends, attach ends with its report', async () => {
  const [killed, ended] = await Promise.all([Service.start(), Service.start()]);
  await Promise.all([killed.tell('hold 3'), ended.tell('hold 3')]);
  const runs = [await attached(killed, file('killed')), await attached(ended, file('ended'))];
  await Promise.all([killed.tell('hold 2'), ended.tell('hold 2')]);
  await until(async () => readCapture(file('killed')).ticks.at(-1)?.tensors === 5);
  killed.kill();
  ended.say('exit');
  const outcomes = await Promise.all(runs.map(({ outcome }) => outcome));
  expect(outcomes.map(({ code }) => code)).toEqual([0, 0]);
  expect(outcomes[0]!.stdout).toMatch(/the capture has no end: the program was killed/);
  const reports = await Promise.all(['killed', 'ended'].map((name) => reportOf(file(name))));
  expect(reports.map(({ summary }) => [summary.ended, summary.liveTensors])).toEqual([
    ['killed', 5],
    ['exit', 5],
  ]);
});

test('a process with a blocked event loop can be inspected and recorded', async () => {
  const service = await Service.start();
  await service.tell('hold 6');
  expect(await service.tell(`spin ${file('go-on')}`)).toBe('blocked');
  const running = await attached(service, file('blocked'));
  const snapshot = await until(async () => {
    const { stdout } = await leakAudit('snapshot', String(service.pid), '--json');
    const all = JSON.parse(stdout);
    return all.sites.length > 1 && all; // it has made its next tensor
  });
  await leakAudit('detach', String(service.pid));
  fs.writeFileSync(file('go-on'), '');
  await service.answer();
  await running.outcome;
  expect(snapshot).toMatchObject({ version: 1, pid: service.pid, mode: 'full' });
  expect(snapshot.sites.find((site: { file: string }) => site.file === BEFORE).liveTensors).toBeGreaterThanOrEqual(6);
  const { sites } = await reportOf(file('blocked'));
  const spin = sites.find(({ stack }) => stack.some((frame) => frame.function.includes('spin')));
  expect(spin?.allocatedTensors).toBeGreaterThan(0);
});

test('snapshot: by device at any time, by site during a recording', async () => {
  const service = await Service.start();
  await service.tell('hold 3');
  const first = JSON.parse((await leakAudit('snapshot', String(service.pid), '--json')).stdout);
  const { tensors, storages, bytes, devices } = await service.tell('memory');
  expect(first).toMatchObject({ tensors, storages, bytes, sites: null, mode: null });
  expect(first.devices).toEqual([{ device: 'cpu', ...devices.cpu }]);
  const { stdout } = await leakAudit('snapshot', String(service.pid));
  expect(stdout).toMatch(/^process \d+: 3 tensors on 3 storages hold 3\.0 KiB/);
  expect(stdout).toMatch(/No sites: leak-audit attach/);
});

test('--mode and --max-size apply to attach too; sample counts earlier tensors exactly', async () => {
  const service = await Service.start();
  await service.tell('hold 20');
  const running = await attached(service, file('sampled'), '--mode', 'sample', '--max-size', '1MiB');
  await service.tell('sample');
  await leakAudit('detach', String(service.pid));
  await running.outcome;
  const { summary, sites } = await reportOf(file('sampled'));
  expect(summary).toMatchObject({ mode: 'sample', liveTensors: 21 });
  expect(sites.find((site) => site.file === BEFORE)).toMatchObject({ liveTensors: 20, liveBytes: 20 * 1024 });
  expect(sites.find((site) => site.function === 'sample')).toMatchObject({ liveTensors: 1, liveBytes: 2 ** 22 });

  const counted = await leakAudit(
    ...['attach', String(service.pid), '-o', file('counted'), '--mode', 'counters', '--duration', '200ms'],
  );
  expect(counted.code).toBe(0);
  expect((await reportOf(file('counted'))).summary).toMatchObject({ mode: 'counters', liveTensors: 21 });
});

test('the capture contains the process’s memory limit, so that a report elsewhere does not use its own', async () => {
  const service = await Service.start();
  await leakAudit('attach', String(service.pid), '-o', file('limit'), '--duration', '100ms');
  const { bytes, from } = memoryLimit();
  expect((await reportOf(file('limit'))).summary).toMatchObject({ memoryLimitBytes: bytes, memoryLimitFrom: from });
  expect(fs.readFileSync(file('limit'), 'latin1')).toContain(`"memoryLimit":{"bytes":${bytes},"from":"${from}"}`);
});

test('a process under leak-audit run is already recorded', async () => {
  const capture = file('run');
  const service = await Service.start({
    command: [process.execPath, 'dist/cli/leak-audit.js', 'run', '--quiet', '-o', capture, '--', process.execPath],
  });
  await service.tell('hold 2');
  const recorded = String(await service.tell('pid'));
  expect(await refused('attach', recorded)).toMatch(/is already recorded by leak-audit run/);
  expect(await refused('detach', recorded)).toMatch(/is already recorded by leak-audit run/);
  expect(await leakAudit('mark', recorded, 'seen')).toMatchObject({ code: 0 });
  service.say('exit');
  await service.exited;
  const { marks, sites } = await reportOf(capture);
  expect(marks.map(({ name }) => name)).toEqual(['seen']);
  expect(sites.map((site) => site.file)).not.toContain(BEFORE);
});
