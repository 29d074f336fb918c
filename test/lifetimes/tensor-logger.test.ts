/** torch.TensorLogger: exact counts, ages and places, without keeping tensors alive or leaking after cancel. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import * as esbuild from 'esbuild';
import { ask, program, run } from '../support/child';
import { codeOf, LIB, ROOT, torch, untyped } from '../support/torch';

/** `report(options)`: the first report of a logger that is then cancelled, and torch.memory() at that time. */
const PRELUDE = `
  const after = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  const report = (options = {}) => new Promise((resolve) => {
    const running = torch.TensorLogger.start({ frequency: 1, sampleBytes: 0, ...options,
      logger: (text, figures) => { running.cancel(); resolve({ text, memory: torch.memory(), ...figures }); } });
    const alive = setInterval(() => {}, 50);
    const { cancel } = running;
    running.cancel = () => { clearInterval(alive); cancel(); };
  });
`;
const logged = (source: string, nodeOptions: string[] = []) =>
  ask(`${PRELUDE}(async () => {${source}})();`, nodeOptions);

afterAll(() => esbuild.stop());

describe('counts', () => {
  test('tensors by dtype and device, each storage once, as torch.memory does', async () => {
    const { first, filtered } = await logged(`
      const base = torch.zeros([1000]);
      const parts = [torch.tensor([[0n, 2n]]), torch.ones([2])]; // not garbage, which might be freed at any time
      const kept = [base, base.view([10, 100]), base.expand([3, 1000]), torch.ones([5], { dtype: 'int64' }),
        torch.fromTypedArray(new Float32Array(100)), torch.sparseCooTensor(...parts, [3])];
      const first = await report();
      const filtered = await report({ filter: ({ dtype, shape }) => dtype === 'float32' && shape.length === 2 });
      answer({ first, filtered, kept: kept.length + parts.length });
    `);
    const { tensors, storages, bytes } = first.memory;
    expect(first).toMatchObject({ tensors, storages, bytes });
    const int64 = first.groups.find(({ dtype }: any) => dtype === 'int64');
    const float32 = first.groups.find(({ dtype }: any) => dtype === 'float32');
    expect(int64.bytes + float32.bytes).toBe(bytes);
    expect(float32.bytes).toBeGreaterThanOrEqual(4000);
    expect(float32.bytes).toBeLessThan(4100);
    expect(filtered).toMatchObject({ tensors: 2, storages: 1, bytes: 4000 });
    expect(first.text).toContain(`TensorLogger: ${tensors} tensors, `);
    expect(first.text).toContain('float32 cpu: ');
  });

  test('ages, without earlier tensors', async () => {
    const { before, later } = await logged(`
      const old = torch.ones([3]);
      const before = await report();
      const keep = torch.TensorLogger.start({ frequency: 100000, sampleBytes: 0 });
      const first = torch.ones([4]);
      await after(60);
      const second = torch.ones([5]);
      await after(30);
      const later = await report({ detailMinMs: 50 });
      keep.cancel();
      answer({ before, later, kept: [old, first, second].length });
    `);
    expect(before).toMatchObject({ tensors: 1, unknownAge: 1, details: [] });
    expect(before.text).toContain('unknown, made while no logger ran: 1');
    expect(later).toMatchObject({ tensors: 3, unknownAge: 1 });
    expect(later.ages.reduce((sum: number, { tensors }: any) => sum + tensors, 0)).toBe(2);
    expect(later.details[0]).toMatchObject({ shape: [4], dtype: 'float32', device: 'cpu', storageBytes: 16 });
    expect(later.details[0].ageMs).toBeGreaterThanOrEqual(85);
  });

  test('the oldest come first, at most detailNum, none older than detailMaxMs', async () => {
    const { two, young } = await logged(`
      const keep = torch.TensorLogger.start({ frequency: 100000 });
      const kept = [];
      for (let i = 1; i <= 4; i++) { kept.push(torch.ones([i])); await after(15); }
      const two = await report({ detailNum: 2 });
      const young = await report({ detailMaxMs: 1e-6 });
      keep.cancel();
      answer({ two, young, kept: kept.length });
    `);
    expect(two.details.map(({ shape }: any) => shape)).toEqual([[1], [2]]);
    expect(young.details).toEqual([]);
  });
});

