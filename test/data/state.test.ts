/** stateDict and loadStateDict: a pass continues where it was, in another loader, without reading what came before. */
import { counts, settled, thrown, torch } from '../support/torch';

const { data } = torch.utils;
const {
  BatchSampler,
  DataLoader,
  DistributedSampler,
  IterableDataset,
  RandomSampler,
  SubsetRandomSampler,
  WeightedRandomSampler,
} = data;
type Loader = InstanceType<typeof DataLoader>;

const N = 50;
const samples = Array.from({ length: N }, (_, i) => i);

/** Notes what is read. */
class Noting extends data.Dataset {
  readonly length = N;
  readonly asked: number[] = [];
  getItem(index: number, context: any) {
    this.asked.push(index);
    return [index, context.seed % 1000];
  }
}
/** Has a cursor of its own. */
class Cursor extends IterableDataset {
  at = 0;
  override *[Symbol.iterator]() {
    for (; this.at < N; ) yield this.at++;
    this.at = 0;
  }
  stateDict() {
    return { at: this.at };
  }
  loadStateDict({ at }: { at: number }) {
    this.at = at;
  }
}

interface Made {
  loader: Loader;
  asked?: number[];
}
type Make = (generator: any) => Made;
const noting = (options: (dataset: any, generator: any) => any): Make => {
  return (generator) => {
    const dataset = new Noting();
    return { loader: new DataLoader(dataset, options(dataset, generator)), asked: dataset.asked };
  };
};
const weights = samples.map((i) => i + 1);
const cases: Record<string, Make> = {
  sequential: noting(() => ({ batchSize: 4 })),
  shuffle: noting(() => ({ batchSize: 4, shuffle: true })),
  'shuffle, generator': noting((_, generator) => ({ batchSize: 4, shuffle: true, generator })),
  'without batches': noting((_, generator) => ({ batchSize: null, shuffle: true, generator })),
  replacement: noting((d, generator) => ({
    batchSize: 7,
    sampler: new RandomSampler(d, true, 90, generator),
    generator,
  })),
  'replacement, own seed': noting((d) => ({ batchSize: 7, sampler: new RandomSampler(d, true, 90) })),
  'several permutations': noting((d, generator) => ({
    batchSize: 7,
    sampler: new RandomSampler(d, { numSamples: 120, generator }),
  })),
  subset: noting((_, generator) => ({ batchSize: 4, sampler: new SubsetRandomSampler(samples.slice(10), generator) })),
  weighted: noting(() => ({ batchSize: 4, sampler: new WeightedRandomSampler(weights, 40) })),
  'batch sampler': noting((d) => ({ batchSampler: new BatchSampler(new RandomSampler(d), 6, true) })),
  distributed: noting((d) => ({ batchSize: 2, sampler: new DistributedSampler(d, { numReplicas: 2, rank: 1 }) })),
  'distributed, in order': noting((d) => ({ batchSize: 4, sampler: new DistributedSampler(d, 2, 0, false) })),
  'a sampler of the program': noting(() => ({ batchSize: 4, sampler: samples.slice(5) })),
  'a cursor': () => ({ loader: new DataLoader(new Cursor(), { batchSize: 4 }) }),
  'a stream': () => ({ loader: new DataLoader(new Set(samples), { batchSize: 4 }) }),
};

const plain = (batch: any): unknown => (Array.isArray(batch) ? batch.map(plain) : (batch.toArray?.() ?? batch));

/** Two passes. With `at`, the run is saved after so many batches; the state goes through JSON. */
function run({ loader }: Made, at?: number): { seen: unknown[]; state?: any } {
  const seen: unknown[] = [];
  while (loader.epoch < 2) {
    for (const batch of loader) {
      seen.push(plain(batch));
      if (seen.length === at) {
        const random = torch.getRngState();
        return { seen, state: [JSON.stringify(loader.stateDict()), random] };
      }
    }
  }
  return { seen };
}

describe.each(Object.keys(cases))('%s', (name) => {
  test('a run that is saved and continued is the same run', () => {
    const start = () => {
      torch.manualSeed(4);
      return cases[name]!(new torch.Generator().manualSeed(9));
    };
    torch.scope(() => {
      const whole = run(start()).seen;
      const first = Math.round(whole.length / 2);
      for (const at of [1, 5, first, first + 3]) {
        const { seen, state } = run(start(), at);
        torch.manualSeed(99);
        const made = cases[name]!(new torch.Generator());
        made.loader.loadStateDict(JSON.parse(state[0]));
        torch.setRngState(state[1]);
        expect(made.loader.stateDict()).toEqual(JSON.parse(state[0]));
        const rest = run(made).seen;
        expect([at, [...seen, ...rest]]).toEqual([at, whole]);
        // Nothing of what came before is read.
        if (made.asked !== undefined) expect(made.asked.length).toBe((rest as any[]).flatMap(([i]) => i).length);
      }
    });
  });
});

