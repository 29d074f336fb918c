/** `libtorch-node doctor`, the built program in real processes. */
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import type { Findings } from '../../cli/doctor/examine';
import { type Check, judge } from '../../cli/doctor/judge';
import { type Outcome, run } from '../support/child';
import { ROOT, torch } from '../support/torch';
import { container, folder, GIB, MIB } from './machine';

const program = path.join(ROOT, 'dist/cli/libtorch-node.js');
const doctor = (args: string[] = [], env: NodeJS.ProcessEnv = {}): Promise<Outcome> =>
  run(process.execPath, [program, 'doctor', ...args], { env: { ...process.env, NO_COLOR: '1', ...env } });

interface Report {
  version: number;
  verdict: string;
  checks: Check[];
  memoryLimit: { bytes: number; heapMiB: number | null; fits: boolean; of: string } | null;
  findings: Findings;
}

async function report(args: string[] = [], env: NodeJS.ProcessEnv = {}) {
  const outcome = await doctor(['--json', ...args], env);
  const json = JSON.parse(outcome.stdout) as Report;
  const check = (name: string) => json.checks.find((other) => other.name === name);
  return { ...outcome, json, check };
}

const addonFile = process.env.LIBTORCH_NODE_ADDON ?? path.join(ROOT, 'build/Release/libtorch_node.node');
const compile = (args: string[]) => execFileSync('g++', args, { stdio: 'pipe' });

