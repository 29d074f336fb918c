/** torch.run and torch.async: their results, the owners, and what is freed. */
import { inspect } from 'node:util';
import type { Tensor } from '../../types';
import { ms, until } from '../support/async';
import { program } from '../support/child';
import { balancedAsync, codeOf, counts, settled, torch, untyped } from '../support/torch';

/** Waits for work that earlier tests left running. */
const idle = () => until(() => untyped.asyncPool.running + untyped.asyncPool.queued === 0);

describe('torch.async', () => {
  it('has the methods of every object as they are: text of it starts no job that nobody awaits', async () => {
    expect(String(untyped.async)).toBe('[object Object]');
    expect(`${untyped.async.linalg}`).toBe('[object Object]');
    expect(Object.hasOwn(untyped.async, 'add')).toBe(true);
    await untyped.run((T: any) => expect(String(T)).toBe('[object Object]'));
  });

  it('has every op of torch, and returns the op’s result', async () => {
    await torch.scope(async () => {
      const a = torch.tensor([
        [1, -2, 3],
        [4, 5, -6],
      ]);
      expect((await untyped.async.relu(a)).toArray()).toEqual(a.relu().toArray());
      expect((await untyped.async.add(a, a, { alpha: 2 })).toArray()).toEqual(a.add(a, { alpha: 2 }).toArray());
      expect((await untyped.async.add(a, 1)).toArray()).toEqual(a.add(1).toArray());
      const named = await untyped.async.max(a, 1);
      expect(named.values.toArray()).toEqual([3, 5]);
      expect(named[1]).toBe(named.indices);
      const [first, second] = await untyped.async.split(a, 2, 1);
      expect([first.shape, second.shape]).toEqual([
        [2, 2],
        [2, 1],
      ]);
      expect(await untyped.async.equal(a, a)).toBe(true);
      expect(await untyped.async.isComplex(a)).toBe(false);
      expect((await untyped.async.ops.aten.add.Tensor(a, a)).toArray()).toEqual(a.add(a).toArray());
      expect(await untyped.async.promoteTypes('int64', 'float32')).toBe('float32');
      expect((await untyped.async.linalg.inv(torch.eye(2).mul(2))).toArray()).toEqual([
        [0.5, 0],
        [0, 0.5],
      ]);
      const loss = await untyped.async.nn.functional.crossEntropy(a, torch.tensor([0n, 1n]));
      expect(loss.item()).toBeCloseTo(untyped.nn.functional.crossEntropy(a, torch.tensor([0n, 1n])).item(), 6);
      expect((await untyped.async.cat([a, a])).shape).toEqual([4, 3]);
      expect((await untyped.async.zeros([2], { requiresGrad: true })).requiresGrad).toBe(true);
    });
    const missing = Object.keys(torch).filter(
      (name) => typeof untyped[name] === 'function' && name in torch.Tensor.prototype && !(name in untyped.async),
    );
    expect(missing).toEqual([]);
  });

  it('writes to the tensor that the op writes to, and returns that tensor', async () => {
    await torch.scope(async () => {
      const a = torch.ones([3]);
      const out = torch.empty([0]);
      expect(await untyped.async.add(a, 1, { out })).toBe(out);
      expect(out.toArray()).toEqual([2, 2, 2]);
      expect(await untyped.async.relu_(out.neg_())).toBe(out);
      expect(out.toArray()).toEqual([0, 0, 0]);
      expect(out.storageBytes).toBe(12);
    });
  });

  it('does not block the thread: timers run meanwhile', async () => {
    await torch.scope(async () => {
      const [a, out, enough] = [torch.ones([700, 700]), torch.empty([0]), new AbortController()];
      let turns = 0;
      await idle();
      // So much work that it still runs after the timers, however late they are.
      const running = untyped.run(
        (t: any) => {
          for (let i = 0; i < 20_000; i++) t.mm(a, a, { out });
        },
        { signal: enough.signal },
      );
      running.catch(() => {});
      await until(() => untyped.asyncPool.running === 1);
      const timer = setInterval(() => turns++, 1);
      await until(() => turns > 3);
      clearInterval(timer);
      expect(untyped.asyncPool.running).toBe(1);
      enough.abort();
      await expect(running).rejects.toThrow();
    });
  });

  it('inputs may be disposed meanwhile', async () => {
    await balancedAsync(async () => {
      const a = torch.ones([300, 300]);
      const pending = untyped.async.mm(a, a);
      a.dispose();
      const product = await pending;
      expect(torch.scope(() => product.at(0, 0).item())).toBe(300);
      product.dispose();
    });
  });
});

