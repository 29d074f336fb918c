/**
 * What of the module is loaded when it is first used (lib/late): the program sees no difference. In child processes, because
 * Jest's own loader gets everything at once.
 */
import * as path from 'node:path';
import { ask } from '../support/child';
import { LIB, untyped } from '../support/torch';

const { late, lateFunctions } = require(path.join(LIB, 'late/names.js'));
const written = require(path.join(LIB, 'torch.js'));
const spaces: string[] = Object.keys(late);

const helpers = `
  const loaded = (folder) => Object.keys(require.cache).filter((file) => file.startsWith('${LIB}/' + folder + '/')).length;
  const isLate = (space, name) => Object.getOwnPropertyDescriptor(space, name).get !== undefined;
`;

test('the lists have the names of the files, in their order, and the lengths of functions', () => {
  for (const space of spaces) expect([space, late[space]]).toEqual([space, Object.keys(written[space])]);
  for (const [name, length] of Object.entries(lateFunctions))
    expect([name, written[name].length]).toEqual([name, length]);
});

test('with a loader that is not of Node, everything is there at once', () => {
  for (const space of spaces) {
    for (const name of late[space]) {
      expect([space, name, Object.hasOwn(untyped[space], name)]).toEqual([space, name, true]);
      expect(Object.getOwnPropertyDescriptor(untyped[space], name)!.get).toBeUndefined();
    }
  }
});

test('files are loaded at the first use, and each name then is an ordinary property of the same object', async () => {
  const got = await ask(`${helpers}
    const spaces = ${JSON.stringify(spaces)};
    const names = ${JSON.stringify(late)};
    const files = ['nn', 'optim', 'data', 'distributed', 'jit', 'inductor', 'utils'].map(loaded);
    const before = spaces.map((space) => Object.keys(torch[space]).join());
    const objects = spaces.map((space) => torch[space]);
    const all = spaces.every((space) => names[space].every((name) => isLate(torch[space], name)));
    const values = spaces.map((space) => names[space].map((name) => torch[space][name]));
    answer({
      files,
      all,
      keys: spaces.map((space) => Object.keys(torch[space]).join()).join() === before.join(),
      objects: spaces.every((space, i) => torch[space] === objects[i]),
      values: spaces.every((space, i) => names[space].every((name, j) => {
        const { value, writable, enumerable, configurable } = Object.getOwnPropertyDescriptor(torch[space], name);
        return value !== undefined && value === values[i][j] && writable && enumerable && configurable;
      })),
      symbols: spaces.flatMap((space) => Object.getOwnPropertySymbols(torch[space])).length,
      nn: loaded('nn') > 10,
      missing: torch.nn.functional !== undefined && Object.keys(torch.nn)[0] === 'functional',
    });
  `);
  expect(got.files).toEqual([0, expect.any(Number), 0, 0, 0, 0, 0]);
  expect(got.files[1]).toBeLessThan(5); // a part of torch.nn.functional is in lib/optim
  expect(got).toMatchObject({
    all: true,
    keys: true,
    objects: true,
    values: true,
    symbols: 0,
    nn: true,
    missing: true,
  });
});

test('functions of the module have their names, lengths and counts of arguments', async () => {
  const got = await ask(`${helpers}
    const codes = [];
    const files = loaded('files');
    for (const call of [() => torch.load('/no/such/file'), () => torch.save(1, '/no/such/folder/file', {}, 1, 2, 3)]) {
      try { call(); } catch (error) { codes.push(error.code ?? error.name); }
    }
    answer({
      codes,
      more: loaded('files') > files,
      names: ${JSON.stringify(Object.keys(lateFunctions))}.map((name) => [torch[name].name, torch[name].length]),
    });
  `);
  expect(got.names).toEqual(Object.entries(lateFunctions));
  expect(got.codes).toEqual(['ENOENT', 'ERR_TORCH_ARGUMENT']);
  expect(got.more).toBe(true);
});

