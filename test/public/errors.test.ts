/** Calls of public functions: their forms, and their errors, which come from the parser of ops. */
import { balanced, codeOf, thrown, torch, untyped } from '../support/torch';

const inScope = (fn: () => void) => () => balanced(() => torch.scope(fn));
const F = untyped.nn.functional;
const x = () =>
  torch.tensor([
    [1, 2, 3],
    [4, 5, 6],
  ]);

test(
  'positional, named and mixed arguments give the same result',
  inScope(() => {
    const target = torch.tensor([0n, 2n]);
    const forms = [
      F.crossEntropy(x(), target, null, null, -100, null, 'sum', 0.1),
      F.crossEntropy(x(), target, { reduction: 'sum', labelSmoothing: 0.1 }),
      F.crossEntropy(x(), { target, reduction: 'sum', labelSmoothing: 0.1 }),
      F.crossEntropy({ input: x(), target, reduction: 'sum', labelSmoothing: 0.1 }),
      F.crossEntropy(x(), target, undefined, { reduction: 'sum', labelSmoothing: 0.1 }),
      F.crossEntropy(x(), target, { weight: undefined, reduction: 'sum', labelSmoothing: torch.tensor(0.1) }),
    ];
    for (const form of forms) expect(form.item()).toBeCloseTo(forms[0].item(), 6);
    expect(untyped.meshgrid(new Set([x().select(0, 0)])).length).toBe(1);
    expect(
      untyped.blockDiag(
        (function* () {
          yield x();
          yield x();
        })(),
      ).shape,
    ).toEqual([4, 6]);
    expect(untyped.unique({ input: x(), returnCounts: true }).length).toBe(2);
    expect((x() as any).norm({ p: 'fro' }).item()).toBeCloseTo(Math.sqrt(91), 5);
    expect(F.maxPool1d(x(), 2n).shape).toEqual([2, 1]);
    expect(F.maxPool1d(x(), [2], 1, 0).shape).toEqual([2, 2]);
    expect(F.interpolate(x().view([1, 2, 3]), new Int32Array([6])).shape).toEqual([1, 2, 6]);
  }),
);

test(
  "a call that does not fit lists every signature, including the op's",
  inScope(() => {
    const error = thrown(() => F.crossEntropy(x(), 'target'));
    expect([error.name, error.code, error.op, error.argument]).toEqual([
      'TypeError',
      'ERR_TORCH_OVERLOAD',
      'crossEntropy',
      'target',
    ]);
    expect(error.message).toContain('cross_entropy(Tensor input, Tensor target, Tensor? weight=None');
    expect(error.message).toContain("argument 'target': expected a Tensor, got 'target'");
    const both = thrown(() => untyped.norm('x'));
    expect(both.message).toContain('norm.ScalarOpt_dim(Tensor self');
    expect(both.message).toContain("norm(Tensor input, Any? p='fro'");
    expect(thrown(() => F.dropout(x(), { typo: 1 })).message).toContain("there is no option 'typo'");
    expect(thrown(() => F.mseLoss(x())).message).toContain("argument 'target' is missing");
    expect(thrown(() => F.mseLoss(x(), x(), { target: x() })).message).toContain("argument 'target' is given twice");
    expect(thrown(() => F.softsign(x(), 1)).message).toContain('takes 1 positional argument, got 2');
    expect(codeOf(() => untyped.einsum('ij,jk', x(), 3))).toBe('ERR_TORCH_ARGUMENT');
    expect(codeOf(() => untyped.meshgrid(x(), 3))).toBe('ERR_TORCH_OVERLOAD');
    expect(codeOf(() => F.mseLoss(x(), x(), { out: x() }))).toBe('ERR_TORCH_OVERLOAD');
  }),
);

test(
  'a refused value is named with the expectation',
  inScope(() => {
    const error = thrown(() => F.mseLoss(x(), x(), { reduction: 'average' }));
    expect([error.code, error.op, error.argument]).toEqual(['ERR_TORCH_ARGUMENT', 'mseLoss', 'reduction']);
    expect(error.message).toBe("mseLoss: argument 'reduction': expected 'none', 'mean' or 'sum', got 'average'");
    expect(thrown(() => untyped.complex(1, { re: 1, im: 2 })).argument).toBe('imag');
  }),
);

