/** Models give the same results as in PyTorch, and take and return every kind of value. */
import { codeOf, thrown, torch, untyped } from '../support/torch';
import { bytesOf, MODELS_MS, makeModels, model, pathOf, valuesOf } from './models';

beforeAll(makeModels, MODELS_MS);

const names = [
  ...['mlp', 'cnn', 'block'].flatMap((name) => [`${name}-traced`, `${name}-scripted`]),
  'mlp-frozen',
  'control',
];

/** With numbers in place of tensors. */
function plain(value: any): unknown {
  if (value instanceof torch.Tensor) return [value.dtype, value.shape, value.toArray()];
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, element]) => [key, plain(element)]));
}

test.each(names)('%s gives the same result as in PyTorch', async (name) => {
  await torch.scope(async () => {
    const { inputs, output } = valuesOf(name);
    for (const loaded of [model(name), torch.jit.load(bytesOf(name), { device: 'cpu' })]) {
      const now = torch.noGrad(() => loaded.forward<unknown>(...inputs));
      expect(plain(now)).toEqual(plain(output));
      expect(plain(await loaded.async.forward<unknown>(...inputs))).toEqual(plain(output));
    }
  });
});

const inScope = (fn: () => void) => () => torch.scope(fn);

test(
  'values of every kind are passed and returned',
  inScope(() => {
    const m = model('values');
    const x = torch.tensor([1, 2]);
    expect(m.call('plain', 1, 3, true, 'hé')).toEqual([2, 1.5, false, 'hé!']);
    expect(m.call('maybe', x)).toBe(2);
    expect(m.call('maybe', null)).toBeNull();
    expect(m.call('maybe', null, 5)).toBe(5);
    expect(m.call('maybe', undefined, 5)).toBe(5); // no default, but None fits
    const usual: any = model('control').forward(x, undefined, true); // steps: 2
    expect([Object.keys(usual), usual.last.toArray()]).toEqual([
      ['step0', 'step1', 'last'],
      usual.step1.neg().toArray(),
    ]);
    expect(plain(m.call('lists', [1, 2, 3], [1, 2.5], ['a'], [x], [true, false]))).toEqual([
      [1, 2, 3, 4],
      [1, 2.5],
      ['a'],
      [plain(x)],
      [true, false],
    ]);
    expect(m.call<unknown[]>('lists', Int32Array.of(1), Float64Array.of(0.5), [], [], [])[0]).toEqual([1, 4]);
    const [d, map] = m.call<any[]>('nested', { a: [[1, x]] }, new Map([[7, { __proto__: null, k: 0.5 }]]));
    expect(plain(d)).toEqual({ a: [[1, plain(x)]] });
    expect(map).toEqual(new Map([[7, { k: 0.5 }]]));
    expect(m.call('number', { re: 1, im: 2 })).toEqual(new torch.Complex(2, 4));
    expect(m.call('big', 1)).toBe(2n ** 62n);
    expect(m.call('big', 1n)).toBe(2n ** 62n);
    expect(plain(m.call('unpair', [x, 2]))).toEqual(plain(torch.tensor([3, 4])));
    const pair = m.call<any>('pair', x, 4);
    expect([pair.length, pair.right, plain(pair.left), plain(pair[0])]).toEqual([2, 4, plain(x), plain(x)]);
    for (const value of [null, true, 1, 1.5, 'text', [1, [2, 'x']], { a: { b: null } }]) {
      expect(m.call('anything', value as any)).toEqual(value);
    }
    expect(Object.getOwnPropertyNames(m.call('anything', JSON.parse('{"__proto__": 1}')))).toEqual(['__proto__']);
  }),
);

test(
  'values that do not fit are refused with the argument’s name',
  inScope(() => {
    const m = model('values');
    const x = torch.tensor([1]);
    const error = thrown(() => m.call('plain', 'one', 1, true, ''));
    expect(error).toMatchObject({ name: 'TypeError', code: 'ERR_TORCH_ARGUMENT', op: 'Values.plain', argument: 'a' });
    expect(error.message).toBe("Values.plain: argument 'a': expected int, got 'one'");
    const refused: [() => unknown, string][] = [
      [() => m.forward(1), "argument 'x': expected Tensor, got 1"],
      [() => m.forward(), "argument 'x': expected Tensor, got nothing"],
      [() => m.call('plain', 1, undefined, true, ''), "argument 'b': expected float, got nothing"],
      [() => m.forward(x, undefined, 1), 'takes at most 1 argument: forward(Tensor x) -> Tensor'],
      [() => m.call('plain', 1.5, 1, true, ''), "argument 'a': expected an integer, got 1.5"],
      [() => m.call('lists', [x as any], [], [], [], []), "argument 'a': expected int, got a Tensor"],
      [() => m.call('unpair', [x]), "argument 'p': expected (Tensor, int), got an array of 1"],
      [() => m.call('nested', { a: 1 }, {}), "argument 'd': expected (int, Tensor)[], got 1"],
      [() => m.call('anything', (() => 1) as any), "'argument 1': expected a value that TorchScript supports"],
      [() => m.call('anything', new Date() as any), 'got a Date'],
      [() => m.forward(x, 1), 'takes at most 1 argument: forward(Tensor x) -> Tensor'],
      [() => m.call('gone'), "argument 'method': expected one of its methods (forward, "],
      [() => untyped.jit.load(1), "argument 'source': expected a path or a Uint8Array, got 1"],
      [() => untyped.jit.load(pathOf('values'), { device: -1 }), "argument 'device'"],
    ];
    for (const [call, message] of refused) {
      expect(thrown(call).message).toContain(message);
      expect(codeOf(call)).toBe('ERR_TORCH_ARGUMENT');
    }
    // A number is the index of a GPU, as in every other function.
    const [byNumber, byName] = [99, 'cuda:99'].map((device) =>
      thrown(() => untyped.jit.load(pathOf('values'), { device })),
    );
    expect([byNumber!.code, byNumber!.message]).toEqual([byName!.code, byName!.message]);
  }),
);

