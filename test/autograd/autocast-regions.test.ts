/** Where torch.autocast is on: regions, awaits, threads, exceptions. */
import * as path from 'node:path';
import { run } from '../support/child';
import { release } from '../support/release';
import { codeOf, LIB, torch, untyped } from '../support/torch';

let a: any;
let w: any;
beforeAll(() => {
  a = torch.randn([4, 4]);
  w = torch.randn([4, 4], { requiresGrad: true });
});
afterAll(() => torch.disposeAll([a, w]));

/** The dtype in which a product is computed now. */
const now = (): string => torch.scope(() => a.mm(w).dtype);
const cpu = { device: 'cpu' } as const;
const off = { device: 'cpu', enabled: false } as const;
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

test('regions nest, and each way out restores the modes around', () => {
  const seen = torch.autocast(cpu, () => [now(), torch.autocast(off, now), now(), torch.isAutocastCpuEnabled()]);
  expect(seen).toEqual(['bfloat16', 'float32', 'bfloat16', true]);
  expect(() =>
    torch.autocast(cpu, () =>
      torch.autocast(off, () => {
        throw new Error('from the program');
      }),
    ),
  ).toThrow('from the program');
  expect([now(), torch.isAutocastCpuEnabled(), torch.isAutocastEnabled()]).toEqual(['float32', false, false]);
  const caches = torch.autocast({ cacheEnabled: false }, () =>
    torch.autocast({}, () => torch.isAutocastCacheEnabled()),
  );
  expect([caches, torch.isAutocastCacheEnabled()]).toEqual([false, true]);
  expect([torch.getAutocastDtype('cpu'), torch.getAutocastCpuDtype()]).toEqual(['bfloat16', 'bfloat16']);
  expect([torch.getAutocastDtype('cuda'), torch.getAutocastGpuDtype()]).toEqual(['float16', 'float16']);
  expect(torch.amp.autocast({}, now)).toBe('bfloat16');
  const byPosition: string = torch.autocast('cpu', now);
  expect([byPosition, torch.autocast('cpu', { enabled: false }, now)]).toEqual(['bfloat16', 'float32']);
});

test('a dtype without kernels, and CUDA without a device, leave it off, as in Python', () => {
  const half = torch.autocast({ device: 'cpu', dtype: 'float16' }, now);
  expect(half).toBe(release === '1.13' ? 'float32' : 'float16');
  expect(torch.autocast({ device: 'cpu', dtype: 'float64' }, now)).toBe('float32');
  expect(torch.autocast({ device: 'cpu', dtype: 'float64', enabled: false }, now)).toBe('float32');
  if (!torch.cuda.isAvailable())
    expect(torch.autocast({ device: 'cuda' }, () => torch.isAutocastEnabled())).toBe(false);
});

test('an async function keeps its modes across awaits, and no other code gets them', async () => {
  const inside: string[] = [];
  const note = () => inside.push(now());
  const running = torch.autocast(cpu, async () => {
    note();
    await null;
    note();
    await turn();
    note();
    const inner = torch.autocast(off, async () => {
      await turn();
      return now();
    });
    note();
    await Promise.all([turn(), turn()]);
    note();
    return inner;
  });
  const outside = [now()];
  for (let i = 0; i < 6; i++) {
    await turn();
    outside.push(now());
  }
  expect(await running).toBe('float32');
  expect([new Set(inside), inside.length]).toEqual([new Set(['bfloat16']), 5]);
  expect(new Set([...outside, now()])).toEqual(new Set(['float32']));
  // A plain function that returns a promise.
  const plain = torch.autocast(cpu, () => turn().then(now));
  expect([now(), await plain, now()]).toEqual(['float32', 'bfloat16', 'float32']);
  await expect(
    torch.autocast(cpu, async () => {
      await turn();
      throw new Error('late');
    }),
  ).rejects.toThrow('late');
  expect(now()).toBe('float32');
});

test('work that a region did not wait for goes on without it', async () => {
  let late = '';
  let done = () => {};
  const ended = new Promise<void>((resolve) => {
    done = resolve;
  });
  await torch.autocast(cpu, async () => {
    setImmediate(() => {
      late = now();
      done();
    });
  });
  await ended;
  expect(late).toBe('float32');
});

