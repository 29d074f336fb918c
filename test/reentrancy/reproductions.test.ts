/** Regressions: user code during a call silently gave wrong results. */
import { balancedAsync, torch, untyped } from '../support/torch';

/** Enough calls to overwrite the ring of integers more than once. */
function manyCalls(): void {
  for (let i = 0; i < 200; i++) torch.scope(() => torch.ones([5, 5]).roll([1, 1], [0, 1]));
}

const inScope = (fn: () => void) => () => torch.scope(fn);
const x = () =>
  torch.tensor([
    [1, 2],
    [10, 20],
  ]);

/** An array whose element `at` is read by `get`. */
const withGetter = (list: unknown[], at: number, get: () => unknown): any =>
  Object.defineProperty([...list], at, { enumerable: true, get });

test(
  'an option that makes 200 calls: lists keep their values',
  inScope(() => {
    const options = (name: string, value: unknown) => ({
      get [name]() {
        manyCalls();
        return value;
      },
    });
    expect(untyped.sum(x(), [0], options('keepdim', false)).toArray()).toEqual([11, 22]);
    expect(untyped.zeros([2, 3], options('dtype', 'float32')).shape).toEqual([2, 3]);
  }),
);

test(
  'an element that makes 200 calls: the list before it keeps its values, and the element has the checked value',
  inScope(() => {
    let reads = 0;
    const dims = withGetter([0], 0, () => {
      manyCalls();
      return reads++ === 0 ? 0 : 1;
    });
    expect(untyped.roll(x(), [1], dims).toArray()).toEqual([
      [10, 20],
      [1, 2],
    ]);
    expect(reads).toBe(1);
  }),
);

test(
  'a list of 17 and a list of fractions are not read again',
  inScope(() => {
    let reads = 0;
    const once = (value: unknown) => () => {
      if (reads++ > 0) throw new Error('read again');
      return value;
    };
    const t = torch.ones([1]);
    expect(t.repeat(withGetter(new Array(17).fill(1), 16, once(2))).numel).toBe(2);
    reads = 0;
    const image = torch.ones([1, 1, 4, 4]);
    const factors = withGetter([2, 2], 1, once(2));
    expect(untyped.ops.aten.upsample_nearest2d.vec(image, null, factors).shape).toEqual([1, 1, 8, 8]);
  }),
);

test(
  'a generator is read once, whatever the overloads',
  inScope(() => {
    function* two() {
      yield x();
      yield x();
    }
    expect(untyped.cat(two(), 1).shape).toEqual([2, 4]);
    expect(untyped.stack(two()).shape).toEqual([2, 2, 2]);
  }),
);

test('a nested op of torch.async gets its own strand', async () => {
  await balancedAsync(async () => {
    const a = x();
    let nested: Promise<any> | undefined;
    const options = (name: string, value: unknown) => ({
      get [name]() {
        nested = untyped.async.mul(a, 100);
        return value;
      },
    });
    const check = async (outer: Promise<any>, expected: unknown) => {
      const [first, second] = [await outer, await nested];
      expect(first.toArray()).toEqual(expected);
      expect(second.toArray()).toEqual([
        [100, 200],
        [1000, 2000],
      ]);
      first.dispose();
      second.dispose();
    };
    await check(untyped.async.add(a, 1, options('alpha', 2)), [
      [3, 4],
      [12, 22],
    ]);
    await check(
      untyped.run((t: any) => t.sum(a, [0], options('keepdim', false))),
      [11, 22],
    );
    await check(
      untyped.run((t: any) => t.mul(a, 1).sum([0], options('keepdim', false))),
      [11, 22],
    );
    a.dispose();
  });
});

describe('tensors that user code makes during a call belong to the user code', () => {
  const kept: any[] = [];
  const keep = (value: unknown) => {
    kept.push(torch.tensor([7]));
    return value;
  };
  const calls: [string, () => unknown][] = [
    ['apply_', () => untyped.ones([2]).apply_((value: number) => keep(value))],
    ['map_', () => untyped.ones([2]).map_(torch.ones([2]), (value: number) => keep(value))],
    ['map2_', () => untyped.ones([2]).map2_(torch.ones([2]), torch.ones([2]), (value: number) => keep(value))],
    ['saveToBuffer', () => torch.saveToBuffer({ list: withGetter([1], 0, () => keep(1)) } as never)],
    ['at', () => x().at(withGetter([0, 1], 0, () => keep(0)))],
    ['set', () => x().set([withGetter([0, 1], 0, () => keep(0))], 5)],
    [
      'tripletMarginWithDistanceLoss',
      () =>
        untyped.nn.functional.tripletMarginWithDistanceLoss(x(), x(), x(), {
          distanceFunction: (a: any, b: any) => keep(a.sub(b)),
        }),
    ],
  ];
  test.each(calls)('%s', (_, call) => {
    torch.scope(() => {
      kept.length = 0;
      call();
      expect(kept.length).toBeGreaterThan(0);
      expect(kept.map((tensor) => tensor.toArray())).toEqual(kept.map(() => [7]));
    });
  });
});

test(
  'the memory limit: an argument array is not read during a kernel',
  inScope(() => {
    let reads = 0;
    const list = withGetter(new Array(17).fill(1), 0, () => {
      reads++;
      return 4096;
    });
    const before = torch.getMemoryLimit();
    torch.setMemoryLimit(torch.memory().allocatedBytes + 100);
    try {
      expect(() => untyped.zeros(list)).toThrow();
      expect(reads).toBe(1);
    } finally {
      torch.setMemoryLimit(before);
    }
  }),
);

test.each([
  ['an array without elements', () => new Array(2 ** 31)],
  [
    'a length that is not true',
    () => new Proxy([2], { get: (t, k) => (k === 'length' ? 2 ** 31 : Reflect.get(t, k)) }),
  ],
  [
    'an iterator without end',
    () =>
      (function* () {
        for (;;) yield 1;
      })(),
  ],
])('a list is read only as far as a call needs it: %s', (_name, list) => {
  const x = torch.ones([2]);
  const calls = [
    () => untyped.stack(list()),
    () => untyped.sum(x, list()),
    () => untyped.zeros(list()),
    () => untyped.ops.aten.sum.dim_IntList(x, list()),
  ];
  for (const call of calls)
    expect(call).toThrow(expect.objectContaining({ code: expect.stringMatching(/^ERR_TORCH_(ARGUMENT|OVERLOAD)$/) }));
  x.dispose();
});
