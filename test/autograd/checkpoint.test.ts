/** torch.utils.checkpoint: PyTorch's gradients, and refusals. Memory: checkpoint-memory.test.ts. */
import type { Tensor } from '../../types';
import { run } from '../support/child';
import { type Call, compare } from '../support/compare';
import { balanced, LIB, thrown, torch, untyped } from '../support/torch';

const { checkpoint } = torch.utils.checkpoint;
const { grad } = torch.autograd;

const inputs: Record<string, Call> = {
  x: ['torch.tensor([[0.5, -1.25, 2], [1, 0.25, -3]])', 'torch.tensor([[0.5, -1.25, 2], [1, 0.25, -3]])'],
  y: ['torch.tensor([[1, 2, 3], [0.25, -4, 0.125]])', 'torch.tensor([[1, 2, 3], [0.25, -4, 0.125]])'],
  i: ['torch.tensor([1n, 0n])', 'torch.tensor([1, 0])'],
};

/** Draws the same random numbers as the oracle's function of this name. */
function seeded<T>(fn: () => T): T {
  torch.manualSeed(7);
  return fn();
}

const first = (result: any) => (Array.isArray(result) ? result[0] : result);
const leavesOf = (tensors: any[]) => tensors.map((tensor) => tensor.detach().clone().requiresGrad_());

function grads(fn: (...tensors: any[]) => any, ...tensors: any[]): unknown[] {
  const leaves = leavesOf(tensors);
  first(fn(...leaves))
    .sum()
    .backward();
  return leaves.map((leaf) => leaf.grad);
}

function gradOf(fn: (...tensors: any[]) => any, ...tensors: any[]): unknown[] {
  const leaves = leavesOf(tensors);
  const outputs = [fn(...leaves)].flat().filter((output) => output instanceof torch.Tensor && output.requiresGrad);
  return grad(outputs, leaves, { gradOutputs: outputs.map((one: any) => untyped.onesLike(one)), allowUnused: true });
}

/** Checkpointed calls: `C` is the function, without the options. */
const bodies: Call[] = [
  ['C((a) => a.sin().exp(), x)', 'C(lambda a: a.sin().exp(), x)'],
  ['C((a, b) => a.mul(b).tanh(), x, y)', 'C(lambda a, b: a.mul(b).tanh(), x, y)'],
  ['C((a) => a.tanh().matmul(y.t()).tanh(), x)', 'C(lambda a: a.tanh().matmul(y.t()).tanh(), x)'],
  ['C((a, n, s) => a.pow(n).mul(s.by), x, 3, { by: 2 })', 'C(lambda a, n, s: a.pow(n).mul(s["by"]), x, 3, {"by": 2})'],
  ['C((a) => [a.mul(y), a.sin()], x)', 'C(lambda a: (a.mul(y), a.sin()), x)'],
  ['C((a) => [a.exp(), 5, a.argsort(1)], x)', 'C(lambda a: (a.exp(), 5, a.argsort(1)), x)'],
  ['C((a, j) => a.indexSelect(0, j).exp(), x, i)', 'C(lambda a, j: a.index_select(0, j).exp(), x, i)'],
  ['C((a) => a.view([3, 2]).t().mul(a.detach().sum()), x)', 'C(lambda a: a.view([3, 2]).t().mul(a.detach().sum()), x)'],
  ['C((a) => a, x.exp())', 'C(lambda a: a, x.exp())'],
  [
    'C((a) => F.dropout(a.exp(), 0.5).mul(F.dropout(y, 0.5)), x)',
    'C(lambda a: F.dropout(a.exp(), 0.5).mul(F.dropout(y, 0.5)), x)',
  ],
  [
    'F.dropout(C((a) => F.dropout(a.exp(), 0.5), F.dropout(x, 0.5)), 0.5)',
    'F.dropout(C(lambda a: F.dropout(a.exp(), 0.5), F.dropout(x, 0.5)), 0.5)',
  ],
  [
    'C((a) => C((b) => b.tanh().mul(y), a.sin()).exp(), x)',
    'C(lambda a: C(lambda b: b.tanh().mul(y), a.sin()).exp(), x)',
  ],
  [
    'C((a) => C((b) => b.tanh(), a.sin()).mul(a), C((a) => a.exp(), x))',
    'C(lambda a: C(lambda b: b.tanh(), a.sin()).mul(a), C(lambda a: a.exp(), x))',
  ],
];

