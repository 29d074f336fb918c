/** torch.optim.Optimizer: groups, closures, hooks, owners of tensors, classes of one's own. */
import type { Tensor } from '../../types';
import { run } from '../support/child';
import { release } from '../support/release';
import { balanced, codeOf, LIB, thrown, torch, untyped } from '../support/torch';

const { optim } = torch;
const leaf = (...data: number[]) => torch.tensor(data, { requiresGrad: true });
const withGrad = (...data: number[]) => {
  const p = leaf(...data);
  p.grad = torch.onesLike(p);
  return p;
};

describe('parameters', () => {
  it('come from any iterable, alone or in groups', () => {
    const [a, b] = [leaf(1), leaf(2)];
    function* parameters() {
      yield a!;
      yield b!;
    }
    expect(new optim.SGD(parameters(), { lr: 1 }).paramGroups[0]!.params).toEqual([a, b]);
    const { paramGroups } = new optim.Adam([{ params: a! }, { params: new Set([b!]), lr: 0.5, name: 'head' }], {
      lr: 0.1,
    });
    expect(paramGroups.map(({ params, lr, name, eps }) => ({ n: params.length, lr, name, eps }))).toEqual([
      { n: 1, lr: 0.1, name: undefined, eps: 1e-8 },
      { n: 1, lr: 0.5, name: 'head', eps: 1e-8 },
    ]);
  });

  it('are refused if Python refuses them', () => {
    const p = leaf(1);
    const make = (params: unknown, options: object = { lr: 0.1 }) =>
      codeOf(() => new untyped.optim.Adam(params, options));
    const wrong = [
      p,
      [],
      null,
      5,
      [1],
      [p.mul(2)],
      [{ lr: 1 }],
      [{ params: [p] }, { params: [p] }],
      [{ params: p }, p],
    ];
    expect(wrong.map((params) => make(params))).toEqual(wrong.map(() => 'ERR_TORCH_ARGUMENT'));
    expect(make([p], { weight_decay: 1 })).toBe('ERR_TORCH_ARGUMENT');
    expect(thrown(() => new untyped.optim.Adam([p], 0.5)).message).toMatch(
      /got 0\.5; options go by name: \{ lr: 0\.5 \}$/,
    );
    expect(make([{ params: p, weightdecay: 1 }])).toBe('ERR_TORCH_ARGUMENT');
    expect(make([{ params: p, lr: '1' }])).toBe('ERR_TORCH_ARGUMENT');
    const two = [{ params: [leaf(1)] }, { params: [leaf(1)] }];
    expect(codeOf(() => new optim.LBFGS(two))).toBe('ERR_TORCH_ARGUMENT');
    const optimizer = new optim.Adam([p]);
    expect(codeOf(() => optimizer.addParamGroup({ params: [p] }))).toBe('ERR_TORCH_ARGUMENT');
    optimizer.addParamGroup({ params: [leaf(1)], lr: 2 });
    expect(optimizer.paramGroups.map(({ lr }) => lr)).toEqual([1e-3, 2]);
  });

  it('keep their values if one of them has a gradient that the formula refuses', () => {
    const [a, b] = [withGrad(1), leaf(1)];
    b!.grad = torch.sparseCooTensor(torch.tensor([[0]], { dtype: 'int64' }), torch.tensor([1]), [1]);
    const optimizer = new optim.Adam([a!, b!]);
    expect(codeOf(() => optimizer.step())).toBe('ERR_TORCH_RUNTIME');
    expect(a!.toArray()).toEqual([1]);
    expect(codeOf(() => new optim.SparseAdam([a!]).step())).toBe('ERR_TORCH_RUNTIME');
    expect(codeOf(() => new optim.SGD([b!], { lr: 1, differentiable: true, fused: true } as never))).toMatch(
      /^ERR_TORCH/,
    );
  });
});

