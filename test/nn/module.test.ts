/** torch.nn.Module: what it finds, owns and prints, its hooks, state dicts and errors. */
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { run } from '../support/child';
import { python } from '../support/python';
import { balanced, counts, LIB, thrown, torch, untyped } from '../support/torch';

const { nn } = torch;
type Tensor = import('../../types').Tensor;
type Linear = import('../../types').nn.Linear;

class Block extends nn.Module {
  linear1: Linear = new nn.Linear(4, 8);
  linear2 = new nn.Linear(8, 4);
  override forward(x: Tensor): Tensor {
    return this.linear2.forward(torch.relu(this.linear1.forward(x)));
  }
}

class Net extends nn.Module {
  scale = new nn.Parameter(torch.ones([4]));
  encoder = new nn.Sequential(new Block(), new Block());
  head = new nn.Linear(4, 2, { bias: false });
  declare steps: Tensor;
  constructor() {
    super();
    this.registerBuffer('steps', torch.zeros([1]));
    this.registerBuffer('hidden', torch.zeros([1]), { persistent: false });
  }
  override forward(x: Tensor): Tensor {
    return torch.scope(() => this.head.forward(this.encoder.forward(x.mul(this.scale))));
  }
}

const keys = [
  'scale',
  'steps',
  ...[0, 1].flatMap((i) => [1, 2].flatMap((n) => [`encoder.${i}.linear${n}.weight`, `encoder.${i}.linear${n}.bias`])),
  'head.weight',
];

const using = <T>(net: { dispose(): void }, fn: () => T): T => {
  try {
    return fn();
  } finally {
    net.dispose();
  }
};

test('parameters, buffers and submodules are found as properties in their order', () => {
  const net = new Net();
  expect(Object.keys(net.stateDict())).toEqual(keys);
  expect(net.namedParameters().map(([name]) => name)).toEqual(keys.filter((key) => key !== 'steps'));
  expect(net.namedBuffers().map(([name]) => name)).toEqual(['steps', 'hidden']);
  expect(net.namedModules().map(([name]) => name)).toEqual([
    '',
    'encoder',
    ...[0, 1].flatMap((i) => [`encoder.${i}`, `encoder.${i}.linear1`, `encoder.${i}.linear2`]),
    'head',
  ]);
  expect([...net.parameters()].every((parameter) => parameter instanceof nn.Parameter && parameter.requiresGrad)).toBe(
    true,
  );
  expect(net.getSubmodule('encoder.1')).toBe(net.encoder.at(1));
  expect(thrown(() => net.getParameter('nope')).code).toBe('ERR_TORCH_ARGUMENT');
  net.eval();
  expect(net.modules().some((module) => module.training)).toBe(false);
  net.train().requiresGrad_(false);
  expect(net.parameters().some((parameter) => parameter.requiresGrad)).toBe(false);
  net.dispose();
});

test('a module owns its tensors in every scope, and dispose frees them', () => {
  balanced(() => {
    const before = counts().tensors;
    const net = torch.scope(() => {
      const made = new Net();
      const first = made.steps;
      made.steps = torch.ones([1]);
      first.dispose();
      return made;
    });
    expect(counts().tensors - before).toBe(12);
    expect(net.steps.item()).toBe(1);
    torch.scope(() => {
      const x = torch.ones([3, 4]);
      const now = counts().tensors;
      const y = net.forward(x);
      expect(counts().tensors - now).toBe(1);
      y.sum().backward();
    });
    expect(counts().tensors - before).toBe(12);
    net.zeroGrad();
    net.dispose();
    net[Symbol.dispose]();
    expect(counts().tensors).toBe(before);
    torch.scope(() => expect(thrown(() => net.forward(torch.ones([3, 4]))).code).toBe('ERR_TORCH_DISPOSED'));
  });
});

