/** DataLoader with workers: the same bits for every number of them, limits, and what is left. */
import * as path from 'node:path';
import { run } from '../support/child';
import { ordinaryEnv } from '../support/sanitized';
import { balancedAsync, counts, LIB, settled, torch } from '../support/torch';
import { disposeLoaders, type Loader, load, module_, worker } from './load';
import { Noisy, Numbers } from './noisy-datasets';

const { data } = torch.utils;
const { ConcatDataset, RandomSampler, Subset, TensorDataset } = data;

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

afterEach(disposeLoaders);

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

test('the rows of a tensor, which its parts and joins have, too', async () => {
  const x = torch.arange(20).reshape(10, 2);
  const options = { batchSize: 4, shuffle: true };
  const rows = new ConcatDataset([x, new Subset(x, [3, -1]), data.randomSplit(x, [0.5, 0.5])[0]!]);
  for (const dataset of [x, rows]) {
    torch.manualSeed(3);
    const expected = await read(load(dataset, options));
    torch.manualSeed(3);
    await balancedAsync(async () => expect(await read(load(dataset, { ...options, numWorkers: 1 }))).toEqual(expected));
  }
  torch.manualSeed(3);
  const pairs = await read(load(new TensorDataset(x), options));
  torch.manualSeed(3);
  expect(await read(load(x, options))).toEqual(pairs.map(([batch]) => batch));
  expect(await read(load(x, { batchSize: null }))).toEqual(x.toArray().map((row) => ['int64', row]));
  x.dispose();
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

test('modules whose export is a list, or makes a tensor; other values are refused', async () => {
  const values = async (name: string) => {
    const seen: number[] = [];
    const options = { batchSize: 2, numWorkers: 1, worker: worker(name) };
    for await (const batch of load({ length: 3, getItem: () => 0 }, options)) {
      seen.push(...batch.toArray());
      torch.disposeAll(batch);
    }
    return seen;
  };
  expect([await values('list'), await values('rows')]).toEqual([
    [5, 6, 7],
    [5, 6, 7],
  ]);
  await expect(values('nothing')).rejects.toThrow(
    "argument 'worker.export': expected the name of a dataset with getItem(index), or of a class or function that makes one, got 5",
  );
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
  for (const numWorkers of [0, 1]) {
    const [generator, own] = [1, 2].map((seed) => new torch.Generator().manualSeed(seed));
    const of = async (sampler: any) => {
      const loader = load(dataset, { batchSize: 8, sampler, generator, numWorkers, prefetchFactor: 4 });
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
    const given = { numWorkers: 1, prefetchFactor: 4, worker: worker('counted', kind, cells), ...options };
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

test('workers that have read 64 MB ahead return the memory of their samples: RSS is within the budget', async () => {
  // The program ends when RSS is within the budget.
  const env = { ...ordinaryEnv(), LIBRARY: LIB, OPENBLAS_NUM_THREADS: '1' };
  const { code, stdout } = await run(process.execPath, [path.join(__dirname, 'programs/prefetch.cjs')], { env });
  expect([code, stdout]).toEqual([0, 'within\n']);
});

test.each(['toSparse', 'toSparseCsr'] as const)('samples of %s are those of a loader without workers', async (to) => {
  const { DataLoader } = data;
  const samples = [0, 1, 2].map((i) => (torch.eye(3).mul(i) as any)[to]());
  const dense = async (numWorkers: number) => {
    const loader = new DataLoader(samples, { batchSize: null, numWorkers });
    try {
      const seen: unknown[] = [];
      for await (const sample of loader) seen.push([sample.layout, sample.toDense().toArray()]);
      return seen;
    } finally {
      await loader.dispose();
    }
  };
  expect(await dense(2)).toEqual(await dense(0));
});
