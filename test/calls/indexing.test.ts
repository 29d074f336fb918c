/** `at` and `set` where PyTorch's rules are easy to get wrong. Expected values are PyTorch's. */
import torch from 'libtorch-node';
import { balanced, thrown, untyped } from '../support/torch';

/** Runs `fn` in a scope and checks that it does not leak. */
const scoped = (fn: () => void): void => balanced(() => torch.scope(fn));

const cube = () => torch.arange(24).reshape([2, 3, 4]);

test('a zero-dimensional mask selects all or nothing of a new dimension', () =>
  scoped(() => {
    expect(cube().at(torch.tensor(true)).shape).toEqual([1, 2, 3, 4]);
    expect(cube().at(torch.tensor(false)).shape).toEqual([0, 2, 3, 4]);
    expect(cube().at(true).shape).toEqual([1, 2, 3, 4]);
  }));

test('a zero-dimensional integer tensor selects like its number', () =>
  scoped(() => {
    const index = torch.tensor(0n);
    expect(cube().at(index, torch.slice(), [0, 1]).shape).toEqual([3, 2]);
    expect(cube().at(index, torch.slice(), [0, 1]).toArray()).toEqual(cube().at(0, torch.slice(), [0, 1]).toArray());
  }));

test('a zero-dimensional tensor of floats is not an index', () =>
  scoped(() => expect(thrown(() => (cube() as any).at(torch.tensor(1))).code).toBe('ERR_TORCH_INDEX')));

describe('a view that a zero-dimensional integer tensor selects', () => {
  const fill = (x: any, index: any) => {
    x.at(index).fill_(9);
    return x.at('...', index);
  };
  const index = (value: number) => torch.tensor(value, { dtype: 'int64' });
  const expected = (at: number) => {
    const x = torch.zeros([3]);
    fill(x, at);
    return x.toArray();
  };

  test('is written to by each replay of a capture, where the index says', () =>
    scoped(() => {
      const captured: any = torch.capture(fill);
      for (const at of [0, 2, -2]) {
        const x = torch.zeros([3]);
        expect(captured(x, index(at)).item()).toBe(9);
        expect(x.toArray()).toEqual(expected(at));
      }
      expect([captured.reason, captured.recordings]).toEqual([null, 1]);
      captured.dispose();
    }));

  test('is written to in torch.run, whichever of both is pending', async () => {
    const [x, at] = [torch.zeros([3]), index(-1)];
    const pending = (one: any) => one.view(one.shape);
    for (const given of [
      () => [x, at],
      () => [pending(x), at],
      () => [x, pending(at)],
      () => [pending(x), pending(at)],
    ]) {
      x.zero_();
      const result = await torch.run(() => Reflect.apply(fill, null, given()));
      expect([x.toArray(), result.item()]).toEqual([expected(-1), 9]);
      result.dispose();
    }
    torch.disposeAll([x, at]);
  });
});

test('nested lists of booleans are masks, of integers index tensors', () =>
  scoped(() => {
    const square = torch.arange(4).reshape([2, 2]);
    expect(
      square
        .at([
          [true, false],
          [false, true],
        ])
        .toArray(),
    ).toEqual([0, 3]);
    expect(square.at([[0, 1]]).shape).toEqual([1, 2, 2]);
  }));

test('a number where a mask of the whole tensor selects is what indexPut_ writes, in every dtype', () =>
  scoped(() => {
    const mask = torch.tensor([
      [true, false, true],
      [false, true, false],
    ]);
    for (const dtype of ['float32', 'bfloat16', 'uint8', 'int64', 'bool', 'complex64'] as const) {
      const [x, y] = [torch.ones([2, 3]).to(dtype), torch.ones([2, 3]).to(dtype)];
      for (const value of [0, 2, true, 7n]) {
        x.set([mask], value);
        y.indexPut_([mask], y.newFull([], value));
        expect([dtype, value, x.toArray(), x._version]).toEqual([dtype, value, y.toArray(), y._version]);
      }
    }
    const wide = thrown(() => torch.ones([2, 3]).to('uint8').set([mask], 300));
    expect([wide.code, wide.message]).toEqual([
      'ERR_TORCH_RUNTIME',
      expect.stringContaining('value cannot be converted to type uint8_t without overflow'),
    ]);
    const named = torch.ones([2, 3], { names: ['a', 'b'] });
    expect(thrown(() => named.set([mask], 0)).message).toContain('not yet supported with named tensors');
    // A mask of other sizes is an error, not one that broadcasts.
    expect(thrown(() => torch.ones([2, 3]).set([torch.ones([2, 1]).to('bool')], 0)).code).toBe('ERR_TORCH_INDEX');
  }));

