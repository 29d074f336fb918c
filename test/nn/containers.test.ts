/** Containers: positions, names and orders as in Python. */
import { MODELS_MS, makeModels, model } from '../jit/models';
import { thrown, torch } from '../support/torch';

const { nn } = torch;
const layer = () => new nn.Linear(1, 1);
const names = (module: InstanceType<typeof nn.Module>) => module.namedParameters().map(([name]) => name);

test('an element is read and replaced by its position', () => {
  const [first, second, third] = [layer(), layer(), layer()];
  const net: any = new nn.Sequential(first, second);
  expect([net[0], net[1], net[2]]).toEqual([first, second, undefined]);
  const keys = Object.keys(net);
  net[0] = third;
  expect(names(net)).toEqual(['0.weight', '0.bias', '1.weight', '1.bias']);
  expect([net.at(0) === third, net.children().includes(first), Object.keys(net)]).toEqual([true, false, keys]);
  const { code, message } = thrown(() => {
    net[2] = layer();
  });
  expect([code, message]).toEqual([
    'ERR_TORCH_ARGUMENT',
    "Sequential.set: argument 'index': expected a position in a list of 2, got 2",
  ]);
  expect(thrown(() => (net[0] = 5)).message).toBe("Sequential.set: argument 'module': expected a Module, got 5");
  const list: any = new nn.ParameterList([torch.ones([1]), torch.ones([2])]);
  list[1] = torch.zeros([3]);
  expect([list[1] instanceof nn.Parameter, list[1].shape, list.length]).toEqual([true, [3], 2]);
  net.dispose();
});

test('hooks inside layers that call layers keep the tensors that they get and make', () => {
  const net = new nn.Sequential(
    new nn.Linear(3, 4),
    new nn.Sequential(new nn.ReLU(), new nn.Linear(4, 4), new nn.Sigmoid()),
    new nn.Tanh(),
  );
  const inner = net.at(1).at(0);
  const kept: any[] = [];
  net.at(0).registerForwardHook((_, __, output) => void kept.push(output));
  inner.registerForwardHook((_, [input], output) => void kept.push(input, output.detach()));
  net.at(2).registerForwardPreHook((_, [input]) => [(input as any).mul(2)]);
  const x = torch.ones([2, 3]);
  const hidden = net.at(0).forward(x);
  const expected = torch.tanh(torch.sigmoid(net.at(1).at(1).forward(torch.relu(hidden))).mul(2));
  kept.length = 0;
  const result = torch.noGrad(() => net.forward(x));
  expect(torch.equal(result, expected)).toBe(true);
  expect(kept.map((one) => torch.equal(one, kept[2] === one ? torch.relu(hidden) : hidden))).toEqual([
    true,
    true,
    true,
  ]);

  // They belong to the program's scope, and the other intermediate results still to the layer's.
  kept.length = 0;
  torch.scope(() => {
    const before = torch.memory().tensors;
    torch.noGrad(() => net.forward(x));
    expect(torch.memory().tensors - before).toBe(6); // without the output of the second Linear
    expect(kept.map(({ disposed }) => disposed)).toEqual([false, false, false]);
  });
  expect(kept.map(({ disposed }) => disposed)).toEqual([true, true, true]);

  const encoder = new nn.TransformerEncoder(new nn.TransformerEncoderLayer(4, 2, 8, 0), 2);
  const seen: any[] = [];
  for (const layer of encoder.modules())
    layer.registerForwardHook((_, __, output) => void seen.push(...[output].flat().filter((one) => one !== null)));
  encoder.forward(torch.ones([3, 2, 4]));
  expect(seen.length).toBeGreaterThan(15);
  expect(seen.some(({ disposed }) => disposed)).toBe(false);
  net.dispose();
  encoder.dispose();
});