describe('torch.run', () => {
  it('runs a chain in one job, and frees intermediate results', async () => {
    await balancedAsync(async () => {
      const x = torch.ones([256, 256]);
      const before = torch.memory().allocatedBytes;
      const { loss, parts } = await untyped.run((t: any) => {
        let y = t.neg(x);
        for (let i = 0; i < 50; i++) y = t.relu(y.add(1)).mul(0.5);
        const parts = new Map([['all', [y, y]]]);
        return { loss: y.sum(), parts, plain: 5 };
      });
      const [one, two] = parts.get('all');
      expect(one).toBe(two);
      expect([one.shape, loss.shape]).toEqual([[256, 256], []]);
      // Only the two results are left.
      expect(torch.memory().allocatedBytes - before).toBeLessThan(2 * 256 * 256 * 4);
      torch.disposeAll([one, loss, x]);
    });
  });

  it('keeps dtypes and shapes for the compiler', async () => {
    await torch.scope(async () => {
      const product: Tensor<'float32', [2, 4]> = await torch.run((t) =>
        t.relu(t.matmul(t.ones([2, 3]), t.ones([3, 4]))),
      );
      const sum: Tensor = await torch.async.sum(product, [1], true);
      // @ts-expect-error: conflicting sizes
      await expect(torch.run((t) => t.matmul(t.ones([2, 3]), t.ones([2, 3])))).rejects.toThrow(/cannot be multiplied/);
      expect([product.shape, sum.shape]).toEqual([
        [2, 4],
        [2, 1],
      ]);
    });
  });

  it('accepts pending results wherever a tensor is accepted', async () => {
    await torch.scope(async () => {
      const x = torch.tensor([
        [1, 2],
        [3, 4],
      ]);
      const result = await untyped.run((t: any) => {
        const p = t.add(x, 1);
        const index = t.argmax(p, 1);
        const [values, indices] = t.sort(p, { descending: true });
        return {
          list: t.cat([p, x, p], 1),
          picked: t.index(p, [null, index]),
          maybe: t.clamp(p, { min: t.full([], 3) }),
          T: p.T,
          values,
          indices,
          inPlace: p.clone().mul_(10),
          linear: t.nn.functional.linear(p, x, t.ones([2])),
          norm: t.linalg.norm(p),
        };
      });
      const p = x.add(1);
      expect(result.list.toArray()).toEqual(torch.cat([p, x, p], 1).toArray());
      expect(result.picked.toArray()).toEqual(p.at('...', p.argmax(1)).toArray());
      expect(result.maybe.toArray()).toEqual([
        [3, 3],
        [4, 5],
      ]);
      expect(result.T.toArray()).toEqual([
        [2, 4],
        [3, 5],
      ]);
      expect(result.values.toArray()).toEqual([
        [3, 2],
        [5, 4],
      ]);
      expect(result.indices.toArray()).toEqual(
        [
          [1n, 0n],
          [1n, 0n],
        ].map((row) => row.map(Number)),
      );
      expect(result.inPlace.toArray()).toEqual([
        [20, 30],
        [40, 50],
      ]);
      expect(result.linear.toArray()).toEqual(untyped.nn.functional.linear(p, x, torch.ones([2])).toArray());
      expect(result.norm.item()).toBeCloseTo(Math.sqrt(4 + 9 + 16 + 25), 5);
    });
  });

  it('methods that refuse assignments are recorded as the others', async () => {
    const z = torch.complex(torch.tensor([1, 2]), torch.tensor([3, 4]));
    const sum = await torch.run(() => {
      const pending = untyped.mul(z, 2);
      return [pending.real().add(pending.imag()), z.real(), pending.real().data()];
    });
    expect(sum.map((each: Tensor) => each.toArray())).toEqual([
      [8, 12],
      [1, 2],
      [2, 4],
    ]);
    torch.disposeAll([...sum, z]);
  });

  it('an async function may read a result and continue', async () => {
    await balancedAsync(async () => {
      const steps: number[] = [];
      const root = await untyped.run(async (t: any) => {
        let x = t.full([], 9);
        for (let i = 0; i < 20; i++) {
          x = t.add(x, t.div(t.full([], 9), x)).div(2);
          const [seen] = await Promise.all([x.item(), t.zeros([1])]);
          steps.push(seen);
          if (Math.abs(seen - 3) < 1e-6) break;
        }
        return x;
      });
      expect(root.item()).toBe(3);
      expect(steps.length).toBeLessThan(12);
      root.dispose();
      settled();
    });
  });

  it('uses the modes at the call of the op', async () => {
    await torch.scope(async () => {
      const w = torch.ones([2], { requiresGrad: true });
      const { on, off } = await untyped.run((t: any) => ({ on: t.mul(w, 2), off: torch.noGrad(() => t.mul(w, 2)) }));
      expect([on.requiresGrad, off.requiresGrad]).toEqual([true, false]);
    });
  });

  it('trains as synchronous code does', async () => {
    const train = async (step: (x: any, w: any) => Promise<void>) => {
      torch.manualSeed(7);
      const x = torch.randn([32, 4]);
      const w = torch.zeros([4, 1], { requiresGrad: true });
      for (let i = 0; i < 5; i++) {
        await step(x, w);
        torch.noGrad(() => w.sub_(w.grad!.mul(0.1)));
        w.grad = null;
      }
      return w.toArray();
    };
    const loss = (t: any, x: any, w: any) => t.mm(x, w).sub(1).pow(2).mean();
    const there = await train(async (x, w) => {
      await untyped.run((t: any) => t.backward(loss(t, x, w)));
    });
    const here = await train(async (x, w) => loss(untyped, x, w).backward());
    expect(there).toEqual(here);
    settled();
  });

  it('results belong to the scope of the call, or else to the next open one around it', async () => {
    const a = torch.ones([2]);
    let inside: any;
    let late: any;
    const outer = torch.openScope();
    await torch.scope(async () => {
      inside = await untyped.async.add(a, 1);
      expect(inside.disposed).toBe(false);
      late = untyped.async.add(a, 2);
    });
    expect(inside.disposed).toBe(true);
    late = await late;
    expect(late.disposed).toBe(false);
    outer.close();
    expect(late.disposed).toBe(true);
    const free = await untyped.async.add(a, 3);
    expect(free._guard).toBeDefined();
    torch.disposeAll([free, a]);
  });

  it('warnings arrive', async () => {
    const { code, stderr } = await program(
      'torch.async.add(torch.ones([4]), torch.ones([4]), { out: torch.ones([2]) }).then(() => answer(1));',
    );
    expect(code).toBe(0);
    expect(stderr).toMatch(/TorchWarning: .*output with one or more elements was resized/);
  });
});

