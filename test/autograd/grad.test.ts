/** torch.autograd.grad and torch.autograd.backward: arguments, results, errors, and leaks. */
import { balanced, codeOf, thrown, torch, untyped } from '../support/torch';

const { grad, backward } = torch.autograd;
const leaf = (...data: number[]) => torch.tensor(data, { requiresGrad: true });
const numbers = (list: readonly (any | null)[]) => list.map((tensor) => tensor?.toArray() ?? null);

describe('grad', () => {
  it('returns the gradients in the order of the inputs, without accumulation', () => {
    const [x, y] = [leaf(1, 2), leaf(3, 4)];
    expect(numbers(grad(x.mul(y).sum(), [y, x]))).toEqual([
      [1, 2],
      [3, 4],
    ]);
    expect([x.grad, y.grad]).toEqual([null, null]);
    expect(numbers(grad(x.mul(3).sum(), x))).toEqual([[3, 3]]);
  });

  it('accepts several outputs, with and without their gradients, and any iterable', () => {
    const x = leaf(1, 2);
    const outputs = () => [x.mul(2), x.sum()];
    const gradOutputs = [torch.tensor([1, 10]), null];
    expect(numbers(grad(outputs(), [x], { gradOutputs }))).toEqual([[3, 21]]);
    expect(numbers(grad(new Set(outputs()), new Set([x]), { gradOutputs }))).toEqual([[3, 21]]);
    expect(numbers(grad(x.mul(2), x, { gradOutputs: torch.tensor([1, 10]) }))).toEqual([[2, 20]]);
  });

  it("takes arguments by position in Python's order, by name, or both", () => {
    const x = leaf(1, 2);
    const y = () => x.pow(2);
    const weights = torch.tensor([1, 10]);
    for (const gradOutputs of [weights, [weights]]) expect(numbers(grad(y(), x, gradOutputs))).toEqual([[2, 40]]);
    expect(numbers(grad(y().sum(), x, null, undefined, { allowUnused: true }))).toEqual([[2, 4]]);
    expect(grad(y(), x, weights, { createGraph: true })[0]!.requiresGrad).toBe(true);
    expect(grad(y(), x, weights, null, true, { allowUnused: true })[0]!.requiresGrad).toBe(true);
    const kept = y();
    grad(kept, x, weights, true);
    expect(numbers(grad(kept, x, weights, false))).toEqual([[2, 40]]);
    const call = grad as (...args: unknown[]) => unknown;
    const twice = thrown(() => call(y(), x, weights, { gradOutputs: weights }));
    expect([twice.code, twice.message]).toEqual([
      'ERR_TORCH_ARGUMENT',
      expect.stringMatching(/'gradOutputs': expected a value by position or by name, got both/),
    ]);
    // The sixth argument of Python is another one than the fourth option here.
    expect(thrown(() => call(y(), x, weights, true, true, true)).message).toMatch(/expected an object, got true/);
    expect(thrown(() => call(y(), x, weights, true, true, true, {})).message).toMatch(/takes at most 6 arguments/);
  });

  it('is itself differentiable with createGraph', () => {
    const x = leaf(2);
    const [first] = grad(x.pow(3).sum(), x, { createGraph: true });
    expect(first!.toArray()).toEqual([12]);
    expect(numbers(grad(first!.sum(), x))).toEqual([[12]]);
    const [plain] = grad(x.pow(3).sum(), x);
    expect(plain!.requiresGrad).toBe(false);
  });

  it('accepts a computed tensor as an input', () => {
    const x = leaf(1, 2);
    const h = x.mul(2);
    expect(numbers(grad(h.pow(2).sum(), [h, x]))).toEqual([
      [4, 8],
      [8, 16],
    ]);
  });

  it('frees the graph, or keeps it with retainGraph', () => {
    const x = leaf(1, 2);
    const y = x.pow(2).sum();
    grad(y, x, { retainGraph: true });
    grad(y, x);
    expect(codeOf(() => grad(y, x))).toBe('ERR_TORCH_RUNTIME');
  });

  it('names an unused input, or returns null or zeros for it', () => {
    const [x, y] = [leaf(1, 2), leaf(3, 4)];
    const error = thrown(() => grad(x.sum(), [x, y]));
    expect([error.code, error.op]).toEqual(['ERR_TORCH_RUNTIME', 'autograd.grad']);
    expect(error.message).toContain('inputs[1]: the outputs were not computed from it');
    expect(error.message).toContain('{ allowUnused: true }');
    expect(numbers(grad(x.sum(), [x, y], { allowUnused: true }))).toEqual([[1, 1], null]);
    expect(numbers(grad(x.sum(), [x, y], { materializeGrads: true }))).toEqual([
      [1, 1],
      [0, 0],
    ]);
    expect(codeOf(() => grad(x.sum(), y, { materializeGrads: true, allowUnused: false }))).toBe('ERR_TORCH_ARGUMENT');
  });

  it('stacks the gradients of a batch', () => {
    const x = leaf(1, 2);
    const gradOutputs = torch.eye(2);
    expect(numbers(grad(x.pow(2), x, { gradOutputs, isGradsBatched: true }))).toEqual([
      [
        [2, 0],
        [0, 4],
      ],
    ]);
    expect(codeOf(() => grad(x.pow(2), x, { isGradsBatched: true }))).toBe('ERR_TORCH_ARGUMENT');
  });

  it.each<[string, () => unknown, string, RegExp]>([
    [
      'an output without a graph',
      () => grad(torch.ones([1]), leaf(1)),
      'ERR_TORCH_RUNTIME',
      /outputs\[0\]: .*without a gradFn/,
    ],
    [
      'an input without gradients',
      () => grad(leaf(1).sum(), torch.ones([1])),
      'ERR_TORCH_RUNTIME',
      /inputs\[0\]: expected a tensor that requires gradients/,
    ],
    [
      'another shape',
      () => grad(leaf(1, 2).mul(2), leaf(1), { gradOutputs: torch.ones([3]) }),
      'ERR_TORCH_ARGUMENT',
      /gradOutputs\[0\]: expected the shape of outputs\[0\], float32\[2\], got float32\[3\]/,
    ],
    [
      'no gradient for several elements',
      () => grad(leaf(1, 2).mul(2), leaf(1)),
      'ERR_TORCH_RUNTIME',
      /gradOutputs\[0\]: expected a tensor/,
    ],
    [
      'too many gradients',
      () => grad(leaf(1).sum(), leaf(1), { gradOutputs: [null, null] }),
      'ERR_TORCH_ARGUMENT',
      /expected one for each of the 1 outputs, got 2/,
    ],
    ['no inputs', () => grad(leaf(1).sum(), []), 'ERR_TORCH_ARGUMENT', /'inputs'/],
    [
      'an output that is something else',
      () => grad([1] as never, leaf(1)),
      'ERR_TORCH_ARGUMENT',
      /'outputs\[0\]': expected Tensors, got 1/,
    ],
    [
      'an option in snake case',
      () => grad(leaf(1).sum(), leaf(1), { allow_unused: true } as never),
      'ERR_TORCH_ARGUMENT',
      /allowUnused/,
    ],
    [
      'a flag that is something else',
      () => grad(leaf(1).sum(), leaf(1), { createGraph: 1 } as never),
      'ERR_TORCH_ARGUMENT',
      /'createGraph': expected a boolean, got 1/,
    ],
  ])('refuses %s', (_, call, code, message) => {
    balanced(() =>
      torch.scope(() => {
        const error = thrown(call);
        expect([error.code, error.message]).toEqual([code, expect.stringMatching(message)]);
      }),
    );
  });

  it('takes neither a tensor nor a module for options', () => {
    const x = leaf(1);
    const call = grad as (...args: unknown[]) => unknown;
    expect(thrown(() => call(x.sum(), x, null, null, null, x)).message).toMatch(/expected an object, got a Tensor/);
    const layer = new torch.nn.Linear(1, 1);
    const message = thrown(() => layer.stateDict(layer as never)).message;
    expect(message).toBe("stateDict: argument 'options': expected an object, got a Linear");
  });

  it('refuses disposed tensors, also those disposed while arguments are read', () => {
    const x = leaf(1, 2);
    const y = x.sum();
    function* inputs() {
      y.dispose();
      yield x;
    }
    expect(codeOf(() => grad(y, inputs()))).toBe('ERR_TORCH_DISPOSED');
  });

  it('leaks nothing', () => {
    balanced(() =>
      torch.scope(() => {
        const x = leaf(1, 2);
        const y = x.pow(2).sum();
        const before = torch.memory().tensors;
        const [dx] = grad(y, x, { createGraph: true });
        expect(torch.memory().tensors).toBe(before + 1);
        dx!.dispose();
      }),
    );
  });

  it('returns sparse gradients', () => {
    const weight = torch.ones([3, 2], { requiresGrad: true });
    const y = untyped.nn.functional.embedding(torch.tensor([0n, 2n]), weight, { sparse: true });
    const [d] = grad(y.sum(), weight);
    expect(d!.layout).toBe('sparse_coo');
    expect((d!.toDense() as typeof weight).toArray()).toEqual([
      [1, 1],
      [0, 0],
      [1, 1],
    ]);
  });
});

