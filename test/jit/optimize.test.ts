/** torch.jit.freeze and torch.jit.optimizeForInference: results, what they keep and share, lifetimes, refusals. */
import { ask } from '../support/child';
import { balanced, balancedAsync, codeOf, counts, LIB, thrown, torch, untyped } from '../support/torch';
import { MODELS_MS, makeModels, model, pathOf, valuesOf } from './models';

beforeAll(makeModels, MODELS_MS);

const { freeze, optimizeForInference } = torch.jit;
const conv = 4 * (8 * 9 + 8 + 4 * 8 * 9 + 4);
const norm = 4 * 8 * 4 + 8; // weight, bias, mean, variance; the number of batches is an int64
const linear = 4 * (64 * 5 + 5);
const buffers = 4 * (1 + 1000);
const own = conv + norm + linear + buffers;

const close = (actual: any, expected: any) => {
  expect(actual.shape).toEqual(expected.shape);
  expect(torch.scope(() => torch.allclose(actual, expected, 1e-4, 1e-5))).toBe(true);
};

test('frozen and optimised models give the results of PyTorch', async () => {
  await balancedAsync(() =>
    torch.scope(async () => {
      const { inputs, output } = valuesOf('service-faster');
      const source = model('service');
      const models = [
        source,
        freeze(source, { preservedAttrs: ['scores', 'label'] }),
        optimizeForInference(source, { otherMethods: ['scores'] }),
      ];
      for (const [i, m] of models.entries()) {
        // The executor profiles the first calls and runs other code afterwards.
        for (let times = 0; times < 4; times++) {
          close(
            torch.noGrad(() => m.forward(...inputs)),
            output[i],
          );
          close(
            torch.noGrad(() => m.call('scores', ...inputs)),
            output[3 + i],
          );
          let later: any;
          torch.noGrad(() => {
            later = m.async.forward(...inputs);
          });
          close(await later, output[i]);
        }
      }
      const many = await Promise.all(Array.from({ length: 8 }, () => models[2]!.async.call('scores', ...inputs)));
      for (const result of many) close(result, output[5]);
    }),
  );
});

test.each(['mlp-traced', 'mlp-scripted', 'cnn-traced', 'cnn-scripted', 'block-scripted', 'mlp-frozen'])(
  '%s gives its own results',
  (name) => {
    balanced(() =>
      torch.scope(() => {
        const { inputs, output } = valuesOf(name);
        const source = model(name);
        for (const m of [freeze(source), freeze(source, null, false), optimizeForInference(source)]) {
          close(
            torch.inferenceMode(() => m.forward(...inputs)),
            output,
          );
          expect(m.parameters()).toEqual([]);
        }
        expect(source.methods).toContain('forward');
        close(
          torch.noGrad(() => source.forward(...inputs)),
          output,
        );
      }),
    );
  },
);

test('without optimizeNumerics the results are the same to the bit', () => {
  torch.scope(() => {
    const { inputs } = valuesOf('service');
    const source = model('service');
    const exact = freeze(source, { optimizeNumerics: false });
    expect(torch.equal(exact.forward(...inputs), source.forward(...inputs))).toBe(true);
  });
});

test('what is named stays, the rest goes', () => {
  torch.scope(() => {
    const source = model('service');
    const frozen = freeze(source, ['label', 'unused']);
    expect([...frozen.methods].sort()).toEqual(['forward', 'label']);
    expect(frozen.call('label', 1)).toBe('b');
    expect(Object.keys(frozen.namedBuffers())).toEqual(['unused']);
    expect(freeze(source).methods).toEqual(['forward']);
    expect([...optimizeForInference(source, ['label']).methods].sort()).toEqual(['forward', 'label']);
    expect([...source.methods].sort()).toEqual(['count', 'forward', 'label', 'scores']);
    expect(Object.keys(source.namedParameters())).toHaveLength(8);
  });
});

