/** Wrong indices, columns and contexts. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ARGUMENT, refused, wrong } from '../support/refused';
import { balanced, balancedAsync, torch } from '../support/torch';

const { data } = torch.utils as any;
const numbers = () => torch.ones([4, 2]);

const folder = mkdtempSync(join(tmpdir(), 'ltn-data-arguments-'));
afterAll(() => rmSync(folder, { recursive: true }));
const shard = join(folder, 'rows.safetensors');
torch.scope(() => torch.safetensors.save({ x: numbers() }, shard));

describe('datasets: a value that is not an index', () => {
  const made = {
    Subset: () => new data.Subset(numbers(), [0, 1]),
    ConcatDataset: () => new data.ConcatDataset([numbers()]),
    ShardDataset: () => new data.ShardDataset([shard]),
    TokenBlocks: () => new data.TokenBlocks([1, 2, 3, 4], 1),
    StackDataset: () => new data.StackDataset(numbers(), numbers()),
    TableDataset: () => new data.TableDataset({ a: numbers(), b: [1, 2, 3, 4] }),
    TensorDataset: () => new data.TensorDataset(numbers()),
  };
  const of = Object.entries(made);

  test.each(of.filter(([name]) => name !== 'TensorDataset'))('%s.getItem', (name, make) => {
    const indices = [...wrong, '1', 0.5, 9, -9, 2n ** 70n];
    balanced(() =>
      refused(
        (index) => make().getItem(index),
        indices,
        'ERR_TORCH_INDEX',
        new RegExp(`^utils.data.${name}: expected `),
      ),
    );
  });

  test.each(of.filter(([, make]) => 'getItems' in torch.scope(() => make())))('%s.getItems', (name, make) => {
    if (name === 'ConcatDataset' || name === 'StackDataset') return;
    const items = (indices: unknown) => make().getItems(indices);
    balanced(() => {
      const lists = wrong.filter((value) => !Array.isArray(value));
      refused(items, lists, ARGUMENT, new RegExp(`^utils.data.${name}.getItems: argument 'indices': expected a list`));
      const holes = new Array(2);
      refused(items, [[Symbol('s')], ['1'], [0.5], holes], 'ERR_TORCH_INDEX', new RegExp(`^utils.data.${name}: `));
    });
  });

  test('ImageDataset', async () => {
    const images = (options: object) => new data.ImageDataset(['none.png'], options);
    await balancedAsync(async () => {
      for (const index of [...wrong, '0', 0.5, 1, -2, 2n ** 70n]) {
        await expect(images({}).getItem(index)).rejects.toMatchObject({ code: 'ERR_TORCH_INDEX' });
        await expect(images({ crop: 1 }).getItems([index])).rejects.toMatchObject({ code: 'ERR_TORCH_INDEX' });
      }
      await expect(images({}).getItems(undefined)).rejects.toMatchObject({ code: ARGUMENT, argument: 'indices' });
      // The file is missing, not the index.
      await expect(images({}).getItem(-1n)).rejects.toMatchObject({ code: 'ERR_TORCH_FILE' });
    });
  });

  test('ShardDataset takes lists of every kind, also one without indices', () => {
    const shards = new data.ShardDataset([shard]);
    balanced(() =>
      torch.scope(() => {
        const shapes = [[], [0, -1], Int32Array.of(0, 3, 1), [0n]].map((list) => shards.getItems(list).x.shape);
        expect(shapes).toEqual([
          [0, 2],
          [2, 2],
          [3, 2],
          [1, 2],
        ]);
        shards.dispose();
      }),
    );
  });

  test('bigints and negative indices are indices', () => {
    balanced(() =>
      torch.scope(() => {
        const pairs = new data.ConcatDataset([['a'], ['b', 'c']]);
        expect([0n, 2n, -1n, -3].map((index) => pairs.getItem(index))).toEqual(['a', 'c', 'c', 'a']);
        expect(new data.TensorDataset(numbers()).getItems([-1, 0n])[0].shape).toEqual([2, 2]);
        expect(new data.TokenBlocks([1, 2, 3], 1).getItem(-1n)[1].toArray()).toEqual([3]);
      }),
    );
  });
});

test('a column that is null', () => {
  const message = /^utils.data.TableDataset: argument 'columns.a': expected a Tensor or a list/;
  refused((a) => new data.TableDataset({ a }), [null, undefined, 1], ARGUMENT, message);
});

test('a Generator instead of a context is not replaced by the default one', () => {
  const flip = new data.transforms.RandomHorizontalFlip(0.5);
  const generator = new torch.Generator();
  const image = torch.ones([3, 4, 4]);
  const message =
    /^utils.data.transforms: argument 'context': expected a sample's context, or an object \{ generator \}/;
  balanced(() => {
    refused((context) => flip.forward(image, context), [generator, 3, 'x', image, true], ARGUMENT, message);
    torch.scope(() => expect(flip.forward(image, { generator }).shape).toEqual([3, 4, 4]));
  });
  torch.disposeAll([image, generator]);
});

test('functions and strings are not datasets, nor lists of indices', () => {
  const { ChainDataset, DataLoader, RandomSampler, SequentialSampler, Subset, SubsetRandomSampler } = data;
  const values = ['train.csv', '', () => 1, class {}];
  const sized = /argument '(dataSource|indices)': expected an object with a length/;
  for (const make of [SequentialSampler, RandomSampler, SubsetRandomSampler]) {
    refused((value) => new make(value), values, ARGUMENT, sized);
  }
  refused((indices) => new Subset([1, 2], indices), values, ARGUMENT, sized);
  refused(
    (dataset) => new DataLoader(dataset),
    values,
    ARGUMENT,
    /argument 'dataset': expected a dataset with getItem/,
  );
  refused((text) => new ChainDataset([text]), values, ARGUMENT, /'datasets\[0\]': expected an iterable dataset/);
  refused((text) => new ChainDataset(text), values, ARGUMENT, /'datasets': expected a list of iterable datasets/);
  refused((text) => new data.BatchSampler(text, 2, false), values, ARGUMENT, /'sampler': expected an iterable of/);
});

test('weights that are not numbers', () => {
  const make = (weight: unknown) => new data.WeightedRandomSampler([1, weight], 1);
  const values = wrong.filter((value) => typeof value !== 'number');
  balanced(() => refused(make, [...values, '0.5'], ARGUMENT, /argument 'weights\[1\]': expected a number/));
});

test('tokenCollate: a tokenizer without ids, and a length that no array has', () => {
  const { tokenCollate } = data;
  for (const given of [undefined, null, {}, { ids: 'x' }, { ids: null }, [1, 2], Promise.resolve([1])]) {
    const message = /^utils.data.tokenCollate: argument 'tokenizer': expected a tokenizer whose encode\(text\) gives/;
    refused(() => tokenCollate({ encode: () => given })(['a']), [0], ARGUMENT, message);
  }
  const options = (maxLength: unknown) => tokenCollate({ encode: () => ({ ids: [1] }) }, { maxLength, padToMax: true });
  refused(options, [2 ** 40, 2 ** 52], ARGUMENT, /argument 'maxLength': expected at most 4294967296/);
});

test('an iterable without an iterator, and an iterator without results', async () => {
  const { DataLoader } = data;
  for (const name of [Symbol.iterator, Symbol.asyncIterator]) {
    for (const iterator of [undefined, null, {}, { next: 1 }]) {
      const message = /argument 'dataset': expected an iterable that gives an iterator with next\(\)/;
      const first = new DataLoader({ [name]: () => iterator })[Symbol.asyncIterator]().next();
      await expect(first).rejects.toMatchObject({ code: ARGUMENT, message: expect.stringMatching(message) });
    }
    const pass = new DataLoader({ [name]: () => ({ next: () => ({ value: 1 }), return: 5 }) })[Symbol.asyncIterator]();
    await pass.next();
    const message = /argument 'dataset': expected an iterator whose return, if it has one, is a function, got 5$/;
    await expect(pass.return!()).rejects.toMatchObject({ code: ARGUMENT, message: expect.stringMatching(message) });
    for (const step of [undefined, null, 1, Promise.resolve(), Promise.resolve(2)]) {
      const message = /argument 'dataset': expected an iterator whose next\(\) gives \{ value, done \}/;
      const first = new DataLoader({ [name]: () => ({ next: () => step }) })[Symbol.asyncIterator]().next();
      await expect(first).rejects.toMatchObject({ code: ARGUMENT, message: expect.stringMatching(message) });
    }
  }
});

test('samplers without an iterator, or whose iterators break the protocol', () => {
  const { BatchSampler, DataLoader } = data;
  const faults: [iterator: unknown, expected: RegExp][] = [
    ...[undefined, null, {}, { next: 1 }].map((one) => [one, /an iterator with next\(\)/] as never),
    ...[undefined, null, 1].map((step) => [{ next: () => step }, /next\(\) gives \{ value, done \}/] as never),
    [{ next: () => ({ value: [0] }), return: 5 }, /whose return, if it has one, is a function, got 5$/],
    [{ next: () => ({}) }, /of integers/],
  ];
  const first = (loader: Iterable<unknown>) => {
    for (const batch of loader) return batch;
    return undefined;
  };
  for (const [iterator, expected] of faults) {
    const sampler = { [Symbol.iterator]: () => iterator as Iterator<never> };
    const inner = (batchSampler: unknown) => () => first(new DataLoader([1, 2], { batchSampler } as never));
    refused(inner(sampler), [0], ARGUMENT, new RegExp(`DataLoader: argument 'batchSampler': .*${expected.source}`));
    if ('return' in Object(iterator)) (iterator as Iterator<number>).next = () => ({ value: 0 });
    const own = () => first(new DataLoader([1, 2], { sampler }));
    refused(own, [0], ARGUMENT, new RegExp(`DataLoader: argument 'sampler': .*${expected.source}`));
    if (expected.source === 'of integers') continue; // a BatchSampler passes on what its sampler gives
    const alone = () => first(new BatchSampler(sampler, 1, false));
    refused(alone, [0], ARGUMENT, new RegExp(`BatchSampler: argument 'sampler': .*${expected.source}`));
  }
});

test('an iterator that has ended or thrown is not closed', () => {
  const { DataLoader } = data;
  const calls: string[] = [];
  const sampler = (last: () => IteratorResult<number>) => {
    const rest = [() => ({ value: 0, done: false }), last];
    const close = () => {
      calls.push('return');
      return { value: undefined, done: true as const };
    };
    return { [Symbol.iterator]: () => ({ next: () => rest.shift()!(), return: close }) };
  };
  const failing = () => {
    throw new Error('of the sampler');
  };
  expect([...new DataLoader([1], { sampler: sampler(() => ({ value: 0, done: true })) })]).toHaveLength(1);
  expect(() => [...new DataLoader([1], { sampler: sampler(failing) })]).toThrow('of the sampler');
  expect(calls).toEqual([]);
  for (const _ of new DataLoader([1], { sampler: sampler(failing) })) break;
  expect(calls).toEqual(['return']);
});

test('a key of a Map that has no text', () => {
  const key = Object.create(null);
  const samples = [new Map([[key, 1]]), new Map([[key, 'a']])];
  refused(() => data.defaultCollate(samples), [0], ARGUMENT, /'samples\[1\]\.get\(an object\)': expected a number/);
});

test('an empty dataset in random order', () => {
  const message = /^utils.data.RandomSampler: argument 'dataSource': expected one sample or more, got none/;
  refused((dataset) => new data.DataLoader(dataset, { shuffle: true }), [[]], ARGUMENT, message);
});

test('samples that contain themselves', () => {
  const message = /expected values that do not contain themselves, got an? /;
  const list: unknown[] = [1];
  list.push(list);
  const map = new Map<unknown, unknown>([['list', [list]]]);
  const object = { map: new Map<unknown, unknown>() };
  object.map.set('object', object);
  for (const sample of [list, map, object]) {
    refused(data.defaultCollate, [[sample]], ARGUMENT, message);
    refused(data.defaultConvert, [sample], ARGUMENT, message);
    const options = { batchSize: null, numWorkers: 1 };
    refused((each) => new data.DataLoader(each, options)[Symbol.asyncIterator](), [[sample]], ARGUMENT, message);
  }
  const shared = [1, 2];
  const twice = data.defaultCollate([{ a: shared, b: [shared] }]);
  expect(twice.b[0].map((each: any) => each.toArray())).toEqual([[1], [2]]);
  torch.disposeAll(twice);
});

test('options of a loader by position: the error says their names', () => {
  const expected = 'expected an object, got 64; options go by name: { batchSize: 64 }';
  for (const more of [[], [true]]) expect(() => new data.DataLoader([1], 64, ...more)).toThrow(expected);
  expect(() => new data.DataLoader([1], {}, true)).toThrow('takes at most 2 arguments, got 3');
});
