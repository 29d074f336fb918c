/** DataLoader with workers: the same bits for every number of them, limits, failures, and what is left. */
import * as path from 'node:path';
import * as threads from 'node:worker_threads';
import { balancedAsync, codeOf, counts, settled, torch } from '../support/torch';
import { Noisy, Numbers } from './noisy-here';

const { data } = torch.utils;
const { ConcatDataset, DataLoader, RandomSampler, Subset, TensorDataset } = data;
type Loader = any;

const module_ = path.join(__dirname, 'programs/noisy.mjs');
const worker = (name: string, ...args: unknown[]) => ({ module: module_, export: name, args });

const plain = (value: any): any => {
  if (value instanceof torch.Tensor) return [value.dtype, value.toArray()];
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plain(inner)]));
};

/** The batches of some passes. Frees the tensors. */
async function read(loader: Loader, passes = 1, most = Number.POSITIVE_INFINITY): Promise<any[]> {
  const seen: any[] = [];
  for (let pass = 0; pass < passes; pass++) {
    let n = 0;
    for await (const batch of loader) {
      seen.push(plain(batch));
      torch.disposeAll(batch);
      if (++n === most) break;
    }
  }
  return seen;
}

const loaders: Loader[] = [];
function load(dataset: any, options: any): Loader {
  const loader = new DataLoader(dataset, options);
  loaders.push(loader);
  return loader;
}
afterEach(() => Promise.all(loaders.splice(0).map((loader) => loader.dispose())));

test('0 to 3 workers give the same bits, over passes and with loops that end early', async () => {
  const weights = torch.tensor([1, 2, 3]);
  const seen: string[] = [];
  for (const numWorkers of [0, 1, 3]) {
    torch.manualSeed(6);
    const loader = load(new Noisy(23, weights), { batchSize: 4, shuffle: true, numWorkers });
    const before = settled().tensors;
    seen.push(JSON.stringify([await read(loader, 1, 2), await read(loader, 2)]));
    expect(counts().tensors).toBe(before);
  }
  expect(JSON.parse(seen[0]!)[1].length).toBe(12);
  expect(seen[1]).toBe(seen[0]);
  expect(seen[2]).toBe(seen[0]);
  weights.dispose();
});

test('datasets of torch.utils.data need no module; nothing is left after a pass, or after one that ends early', async () => {
  const x = torch.arange(60, { dtype: 'float32' }).reshape([20, 3]);
  const y = torch.arange(20);
  const rows = new TensorDataset(x, y);
  const all = new ConcatDataset([
    new Subset(rows, [5, 3, 19]),
    rows,
    [[torch.ones([3]), torch.zeros([], { dtype: 'int64' })]],
  ]);
  const options = { batchSize: 5, shuffle: true };
  for (const dataset of [rows, new Subset(rows, [4, 4, 1, 7, 9, 2]), all]) {
    torch.manualSeed(2);
    const expected = await read(load(dataset, options), 2);
    torch.manualSeed(2);
    const loader = load(dataset, { ...options, numWorkers: 2 });
    await balancedAsync(async () => {
      expect(await read(loader, 2)).toEqual(expected);
      await read(loader, 1, 1);
      await torch.scope(async () => {
        for await (const [batch] of loader as any) if (batch.shape[0] === 5) break;
      });
    });
  }
  torch.disposeAll([x, y, all]);
});

test('an asynchronous dataset of a default export, collateFn here, no batches', async () => {
  const dataset = { length: 7, getItem: () => expect('not').toBe('called') };
  const collateFn = (samples: any[]) => samples.map((one) => one.item());
  const loader = load(dataset, { batchSize: 3, numWorkers: 2, worker: module_, collateFn });
  // The class of the module is called without arguments, so its length does not matter.
  expect(await balancedAsync(() => read(loader))).toEqual([[0, 1, 2], [3, 4, 5], [6]]);
  const single = load(dataset, { batchSize: null, numWorkers: 1, worker: worker('default', 7) });
  expect((await read(single)).map(([, [i]]) => i)).toEqual([0, 1, 2, 3, 4, 5, 6]);
});

test('a dataset that is read in order has one reader, and its cursor is in the state', async () => {
  const make = (numWorkers: number) => load(new Numbers(10), { batchSize: 3, numWorkers });
  const expected = await read(make(0), 2);
  expect(await read(make(2), 2)).toEqual(expected);
  for (const at of [1, 4]) {
    const loader = make(2);
    const seen = await read(loader, 1, at);
    const state = JSON.parse(JSON.stringify(loader.stateDict()));
    expect([state.position, state.ended]).toEqual([at, at === 4]);
    for (const numWorkers of [0, 1]) {
      const other = make(numWorkers);
      other.loadStateDict(state);
      expect([...seen, ...(await read(other, 2))]).toEqual(expected);
    }
  }
});