test('an attribute that a kept method changes stays', () => {
  torch.scope(() => {
    const frozen = freeze(model('service'), { preservedAttrs: ['count'] });
    const x = torch.zeros([3, 1, 8, 8]);
    expect(frozen.call('count', x).toArray()).toEqual([3]);
    expect(frozen.call('count', x).toArray()).toEqual([6]);
    expect(Object.keys(frozen.namedBuffers())).toEqual(['seen']);
  });
});

test('a frozen model shares the memory of its source, which is counted once; each is freed alone', () => {
  balanced(() => {
    const before = counts();
    const source = model('service');
    expect(counts().bytes).toBe(before.bytes + own);
    const exact = freeze(source, { optimizeNumerics: false });
    expect(counts()).toMatchObject({ tensors: before.tensors + 2, bytes: before.bytes + own });
    source.dispose();
    // Without the unused buffers and the batch norm's number of batches.
    expect(counts()).toMatchObject({ tensors: before.tensors + 1, bytes: before.bytes + own - buffers - 8 });
    torch.scope(() => void exact.forward(torch.zeros([1, 1, 8, 8])));
    exact.dispose();
    expect(counts()).toEqual(before);
  });
});

test('dispose frees the copy although its source lives on', async () => {
  const answer = await ask(`
    const source = torch.jit.load(${JSON.stringify(pathOf('service'))});
    const x = torch.zeros([1, 1, 8, 8]);
    const use = (m) => torch.scope(() => {
      torch.noGrad(() => { for (let i = 0; i < 3; i++) m.forward(x); });
      m.dispose();
    });
    const cycle = () => {
      use(torch.jit.freeze(source));
      use(torch.jit.optimizeForInference(source));
      const frozen = torch.jit.freeze(source);
      use(torch.jit.optimizeForInference(frozen));
      frozen.dispose();
    };
    for (let i = 0; i < 3; i++) cycle();
    const figures = () => ({ ...counts(), allocated: torch.memory().allocatedBytes });
    const before = figures();
    for (let i = 0; i < 20; i++) cycle();
    answer({ before, after: figures() });
  `);
  expect(answer.after).toEqual(answer.before);
});

test('a copy outlives its source while a call runs, and its calls the copy', async () => {
  await balancedAsync(async () => {
    const source = model('service');
    const fast = optimizeForInference(source);
    source.dispose();
    const x = torch.zeros([4, 1, 8, 8]);
    const later = Promise.all([fast.async.forward(x), fast.async.forward(x), fast.async.forward(x)]);
    fast.dispose();
    x.dispose();
    for (const y of await later) {
      expect(y.shape).toEqual([4, 5]);
      y.dispose();
    }
  });
});

test('a model in training mode: freeze refuses it, optimizeForInference leaves it as it is', () => {
  torch.scope(() => {
    const source = model('cnn-training');
    expect(source.isTraining()).toBe(true);
    expect(thrown(() => freeze(source))).toMatchObject({
      code: 'ERR_TORCH_ARGUMENT',
      message: expect.stringContaining(
        "argument 'model': expected a model in evaluation mode, got one in training mode",
      ),
    });
    const x = torch.randn([2, 1, 8, 8]);
    const fast = optimizeForInference(source);
    expect(source.isTraining()).toBe(true);
    const y = torch.inferenceMode(() => fast.forward(x));
    source.eval();
    close(
      y,
      torch.noGrad(() => source.forward(x)),
    );
  });
});

