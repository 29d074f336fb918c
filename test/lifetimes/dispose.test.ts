/** dispose, use after dispose, disposeAll, `using`: counts return exactly to their old values. */
import type { Tensor } from '../../types';
import { balanced, codeOf, counts, settled, thrown, torch, untyped } from '../support/torch';

test('dispose is idempotent and frees the bytes at once', () => {
  const before = settled();
  const t = torch.zeros([256]);
  expect(counts()).toEqual({ tensors: before.tensors + 1, storages: before.storages + 1, bytes: before.bytes + 1024 });
  expect(t.disposed).toBe(false);
  for (let i = 0; i < 3; i++) {
    t.dispose();
    expect(t.disposed).toBe(true);
    expect(counts()).toEqual(before);
  }
  t[Symbol.dispose]();
  expect(counts()).toEqual(before);
});

test('a second dispose does not affect the tensor that reuses the slot', () => {
  balanced(() => {
    const old = torch.zeros([1]);
    old.dispose();
    const fresh = torch.ones([3]);
    old.dispose();
    old[Symbol.dispose]();
    torch.disposeAll([old]);
    expect(fresh.toArray()).toEqual([1, 1, 1]);
    fresh.dispose();
  });
});

describe('use after dispose', () => {
  const gone = () => {
    const t = torch.ones([2, 2]);
    t.dispose();
    return t;
  };

  test.each<[string, string, (t: any) => unknown]>([
    ['at', 'self', (t) => t.at(0)],
    ['at', 'indices', (t) => torch.ones([2]).at(t)],
    ['set', 'self', (t) => t.set([0], 1)],
    ['set', 'indices', (t) => torch.ones([2, 2]).set([t], 1)],
    ['set', 'value', (t) => torch.ones([2, 2]).set([0], t)],
    ['[Symbol.iterator]', 'self', (t) => [...t]],
    ['apply_', 'self', (t) => t.apply_((value: number) => value)],
    ['toArray', 'self', (t) => t.toArray()],
    ['toTypedArray', 'self', (t) => t.toTypedArray()],
    ['toString', 'self', (t) => String(t)],
    ['grad', 'value', (t) => Object.assign(torch.ones([2, 2]), { grad: t })],
    ['keep', 'value', (t) => torch.keep([t])],
    ['nn.Parameter', 'tensor', (t) => new torch.nn.Parameter(t)],
    ['registerBuffer', 'tensor', (t) => new torch.nn.Module().registerBuffer('a', t)],
    ['optim.SGD', 'params[0]', (t) => new torch.optim.SGD([t], { lr: 1 })],
    ['nn.utils.clipGradNorm_', 'parameters[0]', (t) => torch.nn.utils.clipGradNorm_([t], 1)],
  ])('%s names itself and the argument %s', (op, argument, use) => {
    torch.scope(() => expect(thrown(() => use(gone()))).toMatchObject({ code: 'ERR_TORCH_DISPOSED', op, argument }));
  });

  const getters = 'shape strides dtype device layout numel ndim nbytes storageBytes requiresGrad grad gradFn T'.split(
    ' ',
  );
  test.each(getters)('the property %s', (name) => {
    expect(codeOf(() => (gone() as any)[name])).toBe('ERR_TORCH_DISPOSED');
  });
  const methods: [string, (t: any) => unknown][] = [
    ['add', (t) => t.add(1)],
    ['add_', (t) => t.add_(1)],
    ['matmul', (t) => t.matmul(t)],
    ['sum with options', (t) => t.sum({ dim: [0], keepdim: true })],
    ['backward', (t) => t.backward()],
    ['item', (t) => t.item()],
    ['toArray', (t) => t.toArray()],
    ['toTypedArray', (t) => t.toTypedArray()],
    ['toString', (t) => t.toString()],
    ['at', (t) => t.at(0)],
    ['set', (t) => t.set([0], 1)],
    ['storage', (t) => t.storage()],
    ['requiresGrad =', (t) => (t.requiresGrad = true)],
    ['grad =', (t) => (t.grad = null)],
  ];
  test.each(methods)('the method %s', (_, use) => {
    const t = gone();
    balanced(() => expect(codeOf(() => use(t))).toBe('ERR_TORCH_DISPOSED'));
  });
  const functions: [string, (t: any, live: any) => unknown][] = [
    ['add(gone, live)', (t, live) => torch.add(t, live)],
    ['add(live, gone)', (t, live) => torch.add(live, t)],
    ['cat', (t, live) => torch.cat([live, t])],
    ['out', (t, live) => untyped.add(live, live, { out: t })],
    ['keep', (t) => torch.keep(t)],
    ['index tensor', (t, live) => live.at(t)],
    ['value of set', (t, live) => live.set([0], t)],
  ];
  test.each(functions)('the function %s', (_, use) => {
    const t = gone();
    const live = torch.ones([2, 2]);
    balanced(() => expect(codeOf(() => use(t, live))).toBe('ERR_TORCH_DISPOSED'));
    live.dispose();
  });
  test('names the op and the argument', () => {
    const live = torch.ones([2, 2]);
    const error = thrown(() => torch.add(live, gone()));
    expect(error).toMatchObject({ code: 'ERR_TORCH_DISPOSED', argument: 'other', name: 'Error' });
    expect(error.message).toContain("argument 'other'");
    live.dispose();
  });
  test('console.log of a disposed tensor does not throw', () => {
    expect(require('node:util').inspect(gone())).toContain('disposed');
  });
});

