/** Datasets, loops and what they leave behind. */
import { inspect } from 'node:util';
import { balancedAsync, codeOf, counts, settled, thrown, torch, untyped } from '../support/torch';
import { Later, Squares, Stream } from './datasets';

const { data } = torch.utils;
const { ChainDataset, ConcatDataset, DataLoader, Dataset, Subset, TensorDataset } = data;

const rows = (n: number) => torch.arange(3 * n, { dtype: 'float32' }).reshape([n, 3]);
const lists = (batches: Iterable<any>) => [...batches].map((batch) => batch.toArray());

async function collect(loader: AsyncIterable<any>): Promise<any[]> {
  const all: any[] = [];
  for await (const batch of loader) all.push(batch);
  return all;
}

/** The size of the first batch. */
async function firstOf(loader: AsyncIterable<any>): Promise<number> {
  for await (const [batch] of loader) return batch.numel;
  return 0;
}

describe('TensorDataset', () => {
  test('batches are copies of the rows, in order or shuffled, of every dtype', () => {
    torch.scope(() => {
      for (const dtype of ['float32', 'int64', 'uint8', 'bool', 'float64'] as const) {
        const x = rows(10).to(dtype);
        for (const shuffle of [false, true]) {
          const dataset = new TensorDataset(x, torch.arange(10));
          const batches = [...new DataLoader(dataset, { batchSize: 4, shuffle })];
          const order = torch.cat(batches.map(([, index]) => index));
          const all = torch.cat(batches.map(([batch]) => batch));
          expect(batches.map(([batch]) => batch.shape)).toEqual([
            [4, 3],
            [4, 3],
            [2, 3],
          ]);
          expect(torch.equal(all, x.indexSelect(0, order))).toBe(true);
          expect(all.dtype).toBe(dtype);
          batches[0][1].fill_(7); // not the memory of the dataset
          expect(dataset.tensors[1]!.toArray()).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        }
      }
    });
  });

  test('of a class that overrides getItem, with collateFn, without batches', () => {
    class Doubled extends TensorDataset {
      override getItem(index: number) {
        return super.getItem(index).map((row) => row.mul(2));
      }
    }
    torch.scope(() => {
      const x = torch.arange(4);
      expect(lists([...new DataLoader(new Doubled(x), { batchSize: 2 })].map(([b]) => b))).toEqual([
        [0, 2],
        [4, 6],
      ]);
      const collateFn = (samples: any[]) => samples.map(([row]) => row.item());
      expect([...new DataLoader(new TensorDataset(x), { batchSize: 3, collateFn })]).toEqual([[0, 1, 2], [3]]);
      expect(lists([...new DataLoader(new TensorDataset(x), { batchSize: null })].map(([b]) => b))).toEqual([
        0, 1, 2, 3,
      ]);
    });
  });

  test('refuses tensors of several lengths', () => {
    torch.scope(() => {
      expect(thrown(() => new TensorDataset(rows(3), rows(4))).message).toMatch(/'tensors\[1\]': expected .* 3 rows/);
      expect(codeOf(() => new TensorDataset())).toBe('ERR_TORCH_ARGUMENT');
    });
  });
});

test('Subset, ConcatDataset and ChainDataset', async () => {
  const one = new Subset(new Squares(10), [7, 2, 2]);
  const all = new ConcatDataset([one, new Squares(3), ['a', 'b']]);
  expect([one.length, all.length, all.cumulativeSizes]).toEqual([3, 8, [3, 6, 8]]);
  expect(all.getItem(6)).toBe('a');
  expect(torch.scope(() => all.getItem(1).x.toArray())).toEqual([4, 4]);
  expect(() => all.getItem(8)).toThrow(/ConcatDataset: expected an index from -8 to 7, got 8/);
  for (const dataset of [all, one]) expect(codeOf(() => dataset.getItem(8))).toBe('ERR_TORCH_INDEX');
  const inner = new Subset(new TensorDataset(torch.arange(10)), [9, 8, 7, 6]);
  const nested = new DataLoader(new Subset(inner, [3, 0]), { batchSize: 2 });
  torch.scope(() => expect(lists([...nested].map(([x]) => x))).toEqual([[6, 9]]));
  expect([...new DataLoader(new ChainDataset([[1, 2], new Set(['a'])]), { batchSize: null })]).toEqual([1, 2, 'a']);
  const chain = new ChainDataset([new Stream(2), ['x']]);
  expect(await collect(new DataLoader(chain, { batchSize: null, collateFn: ([i]) => i }))).toEqual([0, 1, 'x']);
});

