/** torch.autograd.functional: PyTorch's results, refusals, and leaks. */
import { type Call, compare } from '../support/compare';
import { balanced, codeOf, settled, thrown, torch, untyped } from '../support/torch';

const { hessian, hvp, jacobian, jvp, vhp, vjp } = torch.autograd.functional;

const inputs: Record<string, Call> = {
  x: ["torch.tensor([0.5, -1.25, 2], { dtype: 'float64' })", 'torch.tensor([0.5, -1.25, 2], dtype=torch.float64)'],
  y: [
    "torch.tensor([[1, 2, 3], [0.25, -4, 0.125]], { dtype: 'float64' })",
    'torch.tensor([[1, 2, 3], [0.25, -4, 0.125]], dtype=torch.float64)',
  ],
  s: ["torch.tensor(0.75, { dtype: 'float64' })", 'torch.tensor(0.75, dtype=torch.float64)'],
  h: ['torch.tensor([0.5, 3])', 'torch.tensor([0.5, 3])'],
};

/** Functions of tensors, their inputs, and a vector for the results of each. */
const functions: { js: string; py: string; of: string; v: [js: string, py: string] }[] = [
  { js: '(a) => a.exp()', py: 'lambda a: a.exp()', of: 'x', v: ['x', 'x'] },
  { js: '(a) => a.exp().sum(1)', py: 'lambda a: a.exp().sum(1)', of: 'y', v: ['h.to("float64")', 'h.double()'] },
  {
    js: '(a) => a.matmul(a.t())',
    py: 'lambda a: a.matmul(a.t())',
    of: 'y',
    v: ['torch.ones([2, 2], { dtype: "float64" })', 'torch.ones(2, 2, dtype=torch.float64)'],
  },
  { js: '(a) => a.softmax(0)', py: 'lambda a: a.softmax(0)', of: 'x', v: ['x', 'x'] },
  { js: '(a) => a.pow(3).sin()', py: 'lambda a: a.pow(3).sin()', of: 's', v: ['s', 's'] },
  { js: '(a) => a.mul(2)', py: 'lambda a: a.mul(2)', of: 'h', v: ['h', 'h'] },
  { js: '(a) => a.cumsum(0).tanh()', py: 'lambda a: a.cumsum(0).tanh()', of: 'x', v: ['x', 'x'] },
  { js: '(a) => [a.sum(), a.pow(2)]', py: 'lambda a: (a.sum(), a.pow(2))', of: 'x', v: ['[s, x]', '(s, x)'] },
  {
    js: '(a, b) => a.mul(b).sum(1)',
    py: 'lambda a, b: a.mul(b).sum(1)',
    of: 'x,y',
    v: ['h.to("float64")', 'h.double()'],
  },
  {
    js: '(a, b) => [a.sin().mul(b), b.prod()]',
    py: 'lambda a, b: (a.sin().mul(b), b.prod())',
    of: 'x,s',
    v: ['[x, s]', '(x, s)'],
  },
  { js: '(a, b) => a.pow(2)', py: 'lambda a, b: a.pow(2)', of: 'x,y', v: ['x', 'x'] },
  { js: '(a) => a.sort(0).values', py: 'lambda a: a.sort(0).values', of: 'x', v: ['x', 'x'] },
  {
    js: '(a) => torch.linalg.inv(a.t().matmul(a).add(torch.eye(3)))',
    py: 'lambda a: torch.linalg.inv(a.t().matmul(a).add(torch.eye(3)))',
    of: 'y',
    v: ['torch.ones([3, 3], { dtype: "float64" })', 'torch.ones(3, 3, dtype=torch.float64)'],
  },
];

/** Functions of one element. */
const scalars: { js: string; py: string; of: string }[] = [
  { js: '(a) => a.pow(3).sum()', py: 'lambda a: a.pow(3).sum()', of: 'x' },
  { js: '(a) => a.exp().sum(1).prod()', py: 'lambda a: a.exp().sum(1).prod()', of: 'y' },
  { js: '(a) => a.logsumexp(0)', py: 'lambda a: a.logsumexp(0)', of: 'x' },
  { js: '(a) => a.sin()', py: 'lambda a: a.sin()', of: 's' },
  { js: '(a) => a.mul(3).sum().reshape([1, 1])', py: 'lambda a: a.mul(3).sum().reshape([1, 1])', of: 'x' },
  { js: '(a, b) => b.matmul(a).pow(2).sum()', py: 'lambda a, b: b.matmul(a).pow(2).sum()', of: 'x,y' },
  {
    js: '(a, b, c) => a.prod().mul(b.sin().sum()).div(c)',
    py: 'lambda a, b, c: a.prod().mul(b.sin().sum()).div(c)',
    of: 'x,y,s',
  },
  { js: '(a, b) => a.pow(2).sum()', py: 'lambda a, b: a.pow(2).sum()', of: 'x,y' },
];

