/** Methods of models that run a backward: hooks and functions of the program in it. */
import { torch, untyped } from '../support/torch';
import { MODELS_MS, makeModels, model } from './models';

beforeAll(makeModels, MODELS_MS);

/** Two inputs that were computed, the second with a hook, whose node comes first in the backward. */
function inputs(hook: (grad: any) => any) {
  const leaf = torch.ones([3], { requiresGrad: true });
  const a = leaf.mul(2);
  const b = leaf.mul(3);
  b.registerHook(hook);
  return { leaf, a, b };
}

/** What `fn` throws, of any type. */
function caught(fn: () => unknown): { value: unknown } {
  try {
    fn();
  } catch (value) {
    return { value };
  }
  throw new Error('expected an error, none was thrown');
}

test('what a hook or a backward of the program throws comes out of the method unchanged', () => {
  torch.scope(() => {
    const m = model('learner');
    for (const value of [new RangeError('mine'), 5, undefined, ['list'], null]) {
      const { a, b } = inputs(() => {
        throw value;
      });
      expect(caught(() => m.call('learn', a, b)).value).toBe(value);
      class Throws extends untyped.autograd.Function {
        static forward = (_: unknown, x: any) => x.mul(1);
        static backward() {
          throw value;
        }
      }
      expect(caught(() => m.call('learn', a, (Throws as any).apply(a))).value).toBe(value);
    }
    const { a, b } = inputs(() => void caught(() => m.call('learn', 1, 2)));
    expect((m.call('learn', a, b) as any).item()).toBe(15); // the hook itself has caught its error
  });
});

test('on a thread of the pool the error has its code', async () => {
  await torch.scope(async () => {
    const m = model('learner');
    const { a, b } = inputs(() => {});
    const code = 'ERR_TORCH_CALLBACK_THREAD';
    await expect(torch.run(() => m.call('learn', a, b))).rejects.toMatchObject({ code, op: 'Learner.learn' });
  });
});

test('a backward that fails in a method leaves no gradient behind', async () => {
  const m = model('learner');
  torch.scope(() => {
    const { a, b } = inputs(() => {});
    m.call('learn', a, b); // from now on the weight has a gradient
  });
  const before = torch.memory().allocatedBytes;
  torch.scope(() => {
    const { a, b } = inputs(() => {
      throw new RangeError('mine');
    });
    expect(() => m.call('learn', a, b)).toThrow(RangeError);
  });
  expect(torch.memory().allocatedBytes).toBe(before);
  await torch.scope(async () => {
    const { a, b } = inputs(() => {});
    await expect(torch.run(() => m.call('learn', a, b))).rejects.toThrow();
  });
  expect(torch.memory().allocatedBytes).toBe(before);
  m.dispose();
});

test('a hook may use the model whose method runs the backward', () => {
  torch.scope(() => {
    const m = model('learner');
    const seen: unknown[] = [];
    const { leaf, a, b } = inputs(() => {
      m.train(false);
      const inner = torch.enableGrad(() => {
        const x = torch.ones([3], { requiresGrad: true });
        return m.call('learn', x, x) as any;
      });
      seen.push(inner.item(), m.parameters().length, m.isTraining());
    });
    expect((m.call('learn', a, b) as any).item()).toBe(15);
    expect(seen).toEqual([6, 1, false]);
    expect(leaf.grad!.toArray()).toEqual([5, 5, 5]);
    expect((m.forward(torch.ones([3])) as any).item()).toBe(3); // and so may others, afterwards
  });
});
