/** Copies of a tensor's JavaScript object: refused with a hint at the right way, or the tensor itself. */
import * as v8 from 'node:v8';
import { MessageChannel, Worker } from 'node:worker_threads';
import { balanced, codeOf, thrown, torch, untyped } from '../support/torch';

const places: [string, <T>(fn: () => T) => T][] = [
  ['in a scope', (fn) => torch.scope(fn)],
  ['outside every scope', (fn) => fn()],
];

describe.each(places)('a tensor %s', (_, within) => {
  const copies: [string, (value: unknown) => unknown][] = [
    ['structuredClone', (value) => structuredClone(value)],
    ['postMessage of a port', (value) => new MessageChannel().port1.postMessage(value)],
    ['v8.serialize', (value) => v8.serialize(value)],
    ['workerData', (value) => new Worker('', { eval: true, workerData: value })],
  ];
  test.each(copies)('%s refuses it and says what to do', (name, copy) => {
    within(() => {
      const t = torch.ones([2]);
      for (const value of [t, { deep: [t] }, new Map([[t, 1]])]) {
        let error: any;
        try {
          copy(value);
        } catch (thrown) {
          error = thrown;
        }
        expect(error?.name).toBe(name === 'v8.serialize' ? 'Error' : 'DataCloneError');
        expect(error.message).toContain('torch.Tensor: pass t.share() to another thread');
        expect(error.message).toContain('t.clone()');
      }
      expect(t.toArray()).toEqual([1, 1]);
      t.dispose();
    });
  });

  test('JSON holds its elements', () => {
    within(() => {
      const t = torch.tensor([
        [1, 2],
        [3, 4],
      ]);
      expect(JSON.stringify({ t })).toBe('{"t":[[1,2],[3,4]]}');
      t.dispose();
      const large = torch.tensor([[1n, 2n ** 60n]]);
      const { code, message } = thrown(() => JSON.stringify({ large }));
      expect([code, message]).toEqual([
        'ERR_TORCH_ARGUMENT',
        "toJSON: argument 'self': expected integers within ±(2^53 - 1), which JSON has as numbers, got 1152921504606846976n",
      ]);
      large.dispose();
    });
  });
});

test('a copy of its properties is not a tensor', () => {
  balanced(() => {
    const t = torch.tensor([1, 2]);
    const copy = { ...(t as any) };
    expect(codeOf(() => untyped.add(copy, 1))).toBe('ERR_TORCH_OVERLOAD');
    expect(() => untyped.cat([copy])).toThrow("a copy of a Tensor's properties at [0]");
    expect(codeOf(() => untyped.Tensor.prototype.add.call(copy, 1))).toBe('ERR_TORCH_ARGUMENT');
    untyped.disposeAll(copy);
    expect(t.disposed).toBe(false);
    t.dispose();
  });
});

test('a copy of a module by its properties is refused, with the call that copies', () => {
  balanced(() => {
    const layer: any = torch.scope(() => new torch.nn.Linear(2, 2));
    // What cloneDeep of lodash makes.
    const copy = Object.assign(Object.create(Object.getPrototypeOf(layer)), layer);
    const x = torch.ones([1, 2]);
    for (const use of [() => copy.forward(x), () => copy.parameters(), () => copy.stateDict(), () => copy.dispose()]) {
      const { code, message } = thrown(use);
      expect(code).toBe('ERR_TORCH_ARGUMENT');
      expect(message).toMatch(/^Linear: expected a module of its constructor, got a copy .*module\.deepCopy\(\)$/m);
    }
    expect(layer.parameters()).toHaveLength(2);
    torch.disposeAll([layer, x]);
  });
});

describe('a module', () => {
  const made = (): any[] => {
    const { nn } = torch;
    return [new nn.Linear(1, 1), new nn.Sequential(new nn.Linear(1, 1)), new nn.ReLU()];
  };

  test('structuredClone and postMessage refuse it, also if its tensors are inside others', () => {
    balanced(() => {
      const modules = made();
      for (const module of modules) {
        for (const copy of [structuredClone, (value: unknown) => new MessageChannel().port1.postMessage(value)]) {
          const { name, message } = thrown(() => copy({ module }));
          expect([name, message]).toEqual([
            'DataCloneError',
            expect.stringContaining('pass module.share() to another'),
          ]);
        }
        module.dispose();
      }
    });
  });

  test('JSON holds the state dict, with its elements', () => {
    balanced(() => {
      const [linear, sequence, relu] = made();
      for (const parameter of [...linear.parameters(), ...sequence.parameters()]) torch.nn.init.ones_(parameter);
      expect(JSON.stringify([linear, sequence, relu])).toBe(
        '[{"weight":[[1]],"bias":[1]},{"0.weight":[[1]],"0.bias":[1]},{}]',
      );
      const copy = linear.deepCopy();
      expect(JSON.stringify(copy)).toBe(JSON.stringify(linear));
      for (const module of [linear, sequence, copy]) module.dispose();
    });
  });
});

test('tensors are keys of maps, weak maps, sets and weak references by identity', () => {
  const [a, b] = [torch.ones([2]), torch.ones([2])];
  const map = new Map([
    [a, 'a'],
    [b, 'b'],
  ]);
  const weak = new WeakMap([[a, 1]]);
  expect([map.get(a), map.get(b), map.get(a.view([2])), weak.get(a), weak.get(b)]).toEqual([
    'a',
    'b',
    undefined,
    1,
    undefined,
  ]);
  expect(new WeakRef(a).deref()).toBe(a);
  expect(new Set([a, a, b]).size).toBe(2);
});