describe('fused steps', () => {
  const [major = 0, minor = 0] = release.split('.').map(Number);
  const hasFused = major > 2 || (major === 2 && minor >= 4);

  it('are refused where libtorch has none, also if only a group asks for them', () => {
    const optimizer = new optim.AdamW([withGrad(1)]);
    (optimizer.paramGroups[0] as { fused?: boolean }).fused = true;
    if (hasFused) optimizer.step();
    else expect(codeOf(() => optimizer.step())).toBe('ERR_TORCH_NOT_IMPLEMENTED');
  });

  const takesAnyLayout = () => {
    const values = (fused: boolean) => {
      const p = torch.zeros([2, 3], { requiresGrad: true });
      p.grad = torch.arange(1, 7, { dtype: 'float32' }).view([3, 2]).t();
      new optim.SGD([p], { lr: 1, momentum: 0.5, fused } as never).step();
      return p.tolist();
    };
    expect(values(true)).toEqual(values(false));
    const overlapping = torch.zeros([1]).expand([8]).requiresGrad_(true);
    overlapping.grad = torch.ones([8]);
    expect(codeOf(() => new optim.SGD([overlapping], { lr: 1, fused: true } as never).step())).toBe(
      'ERR_TORCH_RUNTIME',
    );
    const adam = new optim.Adam([withGrad(1)], { fused: true });
    adam.step();
    const saved = adam.stateDict();
    saved.state.get(0)!.exp_avg = torch.zeros([1, 2]);
    adam.loadStateDict(saved);
    expect(codeOf(() => adam.step())).toBe('ERR_TORCH_RUNTIME');
  };
  // Defined only where it can run, because CI counts a skipped test as a failure.
  if (hasFused) it('take gradients and states of any layout, and no parameter that overlaps itself', takesAnyLayout);
});

