/** What fails in workers rejects the loop, in order, and leaves nothing. */
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import * as threads from 'node:worker_threads';
import { run } from '../support/child';
import { balancedAsync, codeOf, settled, torch } from '../support/torch';
import { disposeLoaders, type Loader, load, worker } from './load';
import { Noisy } from './noisy-datasets';

const { ConcatDataset, JsonLines, TensorDataset } = torch.utils.data;
afterEach(disposeLoaders);

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
    ['close', "the worker's parentPort was closed or unref'd", ''],
    ['unref', "the worker's parentPort was closed or unref'd", ''],
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

  test.each([
    ['throw', 'sample 1: of a timer'],
    ['exit', 'sample 1: the worker called process.exit'],
    ['string', "argument 'samples[1]'"],
  ])('%s: the sample of a batch of asynchronous ones that did not come as the others did', async (kind, text) => {
    const options = { batchSize: 6, numWorkers: 1, worker: worker('uneven', 6, kind, 1) };
    const { error } = await failed(load({ length: 6, getItem: () => 0 }, options));
    expect([error.index, error.message]).toEqual([1, expect.stringContaining(text)]);
  });

  test('the code, the facts and the causes of an error arrive', async () => {
    const folder = fs.mkdtempSync(path.join(tmpdir(), 'ltn-causes-'));
    const file = path.join(folder, 'lines.jsonl');
    const of = async (name: string) => (await failed(load(new JsonLines(name), { numWorkers: 1 }))).error.cause;
    expect(await of(`${file}.none`)).toMatchObject({ code: 'ENOENT', syscall: 'open', path: `${file}.none` });
    fs.writeFileSync(file, '1\n{\n');
    const broken = await of(file);
    expect([broken.code, broken.op]).toEqual(['ERR_TORCH_FILE', 'utils.data.JsonLines']);
    expect(broken.cause).toMatchObject({ name: 'SyntaxError', message: expect.stringContaining('JSON') });
    expect(Object.keys(broken)).not.toContain('cause');
    fs.rmSync(folder, { recursive: true });
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
      [{ batchSampler: [[0], [], [1]] }, [1], "'batchSampler': expected lists of integers"],
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
    const cells = new SharedArrayBuffer(8);
    const functions = { numWorkers: 1, worker: worker('counted', 'functions', cells), collateFn: () => 1 };
    const unposted = await balancedAsync(() => failed(load({ length: 1, getItem: () => 0 }, functions)));
    expect([unposted.error.index, unposted.error.message]).toEqual([0, expect.stringMatching(/could not be cloned/)]);
    expect(unposted.error.cause.name).toBe('DataCloneError');
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

  test.each([1, 2, null])('the sample of a stream that fails, with batchSize %p', async (batchSize) => {
    const of = () => load(new Set([0]), { batchSize, numWorkers: 1, worker: worker('failing', 5) });
    const loader = of();
    const { seen, error } = await failed(loader);
    expect([seen.length, error.index, error.message]).toEqual([
      batchSize === 2 ? 2 : 5,
      5,
      'utils.data.DataLoader: sample 5: of the stream',
    ]);
    const other = of();
    other.loadStateDict(loader.stateDict());
    expect((await failed(other)).error.index).toBe(5);
  });

  test('an aborted pass does not wait for a sample', async () => {
    const controller = new AbortController();
    const before = settled();
    const { loader, cells } = fault('hang', 0, { signal: controller.signal });
    const result = failed(loader);
    while (Atomics.load(cells, 0) === 0) await new Promise(setImmediate);
    controller.abort(new Error('enough'));
    expect((await result).error.message).toBe('enough');
    while (settled().tensors > before.tensors) await new Promise(setImmediate);
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

test('a program that its own workers import is told so: they start no workers', async () => {
  const { code, stdout, stderr } = await run(process.execPath, [path.join(__dirname, 'programs/alone.mjs')]);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(/cannot be made in a worker: .*expected 0 in a worker of a loader, .*isMainThread.*, got 1/);
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
