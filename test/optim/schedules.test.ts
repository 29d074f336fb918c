/** Schedules against PyTorch: every rate is the same double, states resume runs of either side. */
import { codeOf, torch, untyped } from '../support/torch';
import { optionsOf, oracle, plain } from './oracle';

const EPOCHS = 100;
const metric = (epoch: number) => (epoch < 20 ? 1 / (1 + epoch) : 0.05 + ((epoch * 7) % 5) * 0.001);
const lrLambda = (epoch: number) => 1 / (1 + 0.1 * epoch);

interface Case {
  readonly name: string;
  readonly options: Record<string, unknown>;
  readonly optimizer?: string;
  readonly of?: readonly Case[];
}

const simple: Record<string, Record<string, unknown>[]> = {
  LambdaLR: [{}],
  MultiplicativeLR: [{}],
  StepLR: [{ step_size: 7 }, { step_size: 3, gamma: 0.9 }],
  MultiStepLR: [{ milestones: [3, 20, 20, 60], gamma: 0.3 }],
  ConstantLR: [{}, { factor: 0.3, total_iters: 30 }],
  LinearLR: [{}, { start_factor: 0.1, end_factor: 0.7, total_iters: 33 }],
  ExponentialLR: [{ gamma: 0.97 }],
  PolynomialLR: [{}, { total_iters: 70, power: 1.7 }],
  CosineAnnealingLR: [{ T_max: 10 }, { T_max: 37, eta_min: 0.003 }],
  CosineAnnealingWarmRestarts: [{ T_0: 7 }, { T_0: 5, T_mult: 2, eta_min: 0.001 }],
  CyclicLR: [
    { base_lr: 0.01, max_lr: 0.2, step_size_up: 7 },
    { base_lr: 0.01, max_lr: [0.2, 0.3], step_size_up: 7, step_size_down: 5, mode: 'triangular2' },
    { base_lr: 0.01, max_lr: 0.2, step_size_up: 7, mode: 'exp_range', gamma: 0.97 },
  ],
  OneCycleLR: [
    { max_lr: 0.3, total_steps: 101 },
    {
      max_lr: [0.3, 0.2],
      epochs: 21,
      steps_per_epoch: 5,
      pct_start: 0.25,
      anneal_strategy: 'linear',
      three_phase: true,
    },
  ],
  ReduceLROnPlateau: [{}, { mode: 'max', factor: 0.5, patience: 2, cooldown: 3, threshold_mode: 'abs', min_lr: 0.001 }],
  SWALR: [{ swa_lr: 0.05 }, { swa_lr: 0.05, anneal_epochs: 30, anneal_strategy: 'linear' }],
};
const one = (name: string, options: Record<string, unknown>): Case => ({ name, options });

const cases: Case[] = [
  ...Object.entries(simple).flatMap(([name, all]) => all.map((options) => one(name, options))),
  { name: 'OneCycleLR', options: { max_lr: 0.3, total_steps: 101 }, optimizer: 'Adam' },
  {
    name: 'SequentialLR',
    options: { milestones: [10, 40] },
    of: [
      one('LinearLR', { total_iters: 10 }),
      one('CosineAnnealingLR', { T_max: 30 }),
      one('ExponentialLR', { gamma: 0.9 }),
    ],
  },
  {
    name: 'ChainedScheduler',
    options: {},
    of: [one('ConstantLR', { factor: 0.1 }), one('ExponentialLR', { gamma: 0.9 })],
  },
];

const { lrScheduler, swaUtils } = untyped.optim;
const isNew = !torch.libtorchVersion.startsWith('1.');

function make({ name, options, of }: Case, optimizer: any): any {
  const inner = of?.map((each) => make(each, optimizer));
  if (name === 'SequentialLR') return new lrScheduler.SequentialLR(optimizer, inner, options.milestones);
  if (name === 'ChainedScheduler') return new lrScheduler.ChainedScheduler(inner);
  const given = optionsOf(options);
  if (name === 'LambdaLR' || name === 'MultiplicativeLR') given.lrLambda = lrLambda;
  return new (lrScheduler[name] ?? swaUtils[name])(optimizer, given);
}

function start(each: Case): { optimizer: any; scheduler: any } {
  const params = [0, 1].map(() => torch.zeros([2], { requiresGrad: true }));
  const groups = [{ params: params.slice(0, 1) }, { params: params.slice(1), lr: 0.37 }];
  const optimizer = new untyped.optim[each.optimizer ?? 'SGD'](groups, { lr: 0.1 });
  return { optimizer, scheduler: make(each, optimizer) };
}

const rowOf = (optimizer: any) => optimizer.paramGroups.map((g: any) => [g.lr, g.momentum ?? null, g.betas ?? []]);