test('a module that is lost is collected', async () => {
  const script = `
    const torch = require(${JSON.stringify(path.join(LIB, 'index.js'))});
    const make = () => { new torch.nn.Transformer({ dModel: 8, nhead: 2, dimFeedforward: 8 }); new torch.nn.LSTM(4, 4); };
    const wait = () => new Promise((resolve) => setImmediate(resolve));
    (async () => {
      torch.scope(make);
      for (let i = 0; torch.memory().tensors > 0 && i < 1000; i++) { global.gc(); await wait(); }
      console.log(torch.memory().tensors);
    })();`;
  const { stdout, stderr } = await run(process.execPath, ['--expose-gc', '-e', script]);
  expect([stdout.trim(), stderr]).toEqual(['0', '']);
});

test('state dicts share memory, load, and list everything that does not fit', () => {
  const net = new Net();
  using(net, () =>
    torch.scope(() => {
      const dict = net.stateDict();
      torch.noGrad(() => net.head.weight.fill_(3));
      expect(dict['head.weight']!.max().item()).toBe(3);
      const other = new Net();
      expect(other.loadStateDict(dict)).toEqual({ missingKeys: [], unexpectedKeys: [] });
      expect(torch.equal(other.head.weight, net.head.weight)).toBe(true);
      const { scale, 'head.weight': _, ...wrong } = dict;
      Object.assign(wrong, { more: scale, steps: torch.ones([2]) });
      const before = torch.clone(other.encoder.at(0)!.getParameter('linear1.weight'));
      wrong['encoder.0.linear1.weight'] = torch.zeros([8, 4]);
      const error = thrown(() => other.loadStateDict(wrong));
      expect(error).toMatchObject({
        code: 'ERR_TORCH_ARGUMENT',
        missingKeys: ['scale', 'head.weight'],
        unexpectedKeys: ['more'],
      });
      expect(error.message).toContain('steps: expected shape [1], got [2]');
      expect(torch.equal(before, other.encoder.at(0)!.getParameter('linear1.weight'))).toBe(true);
      delete wrong.steps;
      expect(other.loadStateDict(wrong, { strict: false })).toEqual({
        missingKeys: ['scale', 'steps', 'head.weight'],
        unexpectedKeys: ['more'],
      });
      other.dispose();
    }),
  );
});

test('hooks change inputs, outputs and gradients, until they are removed', () => {
  const layer = new nn.Linear(2, 2);
  using(layer, () =>
    torch.scope(() => {
      const seen: string[] = [];
      const x = torch.ones([1, 2]).requiresGrad_();
      const plain = layer.forward(x);
      const handles = [
        layer.registerForwardPreHook((module, [input]) => {
          seen.push(module === layer ? 'before' : 'other');
          return (input as Tensor).mul(2);
        }),
        layer.registerForwardHook((_, inputs, output) => {
          seen.push(`after ${inputs.length}`);
          return output.neg();
        }),
        layer.registerFullBackwardHook((_, gradInput, gradOutput) => {
          seen.push(`backward ${gradInput.length} ${gradOutput.length}`);
          return gradInput.map((grad) => grad!.mul(0).add(7));
        }),
      ];
      const hooked = layer.forward(x);
      const expected = torch.nn.functional.linear(x.mul(2), layer.weight, layer.bias!).neg();
      expect(torch.equal(hooked, expected)).toBe(true);
      hooked.sum().backward();
      expect(x.grad!.toArray()).toEqual([[14, 14]]);
      expect(seen).toEqual(['before', 'after 1', 'backward 1 1']);
      for (const handle of handles) handle.remove();
      expect(torch.equal(layer.forward(x), plain)).toBe(true);
      expect(seen.length).toBe(3);
      expect(layer._callHooks).toBe(null);
    }),
  );
});

