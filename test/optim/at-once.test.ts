/** Steps of a whole group in one native call: the values, versions and errors of the formulas in TypeScript. */
import { torch } from '../support/torch';

const { optim } = torch;
type Made = InstanceType<typeof optim.Adam>;
type Class = new (params: any, options: any) => Made;

const cases: [name: 'Adam' | 'AdamW' | 'SGD' | 'RMSprop' | 'Adagrad', options: object][] = [
  ['Adam', { lr: 0.01 }],
  ['Adam', { lr: 0.01, weightDecay: 0.1, amsgrad: true, maximize: true }],
  ['AdamW', { lr: 0.01, weightDecay: 0.1 }],
  ['SGD', { lr: 0.01, weightDecay: 0.1, maximize: true }],
  ['SGD', { lr: 0.01, momentum: 0.9, nesterov: true }],
  ['SGD', { lr: 0.01, momentum: 0.9, dampening: 0.5 }],
  ['RMSprop', { lr: 0.01, momentum: 0.9, centered: true, weightDecay: 0.1 }],
  ['RMSprop', { lr: 0.01 }],
  ['Adagrad', { lr: 0.01, lrDecay: 0.1, weightDecay: 0.1, maximize: true }],
];

/** Of several dtypes and layouts, one of them without gradients. */
const start = () => [
  torch.linspace(-1, 2, 37).requiresGrad_(),
  torch.linspace(-1, 2, 40, { dtype: 'float64' }).view([5, 8]).t().requiresGrad_(),
  torch.complex(torch.linspace(-1, 1, 9), torch.linspace(2, 1, 9)).requiresGrad_(),
  torch.linspace(0, 1, 3).requiresGrad_(),
];

function run(cls: Class, options: object) {
  const params = start().map((param) => param.detach().clone().requiresGrad_());
  const optimizer = new cls(params, options);
  for (let step = 1; step <= 12; step++) {
    for (const param of params.slice(0, 3))
      param.grad = param
        .detach()
        .mul(0.3)
        .add(step / 7);
    optimizer.step();
  }
  const plain = (value: any) => (value instanceof torch.Tensor ? value.detach().resolveConj().clone() : value);
  const states = [...optimizer.stateDict().state].map(([key, state]) => [
    key,
    Object.fromEntries(Object.entries(state).map(([name, value]) => [name, plain(value)])),
  ]);
  return { params: params.map(plain), states };
}

test.each(cases)('%s %j: bit for bit as its update', (name, options) => {
  const native = optim[name] as unknown as Class;
  // A class with its own update is called for each parameter.
  const own = class extends (native as any) {
    update(...args: unknown[]) {
      super.update(...args);
    }
  } as unknown as Class;
  const [got, expected] = [run(native, options), run(own, options)];
  expect(got.params).toEqual(expected.params);
  expect(got.states).toEqual(expected.states);
  expect(got.params[3]!.toArray()).toEqual(start()[3]!.toArray());
});

/** Options with which every class takes a step. */
const defaults: Record<string, object> = {
  ...Object.fromEntries(
    ['Adadelta', 'Adagrad', 'Adam', 'AdamW', 'Adamax', 'ASGD', 'LBFGS', 'NAdam', 'RAdam', 'RMSprop', 'Rprop'].map(
      (name) => [name, { lr: 0.01 }],
    ),
  ),
  SGD: { lr: 0.01, momentum: 0.9 },
  SparseAdam: { lr: 0.01 },
};
const classes = Object.entries(defaults).map(([name, lr]) => ({ name, lr }));

describe.each(classes)('$name', ({ name, lr }) => {
  /** Two parameters with gradients and states, in one group or in two. */
  function stepped(groups: number) {
    const params = [torch.ones([3]).requiresGrad_(), torch.ones([3]).requiresGrad_()];
    const given = groups === 1 ? params : params.map((param) => ({ params: [param] }));
    const optimizer = new (optim[name as 'Adam'] as any)(given, lr);
    const closure = () => {
      for (const param of params) {
        param.grad = name === 'SparseAdam' ? torch.ones([3]).toSparse() : torch.full([3], 0.5);
      }
      return torch.tensor(1);
    };
    const step = () => optimizer.step(closure);
    step();
    return { params, optimizer, step };
  }

  test.each(name === 'LBFGS' ? [1] : [1, 2])('a disposed parameter changes no other, %i groups', (groups) => {
    const { params, optimizer, step } = stepped(groups);
    const [p, q] = params as [any, any];
    const now = p.toArray();
    const disposed = expect.objectContaining({
      code: 'ERR_TORCH_DISPOSED',
      message: expect.stringContaining(`optim.${name}.step`),
    });
    const held = Object.values(optimizer.state.get(q) ?? {}).find((value) => value instanceof torch.Tensor) as any;
    if (held !== undefined) {
      held.dispose();
      expect(step).toThrow(disposed);
      expect(p.toArray()).toEqual(now);
      optimizer.state.delete(q);
    }
    q.dispose();
    expect(() => optimizer.step(() => torch.tensor(1))).toThrow(disposed);
    expect(p.toArray()).toEqual(now);
  });

  test('an option of another kind is refused with the name of the class', () => {
    const { params, optimizer, step } = stepped(1);
    const now = params.map((param) => param.toArray());
    const wrong: [string, unknown][] = [['lr', 'fast']];
    if ('betas' in optimizer.defaults) wrong.push(['betas', [0.9]]);
    for (const [option, value] of wrong) {
      const before = optimizer.paramGroups[0][option];
      optimizer.paramGroups[0][option] = value;
      expect(step).toThrow(new RegExp(`^optim\\.${name}\\.step: argument '${option}': expected `));
      optimizer.paramGroups[0][option] = before;
    }
    expect(params.map((param) => param.toArray())).toEqual(now);
    // None counts as false, as in state dicts of 2.x.
    for (const [option, value] of Object.entries(optimizer.defaults)) {
      if (value === false) optimizer.paramGroups[0][option] = null;
    }
    step();
    expect(params.map((param) => param.toArray())).not.toEqual(now);
  });
});

test('versions count, so that a graph that needs the old values is refused', () => {
  const p = torch.ones([2]).requiresGrad_();
  const optimizer = new optim.SGD([p], { lr: 0.1 });
  const loss = p.mul(p).sum();
  p.grad = torch.ones([2]);
  optimizer.step();
  p.grad = torch.ones([2]);
  optimizer.step();
  expect(() => loss.backward()).toThrow(/modified by an inplace operation/);
});
