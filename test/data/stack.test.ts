/** StackDataset: datasets side by side, in a program and in workers. */
import { codeOf, counts, settled, torch } from '../support/torch';
import { Squares } from './datasets';
import { disposeLoaders, load } from './load';

const { StackDataset, TensorDataset } = torch.utils.data;

afterEach(disposeLoaders);

test('samples are lists, or objects with the names of the datasets', () => {
  const list = new StackDataset(['a', 'b', 'c'], [1, 2, 3]);
  expect([list.length, list.names, list.getItem(1), list.getItem(-1)]).toEqual([3, null, ['b', 2], ['c', 3]]);
  const named = new StackDataset({ text: ['a', 'b', 'c'], square: new Squares(3) });
  const { text, square } = torch.scope(() => {
    const sample = named.getItem(2) as { text: string; square: any };
    return { text: sample.text, square: sample.square.x.toArray() };
  });
  expect([text, square]).toEqual(['c', [4, 4]]);
  expect(new StackDataset(['a']).getItem(0)).toEqual(['a']);
  torch.scope(() => {
    const rows = new StackDataset({ x: torch.arange(6).reshape([3, 2]), y: torch.arange(3) }).getItem(2);
    expect([rows.x.toArray(), rows.y.item()]).toEqual([[4, 5], 2]);
  });
});

test('an asynchronous dataset makes a promise of the sample', async () => {
  const later = { length: 2, getItem: async (i: number) => 10 * i };
  const sample = new StackDataset({ a: [1, 2], b: later }).getItem(1);
  expect(sample).toBeInstanceOf(Promise);
  expect(await sample).toEqual({ a: 2, b: 10 });
});

test('datasets of other lengths, none at all and other values are refused', () => {
  const { StackDataset: Any } = torch.utils.data as any;
  expect(() => new StackDataset([1, 2], [1])).toThrow(/StackDataset.*datasets\[1\].*of 2 samples, as the first, got 1/);
  expect(() => new StackDataset({ a: [1], b: [] })).toThrow(/datasets\.b.*of 1 samples, as the first, got 0/);
  for (const wrong of [[], [{}], [null], [{ a: 1 }], [[1], 'text'], [torch.tensor(1)]])
    expect([wrong, codeOf(() => new Any(...wrong))]).toEqual([wrong, 'ERR_TORCH_ARGUMENT']);
  for (const index of [3, -4, 0.5, Number.NaN])
    expect([index, codeOf(() => new StackDataset([1, 2, 3], [4, 5, 6]).getItem(index))]).toEqual([
      index,
      'ERR_TORCH_INDEX',
    ]);
});

test('workers give the same batches, and nothing is left', async () => {
  const rows = new TensorDataset(torch.arange(12, { dtype: 'float32' }).reshape([6, 2]));
  const seen: string[] = [];
  for (const dataset of [
    new StackDataset({ row: rows, name: ['a', 'b', 'c', 'd', 'e', 'f'] }),
    new StackDataset(rows, rows),
  ]) {
    for (const numWorkers of [0, 2]) {
      const before = settled().tensors;
      const loader = load(dataset, { batchSize: 4, numWorkers });
      const batches: unknown[] = [];
      for await (const batch of loader) {
        batches.push(JSON.stringify(batch, (_, value) => (value instanceof torch.Tensor ? value.toArray() : value)));
        torch.disposeAll(batch);
      }
      seen.push(JSON.stringify(batches));
      expect(counts().tensors).toBe(before);
    }
  }
  expect(JSON.parse(seen[0]!).length).toBe(2);
  expect(seen[0]).toContain('name');
  expect([seen[1], seen[3]]).toEqual([seen[0], seen[2]]);
  torch.disposeAll(rows.tensors);
});

test('an error comes after the samples that are under way, whose errors are not lost', async () => {
  const ended: number[] = [];
  const later = {
    length: 2,
    getItem: async (i: number) => {
      await new Promise(setImmediate);
      ended.push(i);
      throw new Error('later');
    },
  };
  const atOnce = {
    length: 2,
    getItem: (): never => {
      throw new Error('at once');
    },
  };
  const either = { length: 2, getItem: (i: number) => (i === 0 ? later : atOnce).getItem(i) };
  const unhandled = jest.fn();
  process.on('unhandledRejection', unhandled);
  try {
    await expect(new StackDataset(later, atOnce).getItem(0)).rejects.toThrow('at once');
    expect(ended.splice(0)).toEqual([0]);
    await expect(new StackDataset(later, later).getItem(1)).rejects.toThrow('later');
    expect(ended.splice(0)).toEqual([1, 1]);
    await expect(new torch.utils.data.Subset(either, [0, 1]).getItems([0, 1])).rejects.toThrow('at once');
    expect(ended).toEqual([0]);
    expect(() => new StackDataset(atOnce, later).getItem(0)).toThrow('at once');
    await new Promise(setImmediate);
    expect(unhandled).not.toHaveBeenCalled();
  } finally {
    process.off('unhandledRejection', unhandled);
  }
});