const given = (of: string, open: string, close: string) => (of.includes(',') ? `${open}${of}${close}` : of);

/** A call with these options, in both languages. */
function call(
  name: string,
  one: { js: string; py: string; of: string },
  v?: [string, string],
  flags: [string, string] = ['', ''],
): Call {
  const [js, py] = [given(one.of, '[', ']'), given(one.of, '(', ')')];
  return [
    `torch.autograd.functional.${name}(${one.js}, ${js}${v ? `, ${v[0]}` : ''}${flags[0] ? `, { ${flags[0]} }` : ''})`,
    `torch.autograd.functional.${name}(${one.py}, ${py}${v ? `, ${v[1]}` : ''}${flags[1] ? `, ${flags[1]}` : ''})`,
  ];
}

const flags: [string, string][] = [
  ['', ''],
  ['createGraph: true, strict: true', 'create_graph=True, strict=True'],
];
const vectorized: [string, string] = ['vectorize: true', 'vectorize=True'];

test('results, and the refusals of strict, are PyTorch’s', async () => {
  const calls = [
    ...functions.flatMap((one) => [
      ...[...flags, vectorized].map((flag) => call('jacobian', one, undefined, flag)),
      ...flags.map((flag) => call('vjp', one, one.v, flag)),
      ...flags.map((flag) => call('jvp', one, [given(one.of, '[', ']'), given(one.of, '(', ')')], flag)),
    ]),
    ...scalars.flatMap((one) => [
      ...[...flags, vectorized].map((flag) => call('hessian', one, undefined, flag)),
      ...flags.map((flag) => call('vjp', one, undefined, flag)),
      ...['vhp', 'hvp'].flatMap((name) =>
        flags.map((flag) => call(name, one, [given(one.of, '[', ']'), given(one.of, '(', ')')], flag)),
      ),
    ]),
    call('jvp', scalars[3]!),
    call('vhp', scalars[3]!),
    call('hvp', scalars[3]!),
  ];
  const { wrong, failed } = await compare(inputs, calls);
  expect(wrong).toEqual([]);
  expect(calls.length).toBeGreaterThan(150);
  // Only strict refuses these.
  expect(failed.filter((text) => !text.includes('strict'))).toEqual([]);
  expect(failed.length).toBeGreaterThan(10);
});

test('with createGraph the results are differentiable by the inputs and by captured tensors', async () => {
  const g = (js: string, py: string): Call => [
    `gradOf((x) => torch.autograd.functional.${js}, x)`,
    `grad_of(lambda x: torch.autograd.functional.${py}, x)`,
  ];
  const gradOf = (fn: (x: any) => any, x: any) => {
    const leaf = x.detach().clone().requiresGrad_();
    const result = fn(leaf);
    const outputs = (Array.isArray(result) ? result : [result]).filter((item: any) => item.requiresGrad);
    return torch.autograd.grad(outputs, [leaf], { gradOutputs: outputs.map((item: any) => untyped.onesLike(item)) });
  };
  const { wrong, failed } = await compare(
    inputs,
    [
      g(
        'jacobian((a) => a.exp().mul(s), x, { createGraph: true })',
        'jacobian(lambda a: a.exp().mul(s), x, create_graph=True)',
      ),
      g(
        'hessian((a) => a.pow(4).sum(), x, { createGraph: true })',
        'hessian(lambda a: a.pow(4).sum(), x, create_graph=True)',
      ),
      g(
        'jacobian((a) => a.mul(x.sin()), s, { createGraph: true })',
        'jacobian(lambda a: a.mul(x.sin()), s, create_graph=True)',
      ),
      g(
        'vjp((a) => a.pow(3), x, x.exp(), { createGraph: true })',
        'vjp(lambda a: a.pow(3), x, x.exp(), create_graph=True)',
      ),
      g(
        'jvp((a) => a.pow(3), x, x.exp(), { createGraph: true })',
        'jvp(lambda a: a.pow(3), x, x.exp(), create_graph=True)',
      ),
      g(
        'vhp((a) => a.pow(4).sum(), x, x.exp(), { createGraph: true })',
        'vhp(lambda a: a.pow(4).sum(), x, x.exp(), create_graph=True)',
      ),
      g(
        'hvp((a) => a.pow(4).sum(), x, x.exp(), { createGraph: true })',
        'hvp(lambda a: a.pow(4).sum(), x, x.exp(), create_graph=True)',
      ),
    ],
    { gradOf },
  );
  expect({ wrong, failed }).toEqual({ wrong: [], failed: [] });
});