test('a pass that is saved goes on with another number of workers', async () => {
  const dataset = new TensorDataset(torch.arange(50));
  const make = (numWorkers: number) => {
    const generator = new torch.Generator().manualSeed(8);
    const sampler = new RandomSampler(dataset, true, 90, generator);
    return load(dataset, { batchSize: 7, sampler, generator, numWorkers });
  };
  const whole = await read(make(0), 2);
  for (const [first, second] of [
    [2, 0],
    [0, 2],
  ] as const) {
    const loader = make(first);
    const seen = await read(loader, 1, 5);
    const other = make(second);
    other.loadStateDict(loader.stateDict());
    expect([...seen, ...(await read(other, 2))]).toEqual(whole);
  }
  torch.disposeAll(dataset);
});

test('with workers the state has the generators as without', async () => {
  const dataset = new TensorDataset(torch.arange(8));
  const states = [];
  for (const numWorkers of [0, 2]) {
    const [generator, own] = [1, 2].map((seed) => new torch.Generator().manualSeed(seed));
    const of = async (sampler: any) => {
      const loader = load(dataset, { batchSize: 8, sampler, generator, numWorkers });
      await read(loader, 1, 2);
      return loader.stateDict();
    };
    // Several permutations are drawn ahead.
    states.push([
      await of(new RandomSampler(dataset, { numSamples: 64, generator: own })),
      (await of(new RandomSampler(dataset, { numSamples: 64 }))).generators,
    ]);
  }
  expect(states[1]).toEqual(states[0]);
  torch.disposeAll(dataset);
});

describe('several passes at once', () => {
  const dataset = new TensorDataset(torch.arange(10));
  const valuesOf = async (loader: Loader) => (await read(loader)).flatMap(([[, values]]) => values);
  const all = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map((i) => BigInt(i));

  test('nested loops, with workers for indices and one reader', async () => {
    const loader = load(dataset, { batchSize: 2, numWorkers: 2 });
    const stream = load(new Numbers(6), { batchSize: 2, numWorkers: 1 });
    await balancedAsync(async () => {
      const seen: any[] = [];
      for await (const [batch] of loader) {
        seen.push(...batch.toArray());
        torch.disposeAll(batch);
        expect((await valuesOf(loader)).map(BigInt)).toEqual(all);
      }
      expect(seen.map(BigInt)).toEqual(all);
    });
    let outer = 0;
    for await (const _ of stream) {
      outer++;
      expect((await read(stream)).length).toBe(3);
    }
    expect(outer).toBe(3);
  });

  test('an iterator that is left, and one that is ended in a later pass', async () => {
    const loader = load(dataset, { batchSize: 2, numWorkers: 2 });
    const left = loader[Symbol.asyncIterator]();
    torch.disposeAll((await left.next()).value);
    expect((await valuesOf(loader)).map(BigInt)).toEqual(all);
    let n = 0;
    for await (const batch of loader) {
      torch.disposeAll(batch);
      if (++n === 2) await left.return();
    }
    expect(n).toBe(5);
    expect((await valuesOf(loader)).map(BigInt)).toEqual(all);
  });
});

test('a dataset that is read in order is closed when a loop ends early; its error rejects', async () => {
  const cells = new SharedArrayBuffer(8);
  const of = (...args: unknown[]) => load(new Set(), { numWorkers: 1, worker: worker('closing', cells, ...args) });
  await read(of(), 2, 1);
  expect([...new Int32Array(cells)]).toEqual([2, 2]);
  await expect(read(of('not closed'), 1, 1)).rejects.toMatchObject({
    code: 'ERR_TORCH_DATA',
    cause: expect.objectContaining({ message: 'not closed' }),
  });
});