test.each([true, false])('backward() gives PyTorch’s gradients, useReentrant: %s', async (useReentrant) => {
  const python = `lambda f, *a, **o: torch.utils.checkpoint.checkpoint(f, *a, use_reentrant=${useReentrant ? 'True' : 'False'}, **o)`;
  const C = (fn: any, ...args: any[]) => untyped.utils.checkpoint.checkpoint(fn, ...args, { useReentrant });
  const calls = bodies.map(
    ([js, py]): Call => [
      `seeded(() => grads((x, y) => ${js}, x, y))`,
      `seeded(lambda: grads(lambda x, y: (lambda C: ${py})(${python}), x, y))`,
    ],
  );
  const { wrong, failed } = await compare(inputs, calls, { C, seeded, grads });
  expect({ wrong, failed }).toEqual({ wrong: [], failed: [] });
});

test('autograd.grad gives PyTorch’s gradients, also for tensors captured by the function', async () => {
  const python = 'lambda f, *a, **o: torch.utils.checkpoint.checkpoint(f, *a, use_reentrant=False, **o)';
  const C = (fn: any, ...args: any[]) => untyped.utils.checkpoint.checkpoint(fn, ...args, { useReentrant: false });
  const more: Call[] = [
    ['C(() => x.mul(y).exp())', 'C(lambda: x.mul(y).exp())'],
    ['C((a) => a.mul(y), x).add(C((a) => a.mul(y), y))', 'C(lambda a: a.mul(y), x).add(C(lambda a: a.mul(y), y))'],
    ['C((a) => a.exp(), x)', 'C(lambda a: a.exp(), x)'],
  ];
  const calls = [...bodies, ...more].map(
    ([js, py]): Call => [
      `seeded(() => gradOf((x, y) => ${js}, x, y))`,
      `seeded(lambda: grad_of(lambda x, y: (lambda C: ${py})(${python}), x, y))`,
    ],
  );
  const { wrong, failed } = await compare(inputs, calls, { C, seeded, gradOf });
  expect({ wrong, failed }).toEqual({ wrong: [], failed: [] });
});

test('without preserveRngState the backward continues the random sequence, as in PyTorch; with it the state is restored', async () => {
  const off = { preserveRngState: false };
  const C = (fn: any, ...args: any[]) => untyped.utils.checkpoint.checkpoint(fn, ...args, off);
  const after = (fn: () => unknown) => [fn(), untyped.rand([2])];
  const js = 'grads((x) => C((a) => F.dropout(a.exp(), 0.5), x), x)';
  const py =
    'grads(lambda x: torch.utils.checkpoint.checkpoint(lambda a: F.dropout(a.exp(), 0.5), x, preserve_rng_state=False, use_reentrant=True), x)';
  const preserved = (text: string) =>
    text.replace('C(', 'torch.utils.checkpoint.checkpoint(').replace(', preserve_rng_state=False', '');
  const calls: Call[] = [
    [`seeded(() => after(() => ${js}))`, `seeded(lambda: [${py}, torch.rand(2)])`],
    [`seeded(() => after(() => ${preserved(js)}))`, `seeded(lambda: [${preserved(py)}, torch.rand(2)])`],
  ];
  const { wrong, failed } = await compare(inputs, calls, { C, seeded, grads, after });
  expect({ wrong, failed }).toEqual({ wrong: [], failed: [] });
});

test('checkpointSequential gives PyTorch’s gradients', async () => {
  const layers = '[(a) => a.sin(), (a) => a.mul(y), (a) => F.dropout(a), (a) => a.exp(), (a) => a.tanh()]';
  const pythons =
    '[lambda a: a.sin(), lambda a: a.mul(y), lambda a: F.dropout(a), lambda a: a.exp(), lambda a: a.tanh()]';
  // PyTorch 2 requires this argument; PyTorch 1 does not have it in this function.
  const explicit = '**({} if torch.__version__.startswith("1.") else {"use_reentrant": True})';
  const calls = [1, 2, 3, 5].map(
    (n): Call => [
      `seeded(() => grads((x, y) => torch.utils.checkpoint.checkpointSequential(${layers}, ${n}, x), x, y))`,
      `seeded(lambda: grads(lambda x, y: torch.utils.checkpoint.checkpoint_sequential(${pythons}, ${n}, x, ${explicit}), x, y))`,
    ],
  );
  const { wrong, failed } = await compare(inputs, calls, { seeded, grads });
  expect({ wrong, failed }).toEqual({ wrong: [], failed: [] });
});

