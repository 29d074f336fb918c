/** What utils.py does in Python to weights, done here: norms, parametrizations, pruning, fusion. */
import { untyped } from '../support/torch';

const torch = untyped;
const { nn } = torch;
const { parametrizations, parametrize, prune } = nn.utils;

const state = (module: any) => [String(module), module.stateDict()];
const first = (result: any) => (Array.isArray(result) ? result[0] : result);

function trained(module: any, data: any, steps = 3) {
  const optimizer = new torch.optim.SGD(module.parameters(), { lr: 0.05 });
  const found: unknown[] = [copied(state(module))];
  for (let step = 0; step < steps; step++) {
    optimizer.zeroGrad();
    const result = first(module.forward(data));
    result.mul(result).sum().backward();
    optimizer.step();
    found.push(
      result,
      module.parameters().map((parameter: any) => parameter.grad.clone()),
    );
  }
  module.eval();
  return [...found, first(module.forward(data)), copied(state(module))];
}

/** Later steps change the values of a state dict. */
const copied = ([text, dict]: any) => [
  text,
  Object.fromEntries(Object.entries(dict).map(([key, tensor]: any) => [key, tensor.clone()])),
];
export const now = (module: any) => copied(state(module));

const image = (channels = 2) => torch.randn([2, channels, 5, 5]);

type Row = [name: string, module: any, data: any, given: Record<string, unknown>];

/** Makes modules in Python's order: each before its data. */
function each(rows: Row[], act: (module: any, given: any) => void, undo: (module: any, name: string) => void) {
  const found: Record<string, unknown> = {};
  for (const [name, module, data, given] of rows) {
    act(module, given);
    found[name] = trained(module, data);
    undo(module, (given.name as string) ?? 'weight');
    found[`${name} removed`] = now(module);
  }
  return found;
}

const weightNorm = () =>
  each(
    [
      ['linear', new nn.Linear(3, 4), torch.randn([5, 3]), {}],
      ['conv', new nn.Conv2d(2, 3, 3), image(), { dim: null }],
      ['lstm', new nn.LSTM(3, 4), torch.randn([5, 2, 3]), { name: 'weightHhL0', dim: 1 }],
    ],
    (module, given) => nn.utils.weightNorm(module, given),
    (module, name) => nn.utils.removeWeightNorm(module, name),
  );

const spectralNorm = () =>
  each(
    [
      ['linear', new nn.Linear(3, 4), torch.randn([5, 3]), { nPowerIterations: 2 }],
      ['conv', new nn.ConvTranspose2d(2, 3, 3), image(), { eps: 1e-6 }],
    ],
    (module, given) => nn.utils.spectralNorm(module, given),
    (module) => nn.utils.removeSpectralNorm(module),
  );

function orthogonal() {
  const found: Record<string, unknown> = {};
  for (const [sizes, kind, trivialized] of [
    [[4, 4], null, true],
    [[5, 3], null, true],
    [[3, 5], 'matrix_exp', true],
    [[3, 5], 'cayley', true],
    [[4, 4], 'cayley', false],
    [[3, 5], 'householder', false],
  ] as [[number, number], string | null, boolean][]) {
    const name = `(${sizes[0]}, ${sizes[1]}) ${kind ?? 'None'} ${trivialized ? 'True' : 'False'}`;
    const module = new nn.Linear(...sizes);
    const data = torch.randn([2, sizes[0]]);
    parametrizations.orthogonal(module, 'weight', kind, { useTrivialization: trivialized });
    found[name] = trained(module, data);
    if (trivialized) module.weight = torch.randn([sizes[1], sizes[0]]);
    found[`${name} set`] = [module.weight, now(module)];
    parametrize.removeParametrizations(module, 'weight');
    found[`${name} removed`] = now(module);
  }
  return found;
}

const spectralParametrization = () =>
  each(
    [
      ['linear', new nn.Linear(3, 4), torch.randn([5, 3]), { nPowerIterations: 2 }],
      ['conv', new nn.ConvTranspose2d(2, 3, 3), image(), {}],
      ['vector', new nn.Linear(3, 4), torch.randn([5, 3]), { name: 'bias' }],
    ],
    (module, given) => parametrizations.spectralNorm(module, given),
    (module, name) => parametrize.removeParametrizations(module, name),
  );

function weightParametrization() {
  const module = new nn.Conv2d(2, 3, 3);
  parametrizations.weightNorm(module, { dim: 1 });
  const found = trained(module, image());
  parametrize.removeParametrizations(module, 'weight');
  return { trained: found, removed: now(module) };
}

class Symmetric extends nn.Module {
  forward(x: any) {
    return x.triu().add(x.triu(1).transpose(-2, -1));
  }

  rightInverse(x: any) {
    return x.triu();
  }
}

