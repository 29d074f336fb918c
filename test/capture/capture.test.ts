/** torch.capture: replays give what calls of the function give, to the bit, or the function runs and `reason` says why. */
import { balanced, codeOf, settled, thrown, torch, untyped } from '../support/torch';
import { bits, expectFallback, expectReplays } from './compare';

const F = untyped.nn.functional;

const x = () => torch.randn([3, 4]);

test('chains, options, numbers and lists of tensors', () => {
  expectReplays(
    (a, b) => {
      let y = a.add(b, { alpha: 2 }).mul(0.5).sum({ dim: 1, keepdim: true });
      for (let i = 0; i < 25; i++) y = y.mul(1.01).add(a).sub(b).relu();
      return torch.cat([y, a, y], 1).softmax(-1);
    },
    () => [x(), x()],
  );
});

test('ops of each number of tensors and scalars, with the same tensor twice, and with results that are not strided', () => {
  const [c, weight] = [torch.randn([3, 4]), torch.randn([5, 4])];
  expectReplays(
    (a, b) => {
      const y = a.mul(a).add(3, { alpha: 2 }).addcmul(b, b, { value: 0.5 }).clampMin(0.5).maximum(c);
      const sparse = y.gt(1).mul(y).toSparse();
      const dense = sparse.mul(2).coalesce().neg().toDense().exp().sub(b);
      return [dense, torch.where(dense.gt(0), dense, a), torch.addmm(torch.zeros([5]), dense, weight.t()), a.isnan()];
    },
    () => [x(), x()],
  );
  torch.disposeAll([c, weight]);
});

test('results: several, nested, named, none, constants and the argument itself', () => {
  expectReplays(
    (a) => ({ list: [a.exp(), a.neg()], best: a.max(1), parts: a.split(2, 1), number: 3, nothing: null }),
    () => [x()],
  );
  torch.scope(() => {
    const same = torch.capture((a: any) => [a, a.add_(1), a.neg()]);
    const a = torch.ones([2]);
    const [first, second, third] = same(a);
    expect([first, second]).toEqual([a, a]);
    expect(third.toArray()).toEqual([-2, -2]);
    const { values, indices } = torch.capture((t: any) => t.max(0))(torch.ones([2, 2])) as any;
    expect([values.toArray(), indices.toArray()]).toEqual([
      [1, 1],
      [0, 0],
    ]);
    const twice = torch.capture((t: any) => {
      const made = t.neg();
      return [made, made];
    });
    const made = twice(a);
    expect(made[0]).toBe(made[1]);
    expect(torch.capture(() => undefined)()).toBe(undefined);
    for (const one of [same, twice]) one.dispose();
  });
});

test('random ops draw anew, in the same order', () => {
  expectReplays(
    (a) => [F.dropout(a, 0.5, true), torch.rand([3]), torch.randnLike(a)],
    () => [x()],
  );
});

test('ops in place on inputs, on views of inputs, and on new tensors', () => {
  expectReplays(
    (a) => {
      a.add_(1);
      a.view([-1]).narrow(0, 0, 2).mul_(3);
      const fresh = torch.zeros([3, 4]);
      fresh.add_(a);
      return [fresh, a.t()];
    },
    () => [x()],
  );
});

test('a view of an input shares its memory, also in a replay', () => {
  balanced(() =>
    torch.scope(() => {
      const turned = torch.capture((a: any) => a.t());
      for (let call = 0; call < 2; call++) {
        const a = torch.zeros([2, 3]);
        const view = turned(a) as any;
        view.fill_(call + 1);
        expect(a.sum().item()).toBe(6 * (call + 1));
      }
      expect(turned.replays).toBe(2);
      turned.dispose();
    }),
  );
});

test('tensors of the closure are used by reference, and live as long as the capture', () => {
  const before = settled();
  let weight: any = torch.ones([2]);
  const captured = torch.capture((a: any) => a.mul(weight));
  torch.scope(() => {
    const a = torch.ones([2]);
    expect(captured(a).toArray()).toEqual([1, 1]);
    weight.fill_(5);
    expect(captured(a).toArray()).toEqual([5, 5]);
    const { bytes } = torch.memory();
    weight.dispose();
    expect(torch.memory().bytes).toBe(bytes); // the capture holds it, and it is counted
    expect(captured(a).toArray()).toEqual([5, 5]);
  });
  expect(captured.replays).toBe(3);
  weight = null;
  captured.dispose();
  captured.dispose();
  expect(settled()).toEqual(before);
  expect(captured.disposed).toBe(true);
  expect(codeOf(() => captured(torch.ones([2])))).toBe('ERR_TORCH_DISPOSED');
  settled();
});

test('tensors of the closure that ops write to: each call does', () => {
  torch.scope(() => {
    const count = torch.zeros([1]);
    const captured = torch.capture((a: any) => a.add(count.add_(1)));
    expect([1, 2, 3].map(() => captured(torch.zeros([1])).item())).toEqual([1, 2, 3]);
    expect([captured.replays, count.item()]).toEqual([3, 3]);
    captured.dispose();
  });
});