test('the name of a replaced element stays', () => {
  const net = new nn.Sequential(
    new Map([
      ['first', layer()],
      ['second', layer()],
    ]),
  );
  net.set(-1, layer());
  expect(names(net)).toEqual(['first.weight', 'first.bias', 'second.weight', 'second.bias']);
  expect(thrown(() => net.set(-3, layer())).code).toBe('ERR_TORCH_ARGUMENT');
  expect(thrown(() => net.set(0.5, layer())).code).toBe('ERR_TORCH_ARGUMENT');
});

test('parameters of a plain object are in the order of their names, as those of a dict in Python', () => {
  const one = () => torch.ones([1]);
  expect(names(new nn.ParameterDict({ w: one(), b: one() }))).toEqual(['b', 'w']);
  expect(
    names(
      new nn.ParameterDict(
        new Map([
          ['w', one()],
          ['b', one()],
        ]),
      ),
    ),
  ).toEqual(['w', 'b']);
  expect(
    names(
      new nn.ParameterDict(
        new nn.ParameterDict([
          ['w', one()],
          ['b', one()],
        ]).entries(),
      ),
    ),
  ).toEqual(['w', 'b']);
  expect(names(new nn.ModuleDict({ w: layer(), b: layer() }))).toEqual(['w.weight', 'w.bias', 'b.weight', 'b.bias']);
});

test('names that every object of JavaScript has are names like others', () => {
  const usual = ['constructor', 'toString', 'valueOf', 'hasOwnProperty', '__proto__'];
  const dict = new nn.ModuleDict(new Map(usual.map((name) => [name, layer()])));
  expect(Object.keys(dict.stateDict())).toEqual(usual.flatMap((name) => [`${name}.weight`, `${name}.bias`]));
  class Net extends nn.Module {
    override valueOf: any = new nn.Parameter(torch.ones([1]));
  }
  expect(names(new Net())).toEqual(['valueOf']);
});

test('names that a state dict cannot have are refused', () => {
  const registered = new nn.Sequential(layer());
  for (const name of ['', 'a.b', 5]) {
    const calls: [() => unknown, string][] = [
      [() => new nn.Sequential(new Map([[name, layer()]]) as any), "nn.Sequential: argument 'modules'"],
      [() => registered.registerModule(name as string, layer()), "Sequential.registerModule: argument 'name'"],
      [() => new nn.Sequential().addModule(name as string, layer()), "Sequential.registerModule: argument 'name'"],
      [() => new nn.ModuleDict(new Map([[name, layer()]]) as any), "ModuleDict.set: argument 'key'"],
      [() => new nn.ModuleList().registerModule(name as string, layer()), "ModuleList.registerModule: argument 'name'"],
      [() => new nn.ModuleDict().addModule(name as string, layer()), "ModuleDict.registerModule: argument 'name'"],
    ];
    for (const [call, where] of calls) {
      const { code, message } = thrown(call);
      const got = typeof name === 'string' ? `'${name}'` : name;
      expect([code, message]).toEqual(['ERR_TORCH_ARGUMENT', `${where}: expected a name without '.', got ${got}`]);
    }
  }
  expect(names(registered)).toEqual(['0.weight', '0.bias']);
});

test('a module that is registered in a container is an element of it, as in Python', () => {
  const [first, second, third] = [layer(), layer(), layer()];
  for (const container of [new nn.Sequential(), new nn.ModuleList(), new nn.ModuleDict()]) {
    container.registerModule('0', layer());
    container.registerModule('0', first);
    container.addModule('last', second);
    expect(container.length).toBe(2);
    const elements = container instanceof nn.ModuleDict ? [...container.values()] : [...container];
    expect(elements).toEqual([first, second]);
    expect(names(container)).toEqual(['0.weight', '0.bias', 'last.weight', 'last.bias']);
    const { code, argument } = thrown(() => container.registerModule('0', null as never));
    expect([code, argument]).toEqual(['ERR_TORCH_ARGUMENT', 'module']);
  }
  const dict = new nn.ModuleDict({ a: first });
  dict.addModule('b', third);
  expect([dict.get('b') === third, [...dict.keys()]]).toEqual([true, ['a', 'b']]);
});

