/** A check that fails says who holds the tensors. */
import { assertNoTensorLeaks, measureTensorLeaks, type TensorLeakError } from 'libtorch-node/testing';
import 'libtorch-node/jest';
import { run } from '../support/child';
import { limitMs } from '../support/sanitized';
import { LIB, torch } from '../support/torch';

jest.setTimeout(limitMs(120_000));

class ImageCache {
  images = new Map<number, { pixels: unknown }>();
}
const cache = new ImageCache();
const leak = () => {
  cache.images.set(cache.images.size, { pixels: torch.zeros([8]) });
};
afterEach(() => torch.disposeAll([...cache.images.values()].map(({ pixels }) => pixels)));

const failure = async (fn: () => Promise<unknown>): Promise<Error> => {
  try {
    await fn();
  } catch (error) {
    return error as Error;
  }
  throw new Error('expected an error, none was thrown');
};

const FAST = { iterations: 8, warmup: 1, settleMs: 0 };

test('assertNoTensorLeaks: the message and the error have the path', async () => {
  const error = (await failure(() => assertNoTensorLeaks(leak, FAST))) as TensorLeakError;
  expect(error.message).toMatch(
    /\n {2}held by cache \(module test\/leaks\/held\.test\.ts\) → \.images \(Map\) → 9 × \.pixels: 9 tensors\n/,
  );
  expect(error.leaks.heldBy).toEqual([
    { path: ['cache (module test/leaks/held.test.ts)', '.images (Map)', '9 × .pixels'], tensors: 9, bytes: 288 },
  ]);
});

test('without a descriptor for the process that reads the heap, the lines are still known', async () => {
  const program = `const fs = require('node:fs');
    const { assertNoTensorLeaks } = require(${JSON.stringify(`${LIB}/testing/index.js`)});
    const torch = require(${JSON.stringify(LIB)});
    const kept = [];
    const open = [];
    const leak = () => {
      if (kept.push(torch.ones([2])) < 9) return;
      try { for (;;) open.push(fs.openSync('/dev/null')); } catch {}
      for (const fd of open.slice(-4)) fs.closeSync(fd); // those of the heap, and too few for a pipe
    };
    assertNoTensorLeaks(leak, ${JSON.stringify(FAST)}).catch(({ message }) => console.log(message));`;
  const { code, stdout } = await run('sh', ['-c', 'ulimit -n 100; exec "$0" -e "$1"', process.execPath, program]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/8 calls left 8 tensors/);
  expect(stdout).not.toMatch(/held by/);
  expect(stdout).toMatch(/what holds them could not be read: .*EMFILE/);
});

test('if the process that reads the heap cannot run, the message says why', async () => {
  // As in a folder that has a copy of the package without its dependencies.
  const program = `const { assertNoTensorLeaks } = require(${JSON.stringify(`${LIB}/testing/index.js`)});
    const torch = require(${JSON.stringify(LIB)});
    const kept = [];
    process.execPath = '/bin/false';
    assertNoTensorLeaks(() => void kept.push(torch.ones([2])), ${JSON.stringify(FAST)}).catch((error) =>
      console.log(JSON.stringify([error.message, error.leaks])));`;
  const { code, stdout } = await run(process.execPath, ['-e', program]);
  expect(code).toBe(0);
  const [message, leaks] = JSON.parse(stdout);
  expect(message).toMatch(/\n {2}what holds them could not be read: the process that reads the heap was ended\n/);
  expect(leaks).toMatchObject({ heldByUnknown: 'the process that reads the heap was ended' });
});

// V8 alone took minutes for the heap of such a program (lib/observe/audit/heap-snapshot.ts).
test(
  'in a process that has loaded the TypeScript compiler',
  async () => {
    const program = `require(${JSON.stringify(require.resolve('typescript'))});
      const { Session } = require('node:inspector');
      const v8 = require('node:v8');
      const steps = [];
      const { post } = Session.prototype;
      Session.prototype.post = function (method, ...more) { steps.push(method); return post.call(this, method, ...more); };
      const write = v8.writeHeapSnapshot;
      v8.writeHeapSnapshot = (...all) => { steps.push('write'); return write(...all); };
      const { assertNoTensorLeaks } = require(${JSON.stringify(`${LIB}/testing/index.js`)});
      const torch = require(${JSON.stringify(LIB)});
      const kept = [];
      const leak = () => void kept.push(torch.ones([2]));
      assertNoTensorLeaks(leak, ${JSON.stringify(FAST)}).catch(({ message }) => console.log(message, steps.join()));`;
    const { code, stdout } = await run(process.execPath, ['-e', program]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/held by kept/);
    expect(stdout).toMatch(/Debugger\.enable,write$/m);
  },
  limitMs(60_000),
);

test('toLeakTensors: the same, where a leak is what fails, without steps through the measurement', async () => {
  const kept: unknown[] = [];
  const { message } = await failure(() => expect(() => void kept.push(torch.zeros([8]))).not.toLeakTensors(FAST));
  torch.disposeAll(kept);
  expect(message).toMatch(/\n {2}held by (?!a native).*variable kept \(Array\) → 9 × Tensor: 9 tensors\n/);
  expect(message).not.toContain('measure');
});

test('a scope that is never closed, with the line that opened it', async () => {
  const scopes: { close(): void }[] = [];
  const open = () => {
    scopes.push(torch.openScope());
    torch.zeros([16]);
  };
  const error = await failure(() => assertNoTensorLeaks(open, FAST));
  for (const scope of scopes.reverse()) scope.close();
  expect(error.message).toMatch(
    /held by \d+ scopes that are still open, opened at .*held\.test\.ts:\d+:\d+.* → \d+ tensors/,
  );
});

test('no snapshot where none is wanted, or where nothing fails', async () => {
  const written = jest.spyOn(require('node:v8') as typeof import('node:v8'), 'writeHeapSnapshot');
  try {
    const error = (await failure(() => assertNoTensorLeaks(leak, { ...FAST, why: false }))) as TensorLeakError;
    expect(error.leaks).not.toHaveProperty('heldBy');
    expect((await measureTensorLeaks(leak, FAST)).leaks).toBe(true);
    await expect(leak).toLeakTensors(FAST);
    expect(written).not.toHaveBeenCalled();
  } finally {
    written.mockRestore();
  }
});

test('why is a boolean', async () => {
  const { message } = await failure(() => assertNoTensorLeaks(leak, { why: 1 as never }));
  expect(message).toBe("assertNoTensorLeaks: argument 'why': expected a boolean, got 1");
});