test('shapes: one tensor or an array, in and out', () => {
  const [x, y] = [torch.ones([2]), torch.ones([3])];
  expect(jacobian((a) => a.exp(), x).shape).toEqual([2, 2]);
  expect(jacobian((a, b) => a.sum().mul(b), [x, y]).map((one) => one.shape)).toEqual([
    [3, 2],
    [3, 3],
  ]);
  expect(jacobian((a) => [a.sum(), a], x).map((one) => one.shape)).toEqual([[2], [2, 2]]);
  expect(jacobian((a) => [a.sum(), a], [x]).map((row) => row.map((one) => one.shape))).toEqual([[[2]], [[2, 2]]]);
  expect(hessian((a) => a.sum(), x).shape).toEqual([2, 2]);
  expect(hessian((a, b) => a.sum().mul(b.sum()), [x, y])[1][0].shape).toEqual([3, 2]);
  const [output, product] = vjp((a, b) => a.sum().mul(b.sum()), [x, y]);
  expect([output.shape, product.map((one) => one.shape)]).toEqual([[], [[2], [3]]]);
  expect(jvp((a) => [a, a.sum()], x, x)[1].map((one) => one.shape)).toEqual([[2], []]);
});

test('the vector can be positional or named', () => {
  const x = torch.tensor([1, 2]);
  const cubes = (a: typeof x) => a.pow(3).sum();
  for (const product of [vhp, hvp]) {
    expect(product(cubes, x, torch.ones([2]))[1].toArray()).toEqual([6, 12]);
    expect(product(cubes, x, { v: torch.ones([2]) })[1].toArray()).toEqual([6, 12]);
    expect(product(cubes, x, [torch.ones([2])], { createGraph: true })[1].requiresGrad).toBe(true);
  }
  expect(vjp(cubes, x, { createGraph: false })[1].toArray()).toEqual([3, 12]);
  expect(vjp(cubes, x, null, { strict: true })[1].toArray()).toEqual([3, 12]);
});

test('gradients do not accumulate, and modes are restored', () => {
  const w = torch.ones([2], { requiresGrad: true });
  torch.noGrad(() => {
    const j = jacobian((a) => a.mul(w), w);
    expect([j.toArray(), j.requiresGrad, torch.isGradEnabled()]).toEqual([
      [
        [1, 0],
        [0, 1],
      ],
      false,
      false,
    ]);
  });
  expect(w.grad).toBe(null);
  const boom = () => {
    throw new Error('mine');
  };
  expect(() => torch.noGrad(() => hessian(boom, w))).toThrow('mine');
  expect(torch.isGradEnabled()).toBe(true);
});

test('leaks nothing, in scopes and outside, also if it throws', () => {
  const run = () => {
    const x = torch.ones([3], { requiresGrad: true });
    // Tensors that the program's function makes belong to the program: none here.
    const same = (a: typeof x) => a;
    const counted = (fn: () => unknown) => {
      const before = settled().tensors;
      torch.disposeAll(fn());
      return torch.memory().tensors - before;
    };
    const kept: unknown[] = []; // so that no collection frees them before they are counted
    const sum = (a: typeof x) => {
      const made = a.sum();
      kept.push(made);
      return made;
    };
    const found = [
      counted(() => jacobian(same, x)),
      counted(() => jacobian(same, x, { createGraph: true })),
      counted(() => vjp(same, x, x)),
      counted(() => jvp(same, x, x)),
      counted(() => thrown(() => jacobian(same, x, { strict: true, createGraph: true })).code),
      counted(() => thrown(() => vjp(same, x)).code),
    ];
    // The sum belongs to the function: one for each call.
    const sums = [hessian, vhp, hvp].map((fn) => counted(() => (fn as typeof vhp)(sum, x, fn === hessian ? {} : x)));
    return { found, sums };
  };
  const expected = { found: [0, 0, 0, 0, 0, 0], sums: [1, 1, 1] };
  expect(balanced(() => torch.scope(run))).toEqual(expected);
  expect(run()).toEqual(expected);
});