test('names of what is there twice, as in Python', () => {
  class Tied extends nn.Module {
    encoder: Linear = new nn.Linear(2, 2);
    decoder: Linear = this.encoder;
    norm = new nn.BatchNorm1d(2);
    self: unknown = null;
  }
  const net = new Tied();
  net.self = new nn.Sequential(net.norm);
  const removeDuplicate = false;
  const names = (list: [string, unknown][]) => list.map(([name]) => name);
  const linear = (name: string) => [`${name}.weight`, `${name}.bias`];
  const statistics = (name: string) =>
    ['running_mean', 'running_var', 'num_batches_tracked'].map((k) => `${name}.${k}`);
  expect(names(net.namedModules({ removeDuplicate }))).toEqual([
    ...['', 'encoder', 'decoder', 'norm', 'self', 'self.0'],
  ]);
  expect(names(net.namedParameters({ removeDuplicate }))).toEqual(
    ['encoder', 'decoder', 'norm', 'self.0'].flatMap(linear),
  );
  expect(names(net.namedBuffers({ removeDuplicate }))).toEqual(['norm', 'self.0'].flatMap(statistics));
  expect(names(net.namedModules())).toEqual(['', 'encoder', 'norm', 'self']);
  expect(net.getParameter('decoder.weight')).toBe(net.encoder.weight);
  expect(net.getSubmodule('self.0')).toBe(net.norm);
  net.self = net; // a circle ends where it begins
  expect(names(net.namedModules({ removeDuplicate }))).toEqual(['', 'encoder', 'decoder', 'norm']);
  for (const wrong of [
    () => untyped.nn.Module.prototype.parameters.call(net, { prefix: 'a' }),
    () => untyped.nn.Module.prototype.namedModules.call(net, { recurse: false }),
  ])
    expect(thrown(wrong).code).toBe('ERR_TORCH_ARGUMENT');
  net.dispose();
});

test('hooks: prepend, unknown options, async ones', () => {
  const layer = new nn.Linear(1, 1);
  const order: number[] = [];
  const note = (n: number) => () => void order.push(n);
  layer.registerForwardHook(note(2));
  layer.registerForwardHook(note(1), { prepend: true });
  const last = layer.registerForwardHook(note(3));
  const input = torch.ones([1, 1]);
  layer.forward(input);
  last.remove();
  layer.forward(input);
  expect(order).toEqual([1, 2, 3, 1, 2]);
  const options: any = { first: true };
  expect(thrown(() => layer.registerForwardPreHook(() => {}, options)).message).toBe(
    "registerForwardPreHook: argument 'options': expected the option prepend, got 'first'",
  );
  for (const kind of ['registerForwardPreHook', 'registerForwardHook'] as const) {
    const handle = layer[kind](async () => {});
    expect(thrown(() => layer.forward(input)).code).toBe('ERR_TORCH_ASYNC_MODE');
    handle.remove();
  }
  layer.dispose();
  // Where forward gives a promise, a hook may give another one.
  const waits = new (class extends nn.Module {
    override async forward(x: number): Promise<number> {
      return x;
    }
  })();
  waits.registerForwardHook((_, __, output: Promise<number>) => output.then((x) => x + 1));
  return expect(waits.forward(1)).resolves.toBe(2);
});

test('super.forward does not run hooks again, and a forward of an instance has them', () => {
  class Twice extends nn.ReLU {
    override forward = (x: Tensor): Tensor => super.forward(x);
  }
  class Derived extends nn.Linear {
    override forward(x: Tensor): any {
      return super.forward(super.forward(x));
    }
  }
  for (const module of [new Twice(), new Derived(2, 2)]) {
    let count = 0;
    module.registerForwardHook(() => {
      count++;
    });
    torch.scope(() => module.forward(torch.ones([1, 2])));
    expect(count).toBe(1);
    module.dispose();
  }
});

test('state-dict hooks', () => {
  const layer = new nn.Linear(2, 2, { bias: false });
  const seen: unknown[] = [];
  layer.registerStateDictPreHook((_, prefix) => seen.push(prefix));
  layer.registerStateDictHook((_, dict) => ({ renamed: dict.weight! }));
  layer.registerLoadStateDictPreHook((dict) => {
    dict.weight = dict.renamed!;
    delete dict.renamed;
  });
  layer.registerLoadStateDictPostHook((_, keys) => seen.push(keys));
  torch.scope(() => layer.loadStateDict(layer.stateDict()));
  expect(seen).toEqual(['', { missingKeys: [], unexpectedKeys: [] }]);
  layer.dispose();
});

