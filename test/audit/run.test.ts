/** `leak-audit run` end to end, with the built command and the built addon, on small programs. */
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import * as esbuild from 'esbuild';
import type { Report } from '../../cli/analysis/report';
import { readCapture } from '../../cli/capture/reader';
import { ms } from '../support/async';
import type { Outcome } from '../support/child';
import { Service } from '../support/service';
import { auditProgram, CLI, fixture, leakAudit, ROOT } from './command';

/** How often the programs work, at least 10 ms apart: about 320 rounds of 25 ms, most of which a slow machine may miss. */
const WORK = '800';
const INTERVAL = ['--interval', '100ms'];

// Inside the package, so that programs in it find 'libtorch-node'.
const folder = path.join(ROOT, 'build', 'test-audit', String(process.pid));
const KEPT = path.join(folder, 'kept.ltna');
/** A recording beside those of the first tests, because all of them mostly sleep. */
let kept: Promise<Outcome>;
beforeAll(() => {
  fs.mkdirSync(folder, { recursive: true });
  kept = auditProgram('run', '--quiet', ...INTERVAL, '-o', KEPT, '--', 'node', fixture('leaky.cjs'), WORK);
});
afterAll(async () => {
  await kept;
  fs.rmSync(folder, { recursive: true, force: true });
});
afterAll(() => esbuild.stop());

let reports = 0;
/** Runs a fixture with `--json`; returns the report and the outcome. */
async function report(program: string[], options: string[] = []): Promise<Outcome & { report: Report }> {
  const json = path.join(folder, `report-${reports++}.json`);
  const outcome = await auditProgram('run', ...INTERVAL, '--json', json, ...options, '--', 'node', ...program);
  return { ...outcome, report: JSON.parse(fs.readFileSync(json, 'utf8')) as Report };
}

describe('verdicts', () => {
  // All at once, because they mostly sleep.
  const TYPESCRIPT = `import * as torch from 'libtorch-node';
type Entry = { tensor: unknown };
const held: Entry[] = ((globalThis as { held?: Entry[] }).held = []); // until the exit, after its timer has ended
interface Unused { a: number }
const timer = setInterval((): void => {
  held.push({ tensor: torch.zeros([1024]) });
  if (held.length === Number(process.argv[2])) clearInterval(timer);
}, 10);
`;
  let leaky: Awaited<ReturnType<typeof report>>;
  let clean: typeof leaky;
  let esm: typeof leaky;
  let worker: typeof leaky;
  let typescript: typeof leaky;
  const source = path.join(folder, 'leaky.ts');

  beforeAll(async () => {
    fs.writeFileSync(source, TYPESCRIPT);
    const compiled = path.join(folder, 'out', 'leaky.js');
    esbuild.buildSync({ entryPoints: [source], outfile: compiled, format: 'cjs', sourcemap: true, logLevel: 'silent' });
    [leaky, clean, esm, worker, typescript] = await Promise.all([
      report([fixture('leaky.cjs'), WORK], ['--check']),
      report([fixture('clean.cjs'), WORK], ['--check']),
      report([fixture('esm.mjs'), WORK]),
      report([fixture('worker.cjs'), WORK]),
      report([compiled, WORK]),
    ]);
  }, 60_000);

  test('a leak is found at its line, and --check exits with 1', () => {
    expect(leaky.report.verdict).toBe('leak');
    const site = leaky.report.sites[0]!;
    expect(site).toMatchObject({ file: fixture('leaky.cjs'), line: 12, function: 'handle', verdict: 'leak' });
    expect(site.liveTensors).toBe(Number(WORK));
    expect(site.liveBytes).toBe(site.liveTensors * 4096);
    // The speed depends on the machine, so it is compared with the speeds of the recorded rounds, a quarter of them each.
    const { timeline } = leaky.report;
    const quarter = Math.ceil(timeline.length / 4);
    const speeds = timeline.slice(quarter).map((to, i) => {
      const from = timeline[i]!;
      return ((to.liveBytes - from.liveBytes) / (to.ms - from.ms)) * 60_000;
    });
    const [slowest, fastest] = [Math.min(...speeds), Math.max(...speeds)];
    const garbage = 512 / 4096; // of each round's growth, until it is collected
    expect(site.growthBytesPerMinute).toBeGreaterThanOrEqual(slowest * (1 - garbage));
    expect(site.growthBytesPerMinute).toBeLessThanOrEqual(fastest * (1 + garbage));
    expect(leaky.report.sites.filter((one) => one.verdict === 'leak')).toHaveLength(1);
    expect(leaky.code).toBe(1);
    expect(leaky.stdout).toMatch(/LEAK {2}.*leaky\.cjs:12:\d+ \(handle\) leaks/);
    expect(leaky.stderr).toMatch(/time +tensors +storages +live/);
  });

  test('a program that only fills its cache is clean', () => {
    expect(clean.report.sites.filter((one) => one.verdict === 'leak')).toEqual([]);
    expect(clean.report.verdict).toBe('clean');
    expect(clean.code).toBe(0);
    expect(clean.stdout).toMatch(/CLEAN/);
  });

  test('the totals are those of the library', () => {
    const { summary, timeline } = leaky.report;
    expect(summary.liveBytes).toBeGreaterThan(0);
    expect(summary.allocatedBytes).toBeGreaterThanOrEqual(summary.liveBytes);
    expect(summary.rss).toBeGreaterThan(summary.allocatedBytes);
    expect(timeline.at(-1)!.heapUsed).toBeGreaterThan(0);
    expect(timeline.at(-1)!.external).toBeGreaterThan(0);
    expect(summary.ended).toBe('exit');
  });

  test('ES modules are named by path', () => {
    expect(esm.report.sites[0]).toMatchObject({ file: fixture('esm.mjs'), line: 7, verdict: 'leak' });
  });

  test('worker threads are in the same capture', () => {
    expect(worker.report.sites[0]).toMatchObject({ file: fixture('worker.cjs'), line: 12, verdict: 'leak' });
  });

  test('TypeScript is named by its own line', () => {
    expect(typescript.report.sites[0]).toMatchObject({ file: source, line: 6, verdict: 'leak' });
  });
});