const off = { useReentrant: false };
const leaf = (...data: number[]) => torch.tensor(data, { requiresGrad: true });

test('modules are called as functions are', () => {
  const { checkpoint, checkpointSequential } = torch.utils.checkpoint;
  const [first, second] = [new torch.nn.Linear(2, 3), new torch.nn.Linear(3, 1)];
  const net = new torch.nn.Sequential(first, new torch.nn.Tanh(), second);
  const gradients = (forward: (x: Tensor) => Tensor) => {
    net.zeroGrad();
    const x = leaf(1, -2);
    forward(x).sum().backward();
    return [x, ...net.parameters()].map(({ grad }) => grad!.toArray());
  };
  const expected = gradients((x) => net.forward(x));
  expect(gradients((x) => checkpoint(net, x, off))).toEqual(expected);
  expect(gradients((x) => checkpoint(net, x))).toEqual(expected);
  expect(gradients((x) => checkpointSequential(net, 2, x))).toEqual(expected);
  expect(gradients((x) => checkpointSequential([first, (a: Tensor) => a.tanh(), second], 3, x, off))).toEqual(expected);
  let calls = 0;
  first.registerForwardHook(() => void calls++);
  gradients((x) => checkpoint(net, x, off));
  expect(calls).toBe(2); // the backward calls it again, hooks included
  net.dispose();
});

test('second derivatives go through it, with createGraph', () => {
  const w = leaf(2, 3);
  const f = (a: Tensor) => a.pow(3).mul(w).sin();
  const second = (of: (x: Tensor) => Tensor) => {
    const x = torch.tensor([0.5, 0.75], { dtype: 'float64', requiresGrad: true });
    const [dx] = grad(of(x.exp()).sum(), x, { createGraph: true });
    return grad(dx!.pow(2).sum(), [x, w]).map((one) => one!);
  };
  const nested = (x: Tensor) => checkpoint((a) => checkpoint(f, a.sin(), off).exp(), x, off);
  for (const [through, plain] of [
    [second((x) => checkpoint(f, x, off)), second(f)],
    [second(nested), second((x) => f(x.sin()).exp())],
  ]) {
    expect(through!.map((one, i) => torch.allclose(one, plain![i]!))).toEqual([true, true]);
  }
});

test('backward with inputs accumulates only into those', () =>
  torch.scope(() => {
    const [x, w, v] = [leaf(1, 2), leaf(3, 4), leaf(5, 6)];
    checkpoint((a) => a.mul(w).mul(v), x, off)
      .sum()
      .backward({ inputs: [x, w] });
    expect([x.grad!.toArray(), w.grad!.toArray(), v.grad]).toEqual([[15, 24], [5, 12], null]);
    torch.autograd.backward(checkpoint((a) => a.mul(w), x, off).sum(), null, { inputs: [w] });
    expect([x.grad!.toArray(), w.grad!.toArray()]).toEqual([
      [15, 24],
      [6, 14],
    ]);
  }));

test('results require gradients if the function’s own do', () =>
  torch.scope(() => {
    const x = leaf(1, 2);
    const both = (a: Tensor): [Tensor, Tensor] => [a.mul(2), a.detach().mul(2)];
    expect(checkpoint(both, x, off).map((one) => one.requiresGrad)).toEqual([true, false]);
    expect(checkpoint((a) => a.mul(2), torch.ones([2]), off).requiresGrad).toBe(false);
    expect(checkpoint(() => x.mul(2), off).requiresGrad).toBe(true);
    expect(torch.noGrad(() => checkpoint((a) => a.mul(2), x)).requiresGrad).toBe(false);
    const constant = torch.ones([2]);
    const given = checkpoint((a) => [a.mul(2), constant] as [Tensor, Tensor], x)[1];
    expect([given.gradFn, constant.gradFn, constant.requiresGrad]).toEqual(['CheckpointFunctionBackward', null, false]);
  }));

test('a retained graph can be walked again', () =>
  torch.scope(() => {
    const x = leaf(1, 2);
    for (const useReentrant of [true, false]) {
      x.grad = null;
      const y = checkpoint((a) => a.pow(2), x, { useReentrant }).sum();
      y.backward({ retainGraph: true });
      y.backward();
      expect(x.grad!.toArray()).toEqual([4, 8]);
      const error = thrown(() => y.backward());
      expect(error).toMatchObject({
        code: 'ERR_TORCH_RUNTIME',
        message: expect.stringContaining('{ retainGraph: true }'),
      });
    }
  }));

