/** The lines of `run --follow-children` and `live FILE` include the children. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { FollowedChildren } from '../../cli/capture/followed-children';
import { fileHeader } from '../../cli/capture/format';
import { joinChildren } from '../../cli/capture/join';
import { CaptureFollower } from '../../cli/capture/reader';
import { openSource } from '../../cli/live/source';
import { limitMs, ordinaryEnv } from '../support/sanitized';
import { Service, until } from '../support/service';
import { CaptureBuilder } from './capture-builder';
import { CLI, testFolder } from './command';

const folder = testFolder();
jest.setTimeout(limitMs(240_000));

const START = { clockMs: 1_000_000, intervalMs: 100 };
/** Larger than any process id. */
const NOBODY = 99_999_999;

/** Two rounds with `live` of `made` tensors alive, from one site of its own and one of a shared site. */
function captureOf(pid: number, live: number, made: number, clockMs = START.clockMs): CaptureBuilder {
  const builder = new CaptureBuilder({ ...START, pid, clockMs })
    .site(1, [`/${made}.js`, 1, 1])
    .site(2, ['/shared.js', 5, 1]);
  for (const ms of [100, 200]) {
    builder.tick({ ms, allocatedBytes: 5000 }, [
      { site: 1, liveTensors: live, liveBytes: live * 100, allocatedTensors: made, allocatedBytes: made * 100 },
      { site: 2, liveTensors: 1, liveBytes: 8, allocatedTensors: 2, allocatedBytes: 16 },
    ]);
  }
  return builder;
}

let count = 0;
/** A capture of this process, and those of children by the ends of their names. */
function captures(children: Record<string, CaptureBuilder | Buffer>): string {
  const file = path.join(folder, `${count++}.ltna`);
  fs.writeFileSync(file, captureOf(process.pid, 3, 30).build());
  for (const [name, child] of Object.entries(children))
    fs.writeFileSync(`${file}.${name}.child`, Buffer.isBuffer(child) ? child : child.build());
  return file;
}

test('running children are counted, and the tensors made by ended ones', async () => {
  const later = START.clockMs + 50;
  const file = captures({
    [`${process.pid}-1`]: captureOf(process.pid, 4, 40, later),
    '71': captureOf(process.pid, 100, 500, later).end(),
    [NOBODY]: captureOf(NOBODY, 100, 600, later), // killed
    '72': captureOf(process.pid, 100, 700, START.clockMs - 5000), // left behind by an earlier run
    [`${process.pid}-2`]: fileHeader(0), // runs, and has not come to its first round
    [`${NOBODY}-3`]: fileHeader(0),
  });
  const source = await openSource(file);
  for (let look = 0; look < 2; look++) {
    const state = (await source.look())!;
    expect(state).toMatchObject({
      ms: 200,
      ...{ tensors: 3 + 4 + 2, bytes: 716, allocatedBytes: 10_000, processes: 2, unread: 1 },
      made: { tensors: 30 + 40 + 500 + 600 + 4 * 2, bytes: 100 * (30 + 40 + 500 + 600) + 4 * 16 },
      devices: [{ device: 'cpu', tensors: 9, bytes: 716 }],
    });
    const sites = state.sites.map((site) => [site.file, site.liveTensors, site.allocatedTensors]);
    expect(sites.sort()).toEqual([
      ['/30.js', 3, 30],
      ['/40.js', 4, 40],
      ['/500.js', 0, 500],
      ['/600.js', 0, 600],
      ['/shared.js', 2, 8],
    ]);
  }
  // After they are joined, the file itself has the same data.
  fs.writeFileSync(`${file}.${process.pid}-1.child`, captureOf(process.pid, 4, 40, later).end().build());
  for (const name of ['72', `${process.pid}-2`, `${NOBODY}-3`]) fs.rmSync(`${file}.${name}.child`);
  joinChildren(file);
  expect(await source.look()).toMatchObject({ tensors: 4, processes: 1, unread: 0, made: { tensors: 1178 } });
  await source.close();
});

