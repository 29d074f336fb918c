/** `leak-audit report A B …`: several processes in one report. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { PacketType } from '../../cli/capture/format';
import { CaptureBuilder } from './capture-builder';
import { leakAudit, ROOT, testFolder } from './command';

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

describe('ranks of a group', () => {
  /** All hold the same model. Line 42 runs in both, and leaks in rank 1. */
  function rank(rank: number): Buffer {
    const builder = new CaptureBuilder({ pid: 100 + rank, rank, worldSize: 3, startedAt: 1_700_000_000_000 })
      .site(1, MODEL)
      .site(2, LEAK)
      .label(1, { rank: String(rank) });
    for (let i = 1; i <= ROUNDS; i++) {
      const live = rank === 1 ? i : 1;
      builder.tick({ ms: i * 250 }, [
        { site: 1, label: 1, liveTensors: 4, liveBytes: 400_000, allocatedTensors: 4, oldestBirthMs: 10 },
        {
          site: 2,
          label: 1,
          liveTensors: live,
          liveBytes: live * 65_536,
          allocatedTensors: 10 * i,
          oldestBirthMs: 300,
        },
      ]);
    }
    return builder.text(PacketType.End, { reason: 'exit', ms: ROUNDS * 250, lost: 0 }).build();
  }
  const files = ['rank-1.ltna', 'rank-0.ltna'].map(file);
  beforeAll(() => {
    fs.writeFileSync(files[0]!, rank(1));
    fs.writeFileSync(files[1]!, rank(0));
  });

  test('a leak names its rank and line, and the ranks are compared', async () => {
    const page = file('ranks.html');
    const json = file('ranks.json');
    const { code, stdout } = await leakAudit(['report', ...files, '--json', json, '--html', page, '--by', 'rank']);
    expect(code).toBe(0);
    expect(stdout.replace(/\s+/g, ' ')).toMatch(
      /LEAK \S*server\.js:42:14 \(classify\) leaks .* \(.*\) per minute in rank 1,/,
    );
    expect(stdout).toMatch(/^ *0 +5 +454\.6 KiB +454\.6 KiB +-1\.8 MiB/m);
    expect(stdout).toMatch(/^ *1 +64 +4\.1 MiB +4\.1 MiB +\+1\.8 MiB/m);
    expect(stdout).toMatch(/^there is no capture of rank 2$/m);
    // --by rank: a row for the label of each.
    expect(stdout).toMatch(/^ *64 +4\.1 MiB .* 1$/m);
    const report = JSON.parse(fs.readFileSync(json, 'utf8'));
    const [low, high] = [465_536, 400_000 + ROUNDS * 65_536];
    expect(report.ranks.map(({ rank, pid, liveBytes, skewBytes }: any) => [rank, pid, liveBytes, skewBytes])).toEqual([
      [0, 100, low, (low - high) / 2],
      [1, 101, high, (high - low) / 2],
    ]);
    expect(report.ranks[1].history).toHaveLength(48);
    expect(report.ranks[1].history.at(-1)).toBe(high);
    expect(report.missingRanks).toEqual([2]);
    const [leak, model] = report.sites;
    expect(leak.ranks.map(({ rank, liveTensors, grownTensors }: any) => [rank, liveTensors, grownTensors])).toEqual([
      [1, ROUNDS, ROUNDS - 16],
      [0, 1, 0],
    ]);
    expect(model.ranks.map(({ rank, grownBytes }: any) => [rank, grownBytes])).toEqual([
      [0, 0],
      [1, 0],
    ]);
    const html = fs.readFileSync(page, 'utf8');
    expect(html).toContain('<h2 id="h-rank">By rank</h2>');
    expect(html).toMatch(/<tr><th scope="row">1<\/th>.*<td class="number">\+1\.8 MiB<\/td>/);
    expect(html).toContain('There is no capture of rank 2.');
  });

  test('check judges them as one', async () => {
    const { code, stdout } = await leakAudit(['check', ...files]);
    expect([code, stdout.replace(/\s+/g, ' ')]).toEqual([
      1,
      expect.stringMatching(/^leak \S*server\.js:42:14 grows by .* per minute in rank 1 \(confidence/),
    ]);
    expect((await leakAudit(['check', files[1]!])).code).toBe(0);
    const twice = await leakAudit(['check', files[0]!, files[0]!]);
    expect([twice.code, twice.stderr]).toEqual([2, expect.stringMatching(/capture 1 and capture 2 are both/)]);
  });

  test('a process records its rank, and labels its tensors with it', async () => {
    const capture = file('recorded.ltna');
    const lines = [
      `const torch = require(${JSON.stringify(path.join(ROOT, 'dist/lib/index.js'))});`,
      `const all = [torch.zeros([1000])];`,
      `torch.audit.label('route', 'a', () => all.push(torch.zeros([2000])));`,
    ];
    // Slurm's variables count where torchrun's are not set.
    const slurm = { SLURM_PROCID: '7', SLURM_NTASKS: '4' };
    const env = { ...globalThis.process.env, RANK: '2', WORLD_SIZE: '', ...slurm };
    const ran = await leakAudit(['run', '-o', capture, '--', globalThis.process.execPath, '-e', lines.join('\n')], env);
    expect(ran.stdout).toMatch(/there is no capture of ranks 0, 1 and 3/);
    const { code, stdout } = await leakAudit(['report', capture, '--by', 'rank']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ *2 +11\.7 KiB .* 2$/m); // label rank
    expect((await leakAudit(['report', capture, '--by', 'route'])).stdout).toMatch(/^ *1 +7\.8 KiB .* a$/m);
  });

  const LIBRARY = JSON.stringify(path.join(ROOT, 'dist/lib/index.js'));
  const withoutLauncher = { RANK: undefined, WORLD_SIZE: undefined, SLURM_PROCID: undefined, SLURM_NTASKS: undefined };
  const node = (capture: string, source: string, variables: NodeJS.ProcessEnv) =>
    leakAudit(['run', '-o', capture, '--', globalThis.process.execPath, '-e', source], {
      ...globalThis.process.env,
      ...withoutLauncher,
      ...variables,
    });
  /** What the first packet of a capture says, and a later one. */
  const told = (capture: string) =>
    [...fs.readFileSync(capture, 'latin1').matchAll(/(.)"rank":(\d+),"worldSize":(\d+)/g)].map(
      ([, before, ...numbers]) => [before === '{' ? 'later' : 'at the start', ...numbers],
    );

  test("the label is Slurm's rank too", async () => {
    const capture = file('slurm.ltna');
    const slurm = { RANK: '', SLURM_PROCID: '3', SLURM_NTASKS: '5' };
    const ran = await node(capture, `globalThis.held = require(${LIBRARY}).zeros([1000]);`, slurm);
    expect(ran.stdout).toMatch(/there is no capture of ranks 0, 1, 2 and 4/);
    expect((await leakAudit(['report', capture, '--by', 'rank'])).stdout).toMatch(/^ *1 +3\.9 KiB .* 3$/m);
  });

  /** A program that joins a group of one process, with a tensor of each kind: before and after. */
  const joining = (store: string, then = '') => `
    const torch = require(${LIBRARY});
    const { native } = require(${JSON.stringify(path.join(ROOT, 'dist/lib/addon/native.js'))});
    const held = [torch.zeros([1000])];
    const options = { initMethod: ${JSON.stringify(`file://${store}`)}, rank: 0, worldSize: 1 };
    torch.distributed.initProcessGroup(options).then(async () => {
      held.push(torch.zeros([2000]));
      await torch.distributed.destroyProcessGroup();
      ${then}
      setTimeout(() => globalThis.held = held, 100);
    });`;

  test('without a launcher it is that of the group which the process joins', async () => {
    const [running, later, store] = ['running.ltna', 'later.ltna', 'store'].map(file) as [string, string, string];
    const then = `native.auditStop('stopped'); native.auditStart({ file: ${JSON.stringify(later)}, mode: 'full' });`;
    expect((await node(running, joining(store, then), {})).code).toBe(0);
    expect([told(running), told(later)]).toEqual([[['later', '0', '1']], [['at the start', '0', '1']]]);
    // Tensors that were made before have no label.
    const { stdout } = await leakAudit(['report', running, '--by', 'rank']);
    expect(stdout).toMatch(/^ *1 +7\.8 KiB .* 0$/m);
    for (const capture of [running, later]) {
      const report = JSON.parse((await leakAudit(['report', capture, '--json', '-'])).stdout);
      expect(report.ranks).toEqual([expect.objectContaining({ rank: 0 })]);
    }
  });

  test('the launcher counts more than the group', async () => {
    const capture = file('launched.ltna');
    expect((await node(capture, joining(file('store-2')), { RANK: '2', WORLD_SIZE: '4' })).code).toBe(0);
    expect(told(capture)).toEqual([['at the start', '2', '4']]);
  });
});