describe('places of creation', () => {
  test('the stack names the line of the source, through its source map', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'ltn-logger-'));
    try {
      const source = path.join(folder, 'program.ts');
      writeFileSync(
        source,
        `import torch = require(${JSON.stringify(`${LIB}/index.js`)});
interface Nothing { here: never }

const kept: unknown[] = [];
function leak(): void {
  kept.push(torch.ones([128, 128])); // line 6
}
const alive = setInterval(() => {}, 1000);
torch.TensorLogger.start({ frequency: 5, logger(text: string) { console.log(text); clearInterval(alive); } });
leak();
`,
      );
      const built = path.join(folder, 'program.js');
      await esbuild.build({
        entryPoints: [source],
        outfile: built,
        sourcemap: true,
        minifyWhitespace: true,
        platform: 'node',
        format: 'cjs',
      });
      const { code, stdout, stderr } = await run(process.execPath, [built]);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout).toContain('float32[128, 128] cpu, storage of 65.5 kB');
      expect(stdout).toContain(`    at leak (${source}:6:`);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test('stacks are sampled by bytes: large tensors have a stack, few small ones do', async () => {
    const { sampled, large } = await logged(`
      const keep = torch.TensorLogger.start({ frequency: 100000 });
      const small = Array.from({ length: 5000 }, () => torch.ones([1]));
      const large = torch.ones([16384]);
      const figures = await report({ sampleBytes: 65536, detailNum: 10000 });
      keep.cancel();
      const stacks = figures.details.filter(({ stack }) => stack !== null);
      answer({ sampled: stacks.filter(({ storageBytes }) => storageBytes === 4).length,
        large: stacks.some(({ storageBytes, stack }) => storageBytes === 65536 && /\\[eval\\]/.test(stack)), kept: small.length });
    `);
    // 5000 × 68 bytes at one per 65536: 5.2 expected
    expect(sampled).toBeLessThan(50);
    expect(large).toBe(true);
  });
});

