/** Other realms and other copies of the library in one process: vm contexts, Jest's module registries, Jest itself. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import * as vm from 'node:vm';
import { ask, program, run } from '../support/child';
import { limitMs } from '../support/sanitized';
import { balanced, codeOf, LIB, ROOT, torch } from '../support/torch';

test('a realm of a browser, such as that of jest-environment-jsdom, lacks some of the globals of Node', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'libtorch-node-'));
  try {
    const { code, stdout, stderr } = await run(process.execPath, [
      '-e',
      `for (const name of ['TextDecoder', 'TextEncoder', 'structuredClone', 'setImmediate', 'clearImmediate', 'fetch'])
        delete globalThis[name];
      const torch = require(${JSON.stringify(path.join(LIB, 'index.js'))});
      process.chdir(${JSON.stringify(folder)});
      torch.save({ é: torch.ones([2]) }, 'a.pt');
      torch.safetensors.save({ é: torch.ones([3]) }, 'a.safetensors');
      console.log(Object.keys(torch.load('a.pt')), Object.keys(torch.safetensors.load('a.safetensors')));
      const dataset = { length: 1, getItem: () => new Promise(() => {}) };
      const { DataLoader } = torch.utils.data;
      (async () => { for await (const _ of new DataLoader(dataset, { timeoutMs: 1 })); })().catch(({ code }) => console.log(code));`,
    ]);
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: "[ 'é' ] [ 'é' ]\nERR_TORCH_TIMEOUT\n", stderr: '' });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

describe('vm contexts', () => {
  const context = vm.createContext({ torch });
  const inContext = (code: string) => vm.runInContext(code, context);

  test('tensors made there are tensors here, and arrays from there are data', () => {
    balanced(() => {
      const t = inContext('torch.tensor([[1, 2], [3, 4]])');
      expect(t).toBeInstanceOf(torch.Tensor);
      expect(torch.scope(() => t.add(torch.ones([2, 2])).toArray())).toEqual([
        [2, 3],
        [4, 5],
      ]);
      expect(torch.scope(() => torch.cat(inContext('[torch.ones([1]), torch.zeros([1])]')).toArray())).toEqual([1, 0]);
      expect(torch.scope(() => torch.zeros(inContext('[2, 1]')).shape)).toEqual([2, 1]);
      expect(torch.scope(() => torch.tensor(inContext('new Float64Array([1, 2])')).dtype)).toBe('float64');
      expect(torch.scope(() => t.sum(inContext('({ dim: [1], keepdim: true })')).shape)).toEqual([2, 1]);
      expect(codeOf(() => t.sum(inContext('({ dimension: 1 })')))).toBe('ERR_TORCH_OVERLOAD');
      const { list, map } = torch.scope(() =>
        inContext('({ list: [torch.ones([2])], map: new Map([[1, torch.ones([3])]]) })'),
      );
      expect([list[0].disposed, map.get(1).disposed]).toEqual([false, false]);
      torch.disposeAll([t, list, map, inContext('[]')]);
      torch.disposeAll(inContext('[]'));
    });
  });

  test('the library itself there: its classes have what `using` calls', async () => {
    // Node 20 defines Symbol.dispose in the main context only. Modules are compiled as Vitest and Jest do it.
    const answers = await ask(`
      const fs = require('node:fs'), path = require('node:path'), vm = require('node:vm');
      const { createRequire, isBuiltin } = require('node:module');
      const parsingContext = vm.createContext({});
      const inside = (code) => vm.runInContext(code, parsingContext);
      const there = new Set(inside('Object.getOwnPropertyNames(globalThis)'));
      for (const name of Object.getOwnPropertyNames(globalThis))
        if (!there.has(name)) Object.defineProperty(parsingContext, name, Object.getOwnPropertyDescriptor(globalThis, name));
      const loaded = new Map();
      function load(file) {
        if (loaded.has(file)) return loaded.get(file).exports;
        const module = { exports: {}, filename: file };
        loaded.set(file, module);
        const real = createRequire(file);
        const inContext = (name) => {
          const found = real.resolve(name);
          return isBuiltin(name) || !found.endsWith('.js') ? real(name) : load(found);
        };
        const code = fs.readFileSync(file, 'utf8');
        const names = ['exports', 'require', 'module', '__filename', '__dirname'];
        const body = vm.compileFunction(code, names, { parsingContext, filename: file });
        body(module.exports, Object.assign(inContext, real), module, file, path.dirname(file));
        return module.exports;
      }
      parsingContext.other = load(${JSON.stringify(`${LIB}/index.js`)});
      answer([
        inside('const x = other.ones([2]); x[Symbol.dispose](); x.disposed'),
        inside("'undefined' in other.Tensor.prototype"),
        inside('typeof other.openScope()[Symbol.dispose]'),
        inside('Symbol.dispose') === Symbol.dispose || inside('Symbol.dispose === Symbol.for("Symbol.dispose")'),
      ]);
    `);
    expect(answers).toEqual([true, false, 'function', true]);
  });

  test('errors thrown there and here keep their codes', () => {
    expect(inContext("try { torch.zeros('x') } catch (e) { e.code }")).toBe('ERR_TORCH_OVERLOAD');
    expect(inContext('try { torch.ones([2]).view([3]) } catch (e) { e.code }')).toBe('ERR_TORCH_RUNTIME');
  });
});

test('two copies of the library over one addon work together', async () => {
  const result = await ask(`
    const path = ${JSON.stringify(`${LIB}/index.js`)};
    for (const key of Object.keys(require.cache)) if (!key.endsWith('.node')) delete require.cache[key];
    const other = require(path);
    const [a, b] = [torch.tensor([1, 2]), other.tensor([10, 20])];
    const distinct = torch.Tensor !== other.Tensor && !(b instanceof torch.Tensor);
    const sums = [torch.add(a, b), a.add(b), b.add(a), torch.cat([a, b]), other.scope(() => torch.stack([a, b]))].map((t) => t.toArray());
    // a scope of one copy owns the tensors that the other makes in it, and releases its result
    const out = other.scope(() => { a.mul(2); return { kept: torch.tensor([7]), mine: other.tensor([8]) }; });
    const kept = [out.kept.item(), out.mine.item()];
    other.disposeAll([a, out]);
    const gone = [a.disposed, out.kept.disposed];
    torch.keep(b);
    b.dispose();
    answer({ distinct, sums, kept, gone });
  `);
  expect(result).toEqual({
    distinct: true,
    sums: [
      [11, 22],
      [11, 22],
      [11, 22],
      [1, 2, 10, 20],
      [
        [1, 2],
        [10, 20],
      ],
    ],
    kept: [7, 8],
    gone: [true, true],
  });
});

test('a copy over its own addon: a clear error', async () => {
  const { codes, messages } = await ask(
    `
    const fs = require('fs'); const p = require('path');
    const folder = fs.mkdtempSync(p.join(require('os').tmpdir(), 'ltn-copy-'));
    process.on('exit', () => fs.rmSync(folder, { recursive: true }));
    const addon = process.env.LIBTORCH_NODE_ADDON ?? ${JSON.stringify(path.join(ROOT, 'build/Release/libtorch_node.node'))};
    process.env.LIBTORCH_NODE_ADDON = p.join(folder, 'copy.node');
    fs.copyFileSync(addon, process.env.LIBTORCH_NODE_ADDON);
    for (const key of Object.keys(require.cache)) if (!key.endsWith('.node')) delete require.cache[key];
    const other = require(${JSON.stringify(`${LIB}/index.js`)});
    const [a, b] = [torch.tensor([1, 2]), other.tensor([10, 20])];
    const messages = [];
    const codes = [() => torch.add(a, b), () => b.add(a), () => torch.cat([a, b])]
      .map((fn) => { try { return fn().toArray(); } catch (e) { messages.push(e.message); return e.code; } });
    answer({ codes, messages });
  `,
    ['--disable-warning=TORCH_COPIES'],
  );
  expect(codes).toEqual(['ERR_TORCH_OVERLOAD', 'ERR_TORCH_OVERLOAD', 'ERR_TORCH_OVERLOAD']);
  for (const message of messages) expect(message).toContain('got a Tensor of another copy of libtorch-node');
});

test('a copy over its own addon says once in a process that there are two', async () => {
  const { warnings, addon } = await ask(
    `
    const fs = require('fs'); const p = require('path');
    const folder = fs.mkdtempSync(p.join(require('os').tmpdir(), 'ltn-copy-'));
    process.on('exit', () => fs.rmSync(folder, { recursive: true }));
    const addon = process.env.LIBTORCH_NODE_ADDON ?? ${JSON.stringify(path.join(ROOT, 'build/Release/libtorch_node.node'))};
    const copy = process.env.LIBTORCH_NODE_ADDON = p.join(folder, 'libtorch_node.node');
    fs.copyFileSync(addon, copy);
    const warnings = [];
    process.on('warning', ({ name, code, message }) => warnings.push([name, code, message]));
    const again = () => {
      for (const key of Object.keys(require.cache)) if (!key.endsWith('.node')) delete require.cache[key];
      return require(${JSON.stringify(`${LIB}/index.js`)});
    };
    again();
    again(); // the copy's addon once more
    process.env.LIBTORCH_NODE_ADDON = addon;
    again(); // the first addon once more
    const { Worker } = require('worker_threads');
    const worker = new Worker('require(' + ${JSON.stringify(JSON.stringify(`${LIB}/index.js`))} + ')', { eval: true });
    worker.on('exit', () => answer({ warnings, addon: fs.realpathSync(addon) }));
  `,
    ['--disable-warning=TORCH_COPIES'],
  );
  expect(warnings).toEqual([
    ['TorchWarning', 'TORCH_COPIES', expect.stringContaining(`with the addon ${addon}. The copies`)],
  ]);
});

test('an addon stays loaded when the worker that loaded it ends, because libtorch keeps its allocator', async () => {
  const outcome = await program(
    `
    const fs = require('fs'); const p = require('path');
    const { Worker } = require('worker_threads');
    const folder = fs.mkdtempSync(p.join(require('os').tmpdir(), 'ltn-copies-'));
    process.on('exit', () => fs.rmSync(folder, { recursive: true }));
    const addon = process.env.LIBTORCH_NODE_ADDON ?? ${JSON.stringify(path.join(ROOT, 'build/Release/libtorch_node.node'))};
    const run = (name) => new Promise((resolve) => {
      const copy = p.join(folder, name);
      fs.copyFileSync(addon, copy);
      const source = 'require(' + ${JSON.stringify(JSON.stringify(`${LIB}/index.js`))} + ').ones([2])';
      new Worker(source, { eval: true, env: { ...process.env, LIBTORCH_NODE_ADDON: copy } }).once('exit', resolve);
    });
    (async () => {
      const ended = [];
      // The end of each makes the system unload what nothing refers to.
      for (const name of ['a.node', 'b.node', 'c.node']) ended.push(await run(name));
      const maps = fs.readFileSync('/proc/self/maps', 'utf8');
      answer({ ended, mapped: ['a.node', 'b.node', 'c.node'].map((name) => maps.includes(p.join(folder, name))) });
    })();
  `,
    ['--disable-warning=TORCH_COPIES'],
  );
  expect(outcome).toMatchObject({ code: 0, signal: null, stderr: '' });
  expect(outcome.answer).toEqual({ ended: [0, 0, 0], mapped: [true, true, true] });
});

test('modules, parameters and generators of another copy are refused by name, not left out of the parameters', async () => {
  const messages = await ask(`
    void torch.nn.Linear; // loaded before the cache is emptied: a copy of its own
    for (const key of Object.keys(require.cache)) if (!key.endsWith('.node')) delete require.cache[key];
    const other = require(${JSON.stringify(`${LIB}/index.js`)});
    class Net extends torch.nn.Module {
      constructor(part) { super(); this.own = new torch.nn.Linear(1, 1); this.part = part; }
    }
    const said = (fn) => { try { return fn(); } catch (e) { return [e.code, e.message.split('\\n')[0]]; } };
    answer([
      () => new Net(new other.nn.Linear(2, 2)).parameters().length,
      () => Object.keys(new Net(new other.nn.Parameter(torch.ones([2]))).stateDict()),
      () => new torch.nn.Sequential(new other.nn.ReLU()),
      () => torch.rand([2], { generator: new other.Generator() }),
      () => new Net(new other.Generator()).parameters().length,
      () => new Net(other.ones([2])).parameters().length,
      // What only looks at the module, or frees it, does not throw.
      () => {
        const net = new Net(new other.nn.Linear(2, 2));
        const text = String(net);
        net.dispose();
        return [text, net.own.weight.disposed];
      },
    ].map(said));
  `);
  const copy = 'of another copy of libtorch-node';
  const member = 'Net.part: expected a Module or a Parameter of the same copy of libtorch-node, got a';
  expect(messages).toEqual([
    ['ERR_TORCH_ARGUMENT', `${member} Linear ${copy}`],
    ['ERR_TORCH_ARGUMENT', expect.stringMatching(/^Net\.part: .* of another copy of libtorch-node$/)],
    ['ERR_TORCH_ARGUMENT', `nn.Sequential: argument 'modules[0]': expected a Module, got a ReLU ${copy}`],
    ['ERR_TORCH_OVERLOAD', `rand: argument 'generator': expected a Generator, got a Generator ${copy}`],
    2,
    2,
    [expect.stringMatching(/^Net\(\n {2}\(own\): Linear/), true],
  ]);
});

test('a Jest run of 20 test files in one process: passes, leaks nothing, ends by itself', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'ltn-jest-'));
  try {
    mkdirSync(path.join(folder, 'tests'));
    const library = JSON.stringify(`${LIB}/index.js`);
    for (let i = 0; i < 20; i++) {
      writeFileSync(
        path.join(folder, 'tests', `file${String(i).padStart(2, '0')}.test.js`),
        `const torch = require(${library});
test('makes, leaves and frees tensors, with its own registry', () => {
  const left = [torch.ones([100]), torch.scope(() => torch.ones([50]).add(1))];
  expect(left[1].sum().item()).toBe(100);
  expect(() => torch.ones([2]).view([3])).toThrow(/invalid/);
  expect(left[0]).toEqual(left[0]);
  jest.resetModules();
  const again = require(${library});
  expect(again).not.toBe(torch);
  expect(again.add(left[0], 1).shape).toEqual([100]);
});
test('async', async () => {
  await torch.scope(async () => { await null; torch.ones([10]); });
  if (${i} === 3) torch.TensorLogger.start({ frequency: 1, logger() {} });
});
`,
      );
    }
    writeFileSync(
      path.join(folder, 'teardown.js'),
      `module.exports = async () => {
  const torch = require(${library});
  const limit = Date.now() + ${limitMs(15_000)};
  while (torch.memory().tensors > 0 && Date.now() < limit) { gc(); await new Promise((done) => setTimeout(done, 5)); }
  const { tensors, storages, bytes } = torch.memory();
  require('fs').writeFileSync(${JSON.stringify(path.join(folder, 'left.json'))}, JSON.stringify({ tensors, storages, bytes }));
};`,
    );
    writeFileSync(
      path.join(folder, 'jest.config.js'),
      "module.exports = { testEnvironment: 'node', globalTeardown: './teardown.js', transform: {} };",
    );
    const jest = path.join(ROOT, 'node_modules/jest/bin/jest.js');
    const { code, signal, stderr } = await run(
      process.execPath,
      ['--expose-gc', jest, '--runInBand', '--rootDir', folder, '--config', path.join(folder, 'jest.config.js')],
      { limitMs: 240_000 },
    );
    expect({ code, signal, stderr }).toEqual({
      code: 0,
      signal: null,
      stderr: expect.stringContaining('20 passed, 20 total'),
    });
    expect(require(path.join(folder, 'left.json'))).toEqual({ tensors: 0, storages: 0, bytes: 0 });
  } finally {
    rmSync(folder, { recursive: true });
  }
}, 300_000);
