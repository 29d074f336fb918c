/** torch.nn.utils against PyTorch on the same libtorch, to the bit. */
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { python3 } from '../support/python3';
import { ROOT, settled, thrown, torch, untyped } from '../support/torch';
import { bytesOf } from './recorded';
import { cases } from './utils-cases';

let recorded: { version: string; cases: Record<string, Record<string, unknown>> };
let tensors: any[];
let threads: number;

beforeAll(async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'nn-utils-'));
  try {
    const args = [path.join(ROOT, 'test/nn/utils.py'), folder];
    const { code, stderr } = await python3(args);
    if (code !== 0) throw new Error(`utils.py: ${stderr}`);
    recorded = JSON.parse(fs.readFileSync(path.join(folder, 'cases.json'), 'utf8'));
    tensors = (await untyped.load(path.join(folder, 'tensors.pt'))) as any[];
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
  threads = torch.getNumThreads();
  torch.setNumThreads(1);
});
afterAll(() => {
  torch.setNumThreads(threads);
  untyped.disposeAll(tensors);
});

/** Tensors as dtype, shape and bytes, in what a case gives here or gave in Python. */
function plain(value: any): unknown {
  if (value instanceof untyped.Tensor) {
    return `${value.dtype}[${value.shape}] ${bytesOf(value).toString('hex')}`;
  }
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  if ('tensor' in value) return plain(tensors[value.tensor]);
  const [keys, values] = 'keys' in value ? [value.keys, value.values] : [Object.keys(value), Object.values(value)];
  return { keys, values: values.map(plain) };
}

test.each(Object.keys(cases))('%s: as in Python', (name) => {
  torch.scope(() => {
    torch.manualSeed(7);
    const got = cases[name]!();
    const expected = recorded.cases[name] ?? {};
    expect(Object.keys(got)).toEqual(Object.keys(expected));
    for (const [key, value] of Object.entries(got)) expect([key, plain(value)]).toEqual([key, plain(expected[key])]);
  });
});

test('each case of Python has one here', () => {
  expect(Object.keys(cases)).toEqual(Object.keys(recorded.cases));
});

test('a recurrent layer leaves nothing but its results', () => {
  torch.scope(() => {
    const layer = new torch.nn.LSTM(2, 3);
    const packed = torch.nn.utils.rnn.packSequence([torch.ones([2, 2]), torch.ones([3, 2])], false);
    const before = settled().tensors;
    const [output, [hidden, cell]] = layer.forward(packed);
    expect(torch.memory().tensors - before).toBe(3);
    expect([output.data.shape, hidden.shape, cell.shape]).toEqual([
      [5, 3],
      [1, 2, 3],
      [1, 2, 3],
    ]);
    layer.dispose();
  });
});

test('wrong sequences are refused', () => {
  torch.scope(() => {
    const { rnn } = untyped.nn.utils;
    const ones = torch.ones([3, 2]);
    const packed = rnn.packPaddedSequence(ones, [3, 1]);
    const errors = [
      () => rnn.packPaddedSequence(ones, [1, 3]),
      () => rnn.packPaddedSequence(ones, 'three'),
      () => rnn.padPackedSequence(ones),
      () => rnn.padPackedSequence(packed, { totalLength: 2 }),
      () => rnn.padPackedSequence(new rnn.PackedSequence(ones, torch.tensor([], { dtype: 'int64' }))),
      () => rnn.padSequence([]),
      () => rnn.packSequence([ones, 3]),
      () => rnn.unpadSequence(ones, [1], false, 2),
      () => new torch.nn.GRU(2, 3).forward(packed),
      () => new torch.nn.GRU(3, 3).forward(rnn.packSequence([torch.ones([2, 2])])),
    ].map((fn) => thrown(fn).message.split('\n')[0]);
    expect(errors).toEqual([
      expect.stringContaining('pass `{ enforceSorted: false }` to packPaddedSequence and/or packSequence'),
      "nn.utils.rnn.packPaddedSequence: argument 'lengths': expected a Tensor or a list of integers, got 'three'",
      expect.stringContaining("argument 'sequence': expected a PackedSequence, got "),
      "nn.utils.rnn.padPackedSequence: argument 'totalLength': expected at least the length of the longest sequence, 3, got 2",
      expect.stringContaining("argument 'batchSizes': expected one or more sizes in one dimension, got "),
      "nn.utils.rnn.padSequence: argument 'sequences': expected a Tensor or a list of Tensors, got an empty array",
      expect.stringContaining("argument 'sequences': expected a Tensor or a list of Tensors, got "),
      'nn.utils.rnn.unpadSequence: takes at most 3 arguments, got 4',
      expect.stringContaining("argument 'input': expected a PackedSequence of 2 dimensions, got "),
      expect.stringContaining("argument 'input': expected 3 as its last size, got "),
    ]);
  });
});

