/** Python's names, and names in another case: reading one throws with the right spelling. */
import { ask } from '../support/child';
import { balanced, thrown, torch } from '../support/torch';

/** The module itself: `import *` of a CommonJS module is a copy of its exports. */
const untyped = require('libtorch-node');

const wrong: readonly (readonly [path: string, text: string])[] = [
  ['torch.log_softmax', 'torch.log_softmax is not a name here: write logSoftmax'],
  ['torch.no_grad', 'torch.no_grad is not a name here: write noGrad'],
  ['torch.manual_seed', 'torch.manual_seed is not a name here: write manualSeed'],
  ['torch.set_printoptions', 'torch.set_printoptions is not a name here: write setPrintOptions'],
  ['torch.channels_last', 'torch.channels_last is not a name here: write channelsLast'],
  ['torch.from_numpy', 'torch.from_numpy: write torch.fromTypedArray(array)'],
  ['torch.fromNumpy', 'torch.fromNumpy: write torch.fromTypedArray(array)'],
  ['torch.inf', 'torch.inf: write Infinity'],
  ['torch.version', 'torch.version: write torch.libtorchVersion'],
  ['torch.__version__', 'torch.__version__: write torch.libtorchVersion'],
  ['torch.device', "torch.device: devices are strings, as in { device: 'cpu' }"],
  ['torch.FloatTensor', "torch.FloatTensor: write torch.tensor(data, { dtype: 'float32' })"],
  ['torch.LongTensor', "torch.LongTensor: write torch.tensor(data, { dtype: 'int64' })"],
  ['x.numpy', 'Tensor has no numpy; use t.toTypedArray(), or t.toArray() for nested arrays'],
  ['torch.nn.functional.cross_entropy', 'torch.nn.functional.cross_entropy is not a name here: write crossEntropy'],
  ['torch.linalg.matrix_rank', 'torch.linalg.matrix_rank is not a name here: write matrixRank'],
  ['torch.async.log_softmax', 'torch.async.log_softmax is not a name here: write logSoftmax'],
  [
    'torch.async.nn.functional.cross_entropy',
    'torch.nn.functional.cross_entropy is not a name here: write crossEntropy',
  ],
  ['x.log_softmax', 'Tensor.log_softmax is not a name here: write logSoftmax'],
  ['x.arg_max', 'Tensor.arg_max is not a name here: write argmax'],
  ['x.requires_grad', 'Tensor.requires_grad is not a name here: write requiresGrad'],
  ['x.requires_grad_', 'Tensor.requires_grad_ is not a name here: write requiresGrad_'],
  ['x.is_leaf', 'Tensor.is_leaf is not a name here: write isLeaf'],
];

const get = (path: string, x: unknown) => new Function('torch', 'x', `return ${path}`)(untyped, x);

test.each(wrong)('%s', (path, text) => {
  balanced(() =>
    torch.scope(() => {
      const x = torch.ones([2]);
      for (const form of [path, `${path}(x)`, `${path}()`]) {
        const error = thrown(() => get(form, x));
        expect(error).toBeInstanceOf(TypeError);
        expect([error.code, error.message]).toEqual(['ERR_TORCH_NAME', text]);
      }
    }),
  );
});

test('every snake_case name leads to the right name', () => {
  const snake = (name: string) => name.replace(/(?<=[a-z0-9])[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const silent: string[] = [];
  let tried = 0;
  const look = (at: string, object: any, names: string[]) => {
    for (const name of names) {
      const python = snake(name);
      if (name.startsWith('_') || python === name || python in object) continue;
      tried++;
      try {
        silent.push(`${at}.${python}: ${object[python]}`);
      } catch (error) {
        if (!(error as Error).message.endsWith(`: write ${name}`)) silent.push((error as Error).message);
      }
    }
  };
  for (const space of ['linalg', 'fft', 'special', 'sparse']) look(space, untyped[space], Object.keys(untyped[space]));
  look('torch', untyped, Object.keys(untyped));
  look('nn.functional', untyped.nn.functional, Object.keys(untyped.nn.functional));
  balanced(() =>
    torch.scope(() => look('Tensor', torch.ones([1]), Object.getOwnPropertyNames(untyped.Tensor.prototype))),
  );
  expect(silent).toEqual([]);
  expect(tried).toBeGreaterThan(800);
});

test('existing names, and names without a suggestion, are not changed', () => {
  expect(untyped.ops.aten.log_softmax.int.schema).toContain('log_softmax');
  expect('log_softmax' in untyped).toBe(false);
  expect(Object.keys(untyped)).not.toContain('log_softmax');
  expect([untyped.then, untyped.__esModule, untyped.nothingLikeIt, untyped.nn.functional.then]).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
  expect(untyped instanceof Object).toBe(true);
  expect(String(Object.hasOwn(untyped, 'add'))).toBe('true');
  const copy = { ...untyped };
  expect(copy.add).toBe(untyped.add);
});

test('import gives the module with hints; import * and destructuring fail without them', async () => {
  const got = await ask(`
    import('libtorch-node').catch(() => import(${JSON.stringify(`${process.cwd()}/dist/lib/index.mjs`)})).then((space) => {
      const messages = [];
      try { space.default.log_softmax; } catch (error) { messages.push(error.message); }
      try { const { log_softmax } = space.default; } catch (error) { messages.push(error.message); }
      try { space.log_softmax(1); } catch (error) { messages.push(error.message); }
      answer([...messages, Object.keys(space).includes('log_softmax'), typeof space.then]);
    });
  `);
  expect(got).toEqual([
    'torch.log_softmax is not a name here: write logSoftmax',
    'torch.log_softmax is not a name here: write logSoftmax',
    'space.log_softmax is not a function',
    false,
    'undefined',
  ]);
});
