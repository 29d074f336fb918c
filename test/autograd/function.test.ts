/** torch.autograd.Function: PyTorch's behaviour, and the lifetime of its tensors. */
import type { Tensor } from '../../types';
import { run } from '../support/child';
import { balanced, codeOf, LIB, thrown, torch, untyped } from '../support/torch';

const { Function: Base, grad } = torch.autograd;
type Context = InstanceType<typeof torch.autograd.FunctionContext>;
const leaf = (...data: number[]) => torch.tensor(data, { requiresGrad: true });

class Exp extends Base {
  static override forward(ctx: Context, x: Tensor): Tensor {
    const y = x.exp() as Tensor;
    ctx.saveForBackward(y);
    return y;
  }

  static override backward(ctx: Context, gradOut: Tensor): Tensor {
    const [y] = ctx.savedTensors;
    return gradOut.mul(y!) as Tensor;
  }
}

/** x to the power of n, times y: a number among the arguments, and two results. */
class PowMul extends Base {
  static override forward(ctx: Context, x: Tensor, n: number, y: Tensor): [Tensor, Tensor] {
    ctx.saveForBackward(x, y);
    ctx.n = n;
    return [x.pow(n).mul(y) as Tensor, y.neg() as Tensor];
  }

  static override backward(ctx: Context, first: Tensor, second: Tensor) {
    const [x, y] = ctx.savedTensors as [Tensor, Tensor];
    const n = ctx.n as number;
    return [
      first.mul(
        x
          .pow(n - 1)
          .mul(n)
          .mul(y),
      ) as Tensor,
      null,
      first.mul(x.pow(n)).sub(second) as Tensor,
    ];
  }
}

it('computes forward and backward', () => {
  const x = leaf(0, 1);
  const y = Exp.apply(x);
  expect(y.toArray()).toEqual([1, Math.fround(Math.E)]);
  expect([y.requiresGrad, y.gradFn]).toEqual([true, 'ExpBackward']);
  y.sum().backward();
  expect(x.grad!.toArray()).toEqual(y.toArray());
});

it('takes other arguments, and returns several results', () => {
  const [x, y] = [leaf(2, 3), leaf(5, 7)];
  const [a, b] = PowMul.apply(x, 2, y);
  expect([a.toArray(), b.toArray()]).toEqual([
    [20, 63],
    [-5, -7],
  ]);
  const [dx, dy] = grad([a.sum() as Tensor, b.sum() as Tensor], [x, y]);
  expect([dx!.toArray(), dy!.toArray()]).toEqual([
    [20, 42],
    [3, 8],
  ]);
  expect(grad(PowMul.apply(x, 2, y)[0].sum() as Tensor, y)[0]!.toArray()).toEqual([4, 9]);
});

it('can be differentiated twice if its backward consists of ops', () => {
  const x = leaf(1);
  const [first] = grad(Exp.apply(x).sum() as Tensor, x, { createGraph: true });
  const [second] = grad(first!.sum() as Tensor, x, { createGraph: true });
  expect(second!.toArray()).toEqual([Math.fround(Math.E)]);
  expect(grad(second!.sum() as Tensor, x)[0]!.toArray()).toEqual([Math.fround(Math.E)]);
});

it('records nothing if nothing needs gradients', () => {
  expect(Exp.apply(torch.ones([1])).requiresGrad).toBe(false);
  expect(torch.noGrad(() => Exp.apply(leaf(1))).requiresGrad).toBe(false);
});

it('returns forward’s tensor itself, and a view of an argument', () => {
  let made: unknown;
  class Same extends Base {
    static override forward(_: Context, x: Tensor, through: boolean) {
      made = through ? x : x.mul(1);
      return made as Tensor;
    }
    static override backward(_: Context, g: Tensor) {
      return [g, null];
    }
  }
  const x = leaf(1, 2);
  expect(Same.apply(x, false)).toBe(made);
  const through = Same.apply(x, true);
  expect(through).not.toBe(x);
  expect(through.gradFn).toBe('SameBackward');
  expect(x.gradFn).toBe(null);
});

