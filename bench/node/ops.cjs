/**
 * Each op from Node, its result freed as the first argument says: `scope` (a scope around each batch), `scope-per-op`,
 * or `gc` (no scope, nothing disposed). See bench/cpp/ops.cpp for the protocol.
 */
'use strict';

const { createInterface } = require('node:readline');
const torch = require('libtorch-node');

const BATCH = 1000;
const LONG_BATCH = 20;
const lifetime = process.argv[2];

torch.setNumThreads(Number(process.env.BENCH_THREADS ?? 1));
const a = torch.ones([1]);
const b = torch.ones([1]);
const target = torch.zeros([1]);
const m = torch.ones([128, 128]);

/** Straight loops, one function per op: what a user's hot loop is, and as the C++ and Python ones are. */
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
  mm: () => {
    for (let i = 0; i < LONG_BATCH; i++) torch.scope(() => void m.mm(m));
  },
};

const loopOf = {
  gc: (op) => plain[op],
  scope: (op) => () => torch.scope(plain[op]),
  'scope-per-op': (op) => perOp[op],
}[lifetime];

function measure(loop, count, milliseconds) {
  const limit = BigInt(Math.round(milliseconds * 1e6));
  let calls = 0;
  const before = process.cpuUsage();
  const start = process.hrtime.bigint();
  for (;;) {
    loop();
    calls += count;
    const elapsed = process.hrtime.bigint() - start;
    if (elapsed < limit) continue;
    const { user, system } = process.cpuUsage(before); // microseconds, the collector's threads included
    return { ns: Number(elapsed) / calls, cpu: (1000 * (user + system)) / calls };
  }
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const [op, milliseconds] = line.split(' ');
  const cost = measure(loopOf(op), op === 'mm' ? LONG_BATCH : BATCH, Number(milliseconds));
  process.stdout.write(`${JSON.stringify(cost)}\n`);
});
