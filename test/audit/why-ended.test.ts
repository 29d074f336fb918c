/** A program whose code runs without a pause, and whose variables are garbage when it ends. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { limitMs } from '../support/sanitized';
import { LIB } from '../support/torch';
import { auditProgram, leakAudit, testFolder } from './command';

const folder = testFolder();
jest.setTimeout(limitMs(120_000));

test('what it kept until its end is a leak, and the report says why nothing holds it any more', async () => {
  const file = path.join(folder, 'kept.mjs');
  fs.writeFileSync(
    file,
    `import { createRequire } from 'node:module';
    const torch = createRequire(import.meta.url)(${JSON.stringify(path.join(LIB, 'index.js'))});
    const kept = [];
    const end = performance.now() + 4000;
    while (performance.now() < end) {
      for (let i = 0; i < 20; i++) torch.ones([64]).add(1);
      kept.push(torch.ones([64]).mean());
    }`,
  );
  const { code, stdout, stderr } = await auditProgram(
    'run',
    '--interval',
    '100ms',
    '--why',
    '--quiet',
    '--',
    process.execPath,
    file,
  );
  expect(code).toBe(0);
  const text = stdout + stderr;
  expect(text).toMatch(/^LEAK +\S*kept\.mjs:7:/m);
  expect(text).toMatch(/held at the end by\nnothing: the code whose variables held tensors has ended/);
  expect(text).not.toMatch(/^next:/m);
});

test.each([true, false])('tensors of worker threads; the main thread uses the library: %s', async (isUsed) => {
  const file = path.join(folder, 'pool.cjs');
  fs.writeFileSync(
    file,
    `const { isMainThread, Worker } = require('node:worker_threads');
    const load = () => require(${JSON.stringify(path.join(LIB, 'index.js'))});
    const kept = [];
    if (isMainThread) {
      if (${isUsed}) kept.push(load().ones([7]));
      new Worker(__filename).on('message', () => process.exit(kept.length - ${Number(isUsed)}));
    } else {
      const torch = load();
      setInterval(() => {
        if (kept.push(torch.ones([64])) === 200) require('node:worker_threads').parentPort.postMessage('enough');
      }, 20);
    }`,
  );
  const run = ['run', '--interval', '100ms', '--why', '--quiet', '--', process.execPath, file];
  const { code, stdout, stderr } = await auditProgram(...run);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^LEAK +\S*pool\.cjs:10:/m);
  if (isUsed) {
    expect(stdout).toMatch(
      /^\d+ tensors, .* worker threads: run `leak-audit why PID` while they run .*→ \d+ tensors$/m,
    );
    expect(stdout).toMatch(/^1 tensor, 28 B +kept \(module /m);
  } else if (/^held after /m.test(stdout)) {
    // On a slow machine it runs long enough to be asked before its end.
    expect(stdout).toMatch(/^\d+ tensors, .*→ variable kept \(Array\) → \d+ × Tensor/m);
  } else {
    expect(stderr).toMatch(/wrote no heap snapshot: .*its main thread never loaded libtorch-node/);
    expect(stdout).toMatch(/^next: leak-audit why PID {3}\(what holds them, while the program runs\)$/m);
  }
});

test.each(['its code ends', 'a signal ends it'])('what held tensors before %s', async (how) => {
  const file = path.join(folder, 'asked.cjs');
  const capture = path.join(folder, 'asked.ltna');
  fs.writeFileSync(
    file,
    `const torch = require(${JSON.stringify(path.join(LIB, 'index.js'))});
    async function main() {
      const sessions = new Map();
      let asked = false;
      process.on('warning', ({ code }) => (asked ||= code === 'TORCH_HEAP_SNAPSHOT'));
      for (let i = 0; !asked; i++) {
        sessions.set(i, torch.zeros([256]));
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      if (process.argv[2] === 'a signal ends it') process.kill(process.pid, 'SIGKILL');
      return sessions.size;
    }
    main();`,
  );
  const run = ['run', '--interval', '100ms', '--why', '--quiet', '-o', capture, '--', process.execPath, file, how];
  const { code, signal, stdout, stderr } = await auditProgram(...run);
  expect({ code, signal }).toEqual(
    how === 'its code ends' ? { code: 0, signal: null } : { code: null, signal: 'SIGKILL' },
  );
  expect(stdout).toMatch(/^LEAK +\S*asked\.cjs:7:/m);
  expect(stdout).toMatch(
    /^held after \d+\.\d s by\n\d+ tensors, .* {2}setTimeout of 10 ms → await in main .*→ local variable \(Map\) → \d+ × Tensor\n +made at \S*asked\.cjs:7:/m,
  );
  expect(stdout).not.toMatch(/^next:/m);
  expect(stderr).not.toMatch(/wrote no heap snapshot/);
  // It is kept beside the capture, with the time.
  const report = await leakAudit('report', capture);
  expect(report.stdout).toMatch(/^held after \d+\.\d s by$/m);
  expect(JSON.parse((await leakAudit('why', capture, '--json', '-')).stdout).afterMs).toBeGreaterThanOrEqual(5_000);
});
