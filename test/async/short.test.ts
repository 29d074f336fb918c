/** A few small ops run where they are submitted; everything else in the pool. */

import type * as torchTypes from 'libtorch-node';
import { failure, until } from '../support/async';
import { LIB, settled, torch, untyped } from '../support/torch';

const timers = require('node:timers') as { setImmediate: typeof setImmediate };
const { native } = require(`${LIB}/addon/native.js`);
const { camelCase } = require(`${LIB}/call/signature.js`);

const { asyncPool } = torch;
const inPool = (): number => asyncPool.running + asyncPool.queued;

/** Other files of this worker may have left work. */
beforeEach(() => until(() => inPool() === 0));

test('small ops do not enter the pool, and their results come later', async () => {
  const before = settled();
  const [a, b] = [torch.arange(6).view([2, 3]), torch.ones([3])];
  let isThere = false;
  const sum = torch.async.add(a, b).then((result) => {
    isThere = true;
    return result;
  });
  expect([inPool(), isThere]).toEqual([0, false]);
  const first = await sum;
  // In another turn of the event loop: the first call of an op may take more than the time that a turn has for them.
  const chain = torch.run(() => a.mul(b).relu().sub(1).sum());
  expect(inPool()).toBe(0);
  const results = [first, await chain];
  expect(results.map((result) => result.toArray())).toEqual([
    [
      [1, 2, 3],
      [4, 5, 6],
    ],
    9,
  ]);
  torch.disposeAll([a, b, ...results]);
  expect(settled()).toEqual(before);
});

test('a loop that awaits small ops does not hold up the event loop', async () => {
  const [a, b] = [torch.ones([2]), torch.ones([2])];
  let turns = 0;
  const turn = () => {
    turns++;
    next = setImmediate(turn);
  };
  let next = setImmediate(turn);
  for (let i = 0; i < 50; i++) (await torch.async.add(a, b)).dispose();
  clearImmediate(next);
  expect(turns).toBeGreaterThanOrEqual(45);
  torch.disposeAll([a, b]);
});

test('fake timers of a test do not hold results back', async () => {
  const x = torch.ones([2]);
  const { setImmediate: real } = timers;
  timers.setImmediate = (() => undefined) as never;
  try {
    (await torch.async.add(x, x)).dispose();
  } finally {
    timers.setImmediate = real;
  }
  x.dispose();
});

test('the small ops that torch.async does not have are those of torch.nn.functional', () => {
  const names: string[] = [...native.shortOps(false), ...native.shortOps(true)].map(camelCase);
  expect(names.length).toBeGreaterThan(40);
  expect(names.filter((name) => typeof untyped[name] !== 'function').sort()).toEqual(['gelu', 'silu', 'softplus']);
});

test('a small op in the function of torch.run is not one of its ops', async () => {
  const x = torch.zeros([2]);
  let inner: Promise<torchTypes.Tensor> | undefined;
  const outer = await torch.run(() => {
    const later = x.add_(1);
    inner = torch.async.add(x, 10);
    return later;
  });
  const result = await inner!;
  expect([outer.toArray(), result.shape]).toEqual([[1, 1], [2]]);
  torch.disposeAll([x, outer, result]);
});

test('calls that fail do not use up the time of those that follow', async () => {
  const x = torch.ones([2]);
  for (let i = 0; i < 500; i++) await failure(untyped.async.bitwiseAnd(x, x));
  const { strandOpen } = native;
  let strands = 0;
  native.strandOpen = () => {
    strands++;
    return strandOpen();
  };
  try {
    (await torch.async.add(x, x)).dispose();
    expect(strands).toBe(0);
    (await torch.async.add(x, x, { alpha: 2 })).dispose(); // options go the other way
    expect(strands).toBe(1);
  } finally {
    native.strandOpen = strandOpen;
  }
  x.dispose();
});