test('getItems gives samples, or a batch', () => {
  class Lists extends Squares {
    asked: number[][] = [];
    constructor(readonly give: (indices: number[]) => unknown) {
      super(5);
    }
    override getItems(indices: number[]) {
      this.asked.push(indices);
      return this.give(indices);
    }
  }
  const dataset = new Lists((indices) => indices.map((i) => [i, String(i)]));
  const batches = [...new DataLoader(dataset, { batchSize: 3 })];
  expect(batches.map(([x, text]) => [x.toArray(), text])).toEqual([
    [
      [0, 1, 2],
      ['0', '1', '2'],
    ],
    [
      [3, 4],
      ['3', '4'],
    ],
  ]);
  expect(dataset.asked).toEqual([
    [0, 1, 2],
    [3, 4],
  ]);
  const whole = new Lists((indices) => ({ indices }));
  expect([...new DataLoader(whole, { batchSize: 4 })]).toEqual([{ indices: [0, 1, 2, 3] }, { indices: [4] }]);
  const wrong = new Lists(() => [1]);
  expect(() => [...new DataLoader(wrong, { batchSize: 3 })]).toThrow(/getItems to return 3 samples/);
});

describe('what loops leave', () => {
  const datasets: [string, () => any, boolean][] = [
    ['TensorDataset', () => new TensorDataset(rows(20)), true],
    ['a dataset', () => new Squares(20), true],
    ['an asynchronous dataset', () => new Later(20), false],
  ];
  test.each(datasets)('%s: nothing, outside of scopes', async (_, make, sync) => {
    const dataset = make();
    const loader = new DataLoader(dataset, { batchSize: 3, shuffle: true });
    await balancedAsync(async () => {
      for await (const batch of loader) torch.disposeAll(batch);
      for await (const batch of loader) {
        torch.disposeAll(batch);
        break;
      }
      await expect(
        (async () => {
          for await (const batch of loader) {
            torch.disposeAll(batch);
            throw new Error('mine');
          }
        })(),
      ).rejects.toThrow('mine');
      if (sync) for (const batch of loader) torch.disposeAll(batch);
    });
    torch.disposeAll(dataset);
  });

  test.each(datasets)('%s: nothing, in a scope, which has the batches', async (_, make) => {
    const dataset = make();
    const loader = new DataLoader(dataset, { batchSize: 3, shuffle: true });
    await balancedAsync(async () => {
      await torch.scope(async () => {
        const before = settled().tensors;
        let n = 0;
        for await (const batch of loader) {
          n++;
          expect(Object.values(batch).every((one: any) => !one.disposed)).toBe(true);
          if (n === 3) break;
        }
        expect(counts().tensors - before).toBe(3 * (dataset instanceof TensorDataset ? 1 : 2));
      });
    });
    torch.disposeAll(dataset);
  });

  test('a stream is ended, and its samples are left to the collector', async () => {
    const before = settled();
    const stream = new Stream(10);
    const loader = new DataLoader(stream, { batchSize: 4 });
    expect((await collect(loader)).map(([i]) => i.toArray())).toEqual([
      [0, 1, 2, 3],
      [4, 5, 6, 7],
      [8, 9],
    ]);
    expect(await firstOf(loader)).toBe(4);
    expect([stream.read, stream.ended]).toEqual([14, 2]);
    expect(settled()).toEqual(before);
  });

  test('a sampler that fails, a dataset that fails', async () => {
    class Failing extends Later {
      override async getItem(index: number) {
        const made = await super.getItem(index);
        if (index === 4) throw new RangeError('sample 4');
        return made;
      }
    }
    const loader = new DataLoader(new Failing(8), { batchSize: 3 });
    await balancedAsync(async () => {
      const seen: number[] = [];
      const failed = async () => {
        for await (const batch of loader) {
          seen.push(batch.y.numel);
          torch.disposeAll(batch);
        }
      };
      await expect(failed()).rejects.toThrow(new RangeError('sample 4'));
      expect(seen).toEqual([3]);
    });
    expect(() => [...new DataLoader([1, 2], { sampler: [0.5] })]).toThrow(/expected a sampler of integers/);
    const order = (sampler: any) => {
      const loader = new DataLoader(['a', 'b', 'c'] as any, { sampler, batchSize: 3 });
      torch.disposeAll(sampler);
      return [...loader];
    };
    expect(order(torch.tensor([2n, 0n, 1n]))).toEqual([['c', 'a', 'b']]);
    expect(() => order(torch.tensor(1n))).toThrow(/'sampler': expected an iterable, got/);
  });

  test('a scope returns a loader, with the tensors of its dataset', () => {
    const loader = torch.scope(() => new DataLoader(new TensorDataset(torch.arange(2)), { batchSize: 2 }));
    expect(lists([...loader].map(([x]) => x))).toEqual([[0, 1]]);
  });
});

