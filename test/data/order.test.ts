/** The order of samples, compared with PyTorch's for the same seeds and generators, also after a loop that ends early. */
import * as path from 'node:path';
import { python3 } from '../support/python3';
import { thrown, torch } from '../support/torch';

const { data } = torch.utils;
const {
  BatchSampler,
  DataLoader,
  DistributedSampler,
  RandomSampler,
  SequentialSampler,
  SubsetRandomSampler,
  WeightedRandomSampler,
  randomSplit,
} = data;

const N = 103;
const samples = Array.from({ length: N }, (_, i) => i);
const weights = samples.map((i) => (i % 7) + 0.5);
const middle = samples.slice(20, 90);
type Loader = InstanceType<typeof DataLoader>;

const plain = (batch: any) => (typeof batch === 'number' ? batch : batch.toArray());

async function batches(loader: Loader, most?: number): Promise<unknown[]> {
  const seen: unknown[] = [];
  for await (const batch of loader) if (seen.push(plain(batch)) === most) break;
  return seen;
}

function batchesAtOnce(loader: Loader, most?: number): unknown[] {
  const seen: unknown[] = [];
  for (const batch of loader) if (seen.push(plain(batch)) === most) break;
  return seen;
}

const cases: Record<string, (g: any) => Loader | unknown[]> = {
  sequential: () => new DataLoader(samples, { batchSize: 10 }),
  shuffle: () => new DataLoader(samples, { batchSize: 10, shuffle: true }),
  'shuffle, generator': (g) => new DataLoader(samples, { batchSize: 10, shuffle: true, generator: g }),
  'shuffle, drop': (g) => new DataLoader(samples, { batchSize: 10, shuffle: true, dropLast: true, generator: g }),
  'shuffle, no batches': () => new DataLoader(samples, { batchSize: null, shuffle: true }),
  replacement: () => new DataLoader(samples, { batchSize: 10, sampler: new RandomSampler(samples, true, 250) }),
  'replacement, generator': (g) =>
    new DataLoader(samples, { batchSize: 10, sampler: new RandomSampler(samples, true, 250, g) }),
  many: (g) =>
    new DataLoader(samples, {
      batchSize: 10,
      sampler: new RandomSampler(samples, { numSamples: 250, generator: g }),
    }),
  multiple: (g) =>
    new DataLoader(samples, {
      batchSize: 103,
      sampler: new RandomSampler(samples, { numSamples: 206, generator: g }),
    }),
  both: (g) =>
    new DataLoader(samples, { batchSize: 10, sampler: new RandomSampler(samples, true, 70, g), generator: g }),
  subset: (g) => new DataLoader(samples, { batchSize: 10, sampler: new SubsetRandomSampler(middle, g) }),
  'subset, default': () => new DataLoader(samples, { batchSize: 10, sampler: new SubsetRandomSampler(middle) }),
  weighted: (g) => new DataLoader(samples, { batchSize: 10, sampler: new WeightedRandomSampler(weights, 70, true, g) }),
  'weighted, without': () =>
    new DataLoader(samples, {
      batchSize: 10,
      sampler: new WeightedRandomSampler(weights, 70, { replacement: false }),
    }),
  batches: (g) =>
    new DataLoader(samples, {
      batchSampler: new BatchSampler(new RandomSampler(samples, { generator: g }), 30, { dropLast: true }),
    }),
  samplers: (g) => [
    [...new RandomSampler(samples, true, 70, g)],
    [...new RandomSampler(samples, { generator: g })],
    [...new SequentialSampler(samples)],
    [...new SubsetRandomSampler([5, 2, 90], g)],
    [...new WeightedRandomSampler(weights, 9, { generator: g })],
    [...new BatchSampler(samples.slice(0, 11), 4, false)],
  ],
  split: (g) => randomSplit(samples, [70, 30, 3], g).map((part) => part.indices),
  fractions: () => randomSplit(samples, [0.5, 0.3, 0.2]).map((part) => part.indices),
  distributed: () => {
    const sizes = [0, 1, 2, 7, 12, 103].flatMap((length) => [1, 2, 5].map((replicas) => [length, replicas] as const));
    return [{}, { shuffle: false }, { seed: 7 }, { dropLast: true }, { shuffle: false, dropLast: true }].map(
      (options) => sizes.map(([length, replicas]) => shared(length, replicas, options)),
    );
  },
  'distributed, loader': () =>
    new DataLoader(samples, { batchSize: 10, sampler: new DistributedSampler(samples, 4, 3, true, 11, true) }),
};

/** Each rank's order in two epochs, of `length` samples. */
function shared(length: number, numReplicas: number, options: object): unknown[] {
  return Array.from({ length: numReplicas }, (_, rank) => {
    const sampler = new DistributedSampler({ length }, { numReplicas, rank, ...options });
    return [0, 3].map((epoch) => {
      sampler.setEpoch(epoch);
      return [sampler.length, [...sampler]];
    });
  });
}

const drawn = (generator?: any) => torch.randint(2 ** 31, [1], generator === undefined ? {} : { generator }).item();

let expected: Record<string, unknown>;
beforeAll(async () => {
  const script = path.join(__dirname, 'orders.py');
  const { stdout, stderr, code } = await python3([script]);
  expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
  expected = JSON.parse(stdout);
  expect(Object.keys(cases)).toEqual(Object.keys(expected));
});

describe.each(Object.keys(cases))('%s', (name) => {
  test.each(['for await', 'for'])('%s', async (loop) => {
    torch.manualSeed(3);
    const g = new torch.Generator().manualSeed(5);
    const made = cases[name]!(g);
    const read = loop === 'for' ? batchesAtOnce : batches;
    const got = made instanceof DataLoader ? [await read(made, 2), await read(made)] : made;
    expect([got, drawn(g), drawn()]).toEqual(expected[name]);
  });
});

test('what is not an index in the order of the program is refused, before a sample is read', () => {
  const { DataLoader } = torch.utils.data;
  const read = (options: object) =>
    torch.scope(() => [...new DataLoader([10, 11, 12], options)].map((b) => b.toArray()));
  for (const one of [null, true, '1', '', [1], Symbol('one'), 0.5, 2n ** 60n, undefined]) {
    const { code, message } = thrown(() => read({ sampler: [one] }));
    expect([code, message]).toEqual([
      'ERR_TORCH_ARGUMENT',
      expect.stringMatching(/'sampler': expected a sampler of integers/),
    ]);
  }
  const tensor = torch.tensor([0, 2]);
  for (const list of [null, undefined, 5, '12', [], tensor, { length: 1e9 }, { length: -1 }, {}]) {
    const { code, message } = thrown(() => read({ batchSampler: [list] }));
    expect([code, message]).toEqual([
      'ERR_TORCH_ARGUMENT',
      expect.stringMatching(/'batchSampler': expected lists of integers/),
    ]);
  }
  tensor.dispose();
  expect(read({ sampler: [1n, -1] })).toEqual([[11], [12]]);
  expect(read({ batchSampler: [new Set([1, 2]), new BigInt64Array([0n]), { length: 1, 0: 2 }] })).toEqual([
    [11, 12],
    [10],
    [12],
  ]);
});