describe('a machine without problems', () => {
  it('gets a short text', async () => {
    const { code, stdout, stderr } = await doctor();
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const names = stdout.split('\n').map((line) => /^(?:ok|note|PROBLEM) +(\w+)/.exec(line)?.[1]);
    expect(names.filter(Boolean)).toEqual([
      ...['versions', 'libtorch', 'addon', 'op', 'cpu', 'threads', 'blas', 'gpu', 'collector', 'memory'],
    ]);
    expect(stdout).toContain(`libtorch ${torch.libtorchVersion}, Node ${process.versions.node}`);
    expect(stdout).toContain(addonFile);
    expect(stdout.split('\n').length).toBeLessThan(30);
    expect(stdout.trimEnd().endsWith('healthy')).toBe(true);
  });

  it('as JSON, with the data behind the text', async () => {
    const { code, stderr, json, check } = await report();
    expect({ code, stderr, version: json.version, verdict: json.verdict }).toEqual({
      code: 0,
      stderr: '',
      version: 1,
      verdict: 'healthy',
    });
    expect(check('op')!.summary).toMatch(/ is 6$/);
    expect(check('collector')!.status).toBe('ok');
    expect(json.findings.probe.memory!.rss).toBeGreaterThan(50 * MIB);
    const summaries = judge({ ...json.findings, cores: 1 }).map(({ summary }) => summary);
    expect(summaries.filter((summary) => /\b1 cores?\b/.test(summary))).toEqual([
      expect.stringMatching(/on 1 core$/),
      expect.stringMatching(/ of 1 core \(/),
    ]);
  });
});

describe('an addon that does not load', () => {
  it('is missing', async () => {
    const { code, json, check } = await report([], { LIBTORCH_NODE_ADDON: '/nowhere/x.node' });
    expect({ code, verdict: json.verdict }).toEqual({ code: 1, verdict: 'problems' });
    expect(check('addon')).toMatchObject({ status: 'problem', details: ['  /nowhere/x.node: does not exist'] });
    expect(check('addon')!.fix).toContain('npm run build');
    expect(check('op')).toBeUndefined();
  });

  it('is not a library, lacks one, or is another addon: each with its reason and its fix', async () => {
    const at = folder();
    const file = (name: string) => path.join(at, name);
    fs.writeFileSync(file('text.node'), 'no library');
    fs.writeFileSync(file('a.cpp'), 'int missing(); int used() { return missing(); }');
    fs.writeFileSync(file('b.cpp'), 'int missing() { return 1; }');
    compile(['-shared', '-fPIC', file('b.cpp'), '-o', file('libmissing.so')]);
    compile(['-shared', '-fPIC', file('a.cpp'), '-o', file('lacks.node'), `-L${at}`, '-lmissing']);
    fs.rmSync(file('libmissing.so'));
    fs.writeFileSync(file('other.json'), '{ "flagsBuffer": 0 }');
    const cases: [string, RegExp, RegExp][] = [
      ['text.node', /text\.node: .*is not a shared library/, /another platform|again/],
      ['lacks.node', /libmissing\.so: cannot open shared object file/, /A library is missing/],
      ['other.json', /./, /Build the addon again/],
    ];
    for (const [name, reason, fix] of cases) {
      const { code, check } = await report([], { LIBTORCH_NODE_ADDON: file(name) });
      expect({ name, code }).toEqual({ name, code: 1 });
      expect([check('addon')!.summary, ...check('addon')!.details].join('\n')).toMatch(reason);
      expect(check('addon')!.fix).toMatch(fix);
    }
  });

  it('crashes its process: doctor survives and reports it', async () => {
    const file = path.join(folder(), 'crash.cjs');
    fs.writeFileSync(file, "process.stderr.write('so long\\n'); process.kill(process.pid, 'SIGSEGV');");
    const { code, stderr, check } = await report([], { LIBTORCH_NODE_ADDON: file });
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
    expect(check('addon')).toMatchObject({ status: 'problem', details: expect.arrayContaining(['so long']) });
    expect(check('addon')!.summary).toContain('SIGSEGV');
  });
});

describe('a limit on memory', () => {
  it('gets a value for torch.setMemoryLimit that leaves room for the rest', async () => {
    const { code, json, check } = await report(['--root', container(2 * GIB)], {
      NODE_OPTIONS: '--max-old-space-size=512',
    });
    const { rss, heapLimit } = json.findings.probe.memory!;
    const { bytes, fits, of } = json.memoryLimit!;
    expect({ code, fits, of }).toEqual({ code: 0, fits: true, of: '/sys/fs/cgroup/memory.max' });
    expect(bytes % MIB).toBe(0);
    expect(bytes).toBeGreaterThan(512 * MIB);
    expect(bytes + heapLimit + rss!).toBeLessThan(2 * GIB);
    expect(check('memory')).toMatchObject({ status: 'note' });
    expect(check('memory')!.summary).toContain('limited to 2.0 GiB by /sys/fs/cgroup/memory.max');
    expect(check('memory')!.fix).toContain(`torch.setMemoryLimit(${bytes})`);
  });

  it('that V8 alone could fill: doctor suggests a smaller heap', async () => {
    const { json, check } = await report(['--root', container(2 * GIB)], { NODE_OPTIONS: '--max-old-space-size=4096' });
    expect(json.memoryLimit).toMatchObject({ heapMiB: 512, fits: true });
    expect(check('memory')!.fix).toContain('--max-old-space-size=512');
    expect(json.memoryLimit!.bytes).toBeGreaterThan(512 * MIB);
  });

  it('that is too small for libtorch is a problem; one above the memory of the machine is not', async () => {
    const small = await report(['--root', container(128 * MIB)]);
    expect({ code: small.code, status: small.check('memory')!.status }).toEqual({ code: 1, status: 'problem' });
    expect(small.check('memory')!.fix).toContain('Raise the limit');
    const large = await report(['--root', container(2 ** 50)]);
    expect({ code: large.code, limit: large.json.memoryLimit }).toEqual({ code: 0, limit: null });
    expect(large.check('memory')!.status).toBe('ok');
  });
});

it('more threads than the quota of processors', async () => {
  const root = container(8 * GIB, { '/sys/fs/cgroup/cpu.max': '100000 100000\n' });
  const { check, code } = await report(['--root', root], { OMP_NUM_THREADS: '4' });
  expect({ code, status: check('threads')!.status }).toEqual({ code: 0, status: 'note' });
  expect(check('threads')!.summary).toContain('a quota of 1');
  expect(check('threads')!.fix).toContain('torch.setNumThreads(1)');
});

const referenceBlas = '/usr/lib/x86_64-linux-gnu/blas';
// Debian installs it beside OpenBLAS; elsewhere this cannot be tested.
if (fs.existsSync(path.join(referenceBlas, 'libblas.so.3'))) {
  it('the reference BLAS', async () => {
    const { code, check } = await report([], { LD_LIBRARY_PATH: referenceBlas });
    expect({ code, status: check('blas')!.status }).toEqual({ code: 1, status: 'problem' });
    expect(check('blas')!.fix).toContain('libopenblas0-pthread');
  });
}

it('wrong use exits 2, with a message only on stderr', async () => {
  for (const args of [['doctor', '--nope'], ['doctor', '--root', '/nowhere'], ['doctor', 'x'], ['nothing'], []]) {
    const { code, stdout, stderr } = await run(process.execPath, [program, ...args]);
    expect({ args, code, stdout }).toEqual({ args, code: 2, stdout: '' });
    expect(stderr).not.toBe('');
  }
});

it('is a program of the package', () => {
  const { bin } = JSON.parse(fs.readFileSync(path.join(ROOT, 'package.json'), 'utf8'));
  expect(path.join(ROOT, bin['libtorch-node'])).toBe(program);
  expect(fs.readFileSync(program, 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/);
});
