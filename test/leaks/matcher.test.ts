/** The matcher of libtorch-node/jest: leaks, non-leaks, and the lines that it names. */
import 'libtorch-node/jest';
import { readFileSync } from 'node:fs';
import type { Tensor } from 'libtorch-node';
import { rises } from '../../lib/testing/floor';
import { codeOf, torch, untyped } from '../support/torch';

const source = readFileSync(__filename, 'utf8').split('\n');
/** The line of this file that ends with `// <mark>`, as a message names it. */
const place = (mark: string) => `${__filename}:${source.findIndex((line) => line.endsWith(`// ${mark}`)) + 1}:`;

/** The matcher's message for a leaking function. */
async function complaint(fn: () => unknown, options = {}): Promise<string> {
  const said = await expect(fn)
    .not.toLeakTensors({ why: false, ...options }) // who holds it is test/leaks/held.test.ts
    .then(
      () => undefined,
      (error: Error) => error.message,
    );
  if (said === undefined) throw new Error('expected a leak, none was found');
  return said;
}

/** Short waits, because these leak and waiting does not change that. */
const soon = { iterations: 4, warmup: 1, settleMs: 0 };

describe('leaks', () => {
  test('referenced tensors, with the line that made them', async () => {
    const held: unknown[] = [];
    function remember() {
      torch.zeros([9]); // garbage
      held.push(torch.ones([2, 3])); // held
    }
    const message = await complaint(remember, soon);
    expect(message).toContain('expected the function not to leak tensors: 4 calls left 4 tensors and 96 bytes behind');
    expect(message).toContain(`4 tensors, 96 bytes, such as float32[2, 3]: made at remember (${place('held')}`);
    expect(message).toContain('not disposed: 4 tensors still reachable from JavaScript');
    expect(message).not.toContain(place('garbage'));
  });

  test('tensors of a scope that stays open', async () => {
    const scope = torch.openScope();
    const message = await complaint(() => void scope.run(() => torch.ones([5])), soon); // scoped
    scope.close();
    expect(message).toContain(place('scoped'));
    expect(message).toContain('not disposed: 4 tensors owned by a scope that is still open');
  });

  test('a growing tensor', async () => {
    let all = torch.zeros([1]) as Tensor;
    const message = await complaint(() => {
      all = untyped.cat([all, torch.ones([10])]); // grown
    }, soon);
    expect(message).toContain('4 calls left 0 tensors and 160 bytes behind');
    expect(message).toContain(place('grown'));
  });

  test('a graph kept by a sum of losses', async () => {
    const weight = torch.ones([100], { requiresGrad: true });
    let total: Tensor = torch.zeros([]);
    const message = await complaint(() => {
      total = torch.scope(() => total.add(weight.square().mul(weight).sum()));
    }, soon);
    expect(message).toMatch(/[\d,]+ bytes are held by libtorch without a tensor: look for autograd graphs/);
    total.dispose();
  });

  test('leaks of async functions', async () => {
    const held: unknown[] = [];
    const message = await complaint(async () => {
      await null;
      held.push(await torch.async.ones([7])); // awaited
    }, soon);
    expect(message).toContain(place('awaited'));
  });

  test('every other call', async () => {
    const held: unknown[] = [];
    let calls = 0;
    await expect(() => {
      if (calls++ % 2 === 0) held.push(torch.ones([2]));
    }).toLeakTensors({ settleMs: 0 });
  });
});

describe('not leaks', () => {
  test('garbage, results of a call, and disposed tensors', async () => {
    await expect(() => torch.ones([2]).add(1)).not.toLeakTensors();
    await expect(async () => torch.async.ones([2])).not.toLeakTensors(soon);
    await expect(() => torch.scope(() => void torch.ones([2]))).not.toLeakTensors(soon);
    await expect(() => torch.ones([2]).dispose()).not.toLeakTensors(soon);
    await expect(() => {}).not.toLeakTensors({ iterations: 1, warmup: 0 });
  });

  test('a full cache that replaces its entries, and tensors made once', async () => {
    const entries: unknown[] = [];
    let lazy: unknown;
    let calls = 0;
    await expect(() => {
      if (entries.push(torch.ones([3])) > 4) entries.shift();
      if (++calls === 20) lazy ??= torch.ones([1000]);
    }).not.toLeakTensors();
    expect(lazy).toBeDefined();
  });

  test('tensors that a timer releases soon, also with fake timers', async () => {
    await expect(() => {
      const late = torch.ones([2]);
      setTimeout(() => late.dispose(), 20);
    }).not.toLeakTensors({ iterations: 4, settleMs: 30_000 });
    jest.useFakeTimers();
    try {
      await expect(() => torch.ones([2])).not.toLeakTensors(soon);
    } finally {
      jest.useRealTimers();
    }
  });

  test('the negated matcher has its own message', async () => {
    const { message } = (await expect(() => {})
      .toLeakTensors(soon)
      .catch((error: unknown) => error)) as unknown as Error;
    expect(message).toBe('expected the function to leak tensors: 4 calls left 0 tensors and 0 bytes behind');
  });
});

