/** Gradients, and the modes that switch their recording, without leaks. */
import { balanced, codeOf, torch, untyped } from '../support/torch';

const leaf = (values: number[]) => torch.tensor(values, { requiresGrad: true });

test('backward fills grad and adds to it', () => {
  balanced(() =>
    torch.scope(() => {
      const x = leaf([1, 2, 3]);
      expect(x.grad).toBeNull();
      x.mul(x).sum().backward();
      expect(x.grad!.toArray()).toEqual([2, 4, 6]);
      x.mul(3).sum().backward();
      expect(x.grad!.toArray()).toEqual([5, 7, 9]);
      x.grad = null;
      expect(x.grad).toBeNull();
      x.grad = torch.ones([3]);
      x.mul(3).sum().backward();
      expect(x.grad!.toArray()).toEqual([4, 4, 4]);
    }),
  );
});

test('a gradient may be passed, also in the options', () => {
  torch.scope(() => {
    const x = leaf([1, 2]);
    x.mul(2).backward(torch.tensor([1, 10]));
    expect(x.grad!.toArray()).toEqual([2, 20]);
    x.mul(2).backward({ gradient: torch.tensor([1, 1]) });
    expect(x.grad!.toArray()).toEqual([4, 22]);
    expect(codeOf(() => x.mul(2).backward())).toBe('ERR_TORCH_RUNTIME');
    expect(codeOf(() => x.backward({ typo: 1 } as any))).toBe('ERR_TORCH_ARGUMENT');
  });
});

test('inputs limits where gradients go', () => {
  torch.scope(() => {
    const a = leaf([1]);
    const b = leaf([2]);
    a.mul(b).backward({ inputs: [b] });
    expect(a.grad).toBeNull();
    expect(b.grad!.toArray()).toEqual([1]);
  });
});

test('only retainGraph allows a second backward', () => {
  torch.scope(() => {
    const x = leaf([3]);
    const y = x.mul(x);
    y.backward({ retainGraph: true });
    y.backward();
    expect(x.grad!.toArray()).toEqual([12]);
    expect(codeOf(() => y.backward())).toBe('ERR_TORCH_RUNTIME');
  });
});

test('createGraph makes gradients differentiable', () => {
  torch.scope(() => {
    const x = leaf([2]);
    x.pow(3).backward({ createGraph: true });
    expect(x.grad!.requiresGrad).toBe(true);
    const first = x.grad!;
    x.grad = null;
    first.backward();
    expect(x.grad!.toArray()).toEqual([12]);
    x.grad = null; // otherwise the graph of the gradient is a cycle
  });
});

test('the graph keeps its tensors without handles, and releases them with the result', () => {
  balanced(() => {
    const x = leaf([1, 2]);
    const { allocatedBytes } = torch.memory();
    const y = torch.scope(() => x.mul(x).exp().sum());
    y.backward();
    torch.scope(() => expect(x.grad!.at(0).item()).toBeCloseTo(2 * Math.E, 5));
    expect(torch.memory().allocatedBytes).toBeGreaterThan(allocatedBytes);
    y.dispose();
    x.grad = null;
    expect(torch.memory().allocatedBytes).toBe(allocatedBytes);
    x.dispose();
  });
});

test('each read of grad is a handle of the same storage', () => {
  balanced(() =>
    torch.scope(() => {
      const x = leaf([1, 2]);
      x.sum().backward();
      const bytes = torch.memory().bytes;
      const first = x.grad!;
      const more = torch.memory().bytes;
      expect(more - bytes).toBe(8);
      expect(x.grad!.storageBytes).toBe(first.storageBytes);
      expect(torch.memory().bytes).toBe(more);
      first.add_(5);
      expect(x.grad!.toArray()).toEqual([6, 6]);
    }),
  );
});