describe('side effects', () => {
  test('it does not keep tensors: unreachable ones are collected while it runs', async () => {
    const counted = await logged(
      `
      const seen = [];
      const running = torch.TensorLogger.start({ frequency: 5, sampleBytes: 0, logger: (text, { tensors }) => seen.push(tensors) });
      let tensor = torch.ones([1000]);
      while (!seen.includes(1)) await after(5);
      tensor = undefined;
      while (seen[seen.length - 1] !== 0) { gc(); await after(5); }
      running.cancel();
      answer({ tensors: torch.memory().tensors, bytes: torch.memory().bytes });
    `,
      ['--expose-gc'],
    );
    expect(counted).toEqual({ tensors: 0, bytes: 0 });
  });

  test('it does not keep the process alive, and writes only to stderr', async () => {
    const { code, stdout, stderr } = await program(`
      torch.TensorLogger.start({ frequency: 20 });
      const kept = torch.ones([2]);
      setTimeout(() => answer(kept.numel), 200);
    `);
    expect(code).toBe(0);
    expect(stdout).toBe('ANSWER 2\n');
    expect(stderr).toContain('TensorLogger: 1 tensor, 8 B in 1 storage');
  });

  test('tensors made deep inside modules have the line of the program', async () => {
    const details = await logged(`
      const { nn } = torch;
      const keep = torch.TensorLogger.start({ frequency: 100000, sampleBytes: 0 });
      let net = new nn.ReLU();
      for (let i = 0; i < 12; i++) net = new nn.Sequential(net);
      const x = torch.ones([7]);
      const kept = net.forward(x);
      const { details } = await report({ detailMinMs: 0, detailNum: 100 });
      keep.cancel();
      answer(kept.length === 7 && details);
    `);
    expect(details).toHaveLength(2);
    for (const { stack } of details) expect(stack).toMatch(/^\s+at \[eval\]:/);
  });

  test('after cancel it stops reporting and recording births; other loggers continue', async () => {
    const { flagsAlone, flagsBoth, flagsNone, stopped, going } = await logged(`
      const { native } = require(${JSON.stringify(`${LIB}/addon/native.js`)});
      // A native call outside lib/tensor/tensor.ts, which does not clear the flag.
      const raised = () => { native.fromCopy(new Float32Array(1), [1], 6, null); const handle = native.result[0];
        const up = native.flags[0] !== 0; native.free(handle); native.watchTag(0); native.flags[0] = 0; return up; };
      const flagsNone = raised();
      const counts = [0, 0];
      const both = [0, 1].map((i) => torch.TensorLogger.start({ frequency: 2, sampleBytes: 0, logger: () => counts[i]++ }));
      const flagsBoth = raised();
      while (counts[0] < 3) await after(2);
      both[0].cancel();
      both[0].cancel();
      const [stopped, going] = counts;
      const flagsOne = raised();
      while (counts[1] < going + 5) await after(2);
      const same = counts[0] === stopped;
      both[1].cancel();
      answer({ flagsNone, flagsBoth: flagsBoth && flagsOne, flagsAlone: raised(), stopped: same, going: counts[1] >= going + 5 });
    `);
    expect({ flagsNone, flagsBoth, flagsAlone }).toEqual({ flagsNone: false, flagsBoth: true, flagsAlone: false });
    expect({ stopped, going }).toEqual({ stopped: true, going: true });
  });

  test('a worker sees its own tensors, and ends with its logger running', async () => {
    const [main, inside] = await logged(`
      const { Worker } = require('worker_threads');
      const kept = torch.ones([3]);
      const worker = new Worker(\`
        const torch = require(${JSON.stringify(`${LIB}/index.js`)});
        const kept = [torch.ones([5]), torch.ones([6])];
        torch.TensorLogger.start({ frequency: 2, logger: (text, { tensors, bytes }) =>
          require('worker_threads').parentPort.postMessage({ tensors, bytes }) });
        setTimeout(() => kept.pop(), 100);
      \`, { eval: true });
      const inside = await new Promise((resolve) => worker.once('message', resolve));
      await new Promise((resolve) => worker.once('exit', resolve));
      const { tensors, bytes } = await report();
      answer([{ tensors, bytes, all: torch.memory().tensors, kept: kept.numel }, inside]);
    `);
    expect(main).toEqual({ tensors: 1, bytes: 12, all: 1, kept: 3 });
    expect(inside).toEqual({ tensors: 2, bytes: 44 });
  });

  test('the audit records in parallel, with its own stacks', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'ltn-logger-'));
    try {
      const script = path.join(folder, 'program.js');
      writeFileSync(
        script,
        `const torch = require(${JSON.stringify(`${LIB}/index.js`)});
const alive = setInterval(() => {}, 1000);
const kept = [];
torch.TensorLogger.start({ frequency: 5, sampleBytes: 0, logger(text, { details }) {
  if (details.length > 0) console.error(details[0].stack.split('\\n')[0]);
  clearInterval(alive);
  kept.length = 0; // until then the tensor is reachable
} });
kept.push(torch.ones([50])); // line 9
`,
      );
      const json = path.join(folder, 'report.json');
      const cli = path.join(ROOT, 'dist/cli/leak-audit.js');
      const capture = ['-o', path.join(folder, 'capture'), '--json', json, '--quiet'];
      const { code, stderr } = await run(process.execPath, [cli, 'run', ...capture, '--', process.execPath, script]);
      expect(code).toBe(0);
      expect(stderr).toContain(`${script}:9:`);
      const { sites } = require(json);
      expect(sites).toEqual([expect.objectContaining({ file: script, line: 9, allocatedTensors: 1 })]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

test.each([
  [{ frequency: 0 }, 'frequency'],
  [{ frequency: 2 ** 31 }, 'frequency'],
  [{ frequency: '5' }, 'frequency'],
  [{ logger: 'stderr' }, 'logger'],
  [{ filter: true }, 'filter'],
  [{ detailMinMs: -1 }, 'detailMinMs'],
  [{ detailMinMs: Number.NaN }, 'detailMinMs'],
  [{ detailMinMs: 5, detailMaxMs: 4 }, 'detailMinMs'],
  [{ detailMaxMs: null }, 'detailMaxMs'],
  [{ detailNum: 1.5 }, 'detailNum'],
  [{ sampleBytes: Number.POSITIVE_INFINITY }, 'sampleBytes'],
  [{ interval: 5 }, 'options'],
  [null, 'options'],
])('refuses %p', (options, argument) => {
  expect(codeOf(() => untyped.TensorLogger.start(options))).toBe('ERR_TORCH_ARGUMENT');
  expect(() => untyped.TensorLogger.start(options)).toThrow(`argument '${argument}'`);
});

test('it is typed', () => {
  const running = torch.TensorLogger.start({ frequency: 1000, filter: ({ ageMs }) => (ageMs ?? 0) > 5 });
  expect(running.cancel()).toBeUndefined();
});