test('the table of ops, and functions that are not ops alone, are loaded with their first call', async () => {
  const got = await ask(`${helpers}
    const read = () => [
      Object.keys(require.cache).some((file) => /generated.table\\.js$/.test(file)),
      Object.keys(require.cache).some((file) => /generated.raw\\.js$/.test(file)),
      loaded('public') > 10,
    ];
    const states = [read()];
    const x = torch.ones([4]).add(1);
    states.push(read());
    const sum = torch.einsum('i->', [x]).item();
    states.push(read());
    const leaf = x.isLeaf;
    states.push(read());
    answer({ states, sum, leaf, schema: torch.ops.aten.add.Tensor.schema });
  `);
  expect(got.states).toEqual([
    [false, false, false],
    [false, false, false],
    [true, false, true],
    [true, true, true],
  ]);
  expect(got).toMatchObject({ sum: 8, leaf: true, schema: expect.stringContaining('aten::add.Tensor(') });
});

test('a misspelt name has its hint, before and after the load', async () => {
  const got = await ask(`
    const hint = (look) => { try { look(); return 'none'; } catch (error) { return error.message; } };
    const looks = [
      () => torch.nn.batch_norm_1d,
      () => torch.optim.lr_scheduler,
      () => torch.utils.data.data_loader,
      () => torch.amp.grad_scaler,
    ];
    const before = looks.map(hint);
    Object.values(torch.nn);
    answer([before, looks.map(hint)]);
  `);
  const hints = [
    'torch.nn.batch_norm_1d is not a name here: write BatchNorm1d',
    'torch.optim.lr_scheduler is not a name here: write lrScheduler',
    'torch.utils.data.data_loader is not a name here: write DataLoader',
    'torch.amp.grad_scaler is not a name here: write GradScaler',
  ];
  expect(got).toEqual([hints, hints]);
});

test('console.log shows what is there, not accessors', async () => {
  const got = await ask(`
    const { inspect } = require('node:util');
    const { nn, utils } = torch;
    const shown = [inspect({ nn, utils }, { depth: 1 }), inspect(torch.jit), inspect(torch.optim, { depth: 0 })];
    answer(shown.map((text) => [/Getter|Setter/.test(text), text.length > 50]));
  `);
  expect(got).toEqual([
    [false, true],
    [false, true],
    [false, true],
  ]);
});

test('what the program changes before the first use stays', async () => {
  const got = await ask(`
    class Mine {}
    torch.nn.Linear = Mine;
    const assigned = [torch.nn.Linear === Mine, torch.nn.Conv2d.name];
    delete torch.optim.SGD;
    const deleted = [typeof torch.optim.Adam, 'SGD' in torch.optim];
    Object.defineProperty(torch.jit, 'load', { value: 1, enumerable: true });
    const defined = [typeof torch.jit.freeze, torch.jit.load];
    Object.freeze(torch.utils);
    const frozen = [typeof torch.utils.data.DataLoader, torch.utils.data === torch.utils.data];
    let refused = 'no';
    try { (() => { 'use strict'; torch.utils.Progress = 1; })(); } catch (error) { refused = error.name; }
    const above = Object.create(torch.npy);
    above.load = 2;
    const inherited = [above.load, typeof torch.npy.load];
    const copied = { ...torch.safetensors };
    answer({ assigned, deleted, defined, frozen, refused, inherited, copied: copied.load === torch.safetensors.load });
  `);
  expect(got).toEqual({
    assigned: [true, 'Conv2d'],
    deleted: ['function', false],
    defined: ['function', 1],
    frozen: ['function', true],
    refused: 'TypeError',
    inherited: [2, 'function'],
    copied: true,
  });
});

test('named imports, workers and recordings use the same', async () => {
  const got = await ask(`${helpers}
    const { Worker } = require('node:worker_threads');
    const inWorker = new Promise((resolve, reject) => {
      const source = "const torch = require('${LIB}/index.js'); const layer = new torch.nn.Linear(2, 3);" +
        "require('node:worker_threads').parentPort.postMessage(layer.forward(torch.ones([1, 2])).shape); layer.dispose();";
      new Worker(source, { eval: true }).on('message', resolve).on('error', reject);
    });
    const recorded = torch.run((t) => t.amp.autocast({}, () => t.ones([2]).add(1)));
    Promise.all([import('${LIB}/index.mjs'), inWorker, recorded]).then(([space, shape, sum]) => answer({
      same: space.nn === torch.nn && space.default === torch,
      late: isLate(space.optim, 'Adam'),
      adam: space.optim.Adam === torch.optim.Adam,
      shape: Array.from(shape),
      sum: sum.toArray(),
    }));
  `);
  expect(got).toEqual({ same: true, late: true, adam: true, shape: [1, 3], sum: [2, 2] });
});

