/** Methods and getters with a wrong `this`, and objects that resemble tensors: errors with codes, never a wrong result. */
import { format, inspect } from 'node:util';
import { ask } from '../support/child';
import { balanced, codeOf, thrown, torch, untyped } from '../support/torch';

const prototype = untyped.Tensor.prototype;
const others = (): [string, any][] => [
  ['undefined', undefined],
  ['null', null],
  ['a number', 7],
  ['a string', 'tensor'],
  ['{}', {}],
  ['{ _handle: 5 }', { _handle: 5 }],
  ['a function', () => 1],
  ['Tensor.prototype', prototype],
  ['a Generator', new untyped.Generator()],
];
/** Its handle is stale. 2 ** 26, the first handle of a process, may be valid if the process ran another file before. */
const gone = torch.ones([1]);
gone.dispose();

const forged = [
  undefined,
  null,
  5,
  -1,
  0,
  0.5,
  gone._handle,
  2 ** 53,
  2 ** 64,
  1e300,
  Number.NaN,
  Infinity,
  '67108865',
  {},
  5n,
];

const names = (of: object) =>
  Object.getOwnPropertyNames(of).filter((name) => name !== 'constructor' && !name.startsWith('_'));
/** Methods that are accessors, so that an assignment throws (lib/call/operators.ts). */
const assignedInPython = ['data', 'real', 'imag'];
const getters = names(prototype).filter(
  (name) => Object.getOwnPropertyDescriptor(prototype, name)?.get && !assignedInPython.includes(name),
);
const methods = names(prototype).filter((name) => !getters.includes(name));

describe('`this` is not a tensor', () => {
  test('every getter refuses it', () => {
    expect(getters).toEqual(expect.arrayContaining(['shape', 'grad', 'disposed', 'nbytes', 'T', 'requiresGrad']));
    for (const name of getters) {
      const get = Object.getOwnPropertyDescriptor(prototype, name)!.get!;
      for (const [, other] of others()) {
        expect({ name, code: codeOf(() => get.call(other)) }).toEqual({ name, code: 'ERR_TORCH_ARGUMENT' });
      }
    }
  });

  test('every setter refuses it', () => {
    for (const name of ['grad', 'requiresGrad']) {
      const set = Object.getOwnPropertyDescriptor(prototype, name)!.set!;
      for (const [, other] of others()) expect(codeOf(() => set.call(other, null))).toBe('ERR_TORCH_ARGUMENT');
    }
  });

  test('every method refuses it, whatever its arguments', () => {
    expect(methods.length).toBeGreaterThan(500);
    balanced(() => {
      const x = torch.ones([2]);
      const wrong: object[] = []; // one expect, because tens of thousands take seconds
      for (const name of methods) {
        for (const [what, other] of others()) {
          for (const passed of [[], [x], [1], [[2]]]) {
            const { code } = thrown(() => prototype[name].apply(other, passed));
            if (code !== 'ERR_TORCH_ARGUMENT') wrong.push({ name, what, passed: passed.length, code });
          }
        }
      }
      expect(wrong).toEqual([]);
      x.dispose();
    });
  });

  test('the message names the method and the value', () => {
    const { add } = torch.ones([2]);
    expect(() => (add as any)(1)).toThrow("Tensor.add: argument 'this': expected a Tensor, got undefined");
    expect(() => (add as any).call({}, 1)).toThrow("Tensor.add: argument 'this': expected a Tensor, got an object");
    expect(() => prototype.shape).toThrow("Tensor.shape: argument 'this'");
  });

  test("a Generator's methods refuse a Tensor, whose handle has another meaning there", () => {
    const generator = new untyped.Generator();
    const t = torch.ones([2]);
    const { dispose } = generator;
    expect(codeOf(() => dispose.call(t))).toBe('ERR_TORCH_ARGUMENT');
    expect(codeOf(() => generator[Symbol.dispose].call(t))).toBe('ERR_TORCH_ARGUMENT');
    const { get } = Object.getOwnPropertyDescriptor(
      Object.getPrototypeOf(Object.getPrototypeOf(generator)),
      'disposed',
    )!;
    expect(codeOf(() => get!.call(t))).toBe('ERR_TORCH_ARGUMENT');
    expect(codeOf(() => untyped.Generator.prototype.initialSeed?.call(t) ?? dispose.call(t))).toBe(
      'ERR_TORCH_ARGUMENT',
    );
    expect({ tensor: t.disposed, generator: generator.disposed }).toEqual({ tensor: false, generator: false });
  });
});

describe('an object that only has the prototype', () => {
  test.each(forged.map((handle) => [handle]))('with the handle %p', (handle) => {
    const live = torch.ones([3]);
    const fake = Object.create(prototype);
    if (handle !== undefined) Object.assign(fake, { _handle: handle });
    for (const use of [
      () => fake.shape,
      () => fake.add(live),
      () => live.add(fake),
      () => torch.cat([live, fake]),
      () => fake.item(),
      () => fake.at(0),
      () => fake.toArray(),
      () => fake.backward(),
      () => {
        live.grad = fake;
      },
      () => untyped.keep(fake),
    ]) {
      expect(['ERR_TORCH_ARGUMENT', 'ERR_TORCH_OVERLOAD', 'ERR_TORCH_DISPOSED']).toContain(codeOf(use));
    }
    expect(typeof inspect(fake)).toBe('string');
    expect(live.toArray()).toEqual([1, 1, 1]);
  });

  test('Tensor cannot be constructed or subclassed into being', () => {
    class Mine extends untyped.Tensor {}
    for (const make of [
      () => new untyped.Tensor(5),
      () => new (Mine as any)(5),
      () => Reflect.construct(untyped.Tensor, [1]),
    ])
      expect(codeOf(make)).toBe('ERR_TORCH_ARGUMENT');
  });

  test('a tensor whose prototype became a subclass still works', () => {
    class Mine extends untyped.Tensor {
      twice(): any {
        return (this as any).mul(2);
      }
    }
    const mine = Object.setPrototypeOf(torch.ones([2]), Mine.prototype);
    expect(mine.twice().add(mine).toArray()).toEqual([3, 3]);
    expect(torch.scope(() => mine.twice()).toArray()).toEqual([2, 2]);
  });
});

