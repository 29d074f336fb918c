/** torch.amp.GradScaler: Python's rules for the scale, its state dict, its refusals. */
import { codeOf, settled, torch } from '../support/torch';

const cpu = (options = {}) => new torch.amp.GradScaler({ device: 'cpu', initScale: 8, growthInterval: 2, ...options });

function start() {
  const weight = torch.tensor([1, 2], { requiresGrad: true });
  return { weight, optimizer: new torch.optim.SGD([weight], { lr: 0.5 }) };
}

/** One iteration; the gradient of `weight` is `gradient` before it is scaled. */
function iterate(
  scaler: InstanceType<typeof torch.amp.GradScaler>,
  { weight, optimizer }: ReturnType<typeof start>,
  gradient: number,
): void {
  optimizer.zeroGrad();
  (scaler.scale(weight.sum().mul(gradient)) as any).sum().backward();
  scaler.step(optimizer);
  scaler.update();
}

test('the scale grows after steps without an overflow, and shrinks after one, whose step is skipped', () => {
  const [run, scaler] = [start(), cpu()];
  const seen = [1, 1, Number.POSITIVE_INFINITY, 1, Number.NaN, 1, 1].map((gradient) => {
    iterate(scaler, run, gradient);
    return [scaler.getScale(), scaler.stateDict()._growth_tracker, run.weight.at(0).item()];
  });
  expect(seen).toEqual([
    [8, 1, 0.5],
    [16, 0, 0],
    [8, 0, 0],
    [8, 1, -0.5],
    [4, 0, -0.5],
    [4, 1, -1],
    [8, 0, -1.5],
  ]);
});

test('losses are multiplied, gradients are unscaled once, before the step or in it', () => {
  const [{ weight, optimizer }, scaler] = [start(), cpu({ initScale: 3 })];
  const loss = weight.sum();
  const [scaled, [inside]] = [scaler.scale(loss), scaler.scale([loss])];
  expect([scaled.shape, scaled.toArray(), inside!.toArray()]).toEqual([[1], [9], [9]]);
  scaled.sum().backward();
  expect(weight.grad!.toArray()).toEqual([3, 3]);
  scaler.unscale_(optimizer);
  // 3 × the float32 nearest to 1/3
  const unscaled = Math.fround(3 * Math.fround(1 / 3));
  expect(weight.grad!.toArray()).toEqual([unscaled, unscaled]);
  expect(codeOf(() => scaler.unscale_(optimizer))).toBe('ERR_TORCH_RUNTIME');
  scaler.step(optimizer);
  expect(weight.toArray()).toEqual([1 - 0.5 * unscaled, 2 - 0.5 * unscaled]);
  for (const again of [() => scaler.step(optimizer), () => scaler.unscale_(optimizer)])
    expect(codeOf(again)).toBe('ERR_TORCH_RUNTIME');
  scaler.update(32);
  expect(scaler.getScale()).toBe(32);
});

test('the state dict is Python’s, and continues a run', () => {
  const [run, scaler] = [start(), cpu()];
  iterate(scaler, run, 1);
  const state = scaler.stateDict();
  expect(state).toEqual({ scale: 8, growth_factor: 2, backoff_factor: 0.5, growth_interval: 2, _growth_tracker: 1 });
  expect(Object.keys(state)).toEqual([
    'scale',
    'growth_factor',
    'backoff_factor',
    'growth_interval',
    '_growth_tracker',
  ]);
  const resumed = new torch.amp.GradScaler('cpu');
  resumed.loadStateDict(torch.load(torch.saveToBuffer(state)) as typeof state);
  iterate(resumed, run, 1);
  expect([resumed.getScale(), resumed.getGrowthInterval()]).toEqual([16, 2]);
});

test('disabled, it changes nothing; without CUDA the default is disabled, with a warning', () => {
  const { weight, optimizer } = start();
  const spy = jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
  try {
    const automatic = new torch.amp.GradScaler();
    expect(automatic.isEnabled()).toBe(torch.cuda.isAvailable());
    const texts = spy.mock.calls.map(([warning]) => String(warning));
    if (!automatic.isEnabled()) expect(texts.join()).toMatch(/GradScaler: .*CUDA is not available/);
  } finally {
    spy.mockRestore();
  }
  const scaler = cpu({ enabled: false });
  const loss = weight.sum();
  expect(scaler.scale(loss)).toBe(loss);
  expect(scaler.step(optimizer, () => 7)).toBe(7);
  scaler.unscale_(optimizer);
  scaler.update();
  expect([scaler.isEnabled(), scaler.getScale(), scaler.stateDict()]).toEqual([false, 1, {}]);
});

test('mistakes are refused with a code', () => {
  const { weight, optimizer } = start();
  const used = cpu();
  used.scale(weight.sum());
  const half = torch.zeros([2], { dtype: 'float16', requiresGrad: true });
  half.grad = torch.ones([2], { dtype: 'float16' });
  const wrong: [string, () => unknown][] = [
    ['ERR_TORCH_ARGUMENT', () => cpu({ growthFactor: 1 })],
    ['ERR_TORCH_ARGUMENT', () => cpu({ backoffFactor: 1 })],
    ['ERR_TORCH_ARGUMENT', () => cpu({ device: 'tpu' })],
    ['ERR_TORCH_ARGUMENT', () => cpu({ growthFacto: 2 })],
    ['ERR_TORCH_ARGUMENT', () => used.scale('loss' as never)],
    ['ERR_TORCH_ARGUMENT', () => used.step({} as never)],
    ['ERR_TORCH_ARGUMENT', () => used.loadStateDict({ scale: 1 })],
    ['ERR_TORCH_RUNTIME', () => used.loadStateDict({})],
    ['ERR_TORCH_RUNTIME', () => used.step(optimizer, () => 1)],
    ['ERR_TORCH_RUNTIME', () => used.step(optimizer)], // no gradients
    ['ERR_TORCH_RUNTIME', () => used.step(new torch.optim.SGD([half], { lr: 1 }))],
    ['ERR_TORCH_RUNTIME', () => used.update()],
    ['ERR_TORCH_RUNTIME', () => cpu().step(optimizer)], // nothing was scaled
  ];
  expect(wrong.map(([, fn]) => codeOf(fn))).toEqual(wrong.map(([code]) => code));
});

test('unscale_ needs no gradients, step and update do', () => {
  const { weight, optimizer } = start();
  const scaler = cpu();
  scaler.scale(weight.sum()).sum().backward();
  optimizer.zeroGrad();
  expect(codeOf(() => scaler.step(optimizer))).toBe('ERR_TORCH_RUNTIME');
  scaler.unscale_(optimizer);
  for (const fn of [() => scaler.step(optimizer), () => scaler.update(), () => scaler.unscale_(optimizer)])
    expect(codeOf(fn)).toBe('ERR_TORCH_RUNTIME');
  const other = start();
  iterate(scaler, other, 1);
  expect([scaler.getScale(), other.weight.toArray()]).toEqual([8, [0.5, 1.5]]);
});

test('an iteration leaves no tensor behind', () => {
  const [run, scaler] = [start(), cpu()];
  const round = () => torch.scope(() => iterate(scaler, run, 1));
  round();
  run.optimizer.zeroGrad();
  const before = settled().tensors;
  for (let i = 0; i < 10; i++) round();
  run.optimizer.zeroGrad();
  expect(torch.memory().tensors).toBe(before);
});