function advance(each: Case, { optimizer, scheduler }: any, begin: number, end: number): unknown[] {
  const rows: unknown[] = [];
  for (let epoch = begin; epoch < end; epoch++) {
    optimizer.step();
    if (each.name === 'ReduceLROnPlateau') scheduler.step(metric(epoch));
    else scheduler.step();
    rows.push(rowOf(optimizer));
  }
  return rows;
}

test('every rate and momentum of 100 epochs is Python’s, and states resume runs of either side', async () => {
  const half = EPOCHS / 2;
  const ours = cases.map((each) => {
    const made = start(each);
    const rows = [rowOf(made.optimizer), ...advance(each, made, 0, half)];
    const saved = { state: plain(made.scheduler.stateDict()), groups: made.optimizer.stateDict().param_groups };
    return { rows: [...rows, ...advance(each, made, half, EPOCHS)], saved };
  });
  const asked = cases.map((each, n) => ({ ...each, saved: ours[n]!.saved }));
  const { scheduled } = await oracle({ schedule: asked });
  for (const [n, { name, options, of, optimizer }] of cases.entries()) {
    const theirs = scheduled[n];
    const each = { name, options };
    expect({ ...each, rows: ours[n]!.rows }).toEqual({ ...each, rows: theirs.rows });
    expect({ ...each, resumed: theirs.resumed }).toEqual({ ...each, resumed: theirs.rows.slice(half + 1) });
    // Python's state may have references to functions too, which oracle.py leaves out; 2.x has a few more values.
    const mine = ours[n]!.saved.state as Record<string, unknown>;
    const both = Object.entries(theirs.state).filter(([key]) => key in mine || !isNew);
    expect({ ...each, state: mine }).toMatchObject({ ...each, state: Object.fromEntries(both) });
    const whole = { ...each, ...(of === undefined ? {} : { of }), ...(optimizer === undefined ? {} : { optimizer }) };
    const made = start(whole);
    made.optimizer.loadStateDict({ state: {}, param_groups: theirs.groups });
    made.scheduler.loadStateDict({ ...(ours[n]!.saved.state as object), ...theirs.state });
    expect({ ...each, resumed: advance(whole, made, half, EPOCHS) }).toEqual({
      ...each,
      resumed: theirs.rows.slice(half + 1),
    });
  }
});

const sgd = () => new torch.optim.SGD([torch.zeros([2], { requiresGrad: true })], { lr: 0.1 });

test('a state of other types is refused, and changes nothing', () => {
  const { lrScheduler } = torch.optim;
  const step = new lrScheduler.StepLR(sgd(), 2);
  const plateau = new lrScheduler.ReduceLROnPlateau(sgd());
  const steps = new lrScheduler.MultiStepLR(sgd(), [2, 4]);
  const optimizer = sgd();
  const parts = [new lrScheduler.ConstantLR(optimizer), new lrScheduler.ExponentialLR(optimizer, 0.9)];
  const sequence = new lrScheduler.SequentialLR(optimizer, parts, [2]);
  for (const [scheduler, wrong] of [
    [step, { last_epoch: 'x' }],
    [step, { gamma: 0.5, step_size: null }],
    [step, { base_lrs: 0.1 }],
    [plateau, { best: null }], // JSON has no Infinity
    [plateau, { mode: 1 }],
    [steps, { gamma: 0.5, milestones: null }],
    [steps, { gamma: 0.5, milestones: [2, 4] }],
    [steps, { gamma: 0.5, milestones: { two: 1 } }],
    [steps, { gamma: 0.5, milestones: new Map([[2, '1']]) }],
    [sequence, { last_epoch: 3, _milestones: [1, 1] }],
    [sequence, { last_epoch: 3, _milestones: ['2'] }],
  ] as const) {
    const before = scheduler.stateDict();
    const message = codeOf(() => scheduler.loadStateDict({ ...before, ...wrong } as never));
    expect([message, scheduler.stateDict()]).toEqual(['ERR_TORCH_ARGUMENT', before]);
  }
});

test('a state goes through JSON', () => {
  const { lrScheduler } = torch.optim;
  const first = new lrScheduler.MultiStepLR(sgd(), [2, 4, 4]);
  const second = new lrScheduler.MultiStepLR(sgd(), []);
  second.loadStateDict(JSON.parse(JSON.stringify(first.stateDict())));
  expect(second.stateDict()).toEqual(first.stateDict());
});

test('the result of scaleFn is a number', () => {
  const optimizer = new torch.optim.SGD([torch.zeros([2], { requiresGrad: true })], { lr: 0.1, momentum: 0.9 });
  const scaleFn = (() => undefined) as never;
  const make = () => new torch.optim.lrScheduler.CyclicLR(optimizer, 0.1, 0.2, { scaleFn });
  expect([codeOf(make), optimizer.paramGroups[0]!.lr]).toEqual(['ERR_TORCH_ARGUMENT', 0.1]);
});