test('a load that a timeout of node:vm cuts off begins again', async () => {
  const got = await ask(`${helpers}
    const vm = require('node:vm');
    const { Module } = require('node:module');
    const compile = Module.prototype._compile;
    Module.prototype._compile = function (text, file) {
      if (file.endsWith('nn/linear.js')) while (true);
      return compile.call(this, text, file);
    };
    let code = 'it ended by itself';
    try {
      vm.runInContext('torch.nn.Linear', vm.createContext({ torch }), { timeout: 2000 });
    } catch (error) {
      ({ code } = error);
    }
    Module.prototype._compile = compile;
    const missing = ${JSON.stringify(late.nn)}.filter((name) => torch.nn[name] === undefined);
    const layer = new torch.nn.Linear(2, 3);
    answer({ code, missing, shape: Array.from(layer.forward(torch.ones([1, 2])).shape) });
  `);
  expect(got).toEqual({ code: 'ERR_SCRIPT_EXECUTION_TIMEOUT', missing: [], shape: [1, 3] });
});

test('so does one of the tables, of functions that are not ops alone, and of torch.ops', async () => {
  const got = await ask(`
    const vm = require('node:vm');
    const { Module } = require('node:module');
    const compile = Module.prototype._compile;
    const x = torch.ones([2, 2]);
    const uses = {
      'table.js': () => torch.ones(2n, 2).shape,
      'raw.js': () => x.isLeaf,
      'raw_calls.js': () => torch.ops.aten.add.Tensor(x, x).shape,
      'public/sparse.js': () => torch.einsum('ij->', [x]).item(),
    };
    const codes = Object.entries(uses).map(([end, use]) => {
      Module.prototype._compile = function (text, file) {
        if (file.endsWith('/' + end)) while (true);
        return compile.call(this, text, file);
      };
      try {
        vm.runInContext('use()', vm.createContext({ use }), { timeout: 500 });
        return 'it ended by itself';
      } catch ({ code }) {
        return code;
      } finally {
        Module.prototype._compile = compile;
      }
    });
    answer({ codes, values: Object.values(uses).map((use) => use()) });
  `);
  expect(got.codes).toEqual(Array(4).fill('ERR_SCRIPT_EXECUTION_TIMEOUT'));
  expect(got.values).toEqual([[2, 2], true, [2, 2], 4]);
});

test('a copy whose modules left the cache, and one that is loaded after it, each load their own', async () => {
  const got = await ask(`
    const drop = () => {
      for (const file of Object.keys(require.cache)) if (file.startsWith('${LIB}/')) delete require.cache[file];
    };
    const uses = [
      (torch) => torch.ones(2).tolist(),
      (torch) => torch.nn.functional.crossEntropy(torch.zeros([1, 2]), torch.tensor([0], { dtype: 'int64' })).shape,
      (torch) => new torch.nn.Linear(2, 3).forward(torch.ones([1, 2])).shape,
      (torch) => torch.utils.data.DataLoader.name,
      (torch) => torch.optim.SGD.name,
    ];
    drop();
    const alone = uses.slice(0, 3).map((use) => use(torch));
    const left = Object.keys(require.cache).filter((file) => file.startsWith('${LIB}/')).length;
    const other = require('${LIB}/index.js');
    const [a, b] = [torch, other].map((copy) => uses.map((use) => use(copy)));
    const differ = torch.nn.Linear !== other.nn.Linear && torch.optim.SGD !== other.optim.SGD;
    answer({ alone, left, a, b, differ, isOthers: require.cache['${LIB}/index.js'].exports === other });
  `);
  const values = [[1, 1], [], [1, 3], 'DataLoader', 'SGD'];
  expect(got).toEqual({ alone: values.slice(0, 3), left: 0, a: values, b: values, differ: true, isOthers: true });
});