describe('a batch that is read and not given', () => {
  /** Two batches, then the third is aborted while it waits; it comes all the same. */
  async function aborted(make: (gate: Promise<void>, signal: AbortSignal) => Loader): Promise<[Loader, unknown[]]> {
    const stop = new AbortController();
    let open = () => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const loader = make(gate, stop.signal);
    const seen: unknown[] = [];
    const iterator = loader[Symbol.asyncIterator]();
    for (let i = 0; i < 2; i++) seen.push(plain((await iterator.next()).value));
    const third = iterator.next();
    stop.abort(new Error('enough'));
    await expect(third).rejects.toThrow('enough');
    open();
    await new Promise(setImmediate);
    return [loader, seen];
  }
  const waitsAt = (at: number, gate: Promise<void>) => (i: number) => (i === at ? gate.then(() => i) : i);

  test.each<[string, (gate: Promise<void>, signal?: AbortSignal) => Loader]>([
    [
      'of samples',
      (gate, signal) =>
        new DataLoader({ length: 5, getItem: waitsAt(4, gate) }, { batchSize: 2, ...(signal && { signal }) }),
    ],
    [
      'of a stream with a cursor',
      (gate, signal) => {
        class Waiting extends Cursor {
          override async *[Symbol.asyncIterator]() {
            for (; this.at < 5; ) yield waitsAt(4, gate)(this.at++);
          }
        }
        const dataset = new Waiting();
        (dataset as any)[Symbol.iterator] = undefined;
        return new DataLoader(dataset, { batchSize: 2, ...(signal && { signal }) });
      },
    ],
    [
      'of a collateFn',
      (gate, signal) =>
        new DataLoader(new Set([0, 1, 2, 3, 4]), {
          batchSize: 2,
          collateFn: (list: number[]) => (list[0] === 4 ? gate.then(() => list) : list),
          ...(signal && { signal }),
        }),
    ],
  ])('%s comes again in the next pass', async (_, make) => {
    const [loader, seen] = await aborted(make);
    const state = JSON.parse(JSON.stringify(loader.stateDict()));
    expect([state.position, state.ended]).toEqual([2, false]);
    const next = make(Promise.resolve());
    next.loadStateDict(state);
    for await (const batch of next) seen.push(plain(batch));
    expect(seen.flat()).toEqual([0, 1, 2, 3, 4]);
  });

  test('as its collateFn throws', () => {
    let fails = true;
    const collateFn = (list: number[]) => {
      if (list[0] === 4 && fails) throw new Error('no batch');
      return list;
    };
    const loader = new DataLoader(new Set([0, 1, 2, 3, 4]), { batchSize: 2, collateFn });
    expect(() => [...loader]).toThrow('no batch');
    fails = false;
    loader.loadStateDict(loader.stateDict());
    expect([...loader]).toEqual([[4]]);
  });
});

test('a state between two passes', () => {
  const make = () => new DataLoader(samples, { batchSize: 10, shuffle: true, generator: new torch.Generator() });
  const [a, b] = [make(), make()];
  torch.scope(() => {
    a.generator!.manualSeed(3);
    const passes = [[...a], [...a]].map((pass) => pass.map(plain));
    b.generator!.manualSeed(3);
    for (const _ of b);
    const state = b.stateDict();
    expect([state.epoch, state.position]).toEqual([1, 0]);
    const c = make();
    c.loadStateDict(state);
    expect([...c].map(plain)).toEqual(passes[1]);
  });
});

test('resuming a pass over 1,000,000 samples draws its order once, and leaves nothing', () => {
  let reads = 0;
  const getItem = (index: number) => {
    reads++;
    return index;
  };
  const dataset = { length: 1e6, getItem };
  const make = () => new DataLoader(dataset, { batchSize: 100, shuffle: true });
  torch.manualSeed(0);
  const before = settled();
  const [a, b] = [make(), make()];
  const position = 7000;
  const pass = a[Symbol.iterator]();
  // The state as it is after so many batches.
  torch.disposeAll(pass.next().value);
  const state = a.stateDict();
  state.position = position;
  state.order!.offset = position * 100;
  b.loadStateDict(state);
  reads = 0;
  const next = b[Symbol.iterator]();
  const batch = next.next().value;
  expect(reads).toBe(100);
  torch.manualSeed(0);
  const order = torch.scope(() => {
    torch.empty([], { dtype: 'int64' }).random_(); // Python's seed of the pass
    const seed = torch.empty([], { dtype: 'int64' }).random_().item();
    return torch.randperm(1e6, { generator: new torch.Generator().manualSeed(seed) }).toTypedArray() as BigInt64Array;
  });
  expect(batch.toArray()).toEqual(Array.from(order.subarray(700_000, 700_100), Number));
  torch.disposeAll(batch);
  pass.return!();
  next.return!();
  expect(counts()).toEqual(before);
});

