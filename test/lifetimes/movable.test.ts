/** Tensors moved by a scope's result: at any depth, through the protocol symbol, and refusals. */
import { Readable } from 'node:stream';
import * as vm from 'node:vm';
import { balanced, balancedAsync, codeOf, thrown, torch, untyped } from '../support/torch';

const ones = () => torch.ones([4]);
type Tensor = ReturnType<typeof ones>;

class Linear {
  readonly weight = ones();
  #hidden = ones();
  get [torch.tensors](): Tensor[] {
    return [this.weight, this.#hidden];
  }
  get hidden(): Tensor {
    return this.#hidden;
  }
}

class Model {
  readonly layers = [new Linear(), new Linear()];
  readonly table = new Map([['bias', ones()]]);
  self: unknown = this;
  *[torch.tensors](): Generator<unknown> {
    yield this.layers;
    yield this.table;
    yield this;
  }
}

const held = (model: Model): Tensor[] => [
  ...model.layers.flatMap((layer) => [layer.weight, layer.hidden]),
  model.table.get('bias')!,
];

describe('torch.tensors, the protocol of classes', () => {
  test('is a registered symbol', () => {
    expect(torch.tensors).toBe(Symbol.for('libtorch-node.tensors'));
  });

  test('scope, nested in plain values, and disposeAll', () => {
    balanced(() => {
      const { model } = torch.scope(() => {
        ones();
        return { model: new Model() };
      });
      expect(held(model).map((t) => t.disposed)).toEqual(Array(5).fill(false));
      torch.disposeAll([model]);
      expect(held(model).map((t) => t.disposed)).toEqual(Array(5).fill(true));
    });
  });

  test('move and keep', () => {
    balanced(() => {
      const s = torch.openScope();
      const moved = s.move(new Model());
      const inner = torch.openScope();
      const kept = torch.keep(new Linear());
      inner.close();
      s.close();
      expect([...held(moved), kept.weight, kept.hidden].some((t) => t.disposed)).toBe(false);
      torch.disposeAll([moved, kept]);
    });
  });

  test('a module takes the tensors in its properties along, and not those of other owners', () => {
    balanced(() => {
      class Scaled extends torch.nn.Module {
        inner = new torch.nn.Linear(2, 2);
        scale = ones();
        gone = ones();
        given: Tensor | null = null;
      }
      const outer = ones();
      const net = torch.scope(() => {
        const made = new Scaled();
        made.gone.dispose();
        made.given = outer;
        return torch.scope(() => torch.keep(made));
      });
      expect([net.inner.weight, net.scale, net.gone, outer].map((t) => t.disposed)).toEqual([
        false,
        false,
        true,
        false,
      ]);
      torch.disposeAll(net);
      expect([net.inner.weight, net.scale, outer].map((t) => t.disposed)).toEqual([true, true, true]);
    });
  });

  test('a class without it is not searched: its tensors stay in the scope', () => {
    balanced(() => {
      class Plain {
        t = ones();
      }
      expect(torch.scope(() => new Plain()).t.disposed).toBe(true);
    });
  });

  test('a function can have it; its errors pass, and everything is released', () => {
    balanced(() => {
      const f = torch.scope(() => {
        const t = ones();
        return Object.assign(() => t, { get [torch.tensors]() { return t; } }); // biome-ignore format: one thing
      });
      expect(f().disposed).toBe(false);
      torch.disposeAll(f);
      expect(() =>
        torch.scope(() => ({
          t: ones(),
          [torch.tensors]() {
            throw new RangeError('mine');
          },
        })),
      ).toThrow('mine');
    });
  });
});

test('a Map or a Set of a class with a tag or an iterator of its own, and what only stands for one', () => {
  class Tagged extends Map<string, unknown> {
    override get [Symbol.toStringTag]() {
      return 'Tagged';
    }
  }
  class Values extends Map<string, unknown> {
    override [Symbol.iterator]() {
      return this.values() as never;
    }
  }
  class TaggedSet extends Set<unknown> {
    override get [Symbol.toStringTag]() {
      return 'Tagged';
    }
  }
  const like = (t: unknown) => ({
    [Symbol.toStringTag]: 'Map',
    *[Symbol.iterator]() {
      yield ['t', t];
    },
  });
  const bare = (t: unknown) => ({ [Symbol.toStringTag]: 'Map', t });
  const entry = (t: unknown): [string, unknown][] => [['t', t]];
  const makers = [
    (t: unknown) => new Tagged(entry(t)),
    (t: unknown) => new Values(entry(t)),
    (t: unknown) => new TaggedSet([t]),
    like,
    bare,
  ];
  balanced(() => {
    for (const make of makers) {
      let t: any;
      torch.scope(() => {
        t = ones();
        return make(t);
      });
      expect(t.disposed).toBe(false);
      t.dispose();
    }
  });
});

test('depth, cycles, values of another realm, and deep nesting without deep recursion', () => {
  balanced(() => {
    const result: any = torch.scope(() => {
      const t = ones();
      const foreign = vm.runInNewContext('(t) => ({ list: [t], map: new Map([[1, new Set([t])]]) })')(t);
      let deep: unknown = t;
      for (let i = 0; i < 100_000; i++) deep = [deep];
      const cycle: any = { t, foreign, deep, bare: Object.assign(Object.create(null), { t }) };
      cycle.cycle = [cycle];
      return cycle;
    });
    expect(result.t.disposed).toBe(false);
    result.t.dispose();
  });
});

test('a tensor and its view, each alone and both', () => {
  balanced(() => {
    const both = torch.scope(() => {
      const t = torch.arange(6);
      return { t, view: t.view([2, 3]), same: t };
    });
    expect(both.same).toBe(both.t);
    both.t.dispose();
    expect(both.view.toArray()).toEqual([
      [0, 1, 2],
      [3, 4, 5],
    ]);
    both.view.dispose();
    const base = torch.scope(() => {
      const t = torch.arange(6);
      t.view([2, 3]);
      return t;
    });
    expect(base.toArray()).toEqual([0, 1, 2, 3, 4, 5]);
    base.dispose();
  });
});

test('a tensor moves with its gradient; a handle of the gradient belongs to the scope that read it', () => {
  balanced(() => {
    let readInside: any;
    const leaf = torch.scope(() => {
      const x = torch.ones([3], { requiresGrad: true });
      x.mul(2).sum().backward();
      readInside = x.grad;
      return x;
    });
    expect(readInside.disposed).toBe(true);
    const grad = leaf.grad!;
    expect(grad.toArray()).toEqual([2, 2, 2]);
    leaf.dispose();
    expect(grad.toArray()).toEqual([2, 2, 2]);
    grad.dispose();
    const pair = torch.scope(() => {
      const x = torch.ones([3], { requiresGrad: true });
      x.sum().backward();
      return { x, grad: x.grad! };
    });
    expect(pair.grad.toArray()).toEqual([1, 1, 1]);
    pair.x.grad = null;
    expect(pair.grad.toArray()).toEqual([1, 1, 1]);
    torch.disposeAll(pair);
  });
});

describe('lazily read values are refused, and everything is released', () => {
  function* generator(t: Tensor): Generator<Tensor> {
    yield t;
  }
  async function* asyncGenerator(t: Tensor): AsyncGenerator<Tensor> {
    yield t;
  }
  const lazy: [string, (t: Tensor) => unknown][] = [
    ['a generator', generator],
    ['an async generator', asyncGenerator],
    ['an iterator of an array', (t) => [t].values()],
    ['an iterator of a map', (t) => new Map([[1, t]]).entries()],
    ['a Node stream', (t) => Readable.from([t])],
    ['a web stream', () => new ReadableStream()],
    ['one deep inside', (t) => [{ t, list: new Set([generator(t)]) }]],
  ];

  test.each(lazy)('%s', async (_name, make) => {
    await balancedAsync(async () => {
      const error = thrown(() => torch.scope(() => make(ones())));
      expect(error.code).toBe('ERR_TORCH_SCOPE');
      expect(error.message).toMatch(
        /^scope: expected values that can be searched for tensors now, got an? .*; read it inside the scope/,
      );
      await expect(torch.scope(async () => make(ones()))).rejects.toMatchObject({ code: 'ERR_TORCH_SCOPE' });
      torch.scope((s) => {
        expect(codeOf(() => s.move(make(ones())))).toBe('ERR_TORCH_SCOPE');
        expect(codeOf(() => torch.keep(make(ones())))).toBe('ERR_TORCH_SCOPE');
        expect(codeOf(() => torch.disposeAll(make(ones())))).toBe('ERR_TORCH_SCOPE');
      });
    });
  });

  test('a function that is itself a generator is refused', () => {
    balanced(() => {
      expect(
        codeOf(() =>
          untyped.scope(function* () {
            yield 1;
          }),
        ),
      ).toBe('ERR_TORCH_SCOPE');
    });
  });

  test('a refused value moves nothing', () => {
    balanced(() => {
      const s = torch.openScope();
      const t = ones();
      expect(codeOf(() => s.move([t, generator(t)]))).toBe('ERR_TORCH_SCOPE');
      s.close();
      expect(t.disposed).toBe(true);
    });
  });
});

test('tensors in an error are released like the rest, unless moved', () => {
  balanced(() => {
    let error: any;
    try {
      torch.scope((s) => {
        throw Object.assign(new Error('stop'), { lost: ones(), kept: s.move(ones()) });
      });
    } catch (caught) {
      error = caught;
    }
    expect([error.lost.disposed, error.kept.disposed]).toEqual([true, false]);
    error.kept.dispose();
  });
});