describe('failures', () => {
  const fault = (kind: string, at: number, options = {}) => {
    const cells = new SharedArrayBuffer(12);
    const given = { batchSize: 2, numWorkers: 2, worker: worker('faulty', 10, kind, at, cells), ...options };
    return { loader: load({ length: 10, getItem: () => 0 }, given), cells: new Int32Array(cells) };
  };
  const failed = async (loader: Loader) => {
    const seen: number[] = [];
    try {
      for await (const batch of loader) {
        seen.push(batch.numel);
        torch.disposeAll(batch);
      }
    } catch (error) {
      return { seen, error: error as any };
    }
    return { seen, error: null };
  };

  test.each([
    ['throw', 'of the dataset', 'getItem'],
    ['exit', 'the worker called process.exit', ''],
    ['async', 'of a timer', 'noisy.mjs'],
  ])('%s: the batches before it come, then the index and the stack; the next pass is whole', async (kind, text, at) => {
    const { loader } = fault(kind, 5);
    await balancedAsync(async () => {
      const { seen, error } = await failed(loader);
      expect([seen, error.code, error.index, error.message]).toEqual([
        [2, 2],
        'ERR_TORCH_DATA',
        5,
        `utils.data.DataLoader: sample 5: ${text}`,
      ]);
      expect([error.stack, error.cause.stack]).toEqual([expect.stringContaining(at), expect.stringContaining(at)]);
      expect(await failed(loader)).toEqual({ seen: [2, 2, 2, 2, 2], error: null });
    });
  });

  test('a sampler or collateFn that fails rejects in order, as without workers', async () => {
    const dataset = new TensorDataset(torch.arange(10));
    const broken = {
      *[Symbol.iterator]() {
        yield* [0, 1, 2, 3];
        throw new RangeError('of the sampler');
      },
    };
    let made = 0;
    const collateFn = () => {
      if (++made === 3) throw new RangeError('of collateFn');
      return torch.ones([2]);
    };
    for (const [options, seen, message] of [
      [{ batchSize: 2, sampler: broken }, [2, 2], 'of the sampler'],
      [{ batchSampler: [[0], [], [1]] }, [1], 'a sampler of integers'],
      [{ batchSize: 1, sampler: [0, 1, 2.5] }, [1, 1], 'a sampler of integers'],
      [{ batchSize: 2, collateFn }, [2, 2], 'of collateFn'],
    ] as [object, number[], string][]) {
      for (const numWorkers of [0, 1]) {
        made = 0;
        const loader = load(dataset, { ...options, numWorkers });
        await balancedAsync(async () => {
          const sizes: number[] = [];
          const loop = async () => {
            for await (const batch of loader) {
              sizes.push((Array.isArray(batch) ? batch[0] : batch).numel);
              torch.disposeAll(batch);
            }
          };
          await expect(loop()).rejects.toThrow(message);
          expect([sizes, loader.stateDict().position]).toEqual([seen, seen.length]);
        });
      }
    }
    torch.disposeAll(dataset);
  });

  test('the index of a row that a TensorDataset lacks; a property that cannot be posted', async () => {
    const rows = new TensorDataset(torch.arange(5));
    const { error } = await failed(load(rows, { batchSize: 2, sampler: [3, 2, 1, 9], numWorkers: 1 }));
    expect([error.code, error.index]).toEqual(['ERR_TORCH_DATA', 9]);
    const dataset = Object.assign(new Noisy(4, torch.ones([3])), { transform: () => 1 });
    const begin = (of: any) => load(of, { numWorkers: 1 })[Symbol.asyncIterator]();
    await balancedAsync(async () => {
      expect(() => begin(dataset)).toThrow(/'dataset\.transform': .* or the option `worker`/);
      expect(codeOf(() => begin(new ConcatDataset([rows, { length: 1, getItem: () => 1 }])))).toBe(
        'ERR_TORCH_ARGUMENT',
      );
    });
    torch.disposeAll([rows, dataset.weights]);
  });

  /** Runs with the list of the Workers that are made. `make` is called before each. */
  async function noting(run: (made: threads.Worker[]) => Promise<void>, make = (_count: number) => {}): Promise<void> {
    const made: threads.Worker[] = [];
    const { Worker } = threads;
    const mutable = require('node:worker_threads');
    mutable.Worker = class extends Worker {
      constructor(...args: ConstructorParameters<typeof Worker>) {
        make(made.length);
        super(...args);
        made.push(this);
      }
    };
    try {
      await run(made);
    } finally {
      mutable.Worker = Worker;
    }
  }

  test('a message that cannot be read, and a worker that cannot be replaced, reject', async () => {
    const hung = async () => {
      const { loader, cells } = fault('hang', 0, { numWorkers: 1 });
      const result = failed(loader);
      while (Atomics.load(cells, 0) === 0) await new Promise(setImmediate);
      return { result, cells };
    };
    await noting(
      async (made) => {
        const first = await hung();
        made[0]!.emit('messageerror', new Error('not read'));
        Atomics.store(first.cells, 2, 1); // also if it does not wait yet
        Atomics.notify(first.cells, 2);
        expect((await first.result).error).toMatchObject({ code: 'ERR_TORCH_DATA' });
        const second = await hung();
        await made[1]!.terminate();
        expect((await second.result).error).toMatchObject({ message: 'no more threads' });
      },
      (count) => {
        if (count === 2) throw new Error('no more threads');
      },
    );
  });

  test('a worker that is terminated is replaced, and its batch done again', async () => {
    await noting(async (made) => {
      const { loader, cells } = fault('hang', 4, { numWorkers: 1 });
      const result = failed(loader);
      while (Atomics.load(cells, 0) === 0) await new Promise(setImmediate);
      await made[0]!.terminate();
      expect(await result).toEqual({ seen: [2, 2, 2, 2, 2], error: null });
      expect(made.length).toBe(2);
    });
  });

  test('an aborted pass does not wait for a sample', async () => {
    const controller = new AbortController();
    const before = settled();
    const { loader, cells } = fault('hang', 0, { signal: controller.signal });
    const result = failed(loader);
    while (Atomics.load(cells, 0) === 0) await new Promise(setImmediate);
    controller.abort(new Error('enough'));
    expect((await result).error.message).toBe('enough');
    while (counts().tensors !== before.tensors) await new Promise(setImmediate);
  });

  test('a module without the export, a function that throws, a dataset without a module', async () => {
    const of = (name: string) => load([1], { numWorkers: 1, worker: worker(name) });
    const { error } = await failed(of('none'));
    expect([error.code, error.message]).toEqual(['ERR_TORCH_DATA', expect.stringMatching(/has no export 'none'/)]);
    expect((await failed(of('broken'))).error.message).toMatch(/cannot be made in a worker: cannot be made/);
    const own = { length: 1, getItem: () => 1 };
    expect((await failed(load(own, { numWorkers: 1 }))).error?.message ?? 'none').toMatch(
      /static module = import.meta.url/,
    );
    expect(codeOf(() => [...load([1], { numWorkers: 1 })])).toBe('ERR_TORCH_ARGUMENT');
    expect(() => load([1], { numWorkers: 1, worker: './a.js' })[Symbol.asyncIterator]()).toThrow(/an absolute path/);
  });
});