test('a growing file of a child, a damaged one, and an attached process, whose children are not followed', () => {
  const file = captures({ [process.pid]: fileHeader(0), [`${process.pid}-1`]: Buffer.from('no capture') });
  const own = new CaptureFollower(file);
  own.poll();
  const followed = new FollowedChildren(own);
  const looked = () => {
    const { running, unread } = followed.read();
    return [running.map(({ ticks }) => ticks.at(-1)!.tensors), unread];
  };
  expect(looked()).toEqual([[], 2]);
  fs.writeFileSync(`${file}.${process.pid}.child`, captureOf(process.pid, 6, 6).build());
  expect(looked()).toEqual([[7], 1]);
  followed.close();

  const attached = new CaptureBuilder({ ...START, pid: process.pid, attached: true }).tick({ ms: 100 }, []);
  fs.writeFileSync(file, attached.build());
  const other = new CaptureFollower(file);
  other.poll();
  expect(new FollowedChildren(other).read()).toEqual({ running: [], unread: 0 });
  for (const follower of [own, other]) follower.close();
});

test('the last data of a process counts, also if it ends between the check of its file and the check of the process', async () => {
  const builder = new CaptureBuilder({ ...START, pid: NOBODY, clockMs: START.clockMs + 50 }).site(1, ['/a.js', 1, 1]);
  const row = (made: number) => [{ site: 1, liveTensors: made, liveBytes: 4 * made, allocatedTensors: made }];
  const first = builder.tick({ ms: 100 }, row(1)).build();
  const last = builder.tick({ ms: 200 }, row(5)).end().build().subarray(first.length);
  let growing = '';
  const gone = jest.spyOn(process, 'kill').mockImplementation((pid) => {
    if (pid !== NOBODY) return true;
    fs.appendFileSync(growing, last);
    throw Object.assign(new Error('gone'), { code: 'ESRCH' });
  });
  try {
    const parentFile = captures({ [NOBODY]: first });
    growing = `${parentFile}.${NOBODY}.child`;
    const parent = await openSource(parentFile);
    expect(await parent.look()).toMatchObject({ processes: 1, made: { tensors: 30 + 2 + 5 } });
    await parent.close();

    growing = path.join(folder, 'alone.ltna');
    fs.writeFileSync(growing, first);
    const alone = await openSource(growing);
    expect(await alone.look()).toMatchObject({ ms: 200, tensors: 5 });
    expect(alone.ended).toBe('the recording has ended (exit)');
    await alone.close();
  } finally {
    gone.mockRestore();
  }
});

test('run and live count a child while it runs', async () => {
  const file = path.join(folder, 'run.ltna');
  const options = ['run', '--follow-children', '--interval', '100ms', '-o', file, '--json', `${file}.json`];
  const service = await Service.start({
    env: ordinaryEnv(),
    variables: { COLUMNS: '80' },
    command: [process.execPath, CLI, ...options, '--', process.execPath],
  });
  let before = 0;
  const shown = () => service.said().slice(before);
  const comes = (line: RegExp) =>
    until(async () => {
      if (service.child.exitCode !== null) throw new Error(`it has ended: ${shown()}`);
      return line.test(shown());
    });
  await service.tell('hold 1');
  await service.tell('fork');
  await service.tell('child 0 hold 10');
  await comes(/^ +[\d.:]+s? +11 +11 .* +2( {2}\S+)?$/m);
  expect(shown()).toMatch(/^ +time +tensors +storages .* procs$/m);

  const source = await openSource(file);
  await until(async () => (await source.look())?.processes === 2);
  const state = (await source.look())!;
  expect(state).toMatchObject({ tensors: 11, unread: 0, made: { tensors: 11, bytes: 11 * 1024 } });

  expect(await service.tell('end 0')).toBe(0);
  await until(async () => (await source.look())?.processes === 1);
  expect(await source.look()).toMatchObject({ tensors: 1, made: { tensors: 11 } });
  before = service.said().length;
  await comes(/^ +[\d.:]+s? +1 +1 .* +1( {2}\S+)?$/m);
  service.say('exit');
  expect((await service.outcome).code).toBe(0);
  await source.close();
  expect(JSON.parse(fs.readFileSync(`${file}.json`, 'utf8')).summary.liveTensors).toBe(1);
});