test('an element is read and replaced by its name, as in Python', () => {
  const [first, second, third] = [layer(), layer(), layer()];
  const dict: any = new nn.ModuleDict({ a: first, get: second });
  expect([dict.a === first, typeof dict.get, dict.other]).toEqual([true, 'function', undefined]);
  dict.a = third;
  expect([dict.get('a') === third, [...dict.keys()]]).toEqual([true, ['a', 'get']]);
  expect(Object.keys(dict.stateDict())).toEqual(['a.weight', 'a.bias', 'get.weight', 'get.bias']);
  const copy = dict.deepCopy();
  expect(copy.a).toBe(copy.get('a'));
  const { code, argument } = thrown(() => {
    dict.a = 5;
  });
  expect([code, argument]).toEqual(['ERR_TORCH_ARGUMENT', 'a']);
  dict.delete('a');
  expect(dict.a).toBeUndefined();

  const net: any = new nn.Sequential({ conv_1: first, out: second } as any);
  expect([net.conv_1, net.out]).toEqual([first, second]);
  net.conv_1 = third;
  expect([net[0] === third, names(net)[0]]).toEqual([true, 'conv_1.weight']);
  const weights: any = new nn.ParameterDict({ w: torch.ones([2]) });
  weights.w = torch.zeros([3]);
  expect([weights.w instanceof nn.Parameter, weights.get('w').shape]).toEqual([true, [3]]);
});

test('slice gives a part with the same modules', () => {
  const net = new nn.Sequential(layer(), new nn.ReLU(), layer());
  const part = net.slice(1);
  expect([part.at(0) === net.at(1), part.at(-1) === net.at(2), names(part)]).toEqual([
    true,
    true,
    ['2.weight', '2.bias'],
  ]);
  const lengths = [net.slice(), net.slice(null, -1), net.slice(0, 9), net.slice(-2, 2), net.slice(2, 1)].map(
    (one) => one.length,
  );
  expect(lengths).toEqual([3, 2, 3, 1, 0]);
  const features = net.slice(0, 2).forward(torch.ones([2, 1]));
  expect(torch.equal(features, torch.relu(net.at(0).forward(torch.ones([2, 1]))))).toBe(true);
  const list = new nn.ModuleList([layer(), layer(), layer()]).slice(1);
  expect([list instanceof nn.ModuleList, names(list)]).toEqual([true, ['0.weight', '0.bias', '1.weight', '1.bias']]);
  expect(thrown(() => net.slice('0' as never)).message).toBe(
    "Sequential.slice: argument 'start': expected an integer or null, got '0'",
  );
  const parameters = new nn.ParameterList([1, 2, 3].map((value) => torch.tensor([value])));
  expect([...parameters.slice(-2)].map((one) => one.item())).toEqual([2, 3]);
  expect(parameters.slice(1).at(0)).toBe(parameters.at(1));
});

test('slice takes a step', () => {
  const net = new nn.Sequential(layer(), new nn.ReLU(), layer(), new nn.ReLU(), layer());
  expect(names(net.slice(0, null, 2))).toEqual(names(net));
  expect(net.slice(1, 5, 2).length).toBe(2);
  expect([...new nn.ModuleList(net.children()).slice(-4, null, 3)]).toEqual([net.at(1), net.at(4)]);
  const parameters = new nn.ParameterList([1, 2, 3].map((value) => torch.tensor([value])));
  expect([...parameters.slice(null, null, 2)].map((one) => one.item())).toEqual([1, 3]);
  const refused = [() => net.slice(0, 3, 0), () => parameters.slice(null, null, -1), () => net.slice(0, 3, 0.5)];
  expect(refused.map((call) => thrown(call).message)).toEqual([
    "Sequential.slice: argument 'step': expected an integer of 1 or more, or null, got 0",
    "ParameterList.slice: argument 'step': expected an integer of 1 or more, or null, got -1",
    "Sequential.slice: argument 'step': expected an integer or null, got 0.5",
  ]);
});