const { utils } = untyped.nn;
const modules: Record<string, () => any> = {
  weightNorm: () => utils.weightNorm(new torch.nn.Linear(3, 4)),
  spectralNorm: () => utils.spectralNorm(new torch.nn.Linear(3, 4)),
  pruned: () =>
    utils.prune.l1Unstructured(utils.prune.randomUnstructured(new torch.nn.Linear(3, 4), 'weight', 2), 'weight', 2),
  orthogonal: () => utils.parametrizations.orthogonal(new torch.nn.Linear(3, 4)),
  spectral: () => utils.parametrizations.spectralNorm(new torch.nn.Linear(3, 4)),
  weights: () => utils.parametrizations.weightNorm(new torch.nn.Linear(3, 4)),
};

test.each(Object.keys(modules))('%s: forward leaves its result, copies work, dispose frees all', (name) => {
  torch.scope(() => {
    const x = torch.randn([2, 3]);
    const module = modules[name]!();
    module.eval().forward(x);
    const before = settled().tensors;
    const result = module.forward(x);
    expect(torch.memory().tensors - before).toBe(1);
    const copy = module.deepCopy();
    expect(copy.forward(x).equal(result)).toBe(true);
    expect(Object.keys(copy.stateDict())).toEqual(Object.keys(module.stateDict()));
    torch.noGrad(() => {
      for (const parameter of copy.parameters()) parameter.mul_(3);
    });
    copy.train().forward(x);
    expect(copy.forward(x).equal(result)).toBe(false);
    expect(module.forward(x).equal(result)).toBe(true);
    copy.loadStateDict(module.stateDict());
    expect(copy.eval().forward(x).equal(result)).toBe(true);
    for (const one of [copy, module]) {
      const computed = [...one._state.computed.values()].map(({ tensor }: any) => tensor);
      const all = [...one.parameters(), ...one.buffers(), ...computed];
      one.dispose();
      expect(all.filter((tensor) => !tensor.disposed)).toEqual([]);
    }
  });
});

test('a parametrized weight norm loads the state of a hook', () => {
  torch.scope(() => {
    const [old, next] = [modules.weightNorm!(), modules.weights!()];
    expect(next.loadStateDict(old.stateDict())).toEqual({ missingKeys: [], unexpectedKeys: [] });
    expect(next.weight.equal(old.weight)).toBe(true);
    expect(next.parametrizations.weight.original0.equal(old.weightG)).toBe(true);
    expect(utils.parametrize.typeBeforeParametrizations(next)).toBe(torch.nn.Linear);
    const other = utils.parametrize.transferParametrizationsAndParams(next, new torch.nn.Linear(3, 4));
    expect(other.weight.equal(old.weight)).toBe(true);
  });
});

test('skipInit draws no numbers', () => {
  torch.scope(() => {
    torch.manualSeed(3);
    const expected = torch.rand([2]);
    torch.manualSeed(3);
    const layer = utils.skipInit(torch.nn.Linear, 5, 1);
    expect([layer.weight.shape, layer.bias.shape]).toEqual([[1, 5], [1]]);
    expect(torch.rand([2]).equal(expected)).toBe(true);
    torch.nn.init.ones_(layer.weight);
    expect(layer.weight.sum().item()).toBe(5);
  });
});