describe('step', () => {
  it('calls a closure with gradients recorded, in the caller’s scope, and returns its result', () => {
    const p = leaf(3);
    const optimizer = new optim.SGD([p], { lr: 0.1 });
    const loss = torch.noGrad(() =>
      optimizer.step(() => {
        optimizer.zeroGrad();
        const value = p.pow(2).sum();
        value.backward();
        return value;
      }),
    );
    expect(loss.item()).toBe(9);
    expect(p.item()).toBeCloseTo(2.4);
  });

  it('refuses closures that are asynchronous or not functions', () => {
    const optimizer = new untyped.optim.SGD([withGrad(1)], { lr: 1 });
    expect(codeOf(() => optimizer.step(async () => 1))).toBe('ERR_TORCH_ASYNC_MODE');
    expect(codeOf(() => optimizer.step(5))).toBe('ERR_TORCH_ARGUMENT');
    expect(codeOf(() => new untyped.optim.LBFGS([leaf(1)]).step())).toBe('ERR_TORCH_ARGUMENT');
    expect(codeOf(() => new untyped.optim.LBFGS([leaf(1)]).step(() => 'x'))).toBe('ERR_TORCH_ARGUMENT');
    const emptied = new untyped.optim.LBFGS([leaf(1)]);
    const empty = () => {
      emptied.paramGroups = [];
      return 1;
    };
    expect(thrown(() => emptied.step(empty))).toMatchObject({ code: 'ERR_TORCH_ARGUMENT', argument: 'paramGroups' });
  });

  it('is refused inside torch.run and after dispose', async () => {
    const p = withGrad(1);
    const optimizer = new optim.SGD([p], { lr: 1 });
    await expect(torch.run(() => optimizer.step() as never)).rejects.toMatchObject({ code: 'ERR_TORCH_PENDING' });
    optimizer.dispose();
    expect(codeOf(() => optimizer.step())).toBe('ERR_TORCH_DISPOSED');
    expect(p.toArray()).toEqual([1]);
  });

  it('changes nothing if a hook or the closure disposes it', () => {
    const p = withGrad(1);
    const make = () => new optim.SGD([p], { lr: 1, momentum: 0.9 });
    const [first, second] = [make(), make()];
    first.registerStepPreHook((own) => own.dispose());
    expect(codeOf(() => first.step())).toBe('ERR_TORCH_DISPOSED');
    expect(codeOf(() => second.step(() => second.dispose()))).toBe('ERR_TORCH_DISPOSED');
    expect([p.toArray(), first.state.size, second.state.size]).toEqual([[1], 0, 0]);
  });

  it('checks groups that the closure has changed', () => {
    const p = withGrad(1);
    const optimizer: any = new untyped.optim.SGD([p, withGrad(2)], { lr: 1 });
    expect(codeOf(() => optimizer.step(() => void optimizer.paramGroups[0].params.push(1)))).toBe('ERR_TORCH_ARGUMENT');
    expect(
      codeOf(() =>
        optimizer.step(() => {
          optimizer.paramGroups = null;
        }),
      ),
    ).toBe('ERR_TORCH_ARGUMENT');
    expect(p.toArray()).toEqual([1]);
  });

  it('updates a parameter that is there twice one time after the other, as Python does', () => {
    const [p, q] = [withGrad(1), withGrad(5)];
    const optimizer = new optim.SGD([p, p, q], { lr: 0.5, momentum: 0.5, nesterov: true });
    let [value, buffer] = [1, 0];
    for (let step = 0; step < 3; step++) {
      optimizer.step();
      for (let twice = 0; twice < 2; twice++) {
        buffer = step === 0 && twice === 0 ? 1 : 0.5 * buffer + 1;
        value -= 0.5 * (1 + 0.5 * buffer);
      }
    }
    expect(p.toArray()).toEqual([value]);
  });

  it('calls hooks before and after, until they are removed', () => {
    const optimizer = new optim.SGD([withGrad(1)], { lr: 1 });
    const seen: string[] = [];
    const before = optimizer.registerStepPreHook((own) => void seen.push(`before ${own === optimizer}`));
    optimizer.registerStepPostHook(() => void seen.push('after'));
    optimizer.step();
    before.remove();
    optimizer.step();
    expect(seen).toEqual(['before true', 'after', 'after']);
  });

  it('calls hooks of state dicts, which may give others', () => {
    const optimizer = new optim.SGD([withGrad(1)], { lr: 1 });
    const seen: string[] = [];
    optimizer.registerStateDictPreHook((own) => void seen.push(`before ${own === optimizer}`));
    const last = optimizer.registerStateDictPostHook((_, dict) => ({ ...dict, note: 'mine' }));
    optimizer.registerStateDictPostHook((_, dict) => void seen.push(String(dict.note)), { prepend: true });
    const saved = optimizer.stateDict() as any;
    expect(saved.note).toBe('mine');
    last.remove();
    expect(optimizer.stateDict()).not.toHaveProperty('note');
    const doubled = ({ param_groups: [group], ...more }: any) => ({
      ...more,
      param_groups: [{ ...group, lr: 2 * group.lr }],
    });
    optimizer.registerLoadStateDictPreHook((_, dict) => doubled(dict));
    optimizer.registerLoadStateDictPostHook((own) => void seen.push(`loaded ${own.paramGroups[0]!.lr}`));
    optimizer.loadStateDict(saved);
    expect(saved.param_groups[0].lr).toBe(1);
    expect(seen).toEqual(['before true', 'undefined', 'before true', 'undefined', 'loaded 2']);
    optimizer.registerStateDictPostHook((async () => {}) as never);
    expect(codeOf(() => optimizer.stateDict())).toBe('ERR_TORCH_ASYNC_MODE');
    expect(codeOf(() => optimizer.registerStateDictPreHook(5 as never))).toBe('ERR_TORCH_ARGUMENT');
  });

  it('is seen by graphs that need the old values, with many parameters too', () => {
    for (const count of [1, 3]) {
      const all = Array.from({ length: count }, () => withGrad(1, 2));
      const y = all[0]!.pow(2).sum();
      new optim.Adam(all, { weightDecay: 0.1 }).step();
      expect(codeOf(() => y.backward())).toBe('ERR_TORCH_RUNTIME');
      expect(all[0]!.mul(2).requiresGrad).toBe(true);
    }
  });

  it('records itself if it is differentiable', () => {
    const lr = leaf(2);
    const p = lr.mul(3);
    p.grad = lr.detach().requiresGrad_();
    new optim.SGD([p], { lr: 0.5, differentiable: true }).step();
    p.sum().backward();
    expect([p.item(), lr.grad!.item()]).toEqual([5, 3]);
  });
});

test('zeroGrad drops gradients, or fills them with zeros', () => {
  const p = withGrad(1);
  const optimizer = new optim.SGD([p], { lr: 1 });
  const { grad } = p;
  optimizer.zeroGrad({ setToNone: false });
  expect(grad!.toArray()).toEqual([0]);
  optimizer.zeroGrad();
  expect(p.grad).toBeNull();
  expect(codeOf(() => optimizer.zeroGrad({ setToNone: 1 } as never))).toBe('ERR_TORCH_ARGUMENT');
});