test('errors have codes and name the argument', () => {
  const x = torch.ones([2]);
  const f = untyped.autograd.functional;
  const exp = (a: any) => a.exp();
  const sum = (a: any) => a.sum();
  const rows: [() => unknown, string, string | undefined][] = [
    [() => f.jacobian(5, x), 'ERR_TORCH_ARGUMENT', 'func'],
    [() => f.jacobian(exp), 'ERR_TORCH_ARGUMENT', 'inputs'],
    [() => f.jacobian(exp, []), 'ERR_TORCH_ARGUMENT', 'inputs'],
    [() => f.jacobian(exp, [x, 1]), 'ERR_TORCH_ARGUMENT', 'inputs[1]'],
    [() => f.jacobian(() => 1, x), 'ERR_TORCH_ARGUMENT', 'func'],
    [() => f.jacobian(() => [x, 1], x), 'ERR_TORCH_ARGUMENT', 'func'],
    [() => f.jacobian(async (a: any) => a, x), 'ERR_TORCH_ASYNC_MODE', undefined],
    [() => f.jacobian(exp, x, { create_graph: true }), 'ERR_TORCH_ARGUMENT', 'options'],
    [() => f.jacobian(exp, x, { strict: 1 }), 'ERR_TORCH_ARGUMENT', 'strict'],
    [() => f.jacobian(exp, x, { strategy: 'other' }), 'ERR_TORCH_ARGUMENT', 'strategy'],
    [() => f.jacobian(exp, x, { strategy: 'forward-mode', vectorize: true }), 'ERR_TORCH_NOT_IMPLEMENTED', 'strategy'],
    [() => f.jacobian(exp, x, { strict: true, vectorize: true }), 'ERR_TORCH_ARGUMENT', 'vectorize'],
    [() => f.jacobian(() => x, x, { strict: true }), 'ERR_TORCH_RUNTIME', undefined],
    [() => f.jacobian(exp, torch.ones([2], { dtype: 'int64' })), 'ERR_TORCH_RUNTIME', undefined],
    [() => f.hessian(exp, x), 'ERR_TORCH_ARGUMENT', 'func'],
    [() => f.hessian((a: any) => [a.sum()], x), 'ERR_TORCH_ARGUMENT', 'func'],
    [() => f.hessian(sum, x, { strict: true }), 'ERR_TORCH_RUNTIME', undefined],
    [
      () => f.hessian(sum, x, { outerJacobianStrategy: 'forward-mode' }),
      'ERR_TORCH_NOT_IMPLEMENTED',
      'outerJacobianStrategy',
    ],
    [() => f.vjp(exp, x), 'ERR_TORCH_ARGUMENT', 'v'],
    [() => f.vjp(exp, x, torch.ones([3])), 'ERR_TORCH_ARGUMENT', 'v'],
    [() => f.vjp(exp, x, [x, x]), 'ERR_TORCH_ARGUMENT', 'v'],
    [() => f.vjp(exp, x, [torch.ones([3])]), 'ERR_TORCH_ARGUMENT', 'v[0]'],
    [() => f.vjp(exp, x, 5), 'ERR_TORCH_ARGUMENT', 'v'],
    [() => f.vjp(exp, x, x, { v: x }), 'ERR_TORCH_ARGUMENT', 'options'],
    [() => f.jvp(exp, x), 'ERR_TORCH_ARGUMENT', 'v'],
    [() => f.vhp(exp, x, x), 'ERR_TORCH_ARGUMENT', 'func'],
    [() => f.hvp(sum, [x, x], x), 'ERR_TORCH_ARGUMENT', 'v'],
  ];
  for (const [fn, code, argument] of rows) {
    const error = thrown(fn);
    expect([String(fn), error.code, error.argument]).toEqual([String(fn), code, argument]);
  }
  x.dispose();
  expect(codeOf(() => f.jacobian(exp, x))).toBe('ERR_TORCH_DISPOSED');
});

test('torch.run refuses it, however it is called', async () => {
  const x = torch.ones([2]);
  const error = { code: 'ERR_TORCH_PENDING' };
  await expect(torch.run(() => jacobian((a) => a.exp(), x) as never)).rejects.toMatchObject(error);
  await expect(torch.run((T: any) => T.autograd.functional.vjp((a: any) => a.sum(), x))).rejects.toMatchObject(error);
});