test('a stream without a cursor is read anew behind any number of batches', async () => {
  class Count extends IterableDataset {
    constructor(readonly last: number) {
      super();
    }
    override *[Symbol.iterator]() {
      for (let i = 0; i < this.last; i++) yield i;
    }
  }
  class Later extends IterableDataset {
    override async *[Symbol.asyncIterator]() {
      yield* new Count(10);
    }
  }
  const batchSize = 2;
  const between = new DataLoader(new Count(1), { batchSize }).stateDict();
  const at = (position: number) => ({ ...between, position, seed: '1' });
  const [here, later, past] = [new Count(60_001), new Later(), new Count(5)].map(
    (dataset) => new DataLoader(dataset, { batchSize }),
  );
  here!.loadStateDict(at(30_000));
  expect([...here!].map((batch) => batch.toArray())).toEqual([[60_000]]);
  later!.loadStateDict(at(4));
  const seen: unknown[] = [];
  for await (const batch of later!) seen.push(batch.toArray());
  expect(seen).toEqual([[8, 9]]);
  past!.loadStateDict(at(30_000));
  expect([...past!]).toEqual([]);
});

test('refuses what is not a state', () => {
  const loader = new DataLoader(samples, { shuffle: true, generator: new torch.Generator() });
  const state = loader.stateDict();
  const refused = (wrong: unknown) => thrown(() => loader.loadStateDict(wrong as never)).message;
  expect(refused(null)).toMatch(/expected an object of loader.stateDict\(\), got null/);
  expect(refused({ ...state, position: -1 })).toMatch(/'state.position': expected an integer of 0 or more/);
  expect(refused({ ...state, generators: [] })).toMatch(/the states of 1 generators/);
  expect(refused({ ...state, seed: 1 })).toMatch(/a string of digits/);
  const other = new DataLoader(samples.slice(0, 2));
  const far = { ...other.stateDict(), position: 30, seed: '1', order: { chunk: 0, offset: 30, random: null } };
  other.loadStateDict(far);
  expect(() => [...other]).toThrow(/a state of this sampler, which has 2 samples here, got 30/);
});