test('state belongs to the optimizer: it outlives scopes, and dispose frees it', () => {
  balanced(() => {
    const p = torch.scope(() => withGrad(1, 2));
    const optimizer = new optim.Adam([p]);
    const before = torch.memory().tensors;
    torch.scope(() => optimizer.step());
    expect(torch.memory().tensors - before).toBe(3);
    torch.scope(() => optimizer.step());
    optimizer.dispose();
    expect(torch.memory().tensors).toBe(before);
    p.grad = null;
    p.dispose();
  });
});

test('a state dict that does not fit is refused, and changes nothing', () => {
  const optimizer = new optim.SGD([withGrad(1), withGrad(2)], { lr: 1, momentum: 0.9 });
  optimizer.step();
  const good = optimizer.stateDict();
  expect([...good.state.keys()]).toEqual([0, 1]);
  expect(good.param_groups[0]).toMatchObject({ lr: 1, weight_decay: 0, params: [0, 1] });
  const wrong: unknown[] = [
    null,
    {},
    { state: {}, param_groups: [] },
    { ...good, param_groups: [{ ...good.param_groups[0], params: [0] }] },
    { ...good, param_groups: [{ lr: 1 }] },
    { ...good, state: new Map([[5, {}]]) },
    { ...good, state: new Map([[0, 1]]) },
  ];
  for (const dict of wrong) expect(codeOf(() => optimizer.loadStateDict(dict as never))).toBe('ERR_TORCH_ARGUMENT');
  expect(optimizer.stateDict()).toEqual(good);
  // Plain objects and the Maps of torch.load are the same.
  optimizer.loadStateDict({ ...good, state: Object.fromEntries(good.state) });
  expect(optimizer.state.size).toBe(2);
});

test('a class of one’s own whose begin or update cannot be used is a coded error', () => {
  const stepWith = (own: object) => {
    class Own extends untyped.optim.Optimizer {}
    Object.assign(Own.prototype, { begin: () => ({}), update: () => {} }, own);
    return thrown(() => new (Own as any)([withGrad(1)], {}).step());
  };
  expect(stepWith({ begin: () => undefined })).toMatchObject({
    code: 'ERR_TORCH_ARGUMENT',
    message: "optim.Own.begin: argument 'result': expected an object, got undefined",
  });
  expect(stepWith({ begin: async () => ({}) })).toMatchObject({ code: 'ERR_TORCH_ASYNC_MODE' });
  expect(stepWith({ update: async () => {} })).toMatchObject({ code: 'ERR_TORCH_ASYNC_MODE' });
});

test('a class of one’s own has begin and update', () => {
  class Lion extends optim.Optimizer<{ lr: number; beta: number }> {
    protected override begin(p: Tensor) {
      return { average: p.zerosLike() };
    }

    protected override update(
      p: Tensor,
      grad: Tensor,
      state: { average: Tensor },
      { lr, beta }: { lr: number; beta: number },
    ) {
      p.sub_(
        state.average
          .mul(beta)
          .add(grad.mul(1 - beta))
          .sign(),
        { alpha: lr },
      );
      state.average.mul_(beta).add_(grad, { alpha: 1 - beta });
    }
  }
  const p = withGrad(1, 2);
  const optimizer = new Lion([p], { lr: 0.5, beta: 0.9 });
  balanced(() => torch.scope(() => optimizer.zeroGrad({ setToNone: false })));
  p.grad = torch.tensor([1, -1]);
  torch.scope(() => optimizer.step());
  expect(p.toArray()).toEqual([0.5, 2.5]);
  expect(Object.keys(optimizer.stateDict().state.get(0)!)).toEqual(['average']);
  expect(String(optimizer)).toBe('Lion (\nParameter Group 0\n    beta: 0.9\n    lr: 0.5\n)');
  expect(thrown(() => new Lion([], { lr: 1, beta: 0 })).message).toContain('optim.Lion');
});

test('1,000 steps leave no tensor behind, and a lost optimizer is collected', async () => {
  const { stdout, stderr, code } = await run(process.execPath, ['--expose-gc', 'test/optim/memory.cjs', LIB]);
  expect({ stderr, code }).toEqual({ stderr: '', code: 0 });
  const { left, made, kept, lbfgs } = JSON.parse(stdout);
  expect(Object.entries(left).filter(([, count]) => (count as number) > 0)).toEqual([]);
  expect(made).toBeGreaterThan(200);
  expect(kept).toBe(0);
  // With and without a line search, and with closures that fail half-way.
  expect(lbfgs).toEqual([1, 2, 3, 4].map(() => ({ counts: [0], disposed: 0 })));
});
