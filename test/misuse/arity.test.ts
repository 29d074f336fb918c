/** Hand-written functions refuse extra arguments, which JavaScript would ignore. */
import * as path from 'node:path';
import { balanced, LIB, thrown, torch, untyped } from '../support/torch';

const written = require(path.join(LIB, 'torch.js')) as Record<string, unknown>;

/** Nested namespaces' functions as well, by path; classes are left out. */
const functionsIn = (space: object, at = ''): string[] =>
  Object.entries(space).flatMap(([name, value]) => {
    if (typeof value === 'object' && value !== null) return functionsIn(value, `${at}${name}.`);
    return typeof value === 'function' && !/^class\b/.test(String(value)) ? [`${at}${name}`] : [];
  });
const names = [...functionsIn(written), 'run'];
const classesIn = (space: object, at = ''): string[] =>
  Object.entries(space).flatMap(([name, value]) => {
    if (typeof value === 'object' && value !== null) return classesIn(value, `${at}${name}.`);
    return typeof value === 'function' && /^class\b/.test(String(value)) ? [`${at}${name}`] : [];
  });
const found = (name: string) => name.split('.').reduce((space, part) => space[part], untyped as any);

/** Functions that report another error first. */
const first: Record<string, unknown[]> = { fromTypedArray: [new Float32Array(2), [2]] };

test('each exists', () => {
  expect(names.length).toBeGreaterThan(60);
  expect(names.filter((name) => typeof found(name) !== 'function')).toEqual([]);
});

/** Pass their arguments on to a function or class of the program. */
const passesOn = ['utils.checkpoint.checkpoint', 'nn.utils.skipInit'];

test.each(names.filter((name) => !passesOn.includes(name)))('%s', async (name) => {
  const error = await Promise.resolve()
    .then(() => found(name)(...(first[name] ?? []), 1, 2, 3, 4, 5, 6, 7, 8, 9))
    .then(
      () => 'accepted',
      (reason: unknown) => reason,
    );
  expect(error).toMatchObject({ code: expect.stringMatching(/^ERR_TORCH_(ARGUMENT|OVERLOAD)$/) });
  expect((error as Error).message).toMatch(
    new RegExp(`^${name}: takes (no arguments|(at most )?\\d (positional )?argument)`),
  );
});

test('nn.utils.skipInit: the class refuses them', () => {
  const { code, message } = thrown(() => found('nn.utils.skipInit')(torch.nn.Linear, 1, 2, 3, 4, 5, 6, 7, 8));
  expect([code, message]).toEqual(['ERR_TORCH_ARGUMENT', expect.stringMatching(/^nn\.Linear: takes at most \d /)]);
});

/** Bases, classes that take any number of arguments, and those that functions make, or that check another argument first. */
const anyNumber =
  /(^|\.)(Module|Sequential|Identity|Optimizer|LRScheduler|Store|Dataset|IterableDataset|Sampler|BasePruningMethod|PruningContainer|TensorDataset|StackDataset|Function|FunctionContext|RNNCellBase|SampleContext|ProcessGroup|SharedToken|Slice|Complex|Stream|Scope|Tensor|AotiPackage|SafetensorsFile|ParametrizationList|DistributedDataParallel|ReduceLROnPlateau|SequentialLR)$/;
const classes = classesIn(written).filter((name) => !anyNumber.test(name));

test('there are many classes', () => expect(classes.length).toBeGreaterThan(150));

test.each(classes)('new %s', (name) => {
  // The options of optimizers are checked first.
  const passed = [1, {}, ...Array.from({ length: 20 }, (_, i) => i)];
  const { code, message } = thrown(() => new (found(name))(...passed));
  expect([code, message]).toEqual([
    'ERR_TORCH_ARGUMENT',
    expect.stringMatching(/takes (at most (1 argument|\d+ arguments)|no arguments), got \d+/),
  ]);
});