test('a parametrized tensor may have the name of a member of ModuleDict', () => {
  const { parametrize } = torch.nn.utils;
  class Plus extends torch.nn.Module {
    override forward(x: any): any {
      return x.add(1);
    }
  }
  for (const name of ['get', 'length', 'set', 'values', 'plain']) {
    const module: any = new torch.nn.Module();
    Object.defineProperty(module, name, {
      value: new torch.nn.Parameter(torch.ones([2])),
      ...{ writable: true, enumerable: true, configurable: true },
    });
    for (let i = 0; i < 2; i++) parametrize.registerParametrization(module, name, new Plus());
    const { parametrizations } = module;
    expect(module[name].toArray()).toEqual([3, 3]);
    expect([parametrizations.length, parametrizations.get(name).length]).toEqual([1, 2]);
    expect(Object.keys(module.stateDict())).toEqual([`parametrizations.${name}.original`]);
    parametrize.removeParametrizations(module, name);
    parametrize.registerParametrization(module, name, new Plus());
    expect(module[name].toArray()).toEqual([4, 4]);
    module.dispose();
  }
});

test('wrong names, amounts and parametrizations are refused, and change nothing', () => {
  torch.scope(() => {
    const { parametrize, parametrizations, prune } = utils;
    const linear = new torch.nn.Linear(3, 4);
    const before = linear.weight.clone();
    class Half extends torch.nn.Module {
      override forward(x: any) {
        return x.slice(0, 0, 2);
      }
      rightInverse(x: any) {
        return x.mul(2);
      }
    }
    const refused = [
      () => utils.weightNorm(linear, 'weights'),
      () => utils.removeWeightNorm(linear),
      () => utils.weightNorm(modules.pruned!()),
      () => utils.spectralNorm(linear, { nPowerIterations: 0 }),
      () => utils.spectralNorm(new torch.nn.LazyLinear(3)),
      () => utils.removeSpectralNorm(modules.weightNorm!()),
      () => parametrizations.orthogonal(linear, 'bias'),
      () => parametrizations.orthogonal(linear, 'weight', 'qr'),
      () => parametrizations.spectralNorm(linear, { dim: 2 }),
      () => parametrize.registerParametrization(linear, 'weight', new Half()),
      () => parametrize.registerParametrization(linear, 'inFeatures', new Half()),
      () => parametrize.removeParametrizations(linear, 'weight'),
      () => parametrize.removeParametrizations(modules.weights!(), 'weight', false),
      () => parametrize.cached(async () => {}),
      () => prune.l1Unstructured(linear, 'weight', 1.5),
      () => prune.l1Unstructured(linear, 'weight', 13),
      () => prune.lnStructured(linear, 'bias', 1, 2, 0),
      () => prune.customFromMask(linear, 'weight', torch.ones([3])),
      () => prune.remove(linear, 'weight'),
      () => prune.globalUnstructured([[linear, 'weight']], prune.LnStructured, { amount: 1 }),
      () => utils.fuseConvBnEval(linear, new torch.nn.BatchNorm1d(4)),
      () => utils.skipInit(Map),
    ];
    expect(refused.map((fn) => thrown(fn).code)).toEqual(refused.map(() => 'ERR_TORCH_ARGUMENT'));
    expect(linear.weight.equal(before)).toBe(true);
    expect(Object.keys(linear.stateDict())).toEqual(['weight', 'bias']);
    linear.dispose();
  });
});

test('options of clipGradNorm_ are checked', () => {
  const weight = torch.ones([2], { requiresGrad: true });
  const messages = [{ norm_type: 1 }, { normtype: 1 }, null, { errorIfNonfinite: 1 }].map((options) => {
    const { code, message } = thrown(() => utils.clipGradNorm_(weight, 1, options));
    return `${code} ${message}`;
  });
  const unknown = "argument 'options': expected one of the options maxNorm, normType, errorIfNonfinite, got ";
  expect(messages).toEqual(
    [
      `${unknown}'norm_type'; did you mean 'normType'?`,
      `${unknown}'normtype'; did you mean 'normType'?`,
      "argument 'normType': expected a number, got null",
      "argument 'errorIfNonfinite': expected a boolean, got 1",
    ].map((text) => `ERR_TORCH_ARGUMENT nn.utils.clipGradNorm_: ${text}`),
  );
});