test('wrong arguments are refused', () => {
  torch.scope(() => {
    const x = leaf([1, 2]);
    const y = x.mul(2);
    expect(codeOf(() => (y.requiresGrad = false))).toBe('ERR_TORCH_RUNTIME'); // not a leaf
    expect(codeOf(() => x.add_(1))).toBe('ERR_TORCH_RUNTIME'); // a leaf that requires grad, in place
    expect(codeOf(() => (torch.tensor([1n]).requiresGrad = true))).toBe('ERR_TORCH_RUNTIME');
    expect(codeOf(() => torch.ones([1]).backward())).toBe('ERR_TORCH_RUNTIME');
    expect(codeOf(() => (x.grad = torch.ones([3])))).toBe('ERR_TORCH_RUNTIME');
    expect(codeOf(() => (x.grad = 1 as any))).toBe('ERR_TORCH_ARGUMENT');
    expect(codeOf(() => (x.grad = x))).toBe('ERR_TORCH_RUNTIME');
  });
});

test('gradFn names the node; detach leaves the graph', () => {
  torch.scope(() => {
    const x = leaf([1]);
    expect(x.gradFn).toBeNull();
    expect(x.mul(x).gradFn).toBe('MulBackward0');
    const detached = x.mul(x).detach();
    expect([detached.gradFn, detached.requiresGrad]).toEqual([null, false]);
  });
});

describe('modes', () => {
  const records = () => torch.scope(() => leaf([1]).mul(2).requiresGrad);

  test('noGrad and enableGrad nest and return what fn returns', () => {
    const seen: boolean[] = [];
    const result = torch.noGrad(() => {
      seen.push(records());
      torch.enableGrad(() => {
        seen.push(records());
        torch.noGrad(() => seen.push(records()));
        seen.push(records());
      });
      seen.push(records());
      return 7;
    });
    seen.push(records());
    expect(result).toBe(7);
    expect(seen).toEqual([false, true, false, true, false, true]);
  });

  test('a throw restores the mode', () => {
    for (const mode of [torch.noGrad, torch.inferenceMode]) {
      expect(() =>
        mode(() => {
          throw new Error('inside');
        }),
      ).toThrow('inside');
      expect([torch.isGradEnabled(), torch.isInferenceModeEnabled()]).toEqual([true, false]);
    }
    expect(() =>
      torch.noGrad(() =>
        torch.enableGrad(() => {
          throw new Error('inside');
        }),
      ),
    ).toThrow('inside');
    expect(torch.isGradEnabled()).toBe(true);
  });

  test('inferenceMode nests; its tensors are excluded from autograd', () => {
    torch.scope(() => {
      const x = leaf([1]);
      const made = torch.inferenceMode(() => {
        expect(torch.isInferenceModeEnabled()).toBe(true);
        torch.inferenceMode(() => 1);
        expect(torch.isInferenceModeEnabled()).toBe(true);
        return x.mul(2);
      });
      expect(torch.isInferenceModeEnabled()).toBe(false);
      expect(made.requiresGrad).toBe(false);
      expect(codeOf(() => made.mul(x))).toBe('ERR_TORCH_RUNTIME');
    });
  });

  test('setGradEnabled stays until set again; async functions are refused', () => {
    torch.setGradEnabled(false);
    expect(records()).toBe(false);
    torch.setGradEnabled(true);
    expect(records()).toBe(true);
    expect(codeOf(() => untyped.setGradEnabled(1))).toBe('ERR_TORCH_ARGUMENT');
    for (const enabled of [false, true]) {
      const result: boolean = torch.setGradEnabled(enabled, records);
      expect([result, records()]).toEqual([enabled, true]);
    }
    expect(codeOf(() => untyped.setGradEnabled(false, 1))).toBe('ERR_TORCH_ARGUMENT');
    expect(codeOf(() => untyped.setGradEnabled(false, async () => 1))).toBe('ERR_TORCH_ASYNC_MODE');
    expect(torch.isGradEnabled()).toBe(true);
    for (const mode of ['noGrad', 'enableGrad', 'inferenceMode']) {
      expect(codeOf(() => untyped[mode](async () => 1))).toBe('ERR_TORCH_ASYNC_MODE');
      for (const generator of [function* () {}, async function* () {}])
        expect(codeOf(() => untyped[mode](generator))).toBe('ERR_TORCH_ASYNC_MODE');
      expect(codeOf(() => untyped[mode](1))).toBe('ERR_TORCH_ARGUMENT');
    }
    expect([torch.isGradEnabled(), torch.isInferenceModeEnabled()]).toEqual([true, false]);
  });
});