test('in torch.run: autograd.grad runs at once, and backward is refused', () =>
  torch.scope(async () => {
    const [x, w] = [leaf(1, 2), leaf(3, 4)];
    const f = (a: Tensor) => a.mul(w);
    const first = checkpoint(f, x, off).sum();
    const [dx, dw] = (await torch.run((T: any) => T.autograd.grad(first, [x, w]))) as unknown as [Tensor, Tensor];
    expect([dx.toArray(), dw.toArray()]).toEqual([
      [3, 4],
      [1, 2],
    ]);
    for (const given of [{}, { inputs: [w] }]) {
      const loss = checkpoint(f, x, off).sum();
      const refused = torch.run((T: any) => void T.backward(loss, given));
      await expect(refused).rejects.toMatchObject({ code: 'ERR_TORCH_CALLBACK_THREAD' });
    }
    // Another graph, beside a checkpoint without a backward.
    const beside = checkpoint(f, x, off);
    const loss = w.pow(2).sum();
    w.grad = null;
    await torch.run((T: any) => void T.backward(loss, { inputs: [w] }));
    expect([w.grad!.toArray(), beside.shape]).toEqual([[6, 8], [2]]);
  }));

test('an argument modified since is an error, as in PyTorch', () =>
  torch.scope(() => {
    for (const useReentrant of [true, false]) {
      const x = leaf(1, 2).mul(2);
      const y = checkpoint((a) => a.pow(2), x, { useReentrant }).sum();
      x.add_(1);
      expect(thrown(() => y.backward()).code).toBe('ERR_TORCH_RUNTIME');
    }
  }));

test('gradients of captured results continue to their leaves', () => {
  const x = leaf(1, 2);
  const h = x.exp();
  const f = (a: Tensor) => a.mul(h).tanh();
  const plain = grad(f(x.sin()).sum().add(h.sum()), x)[0]!.toArray();
  const g = x.exp();
  const through = checkpoint((a) => a.mul(g).tanh(), x.sin(), off)
    .sum()
    .add(g.sum());
  expect(torch.allclose(grad(through, x, { retainGraph: true })[0]!, torch.tensor(plain as number[]))).toBe(true);
  through.backward();
  expect(torch.allclose(x.grad!, torch.tensor(plain as number[]))).toBe(true);
});

test('anomaly detection reports the line in the function', () =>
  torch.scope(() => {
    const x = leaf(0);
    torch.autograd.detectAnomaly(() => {
      const y = checkpoint((a) => a.sqrt().mul(0), x, off).sum();
      const { message } = thrown(() => y.backward());
      expect(message).toContain('checkpoint.test.ts');
      expect(message).toContain('SqrtBackward0');
    });
  }));

test('hooks run inside it, and keep their tensors', () => {
  torch.scope(() => {
    const [x, w] = [leaf(1, 2), leaf(3, 4)];
    const kept: Tensor[] = [];
    w.registerHook((g) => {
      kept.push(g, g.mul(2));
    });
    for (const useReentrant of [true, false]) {
      checkpoint((a) => a.mul(w), x, { useReentrant })
        .sum()
        .backward();
    }
    expect(kept.map((one) => one.toArray())).toEqual([
      [1, 2],
      [2, 4],
      [1, 2],
      [2, 4],
    ]);
  });
});