test('a loader that is disposed in a loop rejects the next batch', async () => {
  const loader = load(new TensorDataset(torch.arange(20)), { numWorkers: 1, prefetchFactor: 1 });
  await expect(
    (async () => {
      for await (const batch of loader) {
        torch.disposeAll(batch);
        await loader.dispose();
      }
    })(),
  ).rejects.toThrow('the loader was disposed');
});

test('reading ahead is bounded in batches and in bytes', async () => {
  const bytes = 10 * 4;
  for (const [options, limit] of [
    [{ numWorkers: 2 }, 4],
    [{ numWorkers: 2, prefetchBytes: 2 * bytes }, 2],
    [{ numWorkers: 1, prefetchFactor: 1 }, 1],
    [{ numWorkers: 1, prefetchBytes: 1 }, 1],
  ] as const) {
    const cells = new SharedArrayBuffer(12);
    const read = new Int32Array(cells);
    const given = { ...options, batchSize: 10, worker: worker('faulty', 200, 'none', -1, cells) };
    const loader = load({ length: 200, getItem: () => 0 }, given);
    let n = 0;
    for await (const batch of loader) {
      // Those that were given, and those ahead of them; a batch is 40 bytes.
      n++;
      torch.disposeAll(batch);
      expect(Atomics.load(read, 1)).toBeLessThanOrEqual(10 * (n + limit));
    }
    expect([n, Atomics.load(read, 1)]).toEqual([20, 200]);
  }
});

test('values without memory, and views of one storage, are read ahead; typed arrays count', async () => {
  const of = (kind: string, options: object) => {
    const cells = new SharedArrayBuffer(8);
    const given = { numWorkers: 2, worker: worker('counted', kind, cells), ...options };
    return { loader: load({ length: 200, getItem: () => 0 }, given), count: () => new Int32Array(cells)[1]! };
  };
  const collateFn = (samples: any[]) => {
    torch.disposeAll(samples);
    return samples.length;
  };
  for (const [kind, options, samples] of [
    ['text', { batchSize: 1 }, 5],
    ['views', { batchSize: 10, prefetchBytes: 1000, collateFn }, 50],
  ] as const) {
    const { loader, count } = of(kind, options);
    const pass = loader[Symbol.asyncIterator]();
    await pass.next();
    while (count() < samples) await new Promise(setImmediate);
    await pass.return();
  }
  const { loader, count } = of('arrays', { batchSize: 1, prefetchBytes: 80, collateFn });
  let n = 0;
  for await (const _ of loader) expect(count()).toBeLessThanOrEqual(++n + 2);
  expect(n).toBe(200);
});