describe('the program is not affected', () => {
  const run = async (args: string[]) => {
    const outcome = await auditProgram(
      'run',
      '--quiet',
      '--json',
      path.join(folder, 'ignored.json'),
      '--',
      'node',
      ...args,
    );
    return { ...outcome, seen: JSON.parse(outcome.stdout.split('\n')[0]!) };
  };

  test('arguments, environment, streams and exit status are unchanged', async () => {
    const args = [fixture('transparent.cjs'), 'torch', '7', '--check', '-o', 'x'];
    const { code, seen, stderr } = await run(args);
    const plain = spawnSync(process.execPath, args);
    expect(seen).toEqual(JSON.parse(plain.stdout.toString()));
    expect(seen).toMatchObject({ argv: ['torch', '7', '--check', '-o', 'x'], audit: [], childAudit: '' });
    expect(stderr).toBe('to stderr\n');
    expect(code).toBe(7);
  });

  test('a program that never loads the library does not get a verdict', async () => {
    const { code, stdout } = await run([fixture('transparent.cjs'), 'no-torch']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/INSUFFICIENT {2}nothing was recorded: the program never loaded libtorch-node\./);
  });

  test('a program started by a shell is recorded', async () => {
    const json = path.join(folder, 'shell.json');
    const line = `node ${fixture('transparent.cjs')} torch`;
    await auditProgram('run', '--quiet', '--json', json, '--', 'sh', '-c', line);
    expect(JSON.parse(fs.readFileSync(json, 'utf8')).summary.ended).toBe('exit');
  });
});