test('what is passed twice, by position and by name, and what is counted', () => {
  const { amp, nn, optim } = torch as any;
  const ones = torch.ones([2, 2]);
  const sgd = new optim.SGD([ones], { lr: 1 });
  const { StepLR } = optim.lrScheduler;
  const of = (wrong: () => unknown) => thrown(wrong).message;
  expect(of(() => nn.init.constant_(ones, 1, 2))).toBe('nn.init.constant_: takes at most 2 arguments, got 3');
  expect(of(() => nn.init.zeros_(ones, 1))).toBe('nn.init.zeros_: takes at most 1 argument, got 2');
  expect(of(() => nn.init.constant_(ones, 1, { val: 2 }))).toMatch(
    /argument 'val': expected a value by position or by name, got both$/,
  );
  expect(of(() => new nn.GRUCell(2, 2).forward(ones, ones, 1))).toMatch(
    /^nn.GRUCell.forward: takes at most 1 argument after the inputs, got 2/,
  );
  expect(of(() => new StepLR(sgd, 1, { stepSize: 2 }))).toMatch(
    /argument 'stepSize': expected a value by position or by name, got both$/,
  );
  expect(of(() => new StepLR(sgd, { stepSize: 2, optimizer: sgd }))).toMatch(
    /'optimizer': expected a value by position or by name, got both/,
  );
  expect(of(() => new amp.GradScaler('cpu', { device: 'cpu' }))).toMatch(
    /'device': expected a value by position or by name, got both/,
  );
  sgd.dispose();
  ones.dispose();
});

test('an option that a transform does not have', () => {
  const { Normalize, ToTensor } = torch.utils.data.transforms as any;
  const { message } = thrown(() => new Normalize([0], [1], { inplace: true }));
  expect(message).toBe('utils.data.transforms.Normalize: takes at most 2 arguments, got 3');
  expect(thrown(() => new ToTensor({})).message).toBe('utils.data.transforms.ToTensor: takes no arguments, got 1');
});

test('forward of layers refuses further inputs; that of a class of the program is a function as any', () => {
  const { nn } = torch as any;
  class Own extends nn.Module {
    forward(x: unknown) {
      return x;
    }
  }
  class Wider extends nn.Linear {
    forward(x: unknown, ..._more: unknown[]) {
      return super.forward(x);
    }
  }
  balanced(() =>
    torch.scope(() => {
      const x = torch.ones([1, 1, 4, 4]);
      const layers: [any, unknown[]][] = [
        ...[new nn.ReLU(), new nn.MaxPool2d(2), new nn.Dropout(), new nn.Identity(), new nn.Softmax(1)].map(one),
        ...[new nn.Conv2d(1, 1, 1), new nn.Linear(4, 4), new nn.BatchNorm2d(1), new nn.LayerNorm(4)].map(one),
        ...[new nn.Sequential(new nn.ReLU()), new nn.ConstantPad2d(1, 0), new nn.InstanceNorm2d(1)].map(one),
        ...[new nn.MSELoss(), new nn.L1Loss(), new nn.CrossEntropyLoss()].map((layer): [any, unknown[]] => [
          layer,
          [x, x],
        ]),
      ];
      function one(layer: unknown): [any, unknown[]] {
        return [layer, [x]];
      }
      for (const [layer, inputs] of layers) {
        layer.forward(...inputs, undefined);
        const { code, message } = thrown(() => layer.forward(...inputs, x));
        const name = layer.constructor.name;
        expect([code, message]).toEqual([
          'ERR_TORCH_ARGUMENT',
          expect.stringMatching(`^nn\\.${name}\\.forward: takes at most ${inputs.length} argument`),
        ]);
        layer.dispose();
      }
      expect((new Own() as any).forward(x, 1, 2)).toBe(x);
      const wider = new (Wider as any)(4, 4);
      expect(wider.forward(x, 1, 2).shape).toEqual([1, 1, 4, 4]);
      wider.dispose();
      const { Compose } = torch.utils.data.transforms as any;
      expect(new Compose([new nn.ReLU()]).forward(x, { generator: null }).shape).toEqual([1, 1, 4, 4]);
    }),
  );
});

test('hand-written methods', () => {
  balanced(() =>
    torch.scope(() => {
      const x = torch.ones([2]) as any;
      for (const name of ['set', 'backward', 'registerHook', 'registerPostAccumulateGradHook', 'share', 'toArray']) {
        const { code, message } = thrown(() => x[name](1, 2, 3, 4, 5, 6));
        expect([code, message]).toEqual(['ERR_TORCH_ARGUMENT', expect.stringMatching(`^Tensor\\.${name}: takes `)]);
      }
    }),
  );
});

test("trailing undefined, forEach's extra arguments, and values that are not tensors are accepted", () => {
  balanced(() => {
    const list = [torch.ones([2]), torch.ones([2])];
    const one = untyped.tensor(1, undefined, undefined);
    torch.scope(() => {
      list.push(torch.ones([2]));
      list.slice(-1).forEach(untyped.keep);
    });
    expect(torch.keep(5)).toBe(5);
    torch.disposeAll(5);
    expect(JSON.stringify({ x: list[0] })).toBe('{"x":[1,1]}');
    list.forEach(untyped.disposeAll);
    one.dispose();
    expect(list.map((tensor) => tensor.disposed)).toEqual([true, true, true]);
  });
});