test('pop removes an element and gives it; those after it move up', () => {
  const modules = [layer(), layer(), layer(), layer()];
  for (const net of [new nn.Sequential(...modules), new nn.ModuleList(modules)]) {
    expect([net.pop(1), net.pop(-1), net.pop()]).toEqual([modules[1], modules[3], modules[2]]);
    expect(names(net)).toEqual(['0.weight', '0.bias']);
    const fn = `${net.constructor.name}.pop`;
    expect(thrown(() => net.pop(1)).message).toBe(`${fn}: argument 'index': expected a position in a list of 1, got 1`);
  }
  const named = new nn.Sequential({ first: layer(), second: layer() } as any);
  named.pop(0);
  expect(names(named)).toEqual(['0.weight', '0.bias']); // as in Python, which numbers what is left
  for (const dict of [new nn.ModuleDict({ a: layer(), b: layer() }), new nn.ParameterDict({ a: torch.ones([1]) })]) {
    expect([...dict.items()]).toEqual([...dict.entries()]);
    const value = dict.get('a');
    expect([dict.pop('a'), dict.has('a')]).toEqual([value, false]);
    expect(thrown(() => dict.pop('a')).code).toBe('ERR_TORCH_ARGUMENT');
  }
});

test('a list without pairs is refused before anything changes', () => {
  const dict = new nn.ModuleDict();
  const refused: [unknown, string][] = [
    [[layer()], "'entries[0]': expected a pair [name, value], got a Linear"],
    [[['a', layer()], ['b']], "'entries[1]': expected a pair [name, value], got an array of 1 (first: 'b')"],
    ['ab', "'entries[0]': expected a pair [name, value], got 'a'"],
    [layer(), "'entries': expected an object, a Map or a list of pairs [name, value], got a Linear"],
    [5, "'entries': expected an object, a Map or a list of pairs [name, value], got 5"],
  ];
  for (const [entries, text] of refused) {
    for (const call of [() => dict.update(entries as any), () => new nn.ModuleDict(entries as any)]) {
      const { code, message } = thrown(call);
      expect([code, message]).toEqual(['ERR_TORCH_ARGUMENT', `ModuleDict.update: argument ${text}`]);
    }
  }
  expect(dict.length).toBe(0);
});

test(
  'a refusal changes nothing: neither the container nor the scope of a model',
  async () => {
    await makeModels();
    const lists = () => [new nn.Sequential(layer()), new nn.ModuleList([layer()])];
    const calls: ((given: any) => unknown)[] = [
      (m) => new nn.Sequential(m, 5 as never),
      (m) => new nn.Sequential({ m, wrong: 5 as never }),
      (m) => new nn.ModuleList([m, 5 as never]),
      (m) => new nn.ModuleDict({ m, wrong: 5 as never }),
      (m) =>
        new nn.ModuleDict([
          ['m', m],
          ['a.b', layer()],
        ]),
      ...lists().flatMap((list) => [
        (m: any) => list.extend([m, null as never]),
        (m: any) => list.set(3, m),
        (m: any) => list.insert(-5, m),
      ]),
    ];
    for (const call of calls) {
      let given: any;
      torch.scope(() => {
        given = model('tied');
        expect(thrown(() => call(given)).code).toBe('ERR_TORCH_ARGUMENT');
      });
      expect(given.disposed).toBe(true); // with its scope
    }
    const list = new nn.ModuleList([layer()]);
    const parameters = new nn.ParameterList([torch.ones([1])]);
    const dict = new nn.ModuleDict({ a: layer() });
    thrown(() => list.extend([layer(), 5 as never]));
    thrown(() => parameters.extend([torch.ones([1]), 5 as never]));
    thrown(() => dict.update({ b: layer(), c: 5 as never }));
    expect([list.length, parameters.length, dict.length]).toEqual([1, 1, 1]);
  },
  MODELS_MS,
);