test('with gradients, what a mask selects has the derivative of indexPut_', () =>
  scoped(() => {
    const x = torch.ones([3]).requiresGrad_();
    const y = x.mul(2).set([torch.tensor([true, false, true])], 5);
    expect(String(y.gradFn)).toContain('IndexPutBackward0');
    y.sum().backward();
    expect(x.grad!.toArray()).toEqual([0, 2, 0]);
  }));

test('a number is written where a mask selects, also with further indices after the mask', () =>
  scoped(() => {
    const t = torch.zeros([2, 3, 4]);
    t.set([[true, false], '...', torch.slice(1, 3)], 5);
    expect(t.at(0, 0).toArray()).toEqual([0, 5, 5, 0]);
    expect(t.sum().item()).toBe(30);
    expect(t.at(1).sum().item()).toBe(0);
    // PyTorch: t[mask, None] = 7
    expect(
      torch
        .zeros([2, 3])
        .set([[false, true], null], 7)
        .toArray(),
    ).toEqual([
      [0, 0, 0],
      [7, 7, 7],
    ]);
  }));

test('leading dimensions of size 1 of an assigned value are ignored', () =>
  scoped(() => {
    expect(
      torch
        .zeros([2, 3])
        .set(0, torch.ones([1, 3]))
        .sum()
        .item(),
    ).toBe(3);
    expect(
      torch
        .zeros([2, 3])
        .set([[0, 1]], torch.ones([1, 1, 3]))
        .sum()
        .item(),
    ).toBe(6);
  }));

test('data that contains itself is refused', () => {
  const cycle: unknown[] = [];
  cycle.push(cycle);
  expect(() => torch.tensor(cycle as never)).toThrow(expect.objectContaining({ code: 'ERR_TORCH_ARGUMENT' }));
});

test('a nested tensor does not have sizes: an error with a code, and it can be logged', () =>
  scoped(() => {
    const nested = torch._nestedTensorFromTensorList([torch.ones([2]), torch.ones([3])]);
    expect(() => nested.shape).toThrow(expect.objectContaining({ code: 'ERR_TORCH_RUNTIME' }));
    expect(() => torch.mm(nested, nested)).toThrow(expect.objectContaining({ code: 'ERR_TORCH_NOT_IMPLEMENTED' }));
    const inspect = Symbol.for('nodejs.util.inspect.custom');
    expect((nested as unknown as Record<symbol, () => string>)[inspect]!()).toBe(
      'nested_tensor([\n  tensor([1., 1.]),\n  tensor([1., 1., 1.])\n])',
    );
  }));

test('sparse tensors are read as in Python, and refuse to be assigned to', () =>
  scoped(() => {
    const sparse = untyped.sparseCooTensor(
      torch.tensor([
        [0n, 1n, 1n],
        [2n, 0n, 2n],
      ]),
      torch.tensor([3, 4, 5]),
      [2, 3],
    );
    const dense = (part: any) => (part.layout === 'strided' ? part : part.toDense()).toArray();
    expect(sparse.at(0, 2).item()).toBe(3);
    expect([sparse.at(0), sparse.at(-1), sparse.at('...', 2), sparse.at(null)].map(dense)).toEqual([
      [0, 0, 3],
      [4, 0, 5],
      [3, 5],
      [
        [
          [0, 0, 3],
          [4, 0, 5],
        ],
      ],
    ]);
    expect(() => sparse.set([0, 0], 1)).toThrow(
      "set: argument 'self': expected a strided tensor, got one of the layout sparse_coo, which cannot be assigned to",
    );
  }));

