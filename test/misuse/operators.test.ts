/**
 * JavaScript's syntax on a tensor, where Python's works elementwise: each form gives the right result, or an error that says
 * what to write. None silently continues with NaN or undefined.
 */
import * as util from 'node:util';
import { ask } from '../support/child';
import { balanced, thrown, torch, untyped } from '../support/torch';

type Form = readonly [form: string, code: string, says: string];

/** `t` is [1, 2, 3], `m` [[1, 2], [3, 4]]. */
const refused: readonly Form[] = [
  ...['t + 1', 't + t', '"loss: " + t', 't == 1', 't != 1', '1 + t'].map(
    (form) => [form, 'ERR_TORCH_OPERATOR', 'write a.add(b) for a + b, a.eq(b) for a == b, t.item()'] as const,
  ),
  ...['t - 1', 't * t', 't / 2', 't ** 2', 't % 2', '-t', '+t', 't > 1', 't <= m', 't & 1', '~t'].map(
    (form) => [form, 'ERR_TORCH_OPERATOR', 'write t.item() for the number of a tensor with one element'] as const,
  ),
  ...[
    'Number(t)',
    'isNaN(t)',
    'Math.max(t, 0)',
    'Math.max(...t)',
    'Math.abs(m)',
    'BigInt(t)',
    'parseFloat.call(0, +t)',
  ].map((form) => [form, 'ERR_TORCH_OPERATOR', 't.item()'] as const),
  ['Float32Array.from(t)', 'ERR_TORCH_OPERATOR', 't.item()'],
  ['new Float64Array(t)', 'ERR_TORCH_OPERATOR', 't.item()'],
  ['(() => { let u = t; u += 1; return u; })()', 'ERR_TORCH_OPERATOR', 'a.add(b)'],
  ['(() => { let u = t; u++; return u; })()', 'ERR_TORCH_OPERATOR', 't.item()'],
  ['t[0]', 'ERR_TORCH_NAME', 't[0] is not an element: write t.at(0)'],
  ['t[-1]', 'ERR_TORCH_NAME', 'write t.at(-1)'],
  ['m[1][0]', 'ERR_TORCH_NAME', 'write t.at(1)'],
  ['t[0] = 5', 'ERR_TORCH_NAME', 'writes nothing: write t.set([0], value)'],
  ['t[0]++', 'ERR_TORCH_NAME', 'write t.at(0)'],
  ['(() => { for (let i = 0; i < t.length; i++) t[i]; })()', 'ERR_TORCH_NAME', 'write t.at(0)'],
  ['Math.max.apply(null, t)', 'ERR_TORCH_NAME', 'write t.at(0)'],
  // In code that is not strict, as this is, JavaScript says nothing of what can only be read.
  ['t.shape = [3, 1]', 'ERR_TORCH_NAME', 'Tensor.shape is read-only; use t.reshape(sizes) instead'],
  ['t.dtype = "int64"', 'ERR_TORCH_NAME', 'Tensor.dtype is read-only; use t.to(dtype) instead'],
  ['t.device = "cuda"', 'ERR_TORCH_NAME', 'Tensor.device is read-only; use t.to(device) instead'],
  ['t.numel++', 'ERR_TORCH_NAME', 'Tensor.numel is read-only'],
  [
    't.data = m',
    'ERR_TORCH_NAME',
    'Tensor.data is a method: expected a call, got an assignment; use torch.noGrad(() => t.copy_(x))',
  ],
  [
    't.real = m',
    'ERR_TORCH_NAME',
    'Tensor.real is a method: expected a call, got an assignment; use t.real().copy_(x)',
  ],
  ['t.T = m', 'ERR_TORCH_NAME', 'Tensor.T is read-only'],
  ['Object.assign(t, { strides: [1] })', 'ERR_TORCH_NAME', 'Tensor.strides is read-only'],
  ['[...torch.tensor(1)]', 'ERR_TORCH_ARGUMENT', 't.item() is its element'],
  ['torch.cat(m)', 'ERR_TORCH_OVERLOAD', 'array of Tensor'],
  ['torch.stack(m)', 'ERR_TORCH_OVERLOAD', 'array of Tensor'],
];

const evaluate = (form: string, t: unknown, m: unknown) =>
  new Function('torch', 't', 'm', `return ${form}`)(untyped, t, m);

test.each(refused)('%s: %s', (form, code, says) => {
  balanced(() =>
    torch.scope(() => {
      const [t, m] = [torch.tensor([1, 2, 3]), torch.tensor([[1, 2], [3, 4]])]; // biome-ignore format: one line
      const error = thrown(() => evaluate(form, t, m));
      expect(error).toBeInstanceOf(TypeError);
      expect(error.code).toBe(code);
      expect(error.message).toContain(says);
      expect(error.stack).not.toContain('/lib/call/misses');
      expect(t.toArray()).toEqual([1, 2, 3]);
    }),
  );
});

