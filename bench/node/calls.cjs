/**
 * The cost of a call besides the op: the raw native entry with prepared arguments, and the same op by each form of call,
 * in a scope around each batch. See bench/cpp/ops.cpp for the protocol.
 */
'use strict';

const path = require('node:path');
const torch = require('libtorch-node');
const { serve } = require('./serve.cjs');

// Internals of the library instead of its public entry: the forms are compared with these.
const lib = path.dirname(require.resolve('libtorch-node'));
const inside = (name) => require(path.join(lib, `${name}.js`));
const { f } = inside('call/runtime');
const { packed } = inside('call/packed');
const { wrap } = inside('tensor/tensor');
const { lateRow } = inside('addon/wrappers');

const BATCH = 1000;
torch.setNumThreads(1);
const a = torch.ones([4, 4]);
const b = torch.ones([4, 4]);
const add = lateRow('add', 'Tensor')();
const sum = lateRow('sum', 'dim_IntList')();

const loops = {
  'add raw': () => {
    for (let i = 0; i < BATCH; i++) wrap(f[add](a._handle, b._handle, 1));
  },
  'add method': () => {
    for (let i = 0; i < BATCH; i++) a.add(b);
  },
  'add function': () => {
    for (let i = 0; i < BATCH; i++) torch.add(a, b);
  },
  'add options': () => {
    for (let i = 0; i < BATCH; i++) a.add(b, { alpha: 2 });
  },
  'add ops': () => {
    for (let i = 0; i < BATCH; i++) torch.ops.aten.add.Tensor(a, b);
  },
  'sum raw': () => {
    for (let i = 0; i < BATCH; i++) wrap(f[sum](a._handle, packed([1]), true));
  },
  'sum list': () => {
    for (let i = 0; i < BATCH; i++) a.sum([1], true);
  },
  'sum number': () => {
    for (let i = 0; i < BATCH; i++) a.sum(1, true);
  },
  'sum options': () => {
    for (let i = 0; i < BATCH; i++) a.sum({ dim: 1, keepdim: true });
  },
};

// Ten million elements: `copy` is the loop or the built-in function with which a program would copy them.
const N = 10_000_000;
const data = {};
const made = (name, make) => (data[name] ??= make());
const flat = () => made('flat', () => Array.from({ length: N }, (_, i) => i * 0.5));
const rows = () =>
  made('rows', () => Array.from({ length: N / 1000 }, (_, r) => flat().slice(r * 1000, (r + 1) * 1000)));
const typed = () => made('typed', () => Float32Array.from(flat()));
const copied = { array: null };
const once = (make) => () => torch.scope(() => void make());

const large = {
  'typed copy': () => {
    copied.array = typed().slice();
  },
  'typed tensor': once(() => torch.tensor(typed())),
  'typed shared': once(() => torch.fromTypedArray(typed())),
  'flat copy': () => {
    const from = flat();
    const to = new Float32Array(N);
    for (let i = 0; i < N; i++) to[i] = from[i];
    copied.array = to;
  },
  'flat tensor': once(() => torch.tensor(flat())),
  'rows copy': () => {
    const to = new Float32Array(N);
    let next = 0;
    for (const row of rows()) for (let i = 0; i < row.length; i++) to[next++] = row[i];
    copied.array = to;
  },
  'rows tensor': once(() => torch.tensor(rows())),
};

serve((op) => {
  const name = op.replace('-', ' ');
  return name in large ? { loop: large[name], count: 1 } : { loop: () => torch.scope(loops[name]), count: BATCH };
});