it('knows which arguments need gradients', () => {
  let needs: unknown;
  class Needs extends Base {
    static override forward(ctx: Context, ...args: (Tensor | string)[]) {
      needs = ctx.needsInputGrad;
      return (args[0] as Tensor).mul(1) as Tensor;
    }
  }
  Needs.apply(torch.ones([1]), leaf(1), 'text');
  expect(needs).toEqual([false, true, false]);
});

it('accepts results without gradients, and modified arguments', () => {
  class Parts extends Base {
    static override forward(ctx: Context, x: Tensor): [Tensor, Tensor] {
      const index = x.argsort() as Tensor;
      ctx.markNonDifferentiable(index);
      return [x.mul(2) as Tensor, index];
    }
    static override backward(_: Context, g: Tensor, none: Tensor) {
      expect(none.toArray()).toEqual([0, 0]);
      return g.mul(2) as Tensor;
    }
  }
  const x = leaf(2, 1);
  const [y, index] = Parts.apply(x);
  expect([y.requiresGrad, index.requiresGrad]).toEqual([true, false]);
  expect(grad(y.sum() as Tensor, x)[0]!.toArray()).toEqual([2, 2]);

  class Double extends Base {
    static override forward(ctx: Context, x: Tensor) {
      ctx.markDirty(x);
      return x.mul_(2);
    }
    static override backward(_: Context, g: Tensor) {
      return g.mul(2) as Tensor;
    }
  }
  const h = x.mul(1) as Tensor;
  expect(Double.apply(h)).toBe(h);
  expect(h.gradFn).toBe('DoubleBackward');
  expect(grad(h.sum() as Tensor, x)[0]!.toArray()).toEqual([2, 2]);
});

it('passes zeros, or null, for an unused result', () => {
  const seen: unknown[] = [];
  class Two extends Base {
    static override forward(ctx: Context, x: Tensor, materialize: boolean): [Tensor, Tensor] {
      ctx.setMaterializeGrads(materialize);
      return [x.mul(1) as Tensor, x.mul(1) as Tensor];
    }
    static override backward(_: Context, a: Tensor, b: Tensor | null) {
      seen.push(b?.toArray() ?? b);
      return [a, null];
    }
  }
  const x = leaf(1, 2);
  grad(Two.apply(x, true)[0].sum() as Tensor, x);
  grad(Two.apply(x, false)[0].sum() as Tensor, x);
  expect(seen).toEqual([[0, 0], null]);
});

it('refuses to be differentiated twice if its backward forbids it', () => {
  class Once extends Base {
    static override forward(ctx: Context, x: Tensor) {
      ctx.saveForBackward(x);
      return x.pow(2) as Tensor;
    }
    static override backward = torch.autograd.onceDifferentiable(
      (ctx: Context, g: Tensor) => g.mul(ctx.savedTensors[0]!).mul(2) as Tensor,
    );
  }
  const x = leaf(3);
  expect(grad(Once.apply(x).sum() as Tensor, x)[0]!.toArray()).toEqual([6]);
  const weight = leaf(1);
  const [d] = grad(Once.apply(x).mul(weight).sum() as Tensor, x, { createGraph: true });
  expect(d!.toArray()).toEqual([6]);
  const error = thrown(() => (d!.sum() as Tensor).backward());
  expect([error.code, error.message]).toEqual(['ERR_TORCH_RUNTIME', expect.stringContaining('onceDifferentiable')]);
});