describe('a Proxy around a tensor', () => {
  test('works as `this`, as an argument and in lists', () => {
    const t = torch.tensor([1, 2]);
    const proxy = new Proxy(t, {});
    expect(proxy.shape).toEqual([2]);
    expect(proxy.add(t).toArray()).toEqual([2, 4]);
    expect(t.add(proxy).toArray()).toEqual([2, 4]);
    expect(torch.cat([t, proxy]).toArray()).toEqual([1, 2, 1, 2]);
    expect(torch.stack([proxy, proxy]).shape).toEqual([2, 2]);
    expect(proxy.at(0).item()).toBe(1);
  });

  test('is printed, although Node reads element 0 of what it stands for', () => {
    const t: any = torch.tensor([1, 2]);
    const proxy: any = new Proxy(t, {});
    const getters = {
      get first() {
        return t[0];
      },
    };
    for (let round = 0; round < 2; round++) {
      expect(inspect(proxy)).toBe('tensor([1., 2.])');
      expect(format('%s is', 'it', { proxy })).toBe('it is { proxy: tensor([1., 2.]) }');
      // Every other reader still learns what to write.
      expect(codeOf(() => t[0])).toBe('ERR_TORCH_NAME');
      expect(codeOf(() => proxy[0])).toBe('ERR_TORCH_NAME');
      expect(inspect(getters, { getters: true })).toContain('t[0] is not an element');
    }
  });

  test('is returned by calls that return their argument', () => {
    torch.scope(() => {
      const proxy: any = new Proxy(torch.tensor([1, -2]), {});
      expect(proxy.add_(1)).toBe(proxy);
      expect(proxy.add_(torch.ones([2]), { alpha: 2 })).toBe(proxy);
      expect(untyped.add(proxy, 1, { out: proxy })).toBe(proxy);
      expect(proxy.set([0], 5)).toBe(proxy);
      expect(proxy.map_(torch.ones([2]), (x: number, y: number) => x + y)).toBe(proxy);
      expect(untyped.nn.functional.relu6(proxy, { inplace: true })).toBe(proxy);
      expect(untyped.asTensor(proxy)).toBe(proxy);
      expect(proxy.toArray()).toEqual([6, 3]);
    });
  });

  test('is read for its handle once, before the library opens its own scope', () => {
    torch.scope(() => {
      const t = torch.ones([4, 4]);
      const made: any[] = [];
      const get = (target: object, name: PropertyKey) => {
        if (name === '_handle') made.push(torch.ones([1]));
        return Reflect.get(target, name);
      };
      const proxy: any = new Proxy(t, { get });
      const calls = [
        () => untyped.svdLowrank(proxy, 2),
        () => torch.saveToBuffer({ proxy }),
        () => torch.npz.saveToStream({ proxy }).cancel(),
        () => untyped.sum(proxy, [0], { keepdim: true }),
      ];
      for (const call of calls) {
        made.length = 0;
        call();
        expect(made.map((tensor) => tensor.disposed)).toEqual([false]);
      }
    });
  });

  test('counts as its tensor in the result of a scope and in disposeAll', () => {
    balanced(() => {
      const proxy = torch.scope(() => new Proxy(torch.tensor([1, 2]), {}));
      expect(proxy.disposed).toBe(false);
      torch.disposeAll([new Proxy({ proxy }, {})]);
      expect(proxy.disposed).toBe(true);
    });
  });

  test('a revoked one throws a TypeError', () => {
    const t = torch.tensor([1, 2]);
    const { proxy, revoke } = Proxy.revocable(t, {});
    revoke();
    expect(() => t.add(proxy)).toThrow(TypeError);
    expect(() => torch.cat([proxy])).toThrow(TypeError);
    expect(t.toArray()).toEqual([1, 2]);
  });

  test('one without the handle is refused', () => {
    const t = torch.tensor([1, 2]);
    const proxy = new Proxy(t, { get: (target, name) => (name === '_handle' ? 'none' : Reflect.get(target, name)) });
    expect(codeOf(() => t.add(proxy))).toBe('ERR_TORCH_ARGUMENT');
  });
});

test('frozen and sealed tensors work; those outside a scope can be kept, disposed and collected', () => {
  balanced(() => {
    const t = torch.tensor([1, 2]);
    Object.freeze(t);
    expect(torch.scope(() => t.add(t).toArray())).toEqual([2, 4]);
    const inside = torch.scope(() => Object.seal(torch.ones([2])));
    expect(torch.keep(inside).disposed).toBe(false);
    torch.disposeAll([t, inside]);
  });
});

test('a frozen tensor that a scope passes to the collector lives as long as it is reachable', async () => {
  const { alive, left } = await ask(
    `
    let t = torch.scope(() => Object.freeze(torch.ones([2])));
    torch.keep(t);
    gc();
    const alive = t.toArray();
    t = undefined;
    setImmediate(() => { gc(); setImmediate(() => answer({ alive, left: counts().tensors })); });
  `,
    ['--expose-gc'],
  );
  expect({ alive, left }).toEqual({ alive: [1, 1], left: 0 });
});
