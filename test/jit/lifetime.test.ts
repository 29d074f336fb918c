/** A model has the lifetime of a tensor, its memory is counted once, and changes by methods are counted too. */
import { ask } from '../support/child';
import { balanced, codeOf, counts, settled, thrown, torch } from '../support/torch';
import { bytesOf, MODELS_MS, makeModels, model, pathOf } from './models';

beforeAll(makeModels, MODELS_MS);

const parameterBytes = 4 * (6 * 16 + 16 + 16 * 3 + 3);

test('a scope owns its models, except the one that it returns', () => {
  balanced(() => {
    let inner: any;
    torch.scope(() => {
      inner = model('mlp-traced');
      expect(inner.disposed).toBe(false);
    });
    expect(inner.disposed).toBe(true);
    const kept = torch.scope(() => ({ nested: [model('mlp-traced')] })).nested[0]!;
    expect(kept.disposed).toBe(false);
    torch.disposeAll([{ kept }]);
    expect(kept.disposed).toBe(true);
  });
});

test('use after dispose', () => {
  const m = model('mlp-traced');
  m.dispose();
  m.dispose();
  m[Symbol.dispose]();
  expect(m.disposed).toBe(true);
  for (const use of [
    () => m.forward(torch.ones([1, 6])),
    () => m.call('forward', torch.ones([1, 6])),
    () => m.eval(),
    () => m.parameters(),
    () => m.namedBuffers(),
    () => m.methods,
    () => m.to('cpu'),
  ]) {
    expect(codeOf(use)).toBe('ERR_TORCH_DISPOSED');
  }
  const used = model('values');
  const x = torch.ones([1]);
  x.dispose();
  expect(thrown(() => used.forward(x))).toMatchObject({ code: 'ERR_TORCH_DISPOSED', argument: 'x' });
  used.dispose();
});

test('memory that a tensor of the model had before is not the model’s any more', () => {
  balanced(() => {
    const { bytes } = counts();
    const m = model('mlp-scripted');
    m.asModule().to('float64');
    expect(counts().bytes - bytes).toBe(2 * parameterBytes);
    torch.scope(() => {
      const [weight] = m.parameters();
      torch.noGrad(() => weight!.set_(torch.zeros([16, 6], { dtype: 'float64' })));
    });
    expect(counts().bytes - bytes).toBe(2 * parameterBytes);
    m.asModule().to('float32');
    expect(counts().bytes - bytes).toBe(parameterBytes);
    expect(torch.scope(() => m.forward(torch.ones([1, 6])).dtype)).toBe('float32');
    m.dispose();
  });
});

test('a model is one handle with the bytes of its storages, which its tensors share', () => {
  balanced(() => {
    const before = counts();
    const { allocatedBytes } = torch.memory();
    const m = model('mlp-scripted');
    expect(torch.memory().allocatedBytes - allocatedBytes).toBeGreaterThanOrEqual(parameterBytes);
    expect(counts()).toEqual({
      tensors: before.tensors + 1,
      storages: before.storages + 4,
      bytes: before.bytes + parameterBytes,
    });
    const taken = m.parameters();
    expect(counts()).toEqual({
      tensors: before.tensors + 5,
      storages: before.storages + 4,
      bytes: before.bytes + parameterBytes,
    });
    torch.noGrad(() => taken[3]!.fill_(100));
    torch.noGrad(() => taken[2]!.zero_());
    torch.scope(() => {
      const same = m.namedParameters()['layers.2.bias']!;
      expect(same.toArray()).toEqual([100, 100, 100]);
    });
    m.dispose();
    expect(counts().bytes).toBe(before.bytes + parameterBytes);
    expect(taken[3]!.toArray()).toEqual([100, 100, 100]);
    torch.disposeAll(taken);
    expect(torch.memory().allocatedBytes).toBeLessThanOrEqual(allocatedBytes + 4096);
  });
});

test('the collector frees unreachable models, also in a loop that never waits', async () => {
  const answer = await ask(`
    const bytes = require('fs').readFileSync(${JSON.stringify(pathOf('block-traced'))});
    for (let i = 0; i < 100; i++) torch.jit.load(bytes);
    require('${require('node:path').join(__dirname, '../../dist/lib/memory/collector.js')}').collectAll();
    setImmediate(() => { torch.zeros([1]).dispose(); answer(counts()); });
  `);
  expect(answer.bytes).toBeLessThan(20 * 4096);
});

test('the collector frees modules of models before the job ends', async () => {
  const left = await ask(
    `
    const bytes = require('fs').readFileSync(${JSON.stringify(pathOf('mlp-traced'))});
    for (let i = 0; i < 50; i++) torch.jit.load(bytes).asModule();
    gc();
    gc();
    answer(counts().bytes);
  `,
    ['--expose-gc'],
  );
  expect(left).toBeLessThan(2 * parameterBytes);
});