describe('errors', () => {
  const returning = (result: unknown) =>
    class Returns extends Base {
      static override forward(_: Context, x: Tensor, __?: unknown) {
        return x.mul(1) as Tensor;
      }
      static override backward() {
        return result as never;
      }
    };

  it.each<[string, unknown, string, RegExp]>([
    ['too few gradients', [null], 'ERR_TORCH_ARGUMENT', /one gradient for each of the 2 arguments of forward.*got 1/],
    ['too many', [null, null, 5], 'ERR_TORCH_ARGUMENT', /got 3/],
    ['a gradient for a number', [null, torch.ones([2])], 'ERR_TORCH_ARGUMENT', /'result\[1\]': expected null/],
    ['a gradient that is a number', [5, null], 'ERR_TORCH_ARGUMENT', /'result\[0\]': expected a Tensor.*got 5/],
    ['a gradient of another shape', [torch.ones([3]), null], 'ERR_TORCH_RUNTIME', /ReturnsBackward.*\[3\]/],
  ])('%s', (_, result, code, message) => {
    const x = leaf(1, 2);
    const error = thrown(() => returning(result).apply(x, 1).sum().backward());
    expect([error.code, error.message]).toEqual([code, expect.stringMatching(message)]);
  });

  it('errors of forward and backward pass unchanged, and nothing is leaked', () => {
    const error = new RangeError('mine');
    class Fails extends Base {
      static override forward(_: Context, x: Tensor, now: boolean): Tensor {
        if (now) throw error;
        return x.mul(2) as Tensor;
      }
      static override backward(): never {
        throw error;
      }
    }
    balanced(() =>
      torch.scope(() => {
        const x = leaf(1, 2);
        expect(thrown(() => Fails.apply(x, true))).toBe(error);
        expect(torch.isGradEnabled()).toBe(true);
        expect(thrown(() => Fails.apply(x, false).sum().backward())).toBe(error);
      }),
    );
  });

  it('saved tensors that were modified or freed', () => {
    const x = leaf(1, 2);
    const y = Exp.apply(x);
    torch.noGrad(() => y.add_(1));
    expect(thrown(() => y.sum().backward()).message).toMatch(/modified by an inplace operation/);
    const z = Exp.apply(x).sum() as Tensor;
    grad(z, x);
    expect(thrown(() => grad(z, x)).code).toBe('ERR_TORCH_RUNTIME');
    const kept = Exp.apply(x).sum() as Tensor;
    grad(kept, x, { retainGraph: true });
    expect(grad(kept, x)[0]!.toArray()).toEqual([Math.fround(Math.E), expect.closeTo(7.389, 3)]);
  });

  it('a context does not let a program end its node', () => {
    const statics = ['length', 'name', 'prototype'];
    expect(Object.getOwnPropertyNames(untyped.autograd.FunctionContext).sort()).toEqual(statics);
  });

  it('a forward that does not return a tensor, a class without the functions', () => {
    class None extends Base {
      static override forward(_: Context, __: Tensor) {
        return 5;
      }
    }
    expect(codeOf(() => None.apply(leaf(1)))).toBe('ERR_TORCH_ARGUMENT');
    expect(codeOf(() => untyped.autograd.Function.apply(leaf(1)))).toBe('ERR_TORCH_NOT_IMPLEMENTED');
    expect(codeOf(() => untyped.autograd.Function.apply.call({}, leaf(1)))).toBe('ERR_TORCH_ARGUMENT');
    class NoBackward extends Base {
      static override forward(_: Context, x: Tensor) {
        return x.mul(1) as Tensor;
      }
    }
    expect(codeOf(() => NoBackward.apply(leaf(1)).sum().backward())).toBe('ERR_TORCH_NOT_IMPLEMENTED');
  });

  it('is refused on a thread of the pool', async () => {
    const y = Exp.apply(leaf(1)).sum();
    await expect(untyped.async.backward(y)).rejects.toMatchObject({ code: 'ERR_TORCH_CALLBACK_THREAD' });
  });
});

it('may run another backward in its backward, over itself too', () => {
  class Nested extends Base {
    static override forward(ctx: Context, x: Tensor) {
      ctx.saveForBackward(x);
      return x.pow(2) as Tensor;
    }
    static override backward(ctx: Context, g: Tensor) {
      const x = ctx.savedTensors[0]!.detach().requiresGrad_() as Tensor;
      const y = torch.enableGrad(() => Exp.apply(x).sum() as Tensor);
      return g.mul(grad(y, x)[0]!) as Tensor;
    }
  }
  const x = leaf(0);
  expect(grad(Nested.apply(x).sum() as Tensor, x)[0]!.toArray()).toEqual([1]);
});

it('does not leak closures, contexts or tensors', async () => {
  const { stdout, stderr, code } = await run(process.execPath, [
    '--expose-gc',
    'test/autograd/function-memory.cjs',
    LIB,
  ]);
  expect({ stderr, code }).toEqual({ stderr: '', code: 0 });
  expect(JSON.parse(stdout)).toEqual({ contexts: 0, tensors: 0 });
});

