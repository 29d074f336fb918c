/** Python's names of the fields and methods of modules, optimizers, schedulers, datasets and loaders. */
import { codeOf, thrown, torch } from '../support/torch';

const { data } = torch.utils;

class Tagged extends torch.nn.Module {
  in_total = 3;
  numHeads = 2;
  readonly inner = new torch.nn.Linear(2, 3);
}

type Module = InstanceType<typeof torch.nn.Module>;
const mine: Module[] = [];
/** A module that the end of this file frees. */
function own<M extends Module>(module: M): M {
  mine.push(module);
  return module;
}
afterAll(() => torch.disposeAll(mine));

const objects: Record<string, { made: any; names: Record<string, string> }> = {
  Linear: { made: own(new torch.nn.Linear(2, 3)), names: { in_features: 'inFeatures', state_dict: 'stateDict' } },
  'a module of the program': {
    made: own(new Tagged()),
    names: { num_heads: 'numHeads', load_state_dict: 'loadStateDict' },
  },
  Adam: {
    made: new torch.optim.Adam(own(new torch.nn.Linear(1, 1)).parameters()),
    names: { param_groups: 'paramGroups', zero_grad: 'zeroGrad' },
  },
  StepLR: {
    made: new torch.optim.lrScheduler.StepLR(
      new torch.optim.SGD(own(new torch.nn.Linear(1, 1)).parameters(), { lr: 1 }),
      2,
    ),
    names: { last_epoch: 'lastEpoch', get_last_lr: 'getLastLr', base_lrs: 'baseLrs' },
  },
  DataLoader: {
    made: new data.DataLoader([1, 2, 3], { batchSize: 2 }),
    names: { batch_size: 'batchSize', state_dict: 'stateDict' },
  },
  ConcatDataset: { made: new data.ConcatDataset([[1]]), names: { cumulative_sizes: 'cumulativeSizes' } },
};

test.each(Object.keys(objects))('%s: reading and writing one is an error that says what was meant', (kind) => {
  const { made, names } = objects[kind]!;
  for (const [name, meant] of Object.entries(names)) {
    expect([name, meant in made]).toEqual([name, true]);
    for (const use of [() => made[name], () => Object.assign(made, { [name]: 1 })]) {
      const error = thrown(use) as any;
      expect([name, error.code]).toEqual([name, 'ERR_TORCH_NAME']);
      expect(error.message).toMatch(new RegExp(`\\.${name} is not a name here: write ${meant}$`));
    }
  }
});

test('other names are undefined, and fields of the program are its own', () => {
  const module: any = new Tagged();
  expect([module.in_total, module.out_total, module._step_count, module.then]).toEqual([
    3,
    undefined,
    undefined,
    undefined,
  ]);
  module.my_field = 4;
  module.in_total = 5;
  expect([module.my_field, module.in_total, 'my_field' in module, 'num_heads' in module]).toEqual([4, 5, true, false]);
  expect(module.namedParameters().map(([name]: [string]) => name)).toEqual(['inner.weight', 'inner.bias']);
  // Another object may have what the first one lacks.
  const other: any = new torch.nn.Linear(1, 1);
  expect(other.num_heads).toBe(undefined);
  expect(codeOf(() => module.num_heads)).toBe('ERR_TORCH_NAME');
  expect({ ...module }.in_total).toBe(5);
});
