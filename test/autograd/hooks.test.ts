/** Hooks on gradients: arguments, results, failures, and lifetimes. */
import { Worker } from 'node:worker_threads';
import type { Tensor } from 'libtorch-node';
import { run } from '../support/child';
import { expectResident, rounds } from '../support/sanitized';
import { balanced, codeOf, LIB, thrown, torch, untyped } from '../support/torch';

/**
 * The leaves of a test, which are freed after it: a hook whose function reaches its own tensor keeps it (docs/autograd.md).
 */
const leaves: Tensor[] = [];
afterEach(() => torch.disposeAll(leaves.splice(0)));

function leaf(...data: number[]): Tensor {
  const made = torch.tensor(data, { requiresGrad: true });
  leaves.push(made);
  return made;
}

describe('registerHook', () => {
  it('gets the gradient of leaves and of computed tensors', () => {
    const x = leaf(1, 2);
    const h = x.mul(3);
    const seen: unknown[] = [];
    h.registerHook((grad) => void seen.push(['h', grad.toArray()]));
    x.registerHook((grad) => void seen.push(['x', grad.toArray()]));
    h.pow(2).sum().backward();
    expect(seen).toEqual([
      ['h', [6, 12]],
      ['x', [18, 36]],
    ]);
  });

  it('continues with the hook’s result', () => {
    const x = leaf(1, 2);
    x.registerHook((grad) => grad.mul(10));
    x.registerHook(() => null);
    x.registerHook((grad) => grad.add(1));
    x.sum().backward();
    expect(x.grad!.toArray()).toEqual([11, 11]);
    const h = x.mul(2);
    h.registerHook((grad) => grad.mul(10));
    const [d] = torch.autograd.grad(h.sum(), x);
    expect(d!.at(0).item()).toBeGreaterThanOrEqual(20);
  });

  it('is called for a view after a write with gradients through another one', () => {
    const x = leaf(1, 2, 3);
    const base = torch.zeros([2, 3]);
    const view = base.t();
    base.set([0], x);
    view.registerHook((grad) => grad.mul(10));
    view.sum().backward();
    expect(x.grad!.toArray()).toEqual([10, 10, 10]);
    const [first, second] = x.mul(1).tensorSplit(2) as [any, any];
    second.unsqueeze_(0);
    first.registerHook((grad: any) => grad.mul(10));
    expect(torch.autograd.grad(first.sum(), x)[0]!.toArray()).toEqual([10, 10, 0]);
  });

  it('is not called after remove() or `using`', () => {
    const x = leaf(1, 2);
    const handle = x.registerHook((grad) => grad.mul(10));
    handle.remove();
    handle.remove();
    x.registerHook((grad) => grad.mul(10))[Symbol.dispose]();
    x.sum().backward();
    expect(x.grad!.toArray()).toEqual([1, 1]);
  });

  it('rethrows the hook’s error unchanged, and leaks nothing', () => {
    const error = new RangeError('mine');
    balanced(() =>
      torch.scope(() => {
        const x = leaf(1, 2);
        const h = x.mul(1);
        const fails = () => {
          throw error;
        };
        const handle = x.registerHook(fails);
        h.registerHook(fails);
        expect(thrown(() => x.pow(2).sum().backward())).toBe(error);
        expect(thrown(() => torch.autograd.grad(h.pow(2).sum(), x))).toBe(error);
        expect(thrown(() => torch.autograd.backward(x.pow(2).sum()))).toBe(error);
        expect(error.message).toBe('mine');
        handle.remove();
        x.pow(2).sum().backward();
        expect(x.grad!.toArray()).toEqual([2, 4]);
      }),
    );
  });

  it('rethrows values that are not errors, too', () => {
    const x = leaf(1);
    x.registerHook(() => {
      throw 'a string';
    });
    expect(thrown(() => x.sum().backward())).toBe('a string');
  });

  it.each<[string, (grad: any) => unknown, string, RegExp]>([
    ['a number', () => 5, 'ERR_TORCH_ARGUMENT', /the hook's result.*got 5/],
    ['a promise', async () => null, 'ERR_TORCH_ARGUMENT', /got a Promise/],
    [
      'a disposed tensor',
      (grad) => {
        const made = grad.mul(2);
        made.dispose();
        return made;
      },
      'ERR_TORCH_DISPOSED',
      /disposed/,
    ],
    ['another shape', () => torch.ones([5]), 'ERR_TORCH_RUNTIME', /size/],
  ])('refuses %s', (_, hook, code, message) => {
    const x = leaf(1, 2);
    x.registerHook(hook as never);
    const error = thrown(() => x.sum().backward());
    expect([error.code, error.message]).toEqual([code, expect.stringMatching(message)]);
  });

  it('refuses tensors without gradients and values that are not functions', () => {
    expect(thrown(() => torch.ones([1]).registerHook(() => {})).message).toMatch(
      /expected a tensor that requires gradients/,
    );
    expect(codeOf(() => leaf(1).registerHook(5 as never))).toBe('ERR_TORCH_ARGUMENT');
    expect(codeOf(() => untyped.Tensor.prototype.registerHook.call({}, () => {}))).toBe('ERR_TORCH_ARGUMENT');
  });

  it('runs in the current scope, which frees its tensors', () => {
    const x = leaf(1, 2);
    let kept: any;
    torch.scope(() => {
      x.registerHook((grad) => {
        kept = grad.mul(2);
      });
      x.sum().backward();
      expect(kept.disposed).toBe(false);
    });
    expect(kept.disposed).toBe(true);
  });

  it('may dispose, call backward, open scopes and read', () => {
    const x = leaf(1, 2);
    const h = x.mul(2);
    const y = h.pow(2).sum();
    let inner: unknown;
    h.registerHook((grad) => {
      h.dispose();
      y.dispose();
      const z = leaf(3);
      z.registerHook((g) => g.mul(7));
      inner = torch.scope(() => {
        torch.enableGrad(() => z.pow(2).sum()).backward();
        return z.grad!.toArray();
      });
      const result = torch.scope(() => grad.mul(1).add(0));
      grad.dispose();
      return result;
    });
    y.backward();
    expect(inner).toEqual([42]);
    expect(x.grad!.toArray()).toEqual([8, 16]);
  });

  it('can be differentiated through with createGraph', () => {
    const x = leaf(2);
    const h = x.mul(1);
    h.registerHook((grad) => grad.mul(grad));
    const [d] = torch.autograd.grad(h.pow(2).sum(), x, { createGraph: true });
    expect(d!.toArray()).toEqual([16]);
    // The path to x goes through h again, and its hook squares 8h.
    expect(torch.autograd.grad(d!.sum(), x)[0]!.toArray()).toEqual([256]);
  });

  it('is refused on a thread of the pool, with the reason', async () => {
    const x = leaf(1, 2);
    const handle = x.registerHook((grad) => grad.mul(2));
    const error = await untyped.async.backward(x.sum()).then(
      () => undefined,
      (caught: unknown) => caught,
    );
    expect(error).toMatchObject({ code: 'ERR_TORCH_CALLBACK_THREAD' });
    expect(x.grad).toBe(null);
    handle.remove();
    await untyped.async.backward(x.sum());
    expect(x.grad!.toArray()).toEqual([1, 1]);
  });
});

describe('registerPostAccumulateGradHook', () => {
  it('gets the leaf after its gradient is set', () => {
    const x = leaf(1, 2);
    const seen: unknown[] = [];
    const handle = x.registerPostAccumulateGradHook((own) => {
      seen.push([own === x, own.grad!.toArray()]);
      own.grad = null;
    });
    x.sum().backward();
    x.mul(2).sum().backward();
    expect(seen).toEqual([
      [true, [1, 1]],
      [true, [2, 2]],
    ]);
    expect(x.grad).toBe(null);
    handle.remove();
    x.sum().backward();
    expect(seen.length).toBe(2);
    torch.autograd.grad(x.sum(), x);
    expect(seen.length).toBe(2);
  });

  it('rethrows its error', () => {
    const x = leaf(1);
    const error = new Error('mine');
    x.registerPostAccumulateGradHook(() => {
      throw error;
    });
    expect(thrown(() => x.sum().backward())).toBe(error);
  });

  it('refuses tensors that are not leaves', () => {
    expect(
      thrown(() =>
        leaf(1)
          .mul(2)
          .registerPostAccumulateGradHook(() => {}),
      ).message,
    ).toMatch(/expected a leaf/);
  });
});

describe('memory', () => {
  it.each(['dispose', 'scope', 'remove', 'dropped'])('a hook is released: %s', async (how) => {
    const { stdout, stderr, code } = await run(process.execPath, [
      '--expose-gc',
      'test/autograd/hook-memory.cjs',
      LIB,
      how,
    ]);
    expect({ stderr, code }).toEqual({ stderr: '', code: 0 });
    expect(JSON.parse(stdout)).toEqual({ closures: 0, tensors: 0 });
  });
});

describe('removed hooks', () => {
  it.each(['leaf', 'computed', 'accumulated'])('leave nothing in the list of a tensor: %s', async (on) => {
    const { stdout, stderr, code } = await run(process.execPath, [
      '--expose-gc',
      'test/autograd/hook-lists.cjs',
      LIB,
      on,
      String(rounds(200_000)),
    ]);
    expect({ stderr, code }).toEqual({ stderr: '', code: 0 });
    const { grown, calls } = JSON.parse(stdout);
    expect(calls).toBe(1);
    expectResident(grown).toBeLessThan(8);
  });

  it('are not called by the running backward, nor are hooks added during it', () => {
    const x = leaf(1, 2);
    const seen: string[] = [];
    x.registerHook(() => {
      seen.push('first');
      second.remove();
      for (let i = 0; i < 100; i++) x.registerHook(() => void seen.push('late')).remove();
      x.registerHook(() => void seen.push('next'));
    });
    const second = x.registerHook(() => void seen.push('second'));
    x.registerHook(() => void seen.push('third'));
    x.sum().backward();
    expect(seen).toEqual(['first', 'third']);
    x.sum().backward();
    expect(seen).toEqual(['first', 'third', 'first', 'third', 'next']);
  });
});

/** A worker that ends in a hook, in several ways. */
function worker(body: string): Promise<number> {
  const text = `
    const torch = require(${JSON.stringify(LIB)});
    const x = torch.tensor([1, 2], { requiresGrad: true });
    x.registerHook((grad) => { ${body} });
    try { x.pow(2).sum().backward(); } catch {}
    x.pow(2).sum().backward();
    process.exitCode = 3;`;
  return new Promise((resolve, reject) => {
    const started = new Worker(text, { eval: true });
    started.on('error', reject);
    started.on('exit', resolve);
    started.on('message', () => void started.terminate());
  });
}

it.each([
  ['process.exit', 'process.exit(7)', 7],
  ['terminate', "require('node:worker_threads').parentPort.postMessage(1); for (;;) {}", 1],
])('a worker can end in a hook: %s', async (_, body, code) => {
  expect(await worker(body)).toBe(code);
  expect(torch.ones([2]).sum().item()).toBe(2);
});

it('a program can end in a hook', async () => {
  const text = `
    const torch = require(${JSON.stringify(LIB)});
    const x = torch.tensor([1, 2], { requiresGrad: true });
    x.registerHook(() => process.exit(7));
    x.pow(2).sum().backward();`;
  const { code, signal, stderr } = await run(process.execPath, ['-e', text]);
  expect({ code, signal, stderr }).toEqual({ code: 7, signal: null, stderr: '' });
});