test('torch.async and torch.run take the modes along', async () => {
  const [one, run, promised, awaited] = await torch.autocast(cpu, () =>
    Promise.all([
      torch.async.mm(a, w),
      torch.run(() => a.mm(w)),
      torch.async.mm(Promise.resolve(a) as never, w),
      torch.run(async () => {
        const first = await a.mm(w);
        return [first, a.mm(w)];
      }),
    ]),
  );
  const all = [one, run, promised, ...(awaited as unknown[])] as any[];
  expect(all.map((tensor) => tensor.dtype)).toEqual(all.map(() => 'bfloat16'));
  torch.disposeAll(all);
  // In the function of torch.run the dtype is not known before the op has run; the shape is.
  const seen = await torch.run(() => {
    const product = torch.autocast(cpu, () => a.mm(w));
    const later = product.add(1);
    return [codeOf(() => later.dtype), product.shape, later.shape, a.mm(w).dtype];
  });
  expect(seen).toEqual(['ERR_TORCH_PENDING', [4, 4], [4, 4], 'float32']);
  const pool = await torch.async.mm(a, w);
  expect(pool.dtype).toBe('float32'); // the thread has its own modes again
  pool.dispose();
});

test('a checkpoint is computed again with the modes of its call', () => {
  const gradOf = (fn: (x: any) => any): number[][] =>
    torch.scope(() => {
      const x = a.detach().clone().requiresGrad_();
      torch.autocast(cpu, () => fn(x).float().sum()).backward();
      return x.grad.toArray();
    });
  const block = (x: any) => x.mm(w).relu().mm(w);
  const checkpointed = gradOf((x) => untyped.utils.checkpoint.checkpoint(block, x, { useReentrant: false }));
  expect(checkpointed).toEqual(gradOf(block));
  w.grad = null;
  expect(now()).toBe('float32');
});

test('wrong arguments', () => {
  for (const call of [
    () => untyped.autocast({ device: 'mps' }, now),
    () => untyped.autocast({ dtype: 'bf16' }, now),
    () => untyped.autocast({ enabled: 1 }, now),
    () => untyped.autocast({ cacheEnabled: 'yes' }, now),
    () => untyped.autocast({ deviceTyp: 'cpu' }, now),
    () => untyped.autocast({}, 1),
    () => untyped.autocast('mps', now),
    () => untyped.autocast('cpu', { device: 'cpu' }, now),
    () => untyped.autocast({}, now, 1),
    () => untyped.autocast('cpu', {}),
    () => untyped.getAutocastDtype('tpu'),
  ])
    expect(codeOf(call)).toBe('ERR_TORCH_ARGUMENT');
  expect(() => untyped.autocast({ deviceType: 'cpu' }, now)).toThrow("got 'deviceType'; did you mean 'device'?");
  expect(now()).toBe('float32');
});

test('casted weights: their bytes, and that they are freed at the end of each kind of region', async () => {
  const { code, stdout, stderr } = await run(process.execPath, [
    '--expose-gc',
    path.join(__dirname, 'autocast-memory.cjs'),
    LIB,
  ]);
  expect([code, stderr]).toEqual([0, '']);
  const { casted, steps } = JSON.parse(stdout) as { casted: number; steps: Record<string, number> };
  expect(casted).toBe(2 * 512 * 512);
  expect(steps).toEqual(Object.fromEntries(Object.keys(steps).map((name) => [name, 0])));
  expect(Object.keys(steps).length).toBe(9);
});

test('a thenable is asked once, in the region, and may report its end more than once, or throw', async () => {
  const asked: string[] = [];
  const twice = {
    // biome-ignore lint/suspicious/noThenProperty: a thenable of another library, which starts its work when it is asked
    then(done: (value: unknown) => void) {
      asked.push(now());
      done(1);
      done(2);
    },
  };
  const throws = {
    // biome-ignore lint/suspicious/noThenProperty: a thenable of another library
    then() {
      throw new Error('from then');
    },
  };
  expect(await torch.autocast(cpu, () => twice)).toBe(1);
  expect([asked, now()]).toEqual([['bfloat16'], 'float32']);
  await expect(torch.autocast(cpu, () => throws)).rejects.toThrow('from then');
  const seen = await torch.autocast(cpu, async () => {
    await turn();
    return now();
  });
  expect([seen, now()]).toEqual(['bfloat16', 'float32']);
});

test('a rejection that nothing handles is reported', async () => {
  const program = `
    const torch = require(${JSON.stringify(LIB)});
    process.on('unhandledRejection', ({ message }) => console.log('reported', message));
    torch.autocast({}, async () => { await null; throw new Error('from the program'); });
    torch.autocast({}, async () => { throw new Error('handled'); }).catch(({ message }) => console.log(message));
  `;
  const { stdout } = await run(process.execPath, ['-e', program]);
  expect(stdout.trim().split('\n').sort()).toEqual(['handled', 'reported from the program']);
});
