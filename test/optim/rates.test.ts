/** Learning rates that are tensors, and optimizers of later releases, which every libtorch has here. */
import { balanced, codeOf, settled, torch, untyped } from '../support/torch';

const { optim } = torch;
const leaf = (...shape: number[]) => {
  torch.manualSeed(3);
  return torch.randn(shape).requiresGrad_();
};
/** The loss of a fit to ones, and a step down. */
function learn(optimizer: any, p: any): number {
  return torch.scope(() => {
    optimizer.zeroGrad();
    const loss = p.sub(1).pow(2).sum();
    loss.backward();
    optimizer.step();
    return loss.item();
  });
}

describe('a learning rate that is a tensor', () => {
  test.each([
    'SGD',
    'Adam',
    'AdamW',
    'Adamax',
    'NAdam',
    'RAdam',
    'Adagrad',
    'Adadelta',
    'RMSprop',
    'ASGD',
    'Adafactor',
  ])('%s: the steps are those of its number', (name) => {
    const [a, b] = [leaf(3, 2), leaf(3, 2)];
    const [one, other] = [
      new untyped.optim[name]([a], { lr: 0.25 }),
      new untyped.optim[name]([b], { lr: torch.tensor(0.25) }),
    ];
    for (let step = 0; step < 5; step++) expect(Math.abs(learn(one, a) - learn(other, b))).toBeLessThan(1e-5);
    expect(b.sub(a).abs().max().item()).toBeLessThan(1e-5);
    expect(b.sub(leaf(3, 2)).abs().max().item()).toBeGreaterThan(1e-3);
  });

  test('is kept by the optimizer, changed in place by a schedule, and part of its state', () => {
    const p = leaf(3);
    const { lr, optimizer } = torch.scope(() => {
      const rate = torch.tensor(0.5);
      const made = new optim.SGD([p], { lr: rate, momentum: 0.5 });
      return { lr: () => rate, optimizer: made };
    });
    const schedule = new optim.lrScheduler.StepLR(optimizer, { stepSize: 1, gamma: 0.5 });
    learn(optimizer, p);
    schedule.step();
    expect(lr().item()).toBe(0.25);
    expect(schedule.getLastLr()).toEqual([0.25]);
    expect(optimizer.paramGroups[0]!.lr).toBe(lr());
    const file = torch.saveToBuffer(optimizer.stateDict() as never);
    const resumed = new optim.SGD([p], { lr: 1 });
    resumed.loadStateDict(torch.load(file) as object);
    const loaded: any = resumed.paramGroups[0]!.lr;
    expect([loaded.item(), loaded === lr()]).toEqual([0.25, false]);
    lr().fill_(0);
    const before = p.detach().clone();
    resumed.paramGroups[0]!.lr = 0;
    learn(optimizer, p);
    expect(p.equal(before)).toBe(true);
    optimizer.dispose();
    expect(lr().disposed).toBe(false);
    lr().dispose();
    expect(codeOf(() => optimizer.step())).toBe('ERR_TORCH_DISPOSED');
  });

  test('is refused where it cannot be used', () => {
    const p = leaf(2);
    const make = (name: string, options: object) => codeOf(() => new untyped.optim[name]([p], options));
    expect(make('Adam', { lr: torch.tensor([0.1, 0.2]) })).toBe('ERR_TORCH_ARGUMENT');
    expect(make('Adam', { lr: torch.tensor(-0.1) })).toBe('ERR_TORCH_ARGUMENT');
    expect(make('Adam', { lr: torch.tensor(1n) })).toBe('ERR_TORCH_ARGUMENT');
    expect(make('AdamW', { lr: torch.tensor(0.1), foreach: true })).toBe('ERR_TORCH_ARGUMENT');
    const rate = torch.tensor(0.1, { requiresGrad: true });
    expect(make('SGD', { lr: rate, differentiable: true })).toBe('ERR_TORCH_ARGUMENT');
    const [q, freed] = [leaf(2), torch.tensor(0.1)];
    const optimizer = new optim.Adam([{ params: [p] }, { params: [q], lr: freed as never }]);
    for (const one of [p, q]) one.grad = torch.ones([2]);
    const before = p.detach().clone();
    freed.dispose();
    expect(codeOf(() => optimizer.step())).toBe('ERR_TORCH_DISPOSED');
    expect(p.equal(before)).toBe(true);
  });
});

describe.each(['Adafactor', 'Muon'])('%s', (name) => {
  test('brings a loss down, with the state that Python names', () => {
    const before = settled();
    const p = leaf(6, 4);
    const optimizer = new untyped.optim[name]([p], { lr: 0.1 });
    const losses = Array.from({ length: 60 }, () => learn(optimizer, p));
    expect(losses.at(-1)).toBeLessThan(losses[0]! / 2);
    const [state] = optimizer.stateDict().state.values();
    const shapes = Object.entries(state).map(([key, value]: [string, any]) => [key, value.shape]);
    expect(Object.fromEntries(shapes)).toEqual(
      name === 'Muon' ? { momentum_buffer: [6, 4] } : { step: [], row_var: [6, 1], col_var: [1, 4] },
    );
    optimizer.dispose();
    p.grad = null;
    p.dispose();
    expect(settled().tensors).toBe(before.tensors);
  });

  test('refuses what Python refuses', () => {
    const p = leaf(2, 2);
    const make = (options: object, params: unknown = [p]) => codeOf(() => new untyped.optim[name](params, options));
    const wrong = {
      Adafactor: [{ beta2Decay: 0.8 }, { d: 0.5 }, { eps: [-1, 1e-3] }, { eps: 1e-3 }, { weightDecay: -1 }],
      Muon: [{ momentum: -1 }, { adjustLrFn: 'other' }, { nsCoefficients: [1, 2] }, { weightDecay: -1 }],
    }[name]!;
    expect(wrong.map((options) => make(options))).toEqual(wrong.map(() => 'ERR_TORCH_ARGUMENT'));
    const z = untyped.randn([2, 2], { dtype: 'complex64' }).requiresGrad_();
    z.grad = z.detach();
    const steps = new untyped.optim[name]([z]);
    expect(codeOf(() => steps.step())).toBe('ERR_TORCH_RUNTIME');
  });
});

test('Muon takes matrices alone, and at most 99 iterations', () => {
  expect(codeOf(() => new optim.Muon([leaf(3)]))).toBe('ERR_TORCH_ARGUMENT');
  const p = leaf(2, 2);
  p.grad = torch.ones([2, 2]);
  const optimizer = new optim.Muon([p], { nsSteps: 100 });
  balanced(() => expect(codeOf(() => optimizer.step())).toBe('ERR_TORCH_RUNTIME'));
});