test(
  'cyclic values, and values shared too often, do not crash either side',
  inScope(() => {
    const m = model('values');
    const loop: unknown[] = [];
    loop.push([loop]);
    expect(thrown(() => m.call('anything', loop as any)).message).toContain('not inside itself');
    let twice: unknown = 1;
    for (let i = 0; i < 60; i++) twice = [twice, twice];
    expect(thrown(() => m.call('anything', twice as any)).message).toContain('1048576 values');
    let deep: unknown = 1;
    for (let i = 0; i < 1000; i++) deep = [deep];
    expect(thrown(() => m.call('anything', deep as any)).message).toContain('nested at most 200');
    const same = [1];
    expect(m.call('anything', [same, same])).toEqual([[1], [1]]);
    for (const [call, why] of [
      [() => m.call('doubled', 60), 'more than 1048576 values'],
      [() => m.call('doubled', 500), 'nested more than 200'],
      [() => m.call('itself', torch.ones([1])), 'contains itself'],
    ] as const) {
      const error = thrown(call);
      expect(error.code).toBe('ERR_TORCH_MODEL');
      expect(error.message).toContain(why);
    }
    expect(m.call('doubled', 2)).toEqual([
      [
        [[1], [1]],
        [[1], [1]],
      ],
    ]);
  }),
);

test(
  'errors of a method name the cause, the place and the method',
  inScope(() => {
    const m = model('values');
    const error = thrown(() => m.call('fails', torch.ones([2])));
    expect(error).toMatchObject({ code: 'ERR_TORCH_RUNTIME', op: 'Values.fails' });
    expect(error.message).toMatch(
      /^Values\.fails: shape '\[7, 7\]' is invalid for input of size 2 \(at \S+\.py:\d+\)\n {2}with x: float32\[2\]$/,
    );
    expect(error.stack!.split('\n').find((line) => line.startsWith('    at '))).toContain('forward.test.ts');
    const midway = thrown(() => m.call('fails_midway', torch.ones([2])));
    expect(midway.message).toMatch(/^Values\.fails_midway: shape '\[7, 7\]' is invalid for input of size 2 \(at /);
    expect(thrown(() => m.call('raises')).message).toContain('not today');
  }),
);

test(
  'errors of traced code, whose places have no source, name the cause',
  inScope(() => {
    expect(thrown(() => model('mlp-traced').forward(torch.ones([5, 7]))).message).toMatch(
      /^MLP\.forward: mat1 and mat2 shapes cannot be multiplied \(5x7 and 6x16\) \(at \S+\.py:\d+\)\n {2}with x: float32\[5, 7\]$/,
    );
    expect(thrown(() => model('fails-in-scripted').forward(torch.ones([2]))).message).toMatch(
      /: shape '\[7, 7\]' is invalid for input of size 2 \(at \S+\.py:\d+\)\n/,
    );
  }),
);

test(
  'methods, schemas and modes',
  inScope(() => {
    const cnn = model('cnn-training');
    expect(cnn.methods).toEqual(['forward']);
    expect(cnn.schema('forward')).toBe('forward(Tensor x) -> Tensor');
    const graph = cnn.inlinedGraph('forward');
    expect(graph).toMatch(/^graph\(%self/);
    expect(graph).toContain('aten::batch_norm'); // of a module inside it
    expect(graph).not.toContain('prim::CallMethod');
    expect(thrown(() => cnn.inlinedGraph('backward'))).toMatchObject({ code: 'ERR_TORCH_ARGUMENT' });
    expect(cnn.isTraining()).toBe(true);
    const x = torch.randn([2, 1, 8, 8]);
    const before = cnn.namedBuffers()['norm.running_mean']!.clone();
    expect(cnn.eval().forward(x).shape).toEqual([2, 5]);
    expect(cnn.isTraining()).toBe(false);
    expect(cnn.namedBuffers()['norm.running_mean']!.equal(before)).toBe(true);
    cnn.train().forward(x);
    expect(cnn.namedBuffers()['norm.running_mean']!.equal(before)).toBe(false);
    expect(Object.keys(cnn.namedParameters())).toEqual(cnn.parameterNames());
    expect(cnn.parameters().map((p) => p.requiresGrad)).toEqual([true, true, true, true, true, true]);
    expect(model('mlp-frozen').eval().train().isTraining()).toBe(false);
    expect(cnn.to('cpu')).toBe(cnn);
  }),
);

test(
  'gradients flow through a model to its parameters and its input',
  inScope(() => {
    const m = model('mlp-scripted');
    const x = torch.randn([2, 6], { requiresGrad: true });
    m.forward(x).square().sum().backward();
    expect(x.grad!.shape).toEqual([2, 6]);
    expect(m.namedParameters()['layers.0.weight']!.grad!.shape).toEqual([16, 6]);
  }),
);
