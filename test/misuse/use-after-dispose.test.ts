/** LIBTORCH_NODE_DEBUG=1: where a disposed tensor was made, and where and how it was disposed. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import { run } from '../support/child';
import { LIB, thrown, torch } from '../support/torch';

const folder = mkdtempSync(path.join(tmpdir(), 'ltn-debug-'));
afterAll(() => rmSync(folder, { recursive: true }));
const script = path.join(folder, 'program.js');

/** Runs a program whose first line loads torch, and returns the errors that it reported with `told(fn)`. */
async function errors(lines: string[], debug: boolean, nodeOptions: string[] = []): Promise<any[]> {
  const prelude = `const torch = require(${JSON.stringify(`${LIB}/index.js`)}); const told = (fn) => { try { fn(); } catch (e) { console.log(JSON.stringify({ code: e.code, message: e.message, stack: e.stack, created: e.created, disposed: e.disposed, disposedBy: e.disposedBy })); } };`;
  writeFileSync(script, [prelude, ...lines].join('\n'));
  const { LIBTORCH_NODE_DEBUG: _, ...rest } = process.env;
  const env = debug ? { ...rest, LIBTORCH_NODE_DEBUG: '1' } : rest;
  const { code, stdout, stderr } = await run(process.execPath, [...nodeOptions, script], { env });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}

const at = (line: number) => `${script}:${line}:`;

test('dispose(), disposeAll(), the end of a scope: the error says where the tensor was made and disposed', async () => {
  const [disposed, symbol, all, scope, opened, kept] = await errors(
    [
      'function make(n) {',
      '  return torch.ones([n]);', // line 3
      '}',
      'const a = make(1); const b = make(2);',
      'a.dispose();', // line 6
      'told(() => a.add(b));',
      'b[Symbol.dispose]();', // line 8
      'told(() => b.shape);',
      'const c = make(3);',
      'torch.disposeAll({ list: [c] });', // line 11
      'told(() => torch.cat([c, c]));',
      'let d;',
      'torch.scope(() => { d = make(4); });', // line 14
      'told(() => d.sum());',
      'const s = torch.openScope();',
      'const e = torch.zeros([5]);', // line 17
      's.close();', // line 18
      'told(() => e.toArray());',
      'told(() => torch.keep(e));',
    ],
    true,
  );
  expect(disposed).toMatchObject({ code: 'ERR_TORCH_DISPOSED', disposedBy: 'dispose' });
  expect(disposed.message).toContain("aten::add.Tensor: argument 'self': the tensor was disposed\n  created at make (");
  expect(disposed.message).toContain(at(3));
  expect(disposed.message).toContain(`disposed by dispose() at`);
  expect(disposed.message).toContain(at(6));
  expect(disposed.stack).toContain(disposed.message);
  expect(disposed.stack).toContain(at(7));
  expect(disposed.created).toMatch(/^ {4}at make \(/);
  expect(disposed.created).toContain(at(5));
  expect(symbol.disposed).toContain(at(8));
  expect(all).toMatchObject({ disposedBy: 'disposeAll' });
  expect(all.message).toContain('disposed by disposeAll() at');
  expect(all.disposed).toContain(at(11));
  expect(scope).toMatchObject({ disposedBy: 'scope' });
  expect(scope.message).toContain('released at the end of its scope at');
  expect(scope.disposed).toContain(at(14));
  expect(opened.created).toContain(at(17));
  expect(opened.disposed).toContain(at(18));
  expect(kept.code).toBe('ERR_TORCH_DISPOSED');
  expect(kept.disposed).toContain(at(18));
});

test('the error names the line of an async scope that released the tensor', async () => {
  const [error] = await errors(
    [
      'torch.scope(async () => {',
      '  await null;',
      '  return { leak: [torch.ones([2])], get later() { return 1; } };',
      '}).then(async () => {',
      '  let lost;',
      '  await torch.scope(async () => { await null; lost = torch.ones([3]); await null; });', // line 7
      '  told(() => lost.neg());',
      '});',
    ],
    true,
  );
  expect(error).toMatchObject({ code: 'ERR_TORCH_DISPOSED', disposedBy: 'scope' });
  expect(error.created).toContain(at(7));
});

test('only the last 10,000 disposals are remembered; the error says so', async () => {
  const [gone, there] = await errors(
    [
      'const first = torch.ones([1]);',
      'first.dispose();',
      'for (let i = 0; i < 9999; i++) torch.ones([1]).dispose();',
      'const last = torch.ones([1]);',
      'last.dispose();', // line 6
      'told(() => first.neg());',
      'told(() => last.neg());',
    ],
    true,
  );
  expect(gone).toMatchObject({ code: 'ERR_TORCH_DISPOSED' });
  expect(gone.created).toBeUndefined();
  expect(gone.message).toContain('only the last 10,000');
  expect(there.disposed).toContain(at(6));
});

test('a copy of an object whose tensor the collector freed', async () => {
  const [error] = await errors(
    [
      'const copy = Object.create(torch.Tensor.prototype);',
      '(() => { Object.assign(copy, { _handle: torch.ones([7])._handle }); })();', // line 3
      'setImmediate(() => { gc(); told(() => copy.neg()); });',
    ],
    true,
    ['--expose-gc'],
  );
  expect(error).toMatchObject({ code: 'ERR_TORCH_DISPOSED', disposedBy: 'collector' });
  expect(error.created).toContain(at(3));
  expect(error.message).toContain('freed by the garbage collector');
});

test('in a worker too', async () => {
  const [error] = await errors(
    [
      "const { Worker, isMainThread } = require('worker_threads');",
      'if (isMainThread) new Worker(__filename);',
      'else {',
      '  const t = torch.ones([2]);', // line 5
      '  t.dispose();',
      '  told(() => t.neg());',
      '}',
    ],
    true,
  );
  expect(error.created).toContain(at(5));
  expect(error.disposed).toContain(at(6));
});

test('without the variable nothing is recorded and the error is short', async () => {
  const [error, flag] = await errors(
    [
      'const t = torch.ones([2]);',
      't.dispose();',
      'told(() => t.neg());',
      `const { native } = require(${JSON.stringify(`${LIB}/addon/native.js`)});`,
      'console.log(JSON.stringify({ raised: native.flags[0], demands: native.watchDemands?.size ?? 0 }));',
    ],
    false,
  );
  expect(error.message).toBe("aten::neg: argument 'self': the tensor was disposed");
  expect(error).not.toHaveProperty('created');
  expect(flag).toEqual({ raised: 0, demands: 0 });
});

test('the error names the method that was called, not one that it uses', () => {
  const t: any = torch.ones([1, 1, 4]);
  t.dispose();
  const F: any = torch.nn.functional;
  const methods = [
    'size',
    'dim',
    'type',
    'stride',
    'nelement',
    'ndimension',
    'elementSize',
    'isContiguous',
    'getDevice',
  ];
  const calls: [name: string, call: () => unknown, argument: string][] = [
    ...methods.map((name) => [name, () => t[name](), 'self'] as [string, () => unknown, string]),
    ['tolist', () => t.tolist(), 'self'],
    ['interpolate', () => F.interpolate(t, { size: [2] }), 'input'],
    ['blockDiag', () => torch.blockDiag(torch.ones([1]), t), 'tensors[1]'],
  ];
  for (const [name, call, argument] of calls) {
    const error = thrown(call);
    expect(error).toMatchObject({ code: 'ERR_TORCH_DISPOSED', op: name, argument });
    expect(error.message).toBe(`${name}: argument '${argument}': the tensor was disposed`);
  }
});
