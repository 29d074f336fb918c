/** torch.utils.checkpoint: lower peak memory, and owners of tensors. */
import type { Tensor } from '../../types';
import { ask, run } from '../support/child';
import { balanced, LIB, torch } from '../support/torch';

const { checkpoint } = torch.utils.checkpoint;
const { grad } = torch.autograd;
const F = torch.nn.functional;
const off = { useReentrant: false };
const leaf = (...data: number[]) => torch.tensor(data, { requiresGrad: true });

test('the function’s tensors are released, its results and gradients are owned like others', () => {
  const count = () => torch.memory().tensors;
  for (const useReentrant of [true, false]) {
    const steps = () => {
      const x = leaf(1, 2);
      const start = count();
      const y = checkpoint((a) => a.exp().sin().tanh(), x, { useReentrant });
      const made = [count() - start];
      const loss = y.sum();
      loss.backward();
      made.push(count() - start);
      const again = checkpoint((a) => a.exp().sin().tanh(), x, off).sum();
      const before = count();
      const [g] = grad(again, x);
      made.push(count() - before);
      torch.disposeAll([x, y, loss, again, g]);
      return made;
    };
    expect(balanced(() => torch.scope(steps))).toEqual([1, 2, 1]);
    expect(steps()).toEqual([1, 2, 1]);
  }
});

test('a result outlives the scope in which its checkpoint was made', () => {
  const x = leaf(1, 2);
  for (const useReentrant of [true, false]) {
    x.grad = null;
    const y = torch.scope(() => {
      const w = torch.ones([2]).mul(3);
      return checkpoint((a, b) => F.dropout(a.mul(b), 0), x.mul(2), w, { useReentrant }).sum();
    });
    y.backward();
    expect(x.grad!.toArray()).toEqual([6, 6]);
  }
});

test('a function that throws in the backward ends it, and leaks nothing', () => {
  for (const useReentrant of [true, false]) {
    let isSecond = false;
    const fails = (a: Tensor) => {
      const y = a.exp();
      if (isSecond) throw new Error('mine');
      return y;
    };
    balanced(() =>
      torch.scope(() => {
        isSecond = false;
        const y = checkpoint(fails, leaf(1), { useReentrant }).sum();
        isSecond = true;
        const before = torch.memory().tensors;
        expect(() => y.backward()).toThrow('mine');
        expect(torch.memory().tensors).toBe(before);
        expect(torch.isGradEnabled()).toBe(true);
      }),
    );
  }
});

test('the peak is lower, and all is freed', async () => {
  const outcomes = await Promise.all(
    ['plain', '{}', '{"useReentrant":false}', 'sequential'].map(async (mode) => {
      const { stdout, stderr, code } = await run(process.execPath, ['test/autograd/checkpoint-memory.cjs', LIB, mode]);
      expect({ stderr, code }).toEqual({ stderr: '', code: 0 });
      return JSON.parse(stdout) as { peak: number; left: number; tensors: number; kept: number; gradients: boolean };
    }),
  );
  const tensor = 256 * 256 * 4;
  const [plain, ...checkpoints] = outcomes;
  expect(plain!.peak).toBeGreaterThan(48 * tensor);
  for (const { peak, left, tensors, kept, gradients } of checkpoints) {
    expect({ left, tensors, kept, gradients }).toEqual({ left: 0, tensors: 8, kept: 0, gradients: true });
    expect(peak).toBeLessThan(24 * tensor);
  }
});

test('outside scopes the collector frees all of it', async () => {
  const program = ['--expose-gc', 'test/autograd/checkpoint-garbage.cjs', LIB];
  const { stdout, stderr, code } = await run(process.execPath, program);
  expect({ stderr, code }).toEqual({ stderr: '', code: 0 });
  expect(JSON.parse(stdout)).toEqual({ functions: 0, anchors: 0, tensors: 0, bytes: 0 });
});

test('a loop that never yields keeps no list of its checkpoints', async () => {
  const anchors = await ask(
    `
    const { goals } = require(${JSON.stringify(`${LIB}/autograd/goals.js`)});
    const x = torch.ones([2], { requiresGrad: true });
    const step = () => torch.utils.checkpoint.checkpoint((a) => a.exp(), x, { useReentrant: false }).sum().backward();
    for (let i = 0; i < 400; i++) {
      torch.scope(step);
      if (i % 20 === 0) gc();
    }
    answer(goals.anchors.size);
  `,
    ['--expose-gc'],
  );
  expect(anchors).toBeLessThan(130);
});
