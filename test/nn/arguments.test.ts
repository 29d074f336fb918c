/** Wrong arguments of modules and of torch.nn.utils. */
import { ARGUMENT, refused, wrong } from '../support/refused';
import { balanced, torch } from '../support/torch';

const { nn } = torch as any;

describe('modules', () => {
  // A module's parameters belong to no scope.
  const made: { dispose(): void }[] = [];
  const kept = (module: any) => {
    made.push(module);
    return module;
  };
  const linear = () => kept(new nn.Linear(2, 2));
  const releasing = (fn: () => void) =>
    balanced(() => {
      fn();
      for (const one of made.splice(0)) one.dispose();
    });

  test('sizes that are a view without elements', () => {
    const view = [new DataView(new ArrayBuffer(8))];
    refused(
      (size) => new nn.MaxPool2d(size),
      view,
      ARGUMENT,
      /^nn.MaxPool2d: argument 'kernelSize': expected an integer/,
    );
  });

  test('prefixes and positions', () => {
    const texts = wrong.filter((value) => value !== undefined && typeof value !== 'string');
    releasing(() => {
      for (const method of ['stateDict', 'namedParameters', 'namedBuffers', 'namedModules']) {
        const message = new RegExp(`^${method}: argument 'prefix': expected a string`);
        refused((prefix) => [...(linear()[method]({ prefix }) as any)], texts, ARGUMENT, message);
      }
      const places = wrong.filter((value) => value !== undefined);
      const position = /^ModuleList.pop: argument 'index': expected a position in a list of 1/;
      refused((index) => new nn.ModuleList([linear()]).pop(index), [...places, [0], '0'], ARGUMENT, position);
      const whole = /^ModuleList.at: argument 'index': expected an integer/;
      refused((index) => new nn.ModuleList([linear()]).at(index), [...wrong, [0], '0', 0.5], ARGUMENT, whole);
    });
  });

  test('options that are booleans, and a dtype', () => {
    const values = wrong.filter((value) => value !== undefined && typeof value !== 'boolean');
    const calls: [string, (value: unknown) => unknown][] = [
      ['setToNone', (setToNone) => linear().zeroGrad({ setToNone })],
      ['keepVars', (keepVars) => linear().stateDict({ keepVars })],
      ['recurse', (recurse) => linear().parameters({ recurse })],
      ['recurse', (recurse) => linear().namedParameters({ recurse })],
      ['removeDuplicate', (removeDuplicate) => linear().namedModules({ removeDuplicate })],
      ['persistent', (persistent) => linear().registerBuffer('other', null, { persistent })],
    ];
    releasing(() => {
      for (const [name, call] of calls) {
        refused(call, values, ARGUMENT, new RegExp(`: argument '${name}': expected a boolean`));
      }
      refused((dtype) => linear().type(dtype), [...wrong, {}], ARGUMENT, /^type: argument 'dtype': expected a dtype/);
    });
  });

  test('init.sparse_: a sparsity that is not a number', () => {
    const message = /^nn.init.sparse_: argument 'sparsity': expected a number from 0 to 1/;
    const values = [true, '0.5', [], [0], 1n, Symbol('s'), Object.create(null)];
    releasing(() =>
      refused((sparsity) => nn.init.sparse_(torch.ones([2, 2]), { sparsity }), values, ARGUMENT, message),
    );
  });

  test('parametrize', () => {
    const { isParametrized, removeParametrizations, registerParametrization, typeBeforeParametrizations } =
      nn.utils.parametrize;
    const modules = [...wrong, {}];
    releasing(() => {
      refused(isParametrized, modules, ARGUMENT, /isParametrized: argument 'module': expected a Module/);
      refused(typeBeforeParametrizations, modules, ARGUMENT, /typeBeforeParametrizations: argument 'module'/);
      const remove = (name: unknown) =>
        removeParametrizations(registerParametrization(linear(), 'weight', new nn.ReLU()), name);
      refused(remove, wrong, ARGUMENT, /removeParametrizations: argument 'tensorName': expected a parametrized tensor/);
      const { transferParametrizationsAndParams: transfer } = nn.utils.parametrize;
      const given = wrong.filter((value) => (value ?? null) !== null);
      const names = given.filter((value) => typeof value !== 'string');
      const register = (name: unknown) => registerParametrization(linear(), name, new nn.ReLU());
      refused(register, [...names, undefined, null], ARGUMENT, /argument 'tensorName': expected a string/);
      refused((name) => isParametrized(linear(), name), names, ARGUMENT, /argument 'tensorName': expected a string/);
      const from = () => registerParametrization(linear(), 'weight', new nn.ReLU());
      refused(
        (name) => transfer(from(), linear(), name),
        given,
        ARGUMENT,
        /'tensorName': expected a parametrized tensor/,
      );
      refused((module) => transfer(module, linear()), [linear()], ARGUMENT, /'fromModule': expected a parametrized/);
    });
  });

  test('fusing weights', () => {
    const fuse = (at: number, value: unknown) => {
      const v = () => torch.ones([2]);
      const passed: unknown[] = [torch.ones([2, 2, 1, 1]), v(), v(), v(), 1e-5, v(), v()];
      passed[at] = value;
      return nn.utils.fuseConvBnWeights(...passed);
    };
    releasing(() => {
      for (const [at, name] of Object.entries(['convW', 'convB', 'bnRm', 'bnRv', 'bnEps', 'bnW', 'bnB'])) {
        const values = wrong.filter((value) => (value ?? null) !== null && !(name === 'bnEps' && Number.isNaN(value)));
        refused(
          (value) => fuse(Number(at), value),
          values,
          ARGUMENT,
          new RegExp(`Weights: argument '${name}': expected a`),
        );
      }
    });
  });

  test('fusing: transpose, and a weight of too few dimensions', () => {
    const { fuseConvBnEval, fuseConvBnWeights } = nn.utils;
    const v = () => torch.ones([2]);
    const transpose = /argument 'transpose': expected a boolean/;
    const values = wrong.filter((value) => value !== undefined && value !== true);
    releasing(() => {
      const pair = [kept(new nn.Conv2d(2, 2, 1)), kept(new nn.BatchNorm2d(2))].map((one) => one.eval());
      refused((value) => fuseConvBnEval(...pair, value), values, ARGUMENT, transpose);
      const weights = (convW: unknown, value: unknown) => fuseConvBnWeights(convW, v(), v(), v(), 0, v(), v(), value);
      refused((value) => weights(torch.ones([2, 2, 1, 1]), value), values, ARGUMENT, transpose);
      refused(() => weights(v(), false), [0], ARGUMENT, /'convW': expected a Tensor of 2 or more dimensions/);
    });
  });

  test('methods of pruning', () => {
    const { prune } = nn.utils;
    const one = () => torch.ones([2, 2]);
    const methodsOf = () => [
      ...[new prune.L1Unstructured(1), new prune.RandomUnstructured(1), new prune.Identity()],
      ...[new prune.LnStructured(1, 2), new prune.RandomStructured(1), new prune.CustomFromMask(one())],
    ];
    releasing(() => {
      for (const method of torch.scope(() => methodsOf())) {
        refused((t) => method.computeMask(t, one()), wrong, ARGUMENT, /computeMask: argument 't': expected a Tensor/);
        refused(
          (mask) => method.computeMask(one(), mask),
          wrong,
          ARGUMENT,
          /argument 'defaultMask': expected a Tensor/,
        );
        refused((t) => method.prune(t), wrong, ARGUMENT, /\.prune: argument 't': expected a Tensor/);
        const masks = wrong.filter((value) => (value ?? null) !== null);
        refused((mask) => method.prune(one(), mask), masks, ARGUMENT, /'defaultMask': expected a Tensor/);
      }
      const { L1Unstructured, LnStructured, RandomStructured } = prune;
      refused((module) => L1Unstructured.apply(module, 'weight', 1), wrong, ARGUMENT, /'module': expected a Module/);
      const names = wrong.filter((value) => typeof value !== 'string');
      refused((name) => L1Unstructured.apply(linear(), name, 1), names, ARGUMENT, /'name': expected a string/);
      const some = wrong.filter((value) => value !== undefined);
      refused((dim) => new RandomStructured(1, dim), some, ARGUMENT, /argument 'dim': expected an integer/);
      const norms = wrong.filter((value) => !Number.isNaN(value));
      refused((n) => new LnStructured(1, n), norms, ARGUMENT, /argument 'n': expected a number, 'fro' or 'nuc'/);
      const global = (method: unknown) => prune.globalUnstructured([[linear(), 'weight']], method, { amount: 1 });
      refused(global, [...wrong, class {}], ARGUMENT, /'pruningMethod': expected a class of torch.nn.utils.prune/);
    });
  });

  test('parametersToVector: a hole in the list', () => {
    const message = /^nn.utils.parametersToVector: argument 'parameters': expected Tensors, got undefined/;
    refused(nn.utils.parametersToVector, [new Array(2)], ARGUMENT, message);
  });
});

test('registerBuffer does not take the place of a parameter', () => {
  const layer = new nn.Linear(1, 1);
  refused(
    (name) => layer.registerBuffer(name as string, torch.ones([1])),
    ['weight'],
    ARGUMENT,
    /^registerBuffer: argument 'name': expected a name that Linear does not have yet, got 'weight'$/,
  );
  expect(layer.parameters().length).toBe(2);
});