test('errors have codes and name the argument', async () => {
  const [x, w] = [leaf(1, 2), leaf(3, 4)];
  const c = untyped.utils.checkpoint.checkpoint;
  const sequential = untyped.utils.checkpoint.checkpointSequential;
  const exp = (a: any) => a.exp();
  let calls = 0;
  const other = (a: any) => (calls++ % 2 === 0 ? a.exp() : a.exp().sum());
  const rows: [() => unknown, string, string | undefined][] = [
    [() => c(5, x), 'ERR_TORCH_ARGUMENT', 'fn'],
    [() => c(() => 5, x), 'ERR_TORCH_ARGUMENT', 'fn'],
    [() => c(async (a: any) => a, x), 'ERR_TORCH_ASYNC_MODE', undefined],
    [() => c(exp, x, { useReentrent: false }), 'ERR_TORCH_ARGUMENT', 'options'],
    [() => c(exp, x, { use_reentrant: false }), 'ERR_TORCH_ARGUMENT', 'options'],
    [() => c(exp, x, { useReentrant: false, other: 1 }), 'ERR_TORCH_ARGUMENT', 'options'],
    [() => c(exp, x, { useReentrant: 1 }), 'ERR_TORCH_ARGUMENT', 'useReentrant'],
    [() => c(exp, x, { preserveRngState: 'yes' }), 'ERR_TORCH_ARGUMENT', 'preserveRngState'],
    [() => c(exp, x, { determinismCheck: 'all' }), 'ERR_TORCH_ARGUMENT', 'determinismCheck'],
    [() => c(other, x).sum().backward(), 'ERR_TORCH_RUNTIME', undefined],
    [() => c(other, x, off).sum().backward(), 'ERR_TORCH_RUNTIME', undefined],
    [() => grad(c(exp, x).sum(), x), 'ERR_TORCH_RUNTIME', undefined],
    [
      () =>
        c(exp, x)
          .sum()
          .backward({ inputs: [x] }),
      'ERR_TORCH_RUNTIME',
      undefined,
    ],
    [() => grad(c(exp, x, off).sum(), [x, w]), 'ERR_TORCH_RUNTIME', undefined],
    [
      () => grad(c((a: any) => a.mul(w), x, off).sum(), [x, w], { createGraph: true }),
      'ERR_TORCH_NOT_IMPLEMENTED',
      undefined,
    ],
    [() => c(exp, x).sum().backward({ createGraph: true }), 'ERR_TORCH_NOT_IMPLEMENTED', undefined],
    [() => c(exp, x, off).sum().backward({ createGraph: true }), 'ERR_TORCH_NOT_IMPLEMENTED', undefined],
    [() => sequential(5, 1, x), 'ERR_TORCH_ARGUMENT', 'functions'],
    [() => sequential([], 1, x), 'ERR_TORCH_ARGUMENT', 'functions'],
    [() => sequential([exp, 5], 1, x), 'ERR_TORCH_ARGUMENT', 'functions[1]'],
    [() => sequential([exp, exp], 3, x), 'ERR_TORCH_ARGUMENT', 'segments'],
    [() => sequential([exp, exp], 0, x), 'ERR_TORCH_ARGUMENT', 'segments'],
    [() => sequential([exp, exp], 2, 5), 'ERR_TORCH_ARGUMENT', 'input'],
    [() => sequential([exp, exp], 2, x, { segments: 2 }), 'ERR_TORCH_ARGUMENT', 'options'],
  ];
  for (const [fn, code, argument] of rows) {
    const error = thrown(fn);
    expect([String(fn), error.code, error.argument]).toEqual([String(fn), code, argument]);
  }
  await expect(torch.run(() => checkpoint((a) => a.exp(), x) as never)).rejects.toMatchObject({
    code: 'ERR_TORCH_PENDING',
  });
});

test('an unused input of autograd.grad gives the same error as without checkpoints', () =>
  torch.scope(() => {
    const [x, w] = [leaf(1, 2), leaf(3, 4)];
    const shown = ({ code, message, op }: ReturnType<typeof thrown>) => ({ code, message, op });
    for (const others of [[w], [w, x, w, x, w]]) {
      const plain = thrown(() => grad(x.exp().sum(), [x, ...others]));
      const through = thrown(() => grad(checkpoint((a) => a.exp(), x, off).sum(), [x, ...others]));
      expect(shown(through)).toEqual(shown(plain));
    }
  }));

test('if the results differ and are not compared, PyTorch’s rules apply', () => {
  const x = leaf(1, 2);
  let calls = 0;
  const other = (a: Tensor) => (calls++ === 0 ? a.mul(1) : a.mul(5).to('float64'));
  const y = checkpoint(other, x, { determinismCheck: 'none' });
  expect(y.dtype).toBe('float32');
});

test('without an argument that requires gradients: a warning, and no gradients', async () => {
  const program = `const torch = require(process.argv[1]);
    const w = torch.ones([1], { requiresGrad: true });
    console.log(torch.utils.checkpoint.checkpoint((a) => a.mul(w), torch.ones([1])).requiresGrad);`;
  const { stdout, stderr } = await run(process.execPath, ['-e', program, LIB]);
  expect(stdout.trim()).toBe('false');
  expect(stderr).toContain('TorchWarning: utils.checkpoint.checkpoint: no argument requires gradients');
});

test('a gradient that a reentrant checkpoint refuses is freed', () => {
  const x = leaf(1, 2);
  const y = checkpoint((x) => x.sin(), x);
  const ones = torch.ones([2]);
  balanced(() => expect(thrown(() => grad(y, x, ones)).message).toContain('expected backward() for all leaves'));
  torch.disposeAll([x, y, ones]);
});
