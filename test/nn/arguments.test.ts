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
    });
  });

  test('init.sparse_: a sparsity that is not a number', () => {
    const message = /^nn.init.sparse_: argument 'sparsity': expected from 0 to 1/;
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

  test('parametersToVector: a hole in the list', () => {
    const message = /^nn.utils.parametersToVector: argument 'parameters': expected Tensors, got undefined/;
    refused(nn.utils.parametersToVector, [new Array(2)], ARGUMENT, message);
  });
});