it('refuses a pending tensor with the way out', async () => {
  const x = leaf(1, 2);
  const refused = async (name: string, argument: string, fn: () => unknown) => {
    const error: any = await torch.run(fn).catch((reason: unknown) => reason);
    expect([error.code, error.op, error.argument]).toEqual(['ERR_TORCH_PENDING', `autograd.${name}`, argument]);
    expect(error.message).toMatch(/: await it first, or call backward\(\) of the tensor$/);
  };
  await refused('grad', 'outputs', () => grad(x.pow(2).sum(), x));
  await refused('backward', 'tensors[0]', () => backward([x.pow(2).sum()]));
  const y = x.pow(2);
  await refused('backward', 'gradTensors[0]', () => backward([y], [torch.onesLike(x)]));
  const captured = torch.capture(() => numbers(grad(x.pow(2).sum(), x)));
  expect([captured(), captured.reason]).toEqual([[[2, 4]], 'it calls autograd.grad']);
  captured.dispose();
  await torch.run(() => x.pow(2).sum().backward());
  expect(numbers([x.grad])).toEqual([[2, 4]]);
});

test("t.backward takes its arguments by position in Python's order, by name, or both", () =>
  torch.scope(() => {
    const x = leaf(1, 2);
    const y = x.pow(2);
    const weights = torch.tensor([1, 10]);
    const got = (call: () => void) => {
      x.grad = null;
      call();
      return x.grad!.toArray();
    };
    expect(got(() => y.backward(weights, { retainGraph: true }))).toEqual([2, 40]);
    expect(got(() => y.backward(weights, true, false, [x]))).toEqual([2, 40]);
    expect(got(() => torch.backward(y, weights, true, { inputs: x }))).toEqual([2, 40]);
    expect(got(() => y.sum().backward(undefined, { retainGraph: true }))).toEqual([2, 4]);
    expect(got(() => y.backward(weights))).toEqual([2, 40]);
    expect(codeOf(() => y.backward(weights))).toBe('ERR_TORCH_RUNTIME'); // the graph was freed
    const twice = thrown(() => untyped.backward(x.sum(), weights, { gradient: weights }));
    expect(twice).toMatchObject({ code: 'ERR_TORCH_ARGUMENT', argument: 'gradient' });
    expect(thrown(() => (x.sum() as any).backward(null, 1))).toMatchObject({ argument: 'retainGraph' });
  }));

describe('backward', () => {
  it('accumulates the gradients of several tensors', () => {
    const x = leaf(1, 2);
    backward([x.mul(2), x.sum()], [torch.tensor([1, 10]), null]);
    expect(x.grad!.toArray()).toEqual([3, 21]);
    backward(x.sum());
    expect(x.grad!.toArray()).toEqual([4, 22]);
  });

  it("takes arguments by position in Python's order, by name, or both", () => {
    const x = leaf(1, 2);
    const y = x.pow(2);
    const weights = torch.tensor([1, 10]);
    backward(y, { gradTensors: weights, retainGraph: true });
    backward(y, weights, true);
    backward([y], [weights], { retainGraph: true });
    backward(y.sum(), { inputs: x });
    expect(x.grad!.toArray()).toEqual([2 * 3 + 2, 40 * 3 + 4]);
  });

  it('accumulates only into `inputs`', () => {
    const [x, y] = [leaf(1), leaf(2)];
    backward(x.mul(y).sum(), null, { inputs: y });
    expect([x.grad, y.grad!.toArray()]).toEqual([null, [1]]);
    expect(codeOf(() => backward(x.sum(), null, { inputs: [] }))).toBe('ERR_TORCH_ARGUMENT');
  });
});