test('gradients: of inputs, of the closure, and without them', () => {
  expectReplays(
    (a) => a.mul(2).sum(),
    () => [torch.ones([2], { requiresGrad: true })],
  );
  torch.scope(() => {
    const weight = torch.randn([4, 2], { requiresGrad: true });
    const fn = (a: any) => a.matmul(weight).relu().sum();
    const captured = torch.capture(fn);
    const gradients = [fn, captured].map((one) => {
      weight.grad = null;
      const a = torch.ones([3, 4], { requiresGrad: true });
      one(a).backward();
      return [bits(a.grad), bits(weight.grad)];
    });
    expect(gradients[1]).toEqual(gradients[0]);
    const loss: any = torch.noGrad(() => captured(torch.ones([3, 4])));
    expect(loss.requiresGrad).toBe(false);
    expect([captured.recordings, captured.replays]).toEqual([2, 2]);
    captured.dispose();
  });
  expectReplays(
    (a) => torch.noGrad(() => a.mul(2)).add(a),
    () => [torch.ones([2], { requiresGrad: true })],
  );
});

test('gradients that are required only after the recording are seen by a replay', () => {
  balanced(() =>
    torch.scope(() => {
      const weight = torch.ones([4]);
      const captured = torch.capture((a: any) => a.mul(weight).add(1).relu());
      const input = torch.full([4], 3);
      expect(captured(input)).toMatchObject({ requiresGrad: false });
      weight.requiresGrad_(true);
      (captured(input) as any).sum().backward();
      expect(weight.grad!.toArray()).toEqual([3, 3, 3, 3]);
      const leaf = torch.full([4], 2, { requiresGrad: true });
      (captured(leaf) as any).sum().backward();
      expect(leaf.grad!.toArray()).toEqual([1, 1, 1, 1]);
      expect([captured.recordings, captured.fallbacks]).toEqual([1, 0]);
      captured.dispose();
    }),
  );
});

test('gradients that inputs or tensors of the closure require later, by ops that only compute', () => {
  balanced(() =>
    torch.scope(() => {
      const weight = torch.full([3], 2);
      const captured = torch.capture((a: any) => a.mul(weight).add(1).relu());
      const plain = () => captured(torch.ones([3])) as any;
      expect([plain().requiresGrad, plain().toArray()]).toEqual([false, [3, 3, 3]]);
      const input = torch.ones([3], { requiresGrad: true });
      (captured(input) as any).sum().backward();
      expect(input.grad!.toArray()).toEqual([2, 2, 2]);
      weight.requiresGrad_(true);
      plain().sum().backward();
      expect(weight.grad!.toArray()).toEqual([1, 1, 1]);
      expect([captured.recordings, captured.reason]).toEqual([1, null]);
      captured.dispose();
    }),
  );
});

test('other shapes, dtypes, aliases, numbers and modes are recorded for themselves, up to a limit', () => {
  torch.scope(() => {
    const captured = torch.capture((a: any, b: any, k: number = 1) => a.add(b).mul(k).mul(a.shape.length));
    const [a, b] = [torch.ones([2]), torch.ones([2])];
    const sum = (...args: any[]) =>
      (captured as any)(...args)
        .sum()
        .item();
    expect([sum(a, b), sum(b, a), sum(a, a), sum(a, b, 3)]).toEqual([4, 4, 4, 12]);
    expect(captured.recordings).toBe(3);
    expect(sum(torch.ones([2, 2]), b)).toBe(16);
    expect(sum(torch.ones([2], { dtype: 'int64' }), b)).toBe(4);
    expect(sum(a, a.view([2]))).toBe(4);
    expect(captured.recordings).toBe(6);
    for (let size = 3; size < 8; size++) sum(torch.ones([size]), torch.ones([size]));
    expect([captured.recordings, captured.fallbacks]).toEqual([8, 3]);
    expect(captured.reason).toMatch(/8 other/);
    expect(sum(a, b)).toBe(4);
    expect(captured.reason).toBe(null);
    captured.dispose();
  });
});

test('functions that read values run themselves', () => {
  expectFallback(
    (a) => a.mul(a.sum().item()),
    () => [torch.ones([2])],
    /reads a value/,
  );
  expectFallback(
    (a) => (a.sum().toArray() > 1 ? a : a.neg()),
    () => [torch.ones([2])],
    /reads a value/,
  );
  expectFallback(
    (a) => a.mul(torch.allclose(a, a) ? 2 : 3),
    () => [torch.ones([2])],
    /value|cannot be replayed/,
  );
  expectFallback(
    (a) => a.nonzero().shape,
    () => [torch.ones([2])],
    /unknown/,
  );
  const weight = torch.ones([1]);
  expectFallback(
    (a) => a.mul(weight.item()),
    () => [torch.ones([2])],
    /cannot be replayed/,
  );
  expectFallback(
    (a) => a.mul(weight.toArray()[0]),
    () => [torch.ones([2])],
    /cannot be replayed|reads/,
  );
  weight.dispose();
  settled();
});