test('errors name the layer, and keep their code and identity', () => {
  const net = new Net();
  using(net, () =>
    torch.scope(() => {
      (net.encoder.at(1) as Block).linear1 = new nn.Linear(5, 8) as Linear;
      const error = thrown(() => net.forward(torch.ones([3, 4])));
      expect(error.code).toBe('ERR_TORCH_RUNTIME');
      expect(error.message).toMatch(/cannot be multiplied[\s\S]*\n {2}in Net\.encoder\.1\.linear1 \(Linear\)$/);
      expect(error.stack).toContain('in Net.encoder.1.linear1 (Linear)');
      const own = new Error('mine');
      net.head.forward = () => {
        throw own;
      };
      (net.encoder.at(1) as Block).linear1 = new nn.Linear(4, 8);
      expect(thrown(() => net.forward(torch.ones([3, 4])))).toBe(own);
      expect(own.message).toBe('mine');
    }),
  );
});

test('constructor arguments: positional, by name, or mixed; wrong ones are refused', () => {
  const options = { inChannels: 1, outChannels: 2, kernelSize: 3, padding: 1 };
  for (const conv of [new nn.Conv2d(options), new nn.Conv2d(1, 2, 3, 1, 1), new nn.Conv2d(1, 2, 3, { padding: 1 })]) {
    expect(String(conv)).toBe('Conv2d(1, 2, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))');
    conv.dispose();
  }
  const wrong: [() => unknown, string][] = [
    [() => new untyped.nn.Linear(3), "nn.Linear: argument 'outFeatures': expected an integer, got undefined"],
    [() => new untyped.nn.Linear(3, 'x'), "nn.Linear: argument 'outFeatures': expected an integer, got 'x'"],
    [() => new untyped.nn.Linear(3, 2, { bais: false }), "did you mean 'bias'?"],
    [() => new untyped.nn.Linear(3, 2, true, null, null, 1), 'nn.Linear: takes at most 5 arguments, got 6'],
    [() => new untyped.nn.Dropout(2), 'a probability from 0 to 1'],
    [() => new untyped.nn.Conv2d(3, 4, 3, { groups: 2 }), 'a multiple of groups'],
    [() => new untyped.nn.Sequential(5), 'expected a Module'],
    [() => new untyped.nn.Parameter(5), 'expected a Tensor'],
  ];
  for (const [fn, text] of wrong) {
    const { code, message } = thrown(fn);
    expect([code, message]).toEqual(['ERR_TORCH_ARGUMENT', expect.stringContaining(text)]);
  }
});

test('to keeps the parameters, and deepCopy makes others', () => {
  const net = new nn.Sequential(new nn.Linear(2, 2), new nn.BatchNorm1d(2));
  const [weight] = net.parameters();
  torch.scope(() =>
    net
      .forward(torch.ones([2, 2]))
      .sum()
      .backward(),
  );
  net.to('float64');
  expect(net.parameters()[0]).toBe(weight);
  expect([weight!.dtype, weight!.grad!.dtype, net.at(1)!.getBuffer('num_batches_tracked').dtype]).toEqual([
    'float64',
    'float64',
    'int64',
  ]);
  const copy = net.deepCopy();
  expect(Object.keys(copy.stateDict())).toEqual(Object.keys(net.stateDict()));
  expect(torch.equal(copy.parameters()[0]!, weight!)).toBe(true);
  net.dispose();
  expect(copy.parameters()[0]!.disposed).toBe(false);
  copy.dispose();
});