describe('signals', () => {
  /** Sends `signal` to the command or, by `to`, to the program itself, once its tensor is in the capture. */
  const killed = async (signal: NodeJS.Signals, to: 'command' | 'program', handled = false) => {
    const file = path.join(folder, `${signal}-${to}.ltna`);
    const send = async (command: number, program: number) => {
      while (readCapture(file).ticks.at(-1)?.tensors !== 1) await ms(50);
      process.kill(to === 'command' ? command : program, signal);
    };
    const run = ['run', '--quiet', '-o', file, '--', 'node'];
    const service = await Service.start({ command: [process.execPath, CLI, ...run] });
    await service.tell('hold 1');
    if (handled) await service.tell('handle SIGTERM SIGINT SIGUSR2');
    await send(service.pid, await service.tell('pid'));
    return service.outcome;
  };

  test('are forwarded, and the program handles them', async () => {
    for (const signal of ['SIGTERM', 'SIGUSR2'] as const) {
      const { code, stdout } = await killed(signal, 'command', true);
      expect(code).toBe(9);
      expect(stdout).toMatch(`got ${signal} with 1`);
    }
  });

  test('a program killed by SIGKILL leaves a report, and the command dies by the same signal', async () => {
    const { signal, stdout } = await killed('SIGKILL', 'program');
    expect(signal).toBe('SIGKILL');
    expect(stdout).toMatch(/1 tensors? .*alive|1 tensors on 1 storages/);
    expect(stdout).toMatch(/the capture has no end: the program was killed/);
  });

  test('SIGTERM without a handler ends both', async () => {
    const { signal } = await killed('SIGTERM', 'command');
    expect(signal).toBe('SIGTERM');
  });
});

describe('captures', () => {
  test('are kept with -o, and can be reported and checked', async () => {
    await kept;
    const shown = await leakAudit('report', KEPT);
    expect(shown.code).toBe(0);
    expect(shown.stdout).toMatch(/LEAK .*leaky\.cjs:12/);
    expect((await leakAudit('report', KEPT, '--json', '-')).stdout).toMatch(/^\{\n {2}"version": 1/);
    const checked = await leakAudit('check', KEPT);
    expect(checked.code).toBe(1);
    expect(checked.stdout).toMatch(/^leak\n/);
  });

  test('sampled and counted programs are reported', async () => {
    const [sampled, counted] = await Promise.all([
      report([fixture('leaky.cjs'), '150'], ['--mode', 'sample']),
      report([fixture('leaky.cjs'), '150'], ['--mode', 'counters']),
    ]);
    expect(sampled.report.summary).toMatchObject({ mode: 'sample', ended: 'exit' });
    expect(counted.report.sites).toEqual([]);
    expect(counted.report.summary.liveTensors).toBeGreaterThanOrEqual(150); // and garbage
  });
});

test.each([
  [[], 'Usage'],
  [['run'], 'no program given'],
  [['run', '--mode', 'wrong', '--', 'node'], 'Allowed choices'],
  [['run', '--interval', 'soon', '--', 'node'], 'expected a duration'],
  [['run', '--frames', '0', '--', 'node'], 'expected 1 to 64, got 0'],
  [['run', '--max-size', '1000', '--', 'node'], 'expected at least 256.0 KiB'],
  [['run', '--sample-bytes', 'few', '--', 'node'], 'expected a size'],
  [['run', '--sample-bytes', '4KiB', '--', 'node'], 'expected --mode sample beside it, got --mode full'],
  [['run', '-o', '', '--', 'node'], "expected the name of a file to write, got ''"],
  [['run', '--html', '/no/such/folder/x', '--', 'node', '-e', ''], 'cannot write'],
  [['run', '--json', '/no/such/folder/x', '--', 'node', '-e', ''], 'cannot write'],
  [['run', '--', '/no/such/program'], 'not found'],
  [['report'], 'missing required argument'],
  [['report', '/no/such/file'], 'no such file'],
  [['check', __filename], 'not a leak-audit capture'],
  [['nonsense'], 'unknown command'],
])('usage error: leak-audit %j', async (args, message) => {
  const { code, stdout, stderr } = await auditProgram(...args);
  expect(stderr).toContain(message);
  expect(stdout).toBe('');
  expect(code).toBe(2);
});

test('--help of every command goes to stdout with status 0', async () => {
  for (const args of [['--help'], ['run', '--help'], ['report', '--help'], ['check', '--help'], ['repair', '--help']]) {
    const { code, stdout } = await auditProgram(...args);
    expect(code).toBe(0);
    expect(stdout).toMatch(/Usage: leak-audit/);
  }
});
