/** Lazy modules: their copies, and inputs that tell no size. */
import { thrown, torch } from '../support/torch';

const { nn } = torch;
type Module = InstanceType<typeof nn.Module>;

// First: a process shows a warning once.
test('constructors draw no random numbers and report nothing, as in Python', () => {
  const spy = jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
  try {
    torch.scope(() => {
      torch.manualSeed(5);
      const expected = torch.rand([1]).item();
      torch.manualSeed(5);
      const made = [new torch.nn.LazyLinear(3), new torch.nn.LazyConv2d(4, 3), new torch.nn.LazyConvTranspose1d(2, 2)];
      expect(torch.rand([1]).item()).toBe(expected);
      torch.disposeAll(made);
    });
    expect(spy).not.toHaveBeenCalled();
  } finally {
    spy.mockRestore();
  }
});

test('a copy takes its shape from its own first input', () => {
  for (const [make, shape, like] of [
    [() => new nn.LazyLinear(3, { dtype: 'float64' }), [2, 5], 'Linear'],
    [() => new nn.LazyConv1d(4, 2), [2, 5, 6], 'Conv1d'],
    [() => new nn.LazyBatchNorm1d(), [2, 5], 'BatchNorm1d'],
  ] as const) {
    const lazy: Module = make();
    (lazy as any).weight.requiresGrad = false;
    const copy = lazy.deepCopy();
    const [weight, own] = [(copy as any).weight, (lazy as any).weight];
    torch.scope(() => copy.forward(torch.ones(shape, { dtype: own.dtype })));
    expect([copy.constructor.name, weight.shape.includes(5)]).toEqual([like, true]);
    expect([weight.dtype, weight.requiresGrad]).toEqual([own.dtype, false]);
    expect([lazy.constructor.name, own instanceof nn.UninitializedParameter]).toEqual([`Lazy${like}`, true]);
    torch.scope(() => lazy.deepCopy().forward(torch.ones(shape, { dtype: own.dtype }))); // once more
    for (const net of [lazy, copy]) net.dispose();
  }
});

test('an input that does not tell the size is refused, and the next one is taken', () => {
  const cases: [lazy: Module, wrong: readonly number[], message: RegExp, right: readonly number[]][] = [
    [new nn.LazyLinear(3), [], /'input': expected a Tensor of 1 or more dimensions, got /, [5]],
    [new nn.LazyConv2d(4, 1), [3], /'input': expected a Tensor of 3 or 4 dimensions, got /, [2, 5, 5]],
    [new nn.LazyConv2d(4, 1, { groups: 2 }), [3, 5, 5], /'input': expected a multiple of 2 channels, got /, [2, 5, 5]],
    [new nn.LazyConvTranspose1d(4, 1), [3], /'input': expected a Tensor of 2 or 3 dimensions, got /, [2, 5]],
    [new nn.LazyBatchNorm1d(), [3], /'input': expected a Tensor of 2 or 3 dimensions, got /, [2, 5]],
    [new nn.LazyBatchNorm2d(), [3, 2], /'input': expected a Tensor of 4 dimensions, got /, [2, 5, 3, 3]],
    [new nn.LazyInstanceNorm1d({ affine: true }), [3], /'input': expected a Tensor of 2 or 3 dimensions/, [2, 5]],
  ];
  for (const [lazy, wrong, message, right] of cases) {
    const { name } = lazy.constructor;
    torch.scope(() => {
      const error = thrown(() => lazy.forward(torch.ones(wrong as number[])));
      expect([error.code, error.message.startsWith(`nn.${name}.forward: `)]).toEqual(['ERR_TORCH_ARGUMENT', true]);
      expect(error.message).toMatch(message);
      lazy.forward(torch.ones(right as number[]));
    });
    expect(lazy.constructor.name).toBe(name.replace('Lazy', ''));
    lazy.dispose();
  }
});