test('a function that catches the refusal runs itself too', () => {
  const careful = (a: any) => {
    try {
      return a.mul(a.sum().item());
    } catch {
      return a.neg();
    }
  };
  expectFallback(careful, () => [torch.ones([2])], /reads a value/);
});

test('functions whose effects a replay would leave out run themselves', () => {
  expectFallback(
    (a) => torch.tensor([1, 2]).add_(a).neg(),
    () => [torch.ones([2])],
    /^aten::add_\.Tensor writes to a tensor that the function made from JavaScript values$/,
  );
  expectFallback(
    (a) => [a.neg(), torch.tensor([1, 2])],
    () => [torch.ones([2])],
    /makes from JavaScript values/,
  );
  expectFallback(
    (a) => [a.neg(), torch.tensor([1, 2]).view([2, 1])],
    () => [torch.ones([2])],
    /view of a tensor/,
  );
  expectFallback(
    (a) => {
      torch.manualSeed(1);
      return a.add(torch.rand([2]));
    },
    () => [torch.ones([2])],
    /manualSeed/,
  );
});

test('results and arguments of other kinds', () => {
  expectFallback(
    (a) => new Set([a.neg()]).size + 0 && new Date(0),
    () => [torch.ones([2])],
    /neither an array nor/,
  );
  expectFallback(
    (a) => a[0].neg(),
    () => [[torch.ones([2])]],
    /argument 1/,
  );
  expect(codeOf(() => untyped.capture(3))).toBe('ERR_TORCH_ARGUMENT');
  expect(codeOf(() => untyped.capture())).toBe('ERR_TORCH_ARGUMENT');
});

test('an async function runs itself', async () => {
  const captured = torch.capture(async (a: any) => a.neg());
  const result = await captured(torch.ones([1]));
  expect([result.item(), captured.reason]).toEqual([-1, 'it is an async function']);
  const hidden = torch.capture((a: any) => Promise.resolve().then(() => a.neg()));
  expect((await hidden(torch.ones([1]))).item()).toBe(-1);
  expect(hidden.reason).toMatch(/promise/);
});

test('errors: of the function, of an op, and of a disposed argument; the next call is a replay', () => {
  balanced(() =>
    torch.scope(() => {
      const captured = torch.capture((a: any, b: any) => a.matmul(b).neg());
      const good = () => captured(torch.ones([2, 3]), torch.ones([3, 2]));
      expect(thrown(() => captured(torch.ones([2, 3]), torch.ones([2, 3]))).op).toBe('aten::matmul');
      good();
      const gone = torch.ones([2, 3]);
      gone.dispose();
      const { code, message } = thrown(() => captured(gone, torch.ones([3, 2])));
      expect([code, message]).toEqual(['ERR_TORCH_DISPOSED', expect.stringMatching(/^capture: argument 1: /)]);
      const index = torch.capture((a: any, at: any) => a.indexSelect(0, at));
      expect(index(torch.ones([2]), torch.tensor([1], { dtype: 'int64' })).item()).toBe(1);
      expect(thrown(() => index(torch.ones([2]), torch.tensor([5], { dtype: 'int64' }))).op).toBe('aten::index_select');
      expect(index(torch.ones([2]), torch.tensor([0], { dtype: 'int64' })).item()).toBe(1);
      const failing = torch.capture(() => {
        throw new RangeError('mine');
      });
      expect(() => failing()).toThrow(RangeError);
      for (const one of [captured, index, failing]) one.dispose();
    }),
  );
});

test('a module: its parameters are those at the time of the call', () => {
  torch.scope(() => {
    const linear = new untyped.nn.Linear(4, 3);
    const model = new untyped.nn.Sequential(linear, new untyped.nn.ReLU());
    const captured = torch.capture((a: any) => model.forward(a));
    const a = torch.ones([2, 4]);
    for (let call = 0; call < 2; call++) {
      expect(bits(captured(a))).toEqual(bits(model.forward(a)));
      torch.noGrad(() => linear.weight.mul_(2));
    }
    expect(captured.reason).toBe(null);
    captured.dispose();
    model.dispose?.();
  });
});

test('a capture inside another one is part of it; the collector frees one that was dropped', () => {
  const before = settled();
  torch.scope(() => {
    const inner = torch.capture((a: any) => a.mul(2));
    const outer = torch.capture((a: any) => inner(a).add(1));
    expect([outer(torch.ones([1])).item(), outer(torch.ones([1])).item()]).toEqual([3, 3]);
    expect([outer.replays, inner.replays]).toEqual([2, 0]);
  });
  expect(settled()).toEqual(before);
});