describe('an AbortSignal', () => {
  test('rejects the next batch, and one that is under way', async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const loader = new DataLoader(new Later(9), { batchSize: 3, signal });
    const before = settled();
    const reason = new Error('enough');
    const failed = (async () => {
      for await (const batch of loader) {
        torch.disposeAll(batch);
        setImmediate(() => controller.abort(reason)); // while the next one is read
      }
    })();
    await expect(failed).rejects.toBe(reason);
    while (settled().tensors > before.tensors) await new Promise(setImmediate);
    expect(() => loader[Symbol.asyncIterator]()).toThrow(reason);
  });
});

test('a signal that the dataset aborts rejects the wait for it', async () => {
  const controller = new AbortController();
  const getItem = (index: number) => {
    if (index < 2) return index;
    controller.abort();
    return new Promise(() => {});
  };
  const loader = new DataLoader({ length: 4, getItem }, { signal: controller.signal });
  await expect(collect(loader)).rejects.toMatchObject({ name: 'AbortError' });
});

test('an index that is out of range, and one from the end', () => {
  torch.scope(() => {
    for (const dataset of [[1, 2, 3], new TensorDataset(torch.arange(3))]) {
      const of = (index: number) => [...new DataLoader(dataset as any, { sampler: [0, index], batchSize: 2 })];
      expect([codeOf(() => of(3)), codeOf(() => of(-4))]).toEqual(['ERR_TORCH_INDEX', 'ERR_TORCH_INDEX']);
      expect(String(of(-1))).toBe(String(of(2)));
    }
    expect([...new DataLoader([undefined], { collateFn: ([sample]) => sample })]).toEqual([undefined]);
  });
});

test('the promise of a dataset that a synchronous loop refuses is handled', async () => {
  const unhandled: unknown[] = [];
  const note = (error: unknown) => void unhandled.push(error);
  process.on('unhandledRejection', note);
  try {
    const failing = { length: 1, getItem: async () => Promise.reject(new Error('late')) };
    expect(() => [...new DataLoader(failing)]).toThrow(/use .for await./);
    for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
    expect(unhandled).toEqual([]);
  } finally {
    process.off('unhandledRejection', note);
  }
});

test('calls of next that do not wait run one after the other', async () => {
  const pass = new DataLoader(new Later(7), { batchSize: 3 })[Symbol.asyncIterator]();
  const steps = await Promise.all([pass.next(), pass.next(), pass.next(), pass.next()]);
  expect(steps.map(({ value }) => value?.y.toArray())).toEqual([[0, 1, 2], [3, 4, 5], [6], undefined]);
  torch.disposeAll(steps);
});

test('random numbers of a sample depend on the seed, the epoch and the index alone', async () => {
  class Noisy extends Dataset {
    readonly length = 12;
    getItem(index: number, context: any) {
      return [index, torch.rand([2], { generator: context.generator })];
    }
  }
  const numbers = async (options: object) => {
    torch.manualSeed(1);
    const loader = new DataLoader(new Noisy(), options);
    const seen = new Map<string, string>();
    for (let epoch = 0; epoch < 2; epoch++) {
      for await (const [index, noise] of loader) {
        (index.toArray() as number[]).forEach((i, k) => {
          seen.set(`${epoch} ${i}`, String(noise.at(k).toArray()));
        });
      }
    }
    return seen;
  };
  const [a, b] = [await numbers({ batchSize: 5 }), await numbers({ batchSize: 2 })];
  expect(new Set(a.values()).size).toBe(24);
  expect(b).toEqual(a);
});