test('tensors that a method keeps, replaces and releases are counted, also if it fails', () => {
  balanced(() => {
    torch.scope(() => {
      const m = model('state');
      const own = 4 * (4 + 1 + 4);
      const before = counts().bytes;
      const grown = m.call('grow', 1000);
      expect(counts().bytes).toBe(before + 4 * 999);
      grown.dispose();
      expect(counts().bytes).toBe(before + 4 * 999);
      m.call('grow', 1).dispose();
      expect(counts().bytes).toBe(before);
      m.call('keep', 500);
      expect(counts().bytes).toBe(before + 2000);
      expect(codeOf(() => m.call('keep_then_fail', 500))).toBe('ERR_TORCH_RUNTIME');
      expect(counts().bytes).toBe(before + 4000);
      const { grows, total } = m.namedBuffers() as { grows: any; total: any };
      total.dispose();
      m.call('resize_buffer', 100);
      expect(grows.shape).toEqual([100]);
      expect(counts().bytes).toBe(before + 4000 + 4 * 99);
      expect(before).toBeGreaterThanOrEqual(own);
      m.dispose();
      expect(counts().bytes).toBe(before - own + 400);
    });
  });
});

test('writes of a method to its arguments are accounted for, and tensors do not exceed their memory', () => {
  settled();
  torch.scope(() => {
    const m = model('state');
    const x = torch.zeros([2]);
    const before = counts().bytes;
    m.call('resize', x, 1000);
    expect([x.shape, x.storageBytes]).toEqual([[1000], 4000]);
    expect(counts().bytes).toBe(before + 3992);
    m.call('resize', x, 1);
    m.call('add_one', x);
    expect(x.shape).toEqual([1]);
    const array = Float32Array.of(1, 2);
    const borrowed = torch.fromTypedArray(array);
    expect(codeOf(() => m.call('resize', borrowed, 1 << 20))).toBe('ERR_TORCH_RUNTIME');
    expect(borrowed.shape).toEqual([0]);
    expect([...array]).toEqual([1, 2]);
  });
});

test('if memory is short, a method is retried only if it does not change the model', async () => {
  const answer = await ask(`
    (async () => {
      const state = torch.jit.load(${JSON.stringify(pathOf('state'))});
      const values = torch.jit.load(${JSON.stringify(pathOf('values'))});
      torch.setMemoryLimit(torch.memory().allocatedBytes + (1 << 20));
      const codes = [];
      for (const call of [() => state.call('count_then_allocate', 1 << 20), () => values.call('large', 1 << 20)]) {
        try { call(); } catch (error) { codes.push(error.code); }
      }
      await state.async.call('count_then_allocate', 1 << 20).catch((error) => codes.push(error.code));
      for (const method of ['large', 'large_midway']) {
        await values.async.call(method, 1 << 20).catch((error) => codes.push(error.code));
      }
      torch.setMemoryLimit(null);
      answer({ codes, count: state.call('look')[0] });
    })();
  `);
  expect(answer).toEqual({ codes: Array(5).fill('ERR_TORCH_MEMORY_LIMIT'), count: 2 });
});

test('an asynchronous call is retried after a collection if memory is short', async () => {
  const answer = await ask(`
    (async () => {
      const values = torch.jit.load(${JSON.stringify(pathOf('values'))});
      torch.setMemoryLimit(torch.memory().allocatedBytes + (6 << 20));
      (function litter() { torch.zeros([1 << 20]); })();
      const made = await values.async.call('large', 1 << 20);
      answer(made.shape);
    })();
  `);
  expect(answer).toEqual([1 << 20]);
});

test('a worker has its own models, which end with it', async () => {
  const answer = await ask(`
    const { Worker } = require('worker_threads');
    const bytes = require('fs').readFileSync(${JSON.stringify(pathOf('mlp-traced'))});
    const before = counts();
    const worker = new Worker(\`
      const torch = require(\${JSON.stringify(require.resolve(${JSON.stringify(require.resolve('libtorch-node'))}))});
      const { workerData, parentPort } = require('worker_threads');
      globalThis.kept = torch.jit.load(workerData);
      parentPort.postMessage(kept.forward(torch.ones([1, 6])).shape);
    \`, { eval: true, workerData: bytes });
    worker.on('message', (shape) => worker.terminate().then(() => answer({ shape, same: JSON.stringify(counts()) === JSON.stringify(before) })));
  `);
  expect(answer).toEqual({ shape: [1, 3], same: true });
});

test('a model cannot be cloned for another thread', () => {
  torch.scope(() => {
    const m = torch.jit.load(bytesOf('mlp-traced'));
    expect(() => structuredClone(m)).toThrow(/could not be cloned/);
  });
});