test('gradients and modes are those of the call', async () => {
  const x = torch.tensor([1, 2], { requiresGrad: true });
  const result = await torch.run(() => x.mul(x).sum());
  expect(inPool()).toBe(0);
  result.backward();
  expect(x.grad!.toArray()).toEqual([2, 4]);
  const [made] = torch.noGrad(() => [torch.async.mul(x, x)]);
  const plain = await made!;
  expect(plain.requiresGrad).toBe(false);
  torch.disposeAll([x, result, plain]);
});

test('an error has the stack of the call', async () => {
  const [a, b] = [torch.ones([2]), torch.ones([3])];
  const error = await failure(untyped.async.add(a, b));
  expect(error).toMatchObject({ code: 'ERR_TORCH_RUNTIME', op: 'aten::add.Tensor' });
  expect(error.stack).toContain('short.test.ts');
  torch.disposeAll([a, b]);
});

/** Calls until the thread of the pool is seen at work: it may be done before this thread looks. */
async function seenInPool<T extends torchTypes.Tensor>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    const promise = call();
    const isSeen = inPool() > 0;
    const result = await promise;
    if (isSeen) return result;
    result.dispose();
  }
}

test('a result that grows by broadcasting is computed in the pool', async () => {
  const column = torch.ones([4096, 1], { dtype: 'uint8' });
  const row = column.view([1, 4096]);
  const grown = await seenInPool(() => untyped.async.add(column, row));
  expect(grown.shape).toEqual([4096, 4096]);
  const sum = await seenInPool(() => torch.run(() => column.mul(column).add(row.mul(row)).sum()));
  expect(sum.item()).toBe(2 * 4096 ** 2);
  torch.disposeAll([column, row, grown, sum]);
});

test('a small op does not pass one that writes to its tensor', async () => {
  const { threads } = asyncPool;
  asyncPool.threads = 1;
  const x = torch.zeros([2048, 2048]);
  const last = x.select(0, 2047);
  const written = torch.run(() => x.add_(1));
  const next = torch.async.add(last, 1);
  const results = [await written, await next];
  expect(results[1]!.eq(2).all().item()).toBe(true);
  asyncPool.threads = threads;
  torch.disposeAll([x, last, ...results]);
});

test('many small ops at once do not run in one turn of the event loop', async () => {
  const { threads } = asyncPool;
  asyncPool.threads = 1;
  const x = torch.rand([4096], { dtype: 'float64' });
  // Its thread is busy, so what enters the pool stays there until this thread looks.
  const large = torch.rand([1500, 1500], { dtype: 'float64' });
  const first = torch.async.matmul(large, large);
  const calls = Array.from({ length: 300 }, () => torch.async.pow(x, 1.5));
  expect(inPool()).toBeGreaterThan(1);
  torch.disposeAll([x, large, ...(await Promise.all([first, ...calls]))]);
  asyncPool.threads = threads;
});

test('nested tensors, whose sizes are not known', async () => {
  const parts = [torch.tensor([-1, 2]), torch.tensor([3])];
  const nested = untyped._nestedTensorFromTensorList(parts);
  const result = await untyped.async.relu(nested);
  const softened = await untyped.async.softmax(nested, 1); // in the pool
  const padded = result.toPaddedTensor(0) as torchTypes.Tensor;
  expect(padded.toArray()).toEqual([
    [0, 2],
    [3, 0],
  ]);
  torch.disposeAll([...parts, nested, result, softened, padded]);
});

test('a result of a batch that runs while more is recorded', async () => {
  const [column, row] = [torch.ones([64, 1]), torch.ones([1, 256])];
  const result = await torch.run(async () => {
    const grown = column.add(row);
    const first = grown.sum().item();
    await null; // the batch is running
    const second = grown.mul(2).sum();
    return [await first, second] as const;
  });
  expect([result[0], result[1].item()]).toEqual([2 * 64 * 256, 4 * 64 * 256]);
  torch.disposeAll([column, row, result[1]]);
});