test('a model of another thread', async () => {
  const answer = await ask(`
    const { Worker } = require('worker_threads');
    const work = (file, libtorchNode) => {
      const torch = require(libtorchNode);
      const source = torch.jit.load(file);
      const fast = torch.jit.optimizeForInference(source);
      source.dispose();
      const y = torch.noGrad(() => fast.forward(torch.ones([2, 1, 8, 8])));
      require('worker_threads').parentPort.postMessage(y.toArray());
    };
    const main = torch.jit.load(${JSON.stringify(pathOf('service'))});
    const expected = torch.noGrad(() => main.forward(torch.ones([2, 1, 8, 8]))).toArray();
    const library = require.resolve(${JSON.stringify(require('node:path').resolve(__dirname, '../../dist/lib/index.js'))});
    const source = '(' + work + ')(' + JSON.stringify(${JSON.stringify(pathOf('service'))}) + ',' + JSON.stringify(library) + ')';
    const workers = [0, 1].map(() => new Promise((resolve, reject) => {
      const worker = new Worker(source, { eval: true });
      worker.on('message', resolve).on('error', reject);
    }));
    Promise.all(workers).then((results) => answer({ expected, results }));
  `);
  for (const result of answer.results) {
    for (const [i, row] of result.entries()) {
      for (const [j, value] of row.entries()) expect(value).toBeCloseTo(answer.expected[i][j], 4);
    }
  }
});

test('errors of ops that a pass has inserted, which have no place in the source', () => {
  torch.scope(() => {
    const fast = optimizeForInference(model('service'));
    const error = thrown(() => fast.forward(torch.zeros([2, 1, 9, 9])));
    expect(error).toMatchObject({ code: 'ERR_TORCH_RUNTIME', op: 'Service.forward' });
    expect(error.message).toContain('cannot be multiplied (2x100 and 64x5)');
  });
});

test('results of an optimised model have no gradients', () => {
  torch.scope(() => {
    const source = model('service');
    const x = torch.ones([2, 1, 8, 8], { requiresGrad: true });
    expect(source.forward(x).requiresGrad).toBe(true);
    expect(freeze(source).forward(torch.ones([2, 1, 8, 8])).requiresGrad).toBe(false);
    expect(freeze(source).forward(x).requiresGrad).toBe(true);
    expect(optimizeForInference(source).forward(torch.ones([2, 1, 8, 8])).requiresGrad).toBe(false);
  });
});

test('refusals', () => {
  torch.scope(() => {
    const m = model('service');
    const { freeze: raw, optimizeForInference: fast } = untyped.jit;
    for (const call of [
      () => raw(),
      () => raw({}),
      () => raw(m, ['nothing']),
      () => raw(m, ['features.nothing']),
      () => raw(m, 'scores'),
      () => raw(m, [1]),
      () => raw(m, { preservedAttrs: [], extra: 1 }),
      () => raw(m, { optimizeNumerics: 1 }),
      () => fast(5),
      () => fast(m, ['classes']),
      () => fast(m, { preservedAttrs: [] }),
    ]) {
      expect(codeOf(call)).toBe('ERR_TORCH_ARGUMENT');
    }
    expect(thrown(() => raw(m, ['nothing'])).message).toBe(
      "jit.freeze: argument 'preservedAttrs': expected names of its attributes or methods, got 'nothing'",
    );
    m.dispose();
    expect(codeOf(() => raw(m))).toBe('ERR_TORCH_DISPOSED');
    expect(codeOf(() => fast(m))).toBe('ERR_TORCH_DISPOSED');
  });
});

test('copies that are collected while another one is made, at the memory limit', async () => {
  const { codes, tensors } = await ask(
    `const m = torch.jit.load(${JSON.stringify(pathOf('service'))});
    const { collectAll } = require(${JSON.stringify(`${LIB}/memory/collector.js`)});
    const { freeze } = torch.jit;
    const begin = torch.memory();
    const drop = (count) => { for (let i = 0; i < count; i++) freeze(m); };
    drop(20);
    const held = torch.memory().allocatedBytes;
    torch.setMemoryLimit(held + 1);
    const codes = [];
    for (let i = 0; i < 5; i++) {
      try {
        drop(1);
        codes.push('');
      } catch (error) {
        codes.push(error.code);
      }
    }
    torch.setMemoryLimit(null);
    collectAll();
    answer({ codes, tensors: torch.memory().bytes - begin.bytes });
  `,
  );
  for (const code of codes) expect(['', 'ERR_TORCH_MEMORY_LIMIT']).toContain(code);
  expect(tensors).toBe(0);
});