test('a view keeps the memory of its disposed base', () => {
  balanced(() => {
    const base = torch.arange(1000);
    const view = base.slice(0, 10, 12);
    base.dispose();
    expect(view.toArray()).toEqual([10, 11]);
    expect(view.storageBytes).toBe(8000);
    view.dispose();
  });
});

test('using disposes at the end of the block, also when it throws', () => {
  balanced(() => {
    let seen: { disposed: boolean } | undefined;
    expect(() => {
      using t = torch.ones([4]);
      seen = t;
      throw new Error('inside');
    }).toThrow('inside');
    expect(seen!.disposed).toBe(true);
  });
});

test('disposeAll finds tensors in arrays, maps, sets, plain objects and cycles', () => {
  balanced(() => {
    const t = () => torch.ones([3]);
    const shared = t();
    const value: any = { a: t(), list: [t(), [shared, shared]], set: new Set([t(), shared]), map: new Map() };
    value.map.set(t(), { deep: [new Map([['k', t()]])] });
    value.self = value;
    value.list.push(value.list);
    value.bare = Object.assign(Object.create(null), { x: t() });
    value.other = [null, undefined, 1, 'x', 2n, true, Symbol('s'), () => 1];
    torch.disposeAll(value);
    torch.disposeAll(value);
  });
});

test('disposeAll ignores class instances', () => {
  class Holder {
    constructor(readonly t = torch.ones([1])) {}
  }
  const holder = new Holder();
  torch.disposeAll({ holder });
  expect(holder.t.disposed).toBe(false);
  holder.t.dispose();
});

test('disposeAll disposes of modules and optimizers, with what they hold', () => {
  balanced(() => {
    const net = new torch.nn.Sequential(new torch.nn.Linear(2, 2), new torch.nn.BatchNorm1d(2));
    const optimizer = new torch.optim.Adam(net.parameters());
    torch.scope(() => net.forward(torch.ones([3, 2])).sum().backward()); // biome-ignore format: a step
    optimizer.step();
    torch.disposeAll({ net, list: [optimizer] });
    expect(net.parameters().filter((parameter) => !parameter.disposed)).toEqual([]);
    torch.disposeAll([net, optimizer]);
  });
});

test('disposeAll disposes of the others if one throws', () => {
  class Failing extends torch.nn.Linear {
    override dispose(): void {
      super.dispose();
      throw new Error('of the program');
    }
  }
  balanced(() => {
    const layer = () => new torch.nn.Linear(2, 2);
    const failing = () => new Failing(2, 2);
    expect(() => torch.disposeAll([layer(), failing(), layer()])).toThrow('of the program');
    const error = thrown(() => torch.disposeAll([failing(), layer(), failing(), torch.ones([1])])) as any;
    expect([error.name, error.errors.map(({ message }: Error) => message)]).toEqual([
      'AggregateError',
      ['of the program', 'of the program'],
    ]);
  });
});

test('disposeAll of other values does nothing', () => {
  const held = torch.ones([1]);
  const before = settled();
  for (const value of [null, undefined, 1, 'text', [], {}, new Map()]) {
    expect(torch.disposeAll(value)).toBeUndefined();
    expect(counts()).toEqual(before);
  }
  expect(held.disposed).toBe(false);
  held.dispose();
});

test('a failing op leaks nothing, wherever it fails', () => {
  const a: Tensor = torch.ones([2, 3]);
  const calls: (() => unknown)[] = [
    () => torch.mm(a, a),
    () => torch.cat([a, torch.ones as any]),
    () => a.view([7]),
    () => a.at(9),
    () => untyped.empty([2 ** 40]),
    () => untyped.tensor([[1], [1, 2]]),
    () => a.at(torch.tensor([5n]), 0, 0, 0),
  ];
  for (const call of calls.slice(0, 6)) balanced(() => expect(codeOf(call)).toMatch(/^ERR_TORCH_/));
  a.dispose();
});

test('a Generator is disposed like a tensor', () => {
  const generator = new torch.Generator();
  const t = torch.rand([2], { generator });
  generator.dispose();
  generator.dispose();
  expect(generator.disposed).toBe(true);
  expect(['ERR_TORCH_DISPOSED', 'ERR_TORCH_ARGUMENT']).toContain(codeOf(() => torch.rand([2], { generator })));
  expect(codeOf(() => generator.initialSeed())).toBe('ERR_TORCH_DISPOSED');
  t.dispose();
});