test('refuses a state of another order', () => {
  const saved = (options: object, of: any = samples) => {
    const loader = new DataLoader(of, { batchSize: 4, ...options });
    for (const _ of loader) break;
    return loader.stateDict();
  };
  const refused = (options: object, state: unknown, of: any = samples) => {
    const loader = new DataLoader(of, { batchSize: 4, ...options });
    const before = loader.stateDict();
    const { code, message } = thrown(() => loader.loadStateDict(state as never));
    expect(code).toBe('ERR_TORCH_ARGUMENT');
    expect(loader.stateDict()).toEqual(before);
    return message.replace(/^.*argument 'state\.(.*)$/, '$1');
  };
  const taken = (options: object, state: unknown, of: any = samples) =>
    new DataLoader(of, { batchSize: 4, ...options }).loadStateDict(state as never);
  const shuffle = { shuffle: true };
  const inOrder = "kind': expected 'sequential' (the order of the indices), as this loader has, got 'random'";
  expect(refused({}, saved(shuffle))).toBe(inOrder);
  expect(refused({}, new DataLoader(samples, shuffle).stateDict())).toBe(inOrder); // between two passes, too
  expect(refused(shuffle, saved({}))).toMatch(/^kind': expected 'random' \(a random order\).*got 'sequential'$/);
  expect(refused({}, saved({ sampler: samples }))).toMatch(/got 'sampler'$/);
  expect(refused({}, saved({}, new Set(samples)))).toMatch(/got 'iterable'$/);
  expect(refused(shuffle, saved(shuffle), samples.slice(1))).toBe("samples': expected 49, as this loader has, got 50");
  const half = { sampler: new DistributedSampler(samples, 2, 0) };
  const third = { sampler: new DistributedSampler(samples, 3, 0) };
  expect(refused(third, saved(half))).toBe("samples': expected 17, as this loader has, got 25");
  const other = { batchSize: 3 };
  const size = "batchSize': expected 3, as this loader has, got 4";
  expect(refused({ ...other, sampler: samples }, saved({ sampler: samples }))).toBe(size);
  expect(refused(other, saved({}, new Set(samples)), new Set(samples))).toBe(size);
  expect(refused({}, { ...saved({}), kind: 'toString' })).toMatch(
    /expected one of random, sequential, sampler, iterable/,
  );
  expect(refused({}, { ...saved({}), samples: -1 })).toMatch(/^samples': expected an integer or null/);
  // A state of an older version does not say what its order was.
  const { kind: _kind, samples: _samples, batchSize: _size, ...older } = saved(shuffle);
  taken(shuffle, older);
  // The place in the order is known, or the dataset knows it.
  taken({ ...other, ...shuffle }, saved(shuffle));
  taken(other, saved({}), samples.slice(1));
  taken(other, saved({}, new Cursor()), new Cursor());
  taken({ sampler: new DistributedSampler(samples, 2, 1) }, saved(half)); // of another rank
});

test('a saved pass of a DistributedSampler continues in the order of its own epoch', () => {
  const make = () => {
    const sampler = new DistributedSampler(samples, { numReplicas: 2, rank: 0, seed: 5 });
    return { sampler, loader: new DataLoader(samples, { batchSize: 5, sampler }) };
  };
  const a = make();
  a.sampler.setEpoch(3);
  torch.scope(() => {
    const whole = [...a.loader].map(plain);
    const b = make();
    b.sampler.setEpoch(3);
    const seen: unknown[] = [];
    for (const batch of b.loader) if (seen.push(plain(batch)) === 2) break;
    const c = make(); // which is not told the epoch
    c.loader.loadStateDict(JSON.parse(JSON.stringify(b.loader.stateDict())));
    expect([...seen, ...[...c.loader].map(plain)]).toEqual(whole);
  });
});

test('what a DistributedSampler refuses', () => {
  const refused = (make: () => unknown) => {
    const { code, message } = thrown(make);
    return `${code}: ${message}`;
  };
  const fn = 'utils.data.DistributedSampler';
  expect(refused(() => new DistributedSampler(samples))).toMatch(
    new RegExp(
      `^ERR_TORCH_DISTRIBUTED: ${fn}: expected numReplicas and rank, or a default process group .*, got neither`,
    ),
  );
  expect(refused(() => new DistributedSampler(samples, 2, 2))).toMatch(
    /ARGUMENT: .*rank.* an integer from 0 to 1, got 2/,
  );
  expect(refused(() => new DistributedSampler(samples, 0, 0))).toMatch(/numReplicas.* an integer of 1 or more, got 0/);
  expect(refused(() => new DistributedSampler(samples, { numReplicas: 2, rank: 0, seed: -1 }))).toMatch(
    /seed.* of 0 or more, got -1/,
  );
  const growing = samples.slice();
  const sampler = new DistributedSampler(growing, 2, 0);
  expect(refused(() => sampler.setEpoch(1.5))).toMatch(/epoch.* an integer of 0 or more, got 1.5/);
  growing.push(50);
  expect(refused(() => [...sampler])).toMatch(/expected a dataset with 25 samples for each rank, .* got 26/);
});

test.each(['before the first batch', 'as the first batch fails'])(
  'a state %s has the order of the pass',
  async (when) => {
    let fails = when !== 'before the first batch';
    const getItem = async (index: number) => {
      if (fails) throw new Error('no sample');
      return index;
    };
    const make = (seed: number) => {
      const generator = new torch.Generator().manualSeed(seed);
      return new DataLoader({ length: 20, getItem }, { batchSize: 5, shuffle: true, generator });
    };
    const loader = make(1);
    const iterator = loader[Symbol.asyncIterator]();
    const first = iterator.next();
    if (fails) await expect(first).rejects.toThrow('no sample');
    const state = JSON.parse(JSON.stringify(loader.stateDict()));
    fails = false;
    const read = async (from: Loader) => {
      const seen: unknown[] = [];
      for await (const batch of from) seen.push(plain(batch));
      return seen;
    };
    const other = make(2);
    other.loadStateDict(state);
    const whole =
      when === 'before the first batch'
        ? [plain((await first).value), ...(await read({ [Symbol.asyncIterator]: () => iterator } as Loader))]
        : await read(make(1));
    expect(await read(other)).toEqual(whole);
    await iterator.return!();
  },
);
