/** Models off the event loop: torch.async's rules apply to methods. */
import { balancedAsync, codeOf, torch, untyped } from '../support/torch';
import { MODELS_MS, makeModels, model } from './models';

beforeAll(makeModels, MODELS_MS);

test('inputs and the model may be disposed while the method runs', async () => {
  await balancedAsync(async () => {
    const m = model('values');
    const x = torch.eye(64);
    const later = m.async.call('slow', x, 50);
    x.dispose();
    m.dispose();
    const y = await later;
    expect((y.toArray() as number[][])[63]![63]).toBe(1);
    y.dispose();
  });
});

test('results belong to the scope of the call', async () => {
  const m = model('values');
  let result: any;
  await torch.scope(async () => {
    const x = torch.ones([2, 2]);
    result = await m.async.call('nested', { a: [[1, x]] }, new Map());
    expect(result[0].a[0][1].toArray()).toEqual([
      [1, 1],
      [1, 1],
    ]);
  });
  expect(result[0].a[0][1].disposed).toBe(true);
  const kept: any = await torch.scope(() => m.async.call('nested', { a: [[2, torch.ones([1])]] }, new Map()));
  expect(kept[0].a[0][1].disposed).toBe(false);
  torch.disposeAll([kept, m]);
});

test('values that are not tensors are returned', async () => {
  const m = model('values');
  expect(await m.async.call('plain', 1, 3, true, 'x')).toEqual([2, 1.5, false, 'x!']);
  expect(await m.async.call('maybe', null)).toBeNull();
  m.dispose();
});

test('errors have the code, the method and the line of the call', async () => {
  const m = model('values');
  const x = torch.ones([2]);
  const refused: any = await m.async.call('plain', 'one').catch((error) => error);
  expect(refused).toMatchObject({ code: 'ERR_TORCH_ARGUMENT', op: 'Values.plain', argument: 'a' });
  const failed: any = await m.async.call('fails', x).catch((error) => error);
  expect(failed).toMatchObject({ code: 'ERR_TORCH_RUNTIME', op: 'Values.fails' });
  expect(failed.message).toContain("shape '[7, 7]' is invalid");
  expect(failed.stack).toContain('async.test.ts');
  const large: any = await m.async.call('itself', torch.ones([1])).catch((error) => error);
  expect(large).toMatchObject({ code: 'ERR_TORCH_MODEL', op: 'Values.itself' });
  m.dispose();
  x.dispose();
  const gone: any = await m.async.forward(x).catch((error) => error);
  expect(gone.code).toBe('ERR_TORCH_DISPOSED');
});

test('AbortSignal', async () => {
  const m = model('values');
  const x = torch.eye(64);
  const controller = new AbortController();
  const later = m.async.call('slow', x, 1000, { signal: controller.signal });
  controller.abort(new Error('enough'));
  await expect(later).rejects.toThrow('enough');
  await expect(m.async.forward(x, { signal: AbortSignal.abort(new Error('before')) })).rejects.toThrow('before');
  expect((await m.async.forward(x, { signal: undefined })).shape).toEqual([64, 64]);
  torch.disposeAll([m, x]);
});

test('modes are those of the call', async () => {
  await torch.scope(async () => {
    const m = model('mlp-scripted');
    const x = torch.ones([1, 6]);
    expect((await m.async.forward(x)).requiresGrad).toBe(true);
    let later = m.async.forward(x);
    torch.noGrad(() => {
      later = m.async.forward(x);
    });
    expect((await later).requiresGrad).toBe(false);
  });
});

test('calls that change the model run one after the other, and readers wait', async () => {
  const threads = torch.asyncPool.threads;
  torch.asyncPool.threads = 4;
  try {
    await torch.scope(async () => {
      const m = model('state');
      const one = torch.ones([4]);
      const calls = Array.from({ length: 100 }, () => m.async.forward(one));
      while (torch.asyncPool.running + torch.asyncPool.queued > 0) {
        expect(m.parameters().length).toBe(1);
        expect(m.buffers().length).toBe(2);
        await new Promise(setImmediate);
      }
      await Promise.all(calls);
      expect(m.call<any[]>('look')[0]).toBe(100);
      expect(m.namedBuffers().total!.toArray()).toEqual([100, 100, 100, 100]);
    });
  } finally {
    torch.asyncPool.threads = threads;
  }
});