const given: readonly (readonly [form: string, value: unknown])[] = [
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the program
  ['`${t}`', 'tensor([1., 2., 3.])'],
  ['String(t)', 'tensor([1., 2., 3.])'],
  ['"loss: ".concat(t)', 'loss: tensor([1., 2., 3.])'],
  ['JSON.stringify({ t })', '{"t":[1,2,3]}'],
  [
    'Array.from(m, (row) => row.toArray())',
    [
      [1, 2],
      [3, 4],
    ],
  ],
  ['[...m].map((row) => row.shape)', [[2], [2]]],
  ['(() => { const rows = []; for (const row of t) rows.push(row.item()); return rows; })()', [1, 2, 3]],
  ['torch.cat([...m]).toArray()', [1, 2, 3, 4]],
  ['(() => { const [a, b] = t; return a.item() + b.item(); })()', 3],
  ['[0 in t, "log_softmax" in t, "logSoftmax" in t]', [false, false, true]],
  ['[t.length, m.length, torch.tensor(1).length]', [3, 2, undefined]],
  [
    '(() => { const names = []; for (const name in t) names.push(name); return names; })()',
    ['_mark', '_handle', '_guard'],
  ],
  ['t == null', false],
  ['t === t', true],
  ['[t instanceof Object, t.hasOwnProperty("x"), Object.prototype.toString.call(t)]', [true, false, '[object Object]']],
  [
    '[t.then, t.nodeType, t.$$typeof, t.asymmetricMatch, t._isMockFunction, t[Symbol.toStringTag]]',
    new Array(6).fill(undefined),
  ],
  ['(() => { t.label = "mine"; return [t.label, Object.keys(t).at(-1)]; })()', ['mine', 'label']],
  [
    '(() => { class Mine extends torch.Tensor {} return Object.getOwnPropertyNames(Mine.prototype); })()',
    ['constructor'],
  ],
];

test.each(given)('%s is unchanged', (form, value) => {
  balanced(() =>
    torch.scope(() => {
      const [t, m] = [torch.tensor([1, 2, 3]), torch.tensor([[1, 2], [3, 4]])]; // biome-ignore format: one line
      expect(evaluate(form, t, m)).toEqual(value);
    }),
  );
});

test('slice takes a dimension first, like libtorch’s', () => {
  balanced(() =>
    torch.scope(() => {
      const t = untyped.arange(6);
      expect(t.slice(0, 2).toArray()).toEqual([2, 3, 4, 5]);
      expect(t.at(torch.slice(0, 2)).toArray()).toEqual([0, 1]);
      for (const form of [
        't.slice(0, 2, 5)',
        't.slice(0, 2, 5, 1)',
        't.slice({ start: 2, end: 5 })',
        't.slice(0, { start: 2, end: 5 })',
        't.slice(0, 2, { end: 5 })',
        't.at(torch.slice(2, 5))',
        'torch.ops.aten.slice.Tensor(t.at(torch.slice(0, 5)), 0, 2)',
      ]) {
        expect([form, (evaluate(form, t, t) as any).toArray()]).toEqual([form, [2, 3, 4]]);
      }
      expect(t.slice().toArray()).toEqual([0, 1, 2, 3, 4, 5]);
    }),
  );
});

test('rows belong to the scope of the loop', () => {
  balanced(() => {
    const m = torch.tensor([[1, 2], [3, 4]]); // biome-ignore format: one line
    const before = torch.memory().tensors;
    torch.scope(() => {
      let rows = 0;
      for (const row of m) rows += row.shape[0];
      expect(rows).toBe(4);
      expect(torch.memory().tensors).toBe(before + 2);
    });
    expect(torch.memory().tensors).toBe(before);
    m.dispose();
  });
});

test('tools that inspect every object work', async () => {
  balanced(() =>
    torch.scope(() => {
      const t = torch.tensor([1, 2]);
      expect(util.inspect(t)).toBe('tensor([1., 2.])');
      expect(util.format('%s %j', t, t)).toBe('tensor([1., 2.]) [1,2]');
      // Like a REPL and mocks.
      const names: string[] = [];
      for (let at: object | null = t; at !== null; at = Object.getPrototypeOf(at))
        names.push(...Object.getOwnPropertyNames(at));
      expect(names).toContain('logSoftmax');
      expect(names).toContain('hasOwnProperty');
      expect(Object.keys(Object.assign({}, t))).toEqual(['_mark', '_handle', '_guard']);
    }),
  );
  const awaited = await Promise.resolve(torch.ones([1]));
  expect(awaited.disposed).toBe(false);
  awaited.dispose();
});

test('a pending tensor in an operator is refused as well', async () => {
  const sum = await untyped.run((recorded: any) => {
    const t = recorded.ones([2]);
    expect(thrown(() => t + 1).code).toBe('ERR_TORCH_OPERATOR');
    expect(thrown(() => t[0]).code).toBe('ERR_TORCH_NAME');
    expect(thrown(() => t.log_softmax).message).toContain('write logSoftmax');
    return t.sum();
  });
  expect(sum.item()).toBe(2);
  sum.dispose();
});

test('strict and sloppy code alike: a write is never lost', async () => {
  const codes = await ask(`
    const t = torch.ones([2]);
    const codes = [];
    for (const write of [() => { t[0] = 5; }, () => { t.requires_grad = true; }, () => { torch.tensor([1]).is_leaf = 1; }]) {
      try { write(); codes.push('nothing'); } catch (error) { codes.push(error.code); }
    }
    answer(codes.concat(t.requiresGrad, t.toArray()));
  `);
  expect(codes).toEqual(['ERR_TORCH_NAME', 'ERR_TORCH_NAME', 'ERR_TORCH_NAME', false, 1, 1]);
});