test('tensors awaiting collection are distinguished from tensors that are not disposed', () => {
  const { leaksText } = require('../../dist/lib/testing/text');
  const site = { file: '/a.ts', line: 3, column: 5, function: 'f', stack: '', example: 'float32[]' };
  const leaks = {
    ...{ leaks: true, iterations: 20, rounds: 8, tensors: 40, bytes: 1600, hiddenBytes: 0 },
    awaitingCollection: { tensors: 2000, bytes: 1 },
    sites: [{ ...site, tensors: 40, bytes: 1600, inScopes: 10 }],
  };
  expect(leaksText(leaks)).toBe(
    [
      '20 calls left 40 tensors and 1,600 bytes behind',
      '  40 tensors, 1,600 bytes, such as float32[]: made at f (/a.ts:3:5)',
      '    not disposed: 10 tensors owned by a scope that is still open, 30 tensors still reachable from JavaScript',
      '  awaiting collection, not a leak: 2,000 tensors, 1 byte, freed by a forced collection',
      '  (a cache that is still filling looks the same: raise `warmup` until it is full)',
    ].join('\n'),
  );
});

test('an older tensor that is freed meanwhile does not hide a leak, and its replacement is not a leak', async () => {
  const older = Array.from({ length: 30 }, () => torch.ones([3]));
  const held: unknown[] = [];
  let calls = 0;
  const message = await complaint(
    () => {
      held.push(torch.ones([3])); // new
      if (++calls === 4) torch.disposeAll(older.splice(0));
    },
    { ...soon, iterations: 8 },
  );
  expect(message).toContain('8 calls left 8 tensors and 96 bytes behind');
  expect(message).toContain(place('new'));
  const pool = Array.from({ length: 30 }, () => torch.ones([3]));
  await expect(() => {
    pool.shift()!.dispose();
    pool.push(torch.ones([3]));
  }).not.toLeakTensors({ ...soon, iterations: 8 });
});

test('when a series counts as rising', () => {
  const steady = Array.from({ length: 9 }, () => 5);
  expect(rises(steady)).toBe(false);
  expect(rises(steady.map((_, i) => i))).toBe(true);
  expect(rises(steady.map((_, i) => i % 2))).toBe(false); // garbage
  expect(rises(steady.map((_, i) => (i < 4 ? 0 : 100)))).toBe(false); // once
  expect(rises(steady.map((_, i) => Math.min(i, 5)))).toBe(false); // a cache that became full
  expect(rises(steady.map((_, i) => Math.floor(i / 2)))).toBe(true);
  expect(rises(steady.map((_, i) => 10 - i))).toBe(false);
  expect(rises([0, 1])).toBe(true);
  expect(rises([0, 0])).toBe(false);
  expect(rises([0, 0, 1])).toBe(false);
});

test('wrong use', async () => {
  const { measureTensorLeaks } = require('libtorch-node/testing');
  const coded = (...given: unknown[]) => measureTensorLeaks(...given).catch((error: { code: string }) => error.code);
  expect(await coded('x')).toBe('ERR_TORCH_ARGUMENT');
  expect(await coded(() => {}, { iterations: 0 })).toBe('ERR_TORCH_ARGUMENT');
  expect(await coded(() => {}, { warmup: 0.5 })).toBe('ERR_TORCH_ARGUMENT');
  expect(await coded(() => {}, { rounds: 3 })).toBe('ERR_TORCH_ARGUMENT');
  expect(await coded(() => {}, null)).toBe('ERR_TORCH_ARGUMENT');
  expect(await coded(() => measureTensorLeaks(() => {}), soon)).toBe('ERR_TORCH_ARGUMENT');
  await expect(
    measureTensorLeaks(() => {
      throw new Error('its own');
    }),
  ).rejects.toThrow('its own');
  expect(codeOf(() => untyped.ones([1]).view([2]))).toBe('ERR_TORCH_RUNTIME'); // the library still works
});

test('kept losses are not blamed on a tensor from before that has a larger graph', async () => {
  const { assertNoTensorLeaks } = require('../../dist/lib/testing');
  const weight = torch.ones([2], { requiresGrad: true });
  let old = weight.mul(1);
  for (let i = 0; i < 200; i++) old = old.mul(1);
  const losses: unknown[] = [];
  const keep = () => {
    const loss = weight.mul(2).sum();
    loss.backward();
    losses.push(loss);
  };
  const error = await assertNoTensorLeaks(keep, { why: false, settleMs: 0 }).catch((error: unknown) => error);
  expect(error.leaks).toMatchObject({ leaks: true, tensors: 20, sites: [{ tensors: 20, example: 'float32[]' }] });
  expect(error.leaks.sites).toHaveLength(1);
  expect(old.numel).toBe(2);
});

test('a graph that grows is a leak, also if it holds no memory of tensors', async () => {
  const { assertNoTensorLeaks, measureTensorLeaks } = require('../../dist/lib/testing');
  const weight = torch.ones([2], { requiresGrad: true });
  let total = torch.zeros([]);
  const add = () => {
    total = total.add(weight.sum()) as typeof total;
  };
  const error = await assertNoTensorLeaks(add, { why: false, settleMs: 0 }).catch((error: unknown) => error);
  expect(error.code).toBe('ERR_TORCH_LEAK');
  expect(error.message).toMatch(
    /an autograd graph that grew by 40 nodes, carried by float32\[\] made at .*matcher\.test\.ts:\d+:/,
  );
  expect(error.leaks).toMatchObject({ leaks: true, tensors: 0, bytes: 0, nodes: 40, sites: [{ nodes: 40 }] });
  // A sum that is detached, a graph of constant size, and one that is freed in each step.
  const right = await measureTensorLeaks(() => {
    total = total.add(weight.sum()).detach() as typeof total;
    const kept = weight.mul(2).sum();
    kept.backward();
    weight.grad = null;
  });
  expect([right.leaks, right.nodes]).toEqual([false, 0]);
  total.dispose();
  weight.dispose();
});