test('averages: of several parameters at once, of an asynchronous loader, with wrong arguments', async () => {
  const { AveragedModel, getEmaMultiAvgFn, getSwaMultiAvgFn, updateBn } = untyped.optim.swaUtils;
  const net = new torch.nn.Sequential(new torch.nn.Linear(2, 2), new torch.nn.BatchNorm1d(2));
  const setAll = (value: number) =>
    torch.noGrad(() => {
      for (const parameter of net.parameters()) parameter.fill_(value);
    });
  const all = (model: any): number[] =>
    torch.scope(() => [
      ...new Set<number>(model.parameters().flatMap((one: any) => [...one.flatten().toTypedArray()])),
    ]);
  const [mean, ema] = [
    new AveragedModel(net, { multiAvgFn: getSwaMultiAvgFn() }),
    new AveragedModel(net, { multiAvgFn: getEmaMultiAvgFn(0.75) }),
  ];
  const before = settled().tensors;
  for (const value of [1, 3, 8]) {
    setAll(value);
    mean.updateParameters(net);
    ema.updateParameters(net);
  }
  expect(torch.memory().tensors).toBe(before);
  expect([all(mean), all(ema), Number(mean.nAveraged.item())]).toEqual([[4], [3.125], 3]);
  async function* loader() {
    for (const value of [1, 3]) yield torch.full([4, 2], value);
  }
  const running = updateBn(loader(), net);
  expect([net.training, net.at(1)]).toEqual([true, expect.objectContaining({ momentum: null })]);
  await running;
  expect(net.at(1)).toMatchObject({ momentum: 0.1 });
  expect([...(net.at(1) as any).runningMean.toTypedArray()]).toEqual([40, 40]);
  const refused = [
    () => new AveragedModel(3),
    () => new AveragedModel(net, { avgFn: () => 0, multiAvgFn: () => 0 }),
    () => mean.updateParameters(new torch.nn.Linear(2, 2)),
    () => updateBn(3, net),
    () => updateBn([3], net),
    () => getEmaMultiAvgFn(2),
  ];
  expect(refused.map((fn) => thrown(fn).code)).toEqual(refused.map(() => 'ERR_TORCH_ARGUMENT'));
  expect(net.at(1)).toMatchObject({ momentum: 0.1 });
  for (const one of [mean, ema, net]) one.dispose();
});

test('nn.Buffer: a buffer of the module whose property it is', () => {
  torch.scope(() => {
    const { Buffer } = torch.nn;
    class Net extends torch.nn.Module {
      mean = new Buffer(torch.ones([2]));
      hidden = new Buffer(torch.zeros([3]), { persistent: false });
    }
    const net = torch.scope(() => new Net());
    expect(net.namedBuffers().map(([name]) => name)).toEqual(['mean', 'hidden']);
    expect(Object.keys(net.stateDict())).toEqual(['mean']);
    const copy = net.deepCopy().double();
    expect([copy.mean.dtype, net.mean.dtype, copy.mean.persistent]).toEqual(['float64', 'float32', true]);
    copy.loadStateDict({ mean: torch.full([2], 5) });
    expect(copy.mean.toArray()).toEqual([5, 5]);
    net.dispose();
    expect([net.mean.disposed, net.hidden.disposed, copy.mean.disposed]).toEqual([true, true, false]);
    expect(thrown(() => new Buffer(3 as never)).code).toBe('ERR_TORCH_ARGUMENT');
  });
});

test('Transformer layers without bias have no biases', () => {
  torch.scope(() => {
    const net = new torch.nn.Transformer(4, 2, 1, 1, 8, { bias: false, dropout: 0, batchFirst: true });
    expect(Object.keys(net.stateDict()).filter((key) => key.includes('bias'))).toEqual([]);
    const full = new torch.nn.Transformer(4, 2, 1, 1, 8, { dropout: 0, batchFirst: true });
    full.loadStateDict(net.stateDict(), { strict: false });
    torch.noGrad(() => {
      for (const [name, parameter] of full.namedParameters()) if (name.endsWith('bias')) parameter.zero_();
    });
    const x = torch.randn([2, 3, 4]);
    expect(torch.allclose(net.forward(x, x), full.forward(x, x), { atol: 1e-5 })).toBe(true);
    for (const one of [net, full]) one.dispose();
  });
});
