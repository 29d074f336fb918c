/**
 * Each op from Node. The first argument says how results are freed: `scope` (a scope around each batch), `scope-per-op`,
 * `captured` (the expressions as a replay of `torch.capture`), or `gc` (without scopes and dispose). See bench/cpp/ops.cpp for the protocol.
 */
'use strict';

const torch = require('libtorch-node');
const { serve } = require('./serve.cjs');

const BATCH = 1000;
const LONG_BATCH = 20;
const EXPRESSIONS = 10;
const STEPS = 25;
const lifetime = process.argv[2];

torch.setNumThreads(Number(process.env.BENCH_THREADS ?? 1));
const a = torch.ones([1]);
const b = torch.ones([1]);
const target = torch.zeros([1]);
const m = torch.ones([128, 128]);
const small = torch.ones([4, 4]);
const half = torch.full([4, 4], 0.5);
const quarter = torch.full([4, 4], 0.25);

/** 100 small ops that depend on each other. */
function expression(start, by, plus, minus) {
  let x = start;
  for (let i = 0; i < STEPS; i++) x = x.mul(by).add(plus).sub(minus).relu();
  return x;
}

/** Plain loops, one function per op: like a user's hot loop, and like the C++ and Python ones. */
const plain = {
  add: () => {
    for (let i = 0; i < BATCH; i++) a.add(b);
  },
  add_: () => {
    for (let i = 0; i < BATCH; i++) target.add_(b);
  },
  view: () => {
    for (let i = 0; i < BATCH; i++) a.view([1]);
  },
  empty: () => {
    for (let i = 0; i < BATCH; i++) torch.empty([1]);
  },
  sum: () => {
    for (let i = 0; i < BATCH; i++) a.sum();
  },
  sum_dim: () => {
    for (let i = 0; i < BATCH; i++) small.sum([1], true);
  },
  expression: () => {
    for (let i = 0; i < EXPRESSIONS; i++) expression(small, half, small, quarter);
  },
  chain: () => {
    for (let i = 0; i < EXPRESSIONS; i++) expression(a, b, a, b);
  },
  mm: () => {
    for (let i = 0; i < LONG_BATCH; i++) m.mm(m);
  },
};

const perOp = {
  add: () => {
    for (let i = 0; i < BATCH; i++) torch.scope(() => void a.add(b));
  },
  add_: () => {
    for (let i = 0; i < BATCH; i++) torch.scope(() => void target.add_(b));
  },
  view: () => {
    for (let i = 0; i < BATCH; i++) torch.scope(() => void a.view([1]));
  },
  empty: () => {
    for (let i = 0; i < BATCH; i++) torch.scope(() => void torch.empty([1]));
  },
  sum: () => {
    for (let i = 0; i < BATCH; i++) torch.scope(() => void a.sum());
  },
  sum_dim: () => {
    for (let i = 0; i < BATCH; i++) torch.scope(() => void small.sum([1], true));
  },
  expression: () => {
    for (let i = 0; i < EXPRESSIONS; i++) torch.scope(() => void expression(small, half, small, quarter));
  },
  chain: () => {
    for (let i = 0; i < EXPRESSIONS; i++) torch.scope(() => void expression(a, b, a, b));
  },
  mm: () => {
    for (let i = 0; i < LONG_BATCH; i++) torch.scope(() => void m.mm(m));
  },
};

const replay = torch.capture(expression);
const captured = {
  expression: () => {
    for (let i = 0; i < EXPRESSIONS; i++) torch.scope(() => void replay(small, half, small, quarter));
  },
  chain: () => {
    for (let i = 0; i < EXPRESSIONS; i++) torch.scope(() => void replay(a, b, a, b));
  },
};

const loopOf = {
  gc: (op) => plain[op],
  scope: (op) => () => torch.scope(plain[op]),
  'scope-per-op': (op) => perOp[op],
  captured: (op) => captured[op],
}[lifetime];

const batchOf = { mm: LONG_BATCH, expression: EXPRESSIONS, chain: EXPRESSIONS };

serve((op) => ({ loop: loopOf(op), count: batchOf[op] ?? BATCH }));
