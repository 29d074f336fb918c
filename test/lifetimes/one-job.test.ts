/**
 * A training loop that never yields to the event loop is one job, and V8 keeps the target of each WeakRef that is made or read
 * until the job ends. So the library makes none for what a program may lose: modules, tensors, functions.
 */
import { ask } from '../support/child';

const COUNT = 12;
const SIZE = 200;
const MODULE_BYTES = 4 * (SIZE * SIZE + SIZE);

/** Runs each way `COUNT` times and answers with the bytes that each leaves. All in one job, of one program. */
const leftBy = (ways: Record<string, string>): Promise<Record<string, number>> =>
  ask(
    `
    const { nn } = torch;
    const { utils } = nn;
    const x = torch.ones([1, ${SIZE}]);
    const kept = [];
    const layer = () => new nn.Linear(${SIZE}, ${SIZE});
    const ways = { ${Object.entries(ways).map(([name, code]) => `${JSON.stringify(name)}: () => { ${code} }`)} };
    const left = {};
    for (const [name, way] of Object.entries(ways)) {
      const { bytes } = torch.memory();
      for (let i = 0; i < ${COUNT}; i++) way();
      gc();
      gc(); // the first one frees what kept others
      left[name] = torch.memory().bytes - bytes;
    }
    answer(left);
  `,
    ['--expose-gc'],
  );

const onLayer = (method: string) => `layer().${method}(() => {});`;
const WAYS = {
  'forward hook': onLayer('registerForwardHook'),
  'forward pre-hook': onLayer('registerForwardPreHook'),
  'backward hook': onLayer('registerFullBackwardHook'),
  'hook of state dicts': onLayer('registerStateDictHook'),
  'hook whose handle is kept': 'kept.push(layer().registerForwardHook(() => {}));',
  'hook that was removed': 'layer().registerForwardHook(() => {}).remove();',
  'removed hook with a large tensor':
    'globalThis.one ??= layer(); const large = torch.ones([200, 200]); one.registerForwardHook(() => large).remove();',
  'hook of a leaf': 'layer().weight.registerHook(() => {});',
  'hook after accumulation': 'layer().weight.registerPostAccumulateGradHook(() => {});',
  'hook after accumulation that ran':
    'const one = layer(); one.weight.registerPostAccumulateGradHook((leaf) => leaf.shape); one.forward(x).sum().backward();',
  weightNorm: 'utils.weightNorm(layer()).forward(x);',
  removeWeightNorm: 'utils.removeWeightNorm(utils.weightNorm(layer()));',
  spectralNorm: 'utils.spectralNorm(layer());',
  prune: "utils.prune.l1Unstructured(layer(), 'weight', { amount: 10 });",
  'prune.remove': "utils.prune.remove(utils.prune.l1Unstructured(layer(), 'weight', { amount: 10 }), 'weight');",
  'parametrizations.weightNorm': 'utils.parametrizations.weightNorm(layer());',
  'parametrizations.spectralNorm': 'utils.parametrizations.spectralNorm(layer());',
  removeParametrizations:
    "utils.parametrize.removeParametrizations(utils.parametrizations.weightNorm(layer()), 'weight');",
  'a forward that throws':
    'try { new nn.Sequential(layer()).forward(torch.ones([3])); } catch (error) { kept.push(error); }',
  'a lazy layer': `new nn.LazyLinear(${SIZE}).forward(x);`,
  'hook of an optimizer': `
    const one = layer();
    const optimizer = new torch.optim.Adam(one.parameters());
    optimizer.registerStepPostHook(() => one);
    optimizer.registerStateDictPreHook(() => one);
    one.forward(x).sum().backward();
    optimizer.step();`,
};

test('modules and what hooks refer to are freed before the job ends', async () => {
  const left = await leftBy(WAYS);
  expect(Object.keys(left)).toEqual(Object.keys(WAYS));
  expect(Object.entries(left).filter(([, bytes]) => bytes >= 2 * MODULE_BYTES)).toEqual([]);
});

test('so are modules that a captured function has called', async () => {
  const left = await leftBy({
    'of the closure':
      'const one = layer(); const run = torch.capture((a) => one.forward(a)); torch.noGrad(() => run(x));',
    // The recording holds the tensors that the function uses, of which `other` is none.
    'of a capture that is kept': `
      class Half extends nn.Module {
        used = new nn.Linear(${SIZE}, 1);
        other = layer();
        forward(a) { return this.used.forward(a); }
      }
      let one = new Half();
      const run = torch.capture((a) => one.forward(a));
      torch.noGrad(() => { run(x); run(x); });
      kept.push(run);
      one = null;`,
  });
  expect(left['of the closure']).toBeLessThan(2 * MODULE_BYTES);
  expect(left['of a capture that is kept']).toBeLessThan(2 * MODULE_BYTES + COUNT * 4 * (SIZE + 2));
});

test('recordings of a `this` that is gone make room before the job ends', async () => {
  const result = await ask(
    `
    const run = torch.capture(function (a) { return a.mul(this.by); });
    const a = torch.ones([1]);
    const call = (by) => torch.scope(() => run.call({ by }, a).item());
    const sums = [];
    for (let i = 0; i < 24; i++) {
      sums.push(call(i) - i);
      gc();
    }
    answer({ wrong: sums.filter((sum) => sum !== 0).length, fallbacks: run.fallbacks });
  `,
    ['--expose-gc'],
  );
  expect(result).toEqual({ wrong: 0, fallbacks: 0 });
});
