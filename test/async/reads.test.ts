/** Reads in the function of torch.run: of pending results, and of tensors that recorded ops will write to. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Tensor } from 'libtorch-node';
import { torch, untyped } from '../support/torch';

const codeOf = async (fn: () => unknown): Promise<unknown> => {
  try {
    return await untyped.run(fn);
  } catch (error) {
    return (error as { code?: string }).code;
  }
};

test('shapes of convolutions with arguments that do not fit are unknown', async () => {
  const x = torch.ones([1, 1, 8]);
  const image = torch.ones([1, 1, 8, 8]);
  const [narrow, square] = [torch.ones([1, 1, 3]), torch.ones([1, 1, 3, 3])];
  expect(await codeOf(() => untyped.conv1d(x, narrow, null, [0]).shape)).toBe('ERR_TORCH_PENDING');
  expect(await codeOf(() => untyped.conv2d(image, square, null, []).shape)).toBe('ERR_TORCH_PENDING');
  expect(await codeOf(() => untyped.conv2d(image, square, null, [1, 1, 1]).shape)).toBe('ERR_TORCH_PENDING');
  expect(await codeOf(() => untyped.conv1d(x, narrow).shape)).toEqual([1, 1, 6]);
  torch.disposeAll([x, image, narrow, square]);
});

test('each step is visited once, however often its result is used and however long the chain is', async () => {
  const x = torch.ones([2]);
  const branches = () => {
    let h = x.add(0) as Tensor;
    for (let i = 0; i < 100; i++) h = h.add(h.relu());
    return [h.shape, h.dtype, h.device];
  };
  expect(await untyped.run(branches)).toEqual([[2], 'float32', 'cpu']);
  const chain = () => {
    let h = x.add(0) as Tensor;
    for (let i = 0; i < 60_000; i++) h = h.neg();
    return h.shape;
  };
  expect(await untyped.run(chain)).toEqual([2]);
  x.dispose();
});

test('backward, grad and forward of a Function do not run before a recorded write', async () => {
  class Scaled extends untyped.autograd.Function {
    static forward(_ctx: unknown, x: Tensor) {
      return x.mul(factor);
    }
    static backward() {
      return null;
    }
  }
  const factor = torch.ones([2]);
  const w = torch.ones([2], { requiresGrad: true });
  w.sum().backward();
  const loss = w.mul(3).sum();
  const write = () => w.grad!.zero_();
  expect(await codeOf(() => [write(), untyped.autograd.backward(loss)])).toBe('ERR_TORCH_PENDING');
  expect(await codeOf(() => [write(), untyped.autograd.grad(loss, [w])])).toBe('ERR_TORCH_PENDING');
  expect(await codeOf(() => [factor.add_(1), (Scaled as any).apply(w)])).toBe('ERR_TORCH_PENDING');
  expect(w.grad!.toArray()).toEqual([1, 1]);
});

test('elements are those at the time of the read', async () => {
  const x = torch.zeros([2]);
  const read = () => {
    const y = x.add(1) as Tensor;
    const first = y.toArray();
    y.add_(1);
    return Promise.all([first, y.toArray()]);
  };
  expect(await untyped.run(read)).toEqual([
    [1, 1],
    [2, 2],
  ]);
  const passedOn = () => [untyped.dropout(x, 0.5, false).add_(1), x.toArray()];
  expect(await codeOf(passedOn)).toBe('ERR_TORCH_PENDING');
  x.dispose();
});

test('the known shape of a tensor is not used for another tensor in the same slot', async () => {
  const wrong = () => {
    const shapes: string[] = [];
    for (let i = 0; i < 50; i++) {
      const gone = torch.zeros([2, 3]);
      try {
        untyped.tensorSplit(gone, untyped.nonzero(torch.ones([2])));
      } catch {
        // The number of its results is unknown: refused, after its arguments were checked.
      }
      gone.dispose();
      shapes.push(String(torch.zeros([5, 7]).neg().shape));
    }
    return shapes.filter((shape) => shape !== '5,7');
  };
  expect(await untyped.run(wrong)).toEqual([]);
});

test('an async function continues without its ops after its run was aborted', async () => {
  const a = torch.zeros([]);
  const abort = new AbortController();
  let turns = 0;
  let refused: string | undefined;
  const body = async () => {
    try {
      for (; ; turns++) {
        a.add_(1);
        await a.sum();
        if (turns === 1) abort.abort();
        await pause(1);
      }
    } catch (error) {
      refused = (error as { code?: string }).code;
    }
  };
  await untyped.run(body, { signal: abort.signal }).catch(() => {});
  const then = a.item();
  while (refused === undefined) await pause(1);
  expect(refused).toMatch(/^ERR_TORCH_|^ABORT_ERR/);
  expect(a.item()).toBe(then);
  a.dispose();
});

test('the value of a pending result is awaited after the mode in which it was asked for', async () => {
  const w = torch.ones([2], { requiresGrad: true });
  const value = (mode: (fn: () => unknown) => unknown) => untyped.run(async () => await mode(() => w.sum().item()));
  expect(await value(torch.noGrad)).toBe(2);
  expect(await value(torch.enableGrad)).toBe(2);
  expect(await value(torch.inferenceMode)).toBe(2);
  expect(await value(torch.autograd.detectAnomaly)).toBe(2);
  const parts = await untyped.run(async () => await torch.noGrad(() => w.mul(w.gt(0)).nonzero().split(1)));
  expect(parts.length).toBe(2);
  torch.disposeAll([w, parts]);
});