test('an alias of apply, which loses the class, is an error that says so', () => {
  const { apply } = Exp as unknown as { apply: (x: Tensor) => Tensor };
  expect(thrown(() => apply(leaf(1))).message).toBe(
    "autograd.Function.apply: argument 'this': expected a class with static forward and backward, got undefined; call MyOp.apply(x) itself, which an alias does not",
  );
  const alias = (x: Tensor) => Exp.apply(x);
  expect(alias(leaf(0)).item()).toBe(1);
});

test('what was saved and freed is reported by the name that the program used', () => {
  let kept: Context | undefined;
  class Saves extends torch.autograd.Function {
    static override forward(ctx: Context, x: Tensor): Tensor {
      kept = ctx;
      ctx.saveForBackward(x);
      return x.mul(2) as Tensor;
    }
    static override backward(_: Context, g: Tensor): Tensor {
      return g;
    }
  }
  torch.scope(() => {
    (Saves.apply(torch.ones([2], { requiresGrad: true })) as Tensor).sum().backward();
    const error = thrown(() => kept!.savedTensors);
    expect([error.op, error.message]).toEqual([
      'ctx.savedTensors',
      expect.stringMatching(/^ctx\.savedTensors: the saved/),
    ]);
  });
});

test('a call that fails after its forward has modified an argument: the backward of that argument is an error', () => {
  const forwards: Record<string, (ctx: Context, a: Tensor, b: Tensor) => any> = {
    'a dirty tensor that is not returned': (ctx, a, b) => {
      a.add_(1);
      ctx.markDirty(a, b);
      return a;
    },
    'an inference tensor is saved': (ctx, a) => {
      a.add_(1);
      ctx.markDirty(a);
      ctx.saveForBackward(torch.inferenceMode(() => torch.ones([3])));
      return a;
    },
    'a second dirty tensor is a leaf': (ctx, a, b) => {
      a.add_(1);
      ctx.markDirty(a, b.fill_(1));
      return [a, b];
    },
  };
  for (const [name, forward] of Object.entries(forwards)) {
    class Fails extends torch.autograd.Function {
      static override forward(ctx: Context, a: Tensor, b: Tensor): any {
        return forward(ctx, a, b);
      }
      static override backward(_: Context, g: Tensor): any {
        return [g, null];
      }
    }
    torch.scope(() => {
      const x = torch.ones([3], { requiresGrad: true });
      const [z, w] = [x.mul(1), name.includes('leaf') ? x : x.mul(2)];
      const code = codeOf(() => Fails.apply(z, w));
      const end = codeOf(() => (z as Tensor).sum().backward());
      // Where libtorch had not connected the call yet, the argument has its own graph, or one that saw the change.
      expect([name, code, end ?? 'gradients']).toEqual([
        name,
        'ERR_TORCH_RUNTIME',
        expect.stringMatching(/^ERR_TORCH_|^gr/),
      ]);
    });
  }
});

test('names of Python on ctx are errors that say what to write', () => {
  const names = ['save_for_backward', 'saved_tensors', 'needs_input_grad', 'mark_dirty', 'mark_non_differentiable'];
  const seen: string[] = [];
  class Double extends torch.autograd.Function {
    static override forward(ctx: any, x: any) {
      for (const name of [...names, 'set_materialize_grads']) {
        for (const use of [() => ctx[name], () => Object.assign(ctx, { [name]: 1 })]) {
          const { code, message } = thrown(use);
          seen.push(message);
          expect(code).toBe('ERR_TORCH_NAME');
        }
      }
      ctx.of_my_own = 2; // any other property is the program's
      return x.mul(ctx.of_my_own);
    }
    static override backward(ctx: any, g: any) {
      return g.mul(ctx.of_my_own);
    }
  }
  torch.scope(() => {
    const x = torch.ones([2]).requiresGrad_();
    (Double as any).apply(x).sum().backward();
    expect(x.grad!.toArray()).toEqual([2, 2]);
  });
  expect(new Set(seen).size).toBe(6);
  expect(seen[0]).toBe('ctx.save_for_backward is not a name here: write saveForBackward');
});