class Outer extends nn.Module {
  forward(x: any, y: any) {
    return x.unsqueeze(-1).matmul(y.unsqueeze(-2));
  }

  rightInverse(z: any) {
    return [z.select(1, 0).clone(), z.select(0, 0).clone()];
  }
}

class Doubled extends nn.Module {
  calls = 0;

  forward(x: any) {
    this.calls++;
    return x.mul(2);
  }
}

function ownParametrizations() {
  const module = new nn.Linear(4, 4);
  const doubled = new Doubled();
  parametrize.registerParametrization(module, 'weight', new Symmetric());
  parametrize.registerParametrization(module, 'weight', doubled);
  parametrize.registerParametrization(module, 'bias', new Doubled());
  const found = trained(module, torch.randn([2, 4]));
  const before = doubled.calls;
  const same = parametrize.cached(() => new Set([module.weight, module.weight]).size === 1);
  const calls = doubled.calls - before;
  parametrize.removeParametrizations(module, 'bias', { leaveParametrized: false });
  const plain = now(module);
  parametrize.removeParametrizations(module, 'weight');
  const several = parametrize.registerParametrization(new nn.Linear(3, 4), 'weight', new Outer());
  return {
    trained: found,
    cached: [same, calls],
    plain,
    removed: now(module),
    several: trained(several, torch.randn([2, 3])),
    'several removed': now(parametrize.removeParametrizations(several, 'weight')),
  };
}

function pruning() {
  const found: Record<string, unknown> = {};
  const linear = () => new nn.Linear(6, 5);
  const conv = () => new nn.Conv2d(2, 4, 3);
  for (const [name, make, act] of [
    ['identity', linear, (m) => prune.identity(m, 'weight')],
    ['random', linear, (m) => prune.randomUnstructured(m, 'weight', 0.25)],
    ['l1', linear, (m) => prune.l1Unstructured(m, 'weight', { amount: 7 })],
    ['scores', linear, (m) => prune.l1Unstructured(m, 'bias', 0.5, torch.tensor([5, 1, 4, 2, 3]))],
    ['channels', conv, (m) => prune.randomStructured(m, 'weight', 0.5, 0)],
    ['ln', conv, (m) => prune.lnStructured(m, 'weight', 1, 2, 0)],
    ['infinite', linear, (m) => prune.lnStructured(m, 'weight', 0.4, Number.POSITIVE_INFINITY, { dim: -1 })],
    ['mask', linear, (m) => prune.customFromMask(m, 'bias', torch.tensor([1, 0, 1, 0, 1], { dtype: 'int64' }))],
  ] as [string, () => any, (module: any) => void][]) {
    const module = make();
    act(module);
    const data = module instanceof nn.Conv2d ? image() : torch.randn([2, 6]);
    found[name] = trained(module, data, 1);
    prune.lnStructured(module, 'weight', 1, 1, { dim: 1 });
    prune.randomUnstructured(module, 'weight', 2);
    prune.l1Unstructured(module, 'weight', 0.1);
    found[`${name} again`] = [...trained(module.train(), data, 1), prune.isPruned(module)];
    prune.remove(module, 'weight');
    found[`${name} removed`] = [now(module), prune.isPruned(module)];
  }
  const net = new nn.Sequential(new nn.Linear(3, 4), new nn.Linear(4, 5));
  const places = [
    [net.at(0), 'weight'],
    [net.at(1), 'weight'],
    [net.at(1), 'bias'],
  ];
  prune.globalUnstructured(places, prune.L1Unstructured, { amount: 0.4 });
  prune.globalUnstructured(places, prune.RandomUnstructured, { amount: 5 });
  found.global = now(net);
  return found;
}

function fusion() {
  const found: Record<string, unknown> = {};
  for (const [name, layer, norm, data, given] of [
    ['conv', new nn.Conv2d(2, 3, 3), new nn.BatchNorm2d(3), image(), []],
    [
      'transposed',
      new nn.ConvTranspose2d(2, 3, 3, { bias: false }),
      new nn.BatchNorm2d(3, { affine: false }),
      image(),
      [true],
    ],
    ['linear', new nn.Linear(3, 4), new nn.BatchNorm1d(4), torch.randn([5, 3]), []],
  ]) {
    new nn.Sequential(layer, norm).train().forward(data);
    const fuse = name === 'linear' ? nn.utils.fuseLinearBnEval : nn.utils.fuseConvBnEval;
    const fused = fuse(layer.eval(), norm.eval(), ...given);
    found[name] = [state(fused), fused.forward(data), fused.parameters().map((one: any) => one.requiresGrad)];
  }
  return found;
}

export const weights = {
  weight_norm: weightNorm,
  spectral_norm: spectralNorm,
  orthogonal,
  spectral_parametrization: spectralParametrization,
  weight_parametrization: weightParametrization,
  own_parametrizations: ownParametrizations,
  pruning,
  fusion,
};