describe('torch.asyncPool', () => {
  it('reports running and waiting calls and the number of threads', async () => {
    const before = untyped.asyncPool.threads;
    expect(before).toBeGreaterThanOrEqual(1);
    await torch.scope(async () => {
      const a = torch.ones([300, 300]);
      await idle();
      untyped.asyncPool.threads = 1;
      // The single thread has so much work that later calls wait, however late this thread checks.
      const [busy, out, enough] = [torch.ones([800, 800]), torch.empty([0]), new AbortController()];
      const first = untyped.run(
        (t: any) => {
          for (let i = 0; i < 20_000; i++) t.mm(busy, busy, { out });
        },
        { signal: enough.signal },
      );
      first.catch(() => {});
      const all = Array.from({ length: 6 }, () => untyped.async.mm(a, a));
      expect(untyped.asyncPool.queued).toBeGreaterThanOrEqual(6);
      await until(() => untyped.asyncPool.running === 1);
      expect(untyped.asyncPool.queued).toBe(6);
      // More threads start waiting calls at once, before the first one ends.
      untyped.asyncPool.threads = 3;
      await Promise.all(all);
      await until(() => untyped.asyncPool.running === 1);
      enough.abort();
      await expect(first).rejects.toThrow();
      while (untyped.asyncPool.running > 0) await ms(1);
      expect(untyped.asyncPool.queued).toBe(0);
    });
    for (const wrong of [0, 1.5, '2', 2000]) {
      expect(codeOf(() => (untyped.asyncPool.threads = wrong as number))).toBe('ERR_TORCH_ARGUMENT');
    }
    untyped.asyncPool.threads = before;
    expect(counts()).toBeDefined();
  });
});

test('the figures of the pool are shown', async () => {
  await idle();
  expect(inspect(torch.asyncPool)).toBe(`{ threads: ${torch.asyncPool.threads}, running: 0, abandoned: 0, queued: 0 }`);
});

// Each has a batch of one short op that has run, and one that fails, in the function's own turn or later.
test.each<[string, (t: any, a: any, bad: any) => unknown]>([
  ['beside a short op that was awaited', (t, a, bad) => [t.add(a, 1).then(() => {}), t.gather(a, 0, bad)][1]],
  ['in the callback of a short op', (t, a, bad) => t.add(a, 1).then(() => t.gather(a, 0, bad))],
  ['alone', (t, a, bad) => t.gather(a, 0, bad)],
  ['in an async function', async (t, a, bad) => t.gather(await t.add(a, 1), 0, bad)],
])('an op that fails has the stack of the call: %s', async (_where, fn) => {
  const a = torch.ones([4]);
  const bad = torch.tensor([9], { dtype: 'int64' });
  const caller = () => torch.run((t) => fn(t, a, bad) as never);
  const error = await caller().catch((caught: Error) => caught);
  expect((error as Error).stack).toContain('at caller (');
  a.dispose();
  bad.dispose();
});