test(
  'disposed tensors, and methods without their tensor',
  inScope(() => {
    const gone = x();
    gone.dispose();
    expect(codeOf(() => F.mseLoss(x(), gone))).toBe('ERR_TORCH_DISPOSED');
    expect(codeOf(() => F.normalize(gone))).toBe('ERR_TORCH_DISPOSED');
    expect(codeOf(() => F.crossEntropy(gone, x()))).toBe('ERR_TORCH_DISPOSED');
    expect(codeOf(() => untyped.einsum('ij', gone))).toBe('ERR_TORCH_DISPOSED');
    expect(codeOf(() => [...gone])).toBe('ERR_TORCH_DISPOSED');
    for (const name of ['float', 'unique', 'norm', 'size', 'dim', 'tolist', 'names']) {
      const method = name === 'names' ? (t: unknown) => Reflect.get(torch.Tensor.prototype, name, t) : undefined;
      const call = method ?? ((t: unknown) => untyped.Tensor.prototype[name].call(t));
      expect(`${name}: ${codeOf(() => call({}))}`).toBe(`${name}: ERR_TORCH_ARGUMENT`);
    }
  }),
);

test(
  'settings of the process are read back as set',
  inScope(() => {
    const state = untyped.getRngState();
    const drawn = torch.rand([3]).toArray();
    untyped.setRngState(state);
    expect(torch.rand([3]).toArray()).toEqual(drawn);
    torch.manualSeed(5);
    expect(untyped.initialSeed()).toBe(5);
    expect(untyped.seed()).toEqual(untyped.initialSeed());
    for (const [mode, level] of [
      ['warn', 1],
      ['error', 2],
      [0, 0],
      ['default', 0],
    ] as const) {
      untyped.setDeterministicDebugMode(mode);
      expect(untyped.getDeterministicDebugMode()).toBe(level);
      expect(untyped.areDeterministicAlgorithmsEnabled()).toBe(level > 0);
      expect(untyped.isDeterministicAlgorithmsWarnOnlyEnabled()).toBe(level === 1);
    }
    untyped.useDeterministicAlgorithms(true, { warnOnly: true });
    expect(untyped.getDeterministicDebugMode()).toBe(1);
    // This op has no deterministic kernel.
    const put = () => untyped.zeros([3]).put_(torch.tensor([1n]), torch.ones([1]));
    put();
    untyped.useDeterministicAlgorithms(true);
    expect(codeOf(put)).toBe('ERR_TORCH_RUNTIME');
    untyped.useDeterministicAlgorithms(false);
    put();
    expect(codeOf(() => untyped.setDeterministicDebugMode('loud'))).toBe('ERR_TORCH_ARGUMENT');
    untyped.setFloat32MatmulPrecision('high');
    expect(untyped.getFloat32MatmulPrecision()).toBe('high');
    untyped.setFloat32MatmulPrecision('highest');
    expect(codeOf(() => untyped.setFloat32MatmulPrecision('some'))).toBe('ERR_TORCH_ARGUMENT');
    expect(untyped.getNumInteropThreads()).toBeGreaterThan(0);
    // OpenMP ends the process if it cannot create the threads.
    for (const count of [0, 1025, 1e9, 2 ** 31]) {
      expect(codeOf(() => untyped.setNumInteropThreads(count))).toBe('ERR_TORCH_ARGUMENT');
      expect(codeOf(() => untyped.setNumThreads(count))).toBe('ERR_TORCH_ARGUMENT');
    }
    expect(untyped.setFlushDenormal(false)).toBe(true);
  }),
);

test(
  'a value that the op would refuse too does not lead the function back to itself',
  inScope(() => {
    const calls: [() => unknown, RegExp][] = [
      [
        () => untyped.split(x(), Number.POSITIVE_INFINITY),
        /^split: argument 'splitSizeOrSections': expected an integer/,
      ],
      [() => untyped.split(x(), [1, '2']), /^split: argument 'splitSizeOrSections': expected an integer/],
      [() => untyped.norm(x(), ['a']), /^norm: argument 'p': expected a number, 'fro' or 'nuc'/],
      [() => (x() as any).rename('a b', 'c'), /^rename: argument 'names': expected names/],
      [() => F.interpolate(x(), 3), /^interpolate: argument 'input': expected at least 3 dimensions/],
      [() => (x() as any).normal(0, 1), /^normal: expected a call of the function, got one of the method/],
    ];
    for (const [call, message] of calls) {
      const error = thrown(call);
      expect([error.code, error.message]).toEqual([
        expect.stringMatching(/^ERR_TORCH_/),
        expect.stringMatching(message),
      ]);
    }
    expect(F.lpPool1d(torch.ones([1, 1, 4]), 2, 2n).shape).toEqual([1, 1, 2]);
  }),
);