test('ReduceLROnPlateau shows the best metric and the epochs since', () => {
  const scheduler = new torch.optim.lrScheduler.ReduceLROnPlateau(sgd());
  expect([scheduler.best, scheduler.numBadEpochs]).toEqual([Number.POSITIVE_INFINITY, 0]);
  for (const metric of [3, 2, 4, 5]) scheduler.step(metric);
  expect([scheduler.best, scheduler.numBadEpochs]).toEqual([2, 2]);
});

test('arguments go by position, by name, or both', () => {
  const rates = [
    new torch.optim.lrScheduler.StepLR(sgd(), 2, 0.5),
    new torch.optim.lrScheduler.StepLR(sgd(), { stepSize: 2, gamma: 0.5 }),
    new torch.optim.lrScheduler.StepLR(sgd(), 2, { gamma: 0.5 }),
  ].map((scheduler) => {
    for (let i = 0; i < 4; i++) {
      scheduler.optimizer.step();
      scheduler.step();
    }
    return scheduler.getLastLr();
  });
  expect(rates).toEqual([[0.025], [0.025], [0.025]]);
});

test('what Python refuses is refused with a code', () => {
  const { lrScheduler } = untyped.optim;
  const wrong: [string, ...unknown[]][] = [
    ['StepLR'],
    ['StepLR', 0],
    ['StepLR', { stepSise: 2 }],
    ['StepLR', 2, 0.1, -1, 5],
    ['LambdaLR', [() => 1, () => 1]],
    ['ConstantLR', { factor: 1.5 }],
    ['LinearLR', { startFactor: 2 }],
    ['LinearLR', { endFactor: -1 }],
    ['CosineAnnealingWarmRestarts', 0],
    ['CosineAnnealingWarmRestarts', 5, 0.5],
    ['CyclicLR', 0.1, [0.2, 0.3]],
    ['CyclicLR', 0.1, 0.2, { mode: 'other' }],
    ['OneCycleLR', 0.1],
    ['OneCycleLR', 0.1, -1],
    ['OneCycleLR', 0.1, { totalSteps: 10, pctStart: 2 }],
    ['OneCycleLR', 0.1, { totalSteps: 10, annealStrategy: 'other' }],
    // Python divides by zero.
    ['CosineAnnealingLR', 0],
    ['CyclicLR', 0.1, 0.2, { stepSizeUp: 0 }],
    ['CyclicLR', 0.1, 0.2, { stepSizeUp: 2, stepSizeDown: -2 }],
    ['OneCycleLR', 0.1, { totalSteps: 5, pctStart: 0.2 }],
    ['OneCycleLR', 0.1, { totalSteps: 5, divFactor: 0 }],
    ['OneCycleLR', 0.1, { totalSteps: 5, finalDivFactor: 0 }],
    ['ReduceLROnPlateau', { factor: 1 }],
    ['ReduceLROnPlateau', { mode: 'other' }],
    ['ReduceLROnPlateau', { minLr: [0, 0] }],
    ['SequentialLR', [], []],
    ['StepLR', { stepSize: 2, lastEpoch: 3 }],
  ];
  for (const [name, ...args] of wrong) {
    const code = codeOf(() => new lrScheduler[name](sgd(), ...args));
    expect({ name, args, code }).toEqual({ name, args, code: 'ERR_TORCH_ARGUMENT' });
  }
  expect(codeOf(() => new lrScheduler.StepLR({}, 2))).toBe('ERR_TORCH_ARGUMENT');
  const adagrad = new torch.optim.Adagrad([torch.zeros([2], { requiresGrad: true })]);
  expect(codeOf(() => new lrScheduler.CyclicLR(adagrad, 0.1, 0.2))).toBe('ERR_TORCH_ARGUMENT');
  const short = new lrScheduler.OneCycleLR(sgd(), 0.1, 1);
  short.optimizer.step();
  short.step();
  expect(codeOf(() => short.step())).toBe('ERR_TORCH_RUNTIME');
  const rising = new lrScheduler.OneCycleLR(sgd(), 0.1, 3, { pctStart: 1 });
  rising.optimizer.step();
  for (let i = 0; i < 2; i++) rising.step();
  expect(rising.getLastLr()).toEqual([0.1]);
  expect(codeOf(() => rising.step())).toBe('ERR_TORCH_RUNTIME'); // Python divides by zero
});

test('a step before the optimizer’s is a warning with a code, once', () => {
  const spy = jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
  try {
    for (let i = 0; i < 2; i++) new torch.optim.lrScheduler.ExponentialLR(sgd(), 0.9).step();
    expect(spy.mock.calls.map(([warning]) => (warning as Error & { code?: string }).code)).toEqual([
      'TORCH_SCHEDULER_ORDER',
    ]);
  } finally {
    spy.mockRestore();
  }
});