describe('indices that a few ops apply one after another, without a scope', () => {
  test.each<[string, (t: any) => unknown]>([
    ['a position outside, after one inside', (t) => t.at(1, 9)],
    ['more positions than dimensions', (t) => t.at(1, 1, 1, 1)],
    ['more whole slices than dimensions', (t) => t.at(...Array.from({ length: 4 }, () => torch.slice()))],
    ['more tensors than dimensions', (t) => t.at(...Array.from({ length: 4 }, () => torch.tensor([0n])))],
    ['two ellipses', (t) => t.at(0, '...', '...')],
    ['an index tensor with a position outside', (t) => t.at(0, torch.tensor([9n]))],
    ['a text', (t) => t.at(0, '1:2')],
    ['a fraction', (t) => t.at(0, 0.5)],
    ['a write outside', (t) => t.set([1, 9], 0)],
    ['a write of what is not a value', (t) => t.set([1, 1], 'x')],
  ])('%s: an error with a code, and nothing is left', (_, use) => {
    const t = untyped.ones([2, 3, 4]);
    balanced(() => {
      const { code } = thrown(() => torch.scope(() => use(t)));
      expect(code).toMatch(/^ERR_TORCH_/);
    });
    // Without a scope around it: the views in between are not left to the collector either.
    const index = torch.tensor([9n]);
    const before = torch.memory().tensors;
    expect(() => t.at(0, 1, index)).toThrow();
    expect(() => t.at(0, 1, 9)).toThrow();
    expect(() => t.set([0, 1, 9], 1)).toThrow();
    expect(torch.memory().tensors).toBe(before);
    torch.disposeAll([t, index]);
  });

  test('results are all that is left', () => {
    const t = untyped.ones([2, 3, 4]);
    const mask = torch.tensor([true, false, true]);
    const before = torch.memory().tensors;
    const made = [t.at(1, 2), t.at(1, mask), t.at('...', null, 0), t.at(torch.slice(), torch.slice(0, 2), 1), t.at()];
    t.set([0, mask], 5);
    t.set([1, torch.slice(), 0], 7);
    expect(torch.memory().tensors).toBe(before + made.length);
    expect(made.map(({ shape }: any) => shape)).toEqual([[4], [2, 4], [2, 3, 1], [2, 2], [2, 3, 4]]);
    expect(t.sum().item()).toBe(24 + 8 * 4 + 3 * 6);
    torch.disposeAll([t, mask, ...made]);
  });

  test('in torch.run they are recorded', async () => {
    const sums = await torch.run((T: any) => {
      const t = T.ones([2, 3, 4]);
      t.set([0, torch.slice(0, 1)], 3);
      return [t.at(0, 0).sum(), t.at('...', 0).sum(), t.at([1, 0], 1).sum()];
    });
    expect((sums as any[]).map((sum) => sum.item())).toEqual([12, 8, 8]);
    torch.disposeAll(sums as any);
  });
});

describe('a value that is a part of what is written', () => {
  const all = torch.slice();
  const ways: [string, (t: any) => unknown, number[]][] = [
    ['t[:] = t[1]', (t) => t.set(all, t.at(1)), [4, 5, 6, 4, 5, 6]],
    ['t[:, :] = t[:1]', (t) => t.set([all, all], t.at(torch.slice(0, 1))), [1, 2, 3, 1, 2, 3]],
    ['t[:] = t[0, 1]', (t) => t.set(all, t.at(0, 1)), [2, 2, 2, 2, 2, 2]],
    ['t[None] = t', (t) => t.set([null], t), [1, 2, 3, 4, 5, 6]],
    ['t[:1] = t[:1]', (t) => t.set(torch.slice(0, 1), t.at(torch.slice(0, 1))), [1, 2, 3, 4, 5, 6]],
  ];
  test.each(ways)('%s', (_, write, expected) =>
    scoped(() => {
      const t = torch.tensor([1, 2, 3, 4, 5, 6]).reshape([2, 3]);
      write(t);
      expect(t.flatten().toArray()).toEqual(expected);
    }),
  );

  test.each(ways)('%s, in torch.run', async (_, write, expected) => {
    const t = torch.tensor([1, 2, 3, 4, 5, 6]).reshape([2, 3]);
    await torch.run(() => void write(t.view([2, 3])));
    expect(t.flatten().toArray()).toEqual(expected);
  });

  test('neighbours that overlap are refused', () =>
    scoped(() => {
      const t = torch.tensor([1, 2, 3]);
      expect(thrown(() => t.set(torch.slice(1), t.at(torch.slice(0, 2)))).code).toBe('ERR_TORCH_RUNTIME');
    }));
});