test('arguments', () => {
  const refused = (dataset: unknown, options?: unknown) =>
    thrown(() => new (DataLoader as any)(dataset, options)).message;
  expect(refused({})).toMatch(/expected a dataset with getItem\(index\) and length, or an iterable/);
  expect(refused([1], { batch_size: 2 })).toMatch(/did you mean 'batchSize'/);
  expect(refused([1], { numWorkers: Number.POSITIVE_INFINITY })).toMatch(/an integer of 0 or more, got Infinity/);
  expect(refused([1], { numWorkers: 1, persistentWorkers: false })).toMatch(
    /expected true, as workers stay .*got false/,
  );
  expect(refused([1], { persistentWorkers: true })).toMatch(/'persistentWorkers': expected none without numWorkers/);
  new DataLoader([1], { numWorkers: 1, persistentWorkers: true }).dispose();
  expect(refused([1], { batchSize: 0 })).toMatch(/expected an integer of 1 or more, got 0/);
  expect(refused([1], { sampler: [0], shuffle: true })).toMatch(
    /'shuffle': expected shuffle: false with a sampler, got true/,
  );
  expect(refused([1], { batchSampler: [[0]], dropLast: true })).toMatch(
    /expected dropLast: false with a batchSampler, got true/,
  );
  expect(refused(new Set([1]), { shuffle: true })).toMatch(
    /expected shuffle: false with an iterable dataset, got true/,
  );
  expect(refused([1], { collateFn: 1 })).toMatch(/expected a function/);
  expect(refused([], { shuffle: true })).toMatch(/'dataSource': expected one sample or more, got none/);
  expect(thrown(() => new untyped.utils.data.RandomSampler([1], { replacement: 1 })).message).toMatch(
    /a boolean, got 1/,
  );
  expect(thrown(() => data.randomSplit([1, 2], [1, 2])).message).toMatch(/with the sum 2, or fractions/);
  expect(() => [...new DataLoader(new Later(2))]).toThrow(/use .for await./);
  const loader = new DataLoader([1, 2, 3, 4, 5], { batchSize: 2, dropLast: true });
  expect([loader.length, new DataLoader([1, 2, 3], { batchSize: 2 }).length]).toEqual([2, 2]);
  expect(new DataLoader(new Stream(3)).length).toBeUndefined();
});

test('a batch may have more samples than a call may have arguments, and than there are', async () => {
  const rows = new TensorDataset(torch.arange(200_000));
  const loader = new DataLoader(rows, { batchSize: 300_000, shuffle: true });
  const shapes: unknown[] = [];
  for await (const [batch] of loader) {
    shapes.push(batch.shape);
    batch.dispose();
  }
  expect(shapes).toEqual([[200_000]]);
  torch.disposeAll(rows);
});

test('a scope gives a loader of a tensor, also of a disposed one', () => {
  torch.scope(() => {
    const loader = torch.scope(() => new DataLoader(torch.arange(3), { batchSize: 2 }));
    expect([...loader].map((batch: any) => batch.toArray())).toEqual([[0, 1], [2]]);
    const gone = torch.scope(() => {
      const rows = torch.ones([2]);
      const made = new DataLoader(rows);
      rows.dispose();
      return made;
    });
    expect(codeOf(() => [...gone])).toBe('ERR_TORCH_DISPOSED');
  });
});

test('an element of a dataset is not a sample', () => {
  const dataset: any = new Subset([1, 2], [0]);
  const { code, message } = thrown(() => dataset[0]);
  expect([code, message]).toEqual([
    'ERR_TORCH_NAME',
    'utils.data.Dataset: dataset[0] is not a sample: write dataset.getItem(0)',
  ]);
  expect(codeOf(() => Array.from(dataset))).toBe('ERR_TORCH_NAME');
  expect(String(inspect(new Proxy(dataset, {})))).toContain('Subset');
});