test('complex tensors stay as they are in double() and the like, as in Python, and to() converts them', () => {
  const net = Object.assign(new nn.Module(), {
    real: new nn.Parameter(torch.ones([2])),
    complex: new nn.Parameter(torch.ones([2], { dtype: 'complex64' })),
  });
  const dtypes = () => [net.real.dtype, net.complex.dtype];
  expect([net.double() && dtypes(), net.half() && dtypes()]).toEqual([
    ['float64', 'complex64'],
    ['float16', 'complex64'],
  ]);
  expect([net.bfloat16() && dtypes(), net.float() && dtypes()]).toEqual([
    ['bfloat16', 'complex64'],
    ['float32', 'complex64'],
  ]);
  net.to('complex128');
  expect(dtypes()).toEqual(['complex128', 'complex128']);
  net.dispose();
});

test('lazy modules take their shapes from the first input', () => {
  const lazy = new nn.LazyLinear(3);
  expect([String(lazy), lazy.weight instanceof nn.UninitializedParameter]).toEqual([
    'LazyLinear(in_features=0, out_features=3, bias=True)',
    true,
  ]);
  torch.scope(() => expect(lazy.forward(torch.ones([2, 5])).shape).toEqual([2, 3]));
  expect(String(lazy)).toBe('Linear(in_features=5, out_features=3, bias=True)');
  lazy.dispose();
});

test('a lazy InstanceNorm has parameters and statistics, as in Python', () => {
  const lazy = new nn.LazyInstanceNorm1d();
  torch.scope(() => expect(lazy.forward(torch.ones([2, 3, 4])).shape).toEqual([2, 3, 4]));
  expect(String(lazy)).toBe('InstanceNorm1d(3, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)');
  expect(Object.keys(lazy.stateDict())).toEqual([
    'weight',
    'bias',
    'running_mean',
    'running_var',
    'num_batches_tracked',
  ]);
  lazy.dispose();
});

test('files of state dicts fit Python both ways, and the text is Python’s', async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'nn-'));
  const [ours, theirs] = ['ours.pt', 'theirs.pt'].map((name) => JSON.stringify(path.join(folder, name)));
  const net = new nn.ModuleDict({
    conv: new nn.Sequential(new nn.Conv1d(2, 4, 3), new nn.BatchNorm1d(4), new nn.ReLU()),
    attention: new nn.MultiheadAttention(4, 2),
    recurrent: new nn.ModuleList([new nn.LSTM(4, 3, { bidirectional: true }), new nn.GRU(3, 2)]),
    list: new nn.ParameterList([torch.ones([2, 3])]),
  });
  await torch.save(net.stateDict(), JSON.parse(ours!));
  const made =
    'torch.nn.ModuleDict({"conv": torch.nn.Sequential(torch.nn.Conv1d(2, 4, 3), torch.nn.BatchNorm1d(4), torch.nn.ReLU()), ' +
    '"attention": torch.nn.MultiheadAttention(4, 2), "recurrent": torch.nn.ModuleList([torch.nn.LSTM(4, 3, bidirectional=True), ' +
    'torch.nn.GRU(3, 2)]), "list": torch.nn.ParameterList([torch.ones(2, 3)])})';
  const load =
    `(lambda net: [str(net), list(net.state_dict()), str(net.load_state_dict(torch.load(${ours}, weights_only=True)))` +
    `, [p.data.fill_(0.5) for p in net.parameters()] and None, torch.save(net.state_dict(), ${theirs})])(${made})`;
  const [{ value, error }] = (await python([load])) as [{ value: unknown[]; error?: string }];
  expect(error).toBe(undefined);
  expect(value.slice(0, 3)).toEqual([String(net), Object.keys(net.stateDict()), '<All keys matched successfully>']);
  net.loadStateDict((await untyped.load(JSON.parse(theirs!))) as object);
  expect(net.parameters().every((parameter) => parameter.eq(0.5).all().item() === true)).toBe(true);
  net.dispose();
  fs.rmSync(folder, { recursive: true });
});