test('changes by an asynchronous call to the model and its arguments are counted', async () => {
  await balancedAsync(() =>
    torch.scope(async () => {
      const m = model('state');
      const { bytes } = torch.memory();
      const x = torch.zeros([2]);
      (await m.async.call('resize', x, 1000)).dispose();
      expect([x.shape, x.storageBytes]).toEqual([[1000], 4000]);
      expect(torch.memory().bytes).toBe(bytes + 4000);
      await m.async.call('keep', 500);
      expect(torch.memory().bytes).toBe(bytes + 6000);
      await m.async.call('keep_then_fail', 500).catch(() => {});
      expect(torch.memory().bytes).toBe(bytes + 8000);
      const borrowed = torch.fromTypedArray(Float32Array.of(1, 2));
      const error: any = await m.async.call('resize', borrowed, 1 << 20).catch((failure) => failure);
      expect(error.code).toBe('ERR_TORCH_RUNTIME');
      expect(borrowed.shape).toEqual([0]);
    }),
  );
});

describe('inside torch.run', () => {
  test('a model takes pending tensors and returns one: a single job for the ops before, the model and the ops after', async () => {
    await balancedAsync(async () => {
      await torch.scope(async () => {
        const [first, second] = [model('mlp-scripted'), model('values')];
        const x = torch.randn([5, 6]);
        const wanted = torch.noGrad(() =>
          second
            .call(
              'slow',
              first
                .forward(x.relu())
                .t()
                .mm(torch.ones([5, 3])),
              2,
            )
            .sub(1),
        );
        let later: any;
        torch.noGrad(() => {
          later = torch.run((t) => {
            const probabilities = first.forward(t.relu(x));
            expect(() => probabilities.shape).toThrow(expect.objectContaining({ code: 'ERR_TORCH_PENDING' }));
            const product = probabilities.t().mm(torch.ones([5, 3]));
            return { product, result: second.call('slow', product, 2).sub(1) };
          });
        });
        const { product, result } = await later;
        expect(product.shape).toEqual([3, 3]);
        expect(result.equal(wanted)).toBe(true);
        expect(result.requiresGrad).toBe(false);
      });
    });
  });

  test('values that are not tensors are awaited; ordinary arguments are read at once', async () => {
    await balancedAsync(async () => {
      const m = model('values');
      const x = torch.ones([2, 3]);
      const numel = await torch.run(async (t) => Number(await m.call<any>('maybe', t.add(x, 1))) + 1);
      expect(numel).toBe(7);
      expect(await torch.run(() => m.call<any>('plain', 1, 3, true, 'x'))).toEqual([2, 1.5, false, 'x!']);
      const both: any = await torch.run((t) => m.call<any>('pair', t.neg(x), 4));
      expect([both.left.toArray(), both.right]).toEqual([Array(2).fill(Array(3).fill(-1)), 4]);
      torch.disposeAll([m, x, both.left]);
    });
  });

  test('errors are the method’s; a pending tensor inside a list, or of another run, is refused', async () => {
    const m = model('values');
    const x = torch.ones([2]);
    const codeOfRun = (fn: (t: any) => unknown) => untyped.run(fn).catch((error: unknown) => error);
    expect(await codeOfRun((t) => m.call('fails', t.add(x, 1)))).toMatchObject({
      code: 'ERR_TORCH_RUNTIME',
      op: 'Values.fails',
      message: expect.stringMatching(/^Values\.fails: shape '\[7, 7\]' is invalid/),
    });
    expect(await codeOfRun((t) => m.call('nested', { a: [[1, t.add(x, 1)]] }, new Map()))).toMatchObject({
      code: 'ERR_TORCH_PENDING',
      argument: 'd',
    });
    let other: any;
    await untyped.run((t: any) => {
      other = t.add(x, 1);
      return x;
    });
    expect(await codeOfRun(() => m.forward(other))).toMatchObject({ code: 'ERR_TORCH_PENDING' });
    expect(await codeOfRun((t) => m.async.forward(t.add(x, 1)))).toMatchObject({
      code: 'ERR_TORCH_PENDING',
      argument: 'x',
    });
    torch.disposeAll([m, x]);
  });

  test('a method that changes the model runs alone in it, and its changes are counted', async () => {
    await torch.scope(async () => {
      const m = model('state');
      const one = torch.ones([4]);
      const total = await torch.run((t) => {
        let x = t.mul(one, 1);
        for (let i = 0; i < 5; i++) x = m.forward(x);
        return x;
      });
      expect(total.toArray()).toEqual(Array(4).fill(16)); // 1, 2, 4, 8, 16
      expect(m.call<any[]>('look')[0]).toBe(5);
    });
  });

  test('a method that writes to the elements of a list of its own writes to what they are', async () => {
    await torch.scope(async () => {
      const m = model('state');
      const x = torch.zeros([2]);
      const sum = await torch.run((t) => {
        const pending = m.call<any>('add_to_each', x);
        expect(codeOf(() => x.toArray())).toBe('ERR_TORCH_PENDING');
        return t.mul(pending, 1);
      });
      expect(sum.item()).toBe(6);
      expect([x.toArray(), m.namedBuffers().total!.toArray()]).toEqual([
        [1, 1],
        [1, 1, 1, 1],
      ]);
    });
  });
});
