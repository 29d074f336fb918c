/**
 * The cost of scopes. The first argument says how the process has used async scopes: `never`; `used`: 1,000 interleaved
 * async scopes before; `storage`: the loop runs in an AsyncLocalStorage; `open`: an async scope is open.
 * See bench/cpp/ops.cpp for the protocol.
 */
'use strict';

const { AsyncLocalStorage } = require('node:async_hooks');
const { setTimeout: wait } = require('node:timers/promises');
const torch = require('libtorch-node');
const { serve } = require('./serve.cjs');

const BATCH = 1000;

torch.setNumThreads(1);
const a = torch.ones([1]);
const b = torch.ones([1]);

const loops = {
  scope: () => {
    for (let i = 0; i < BATCH; i++) torch.scope(() => {});
  },
  openScope: () => {
    for (let i = 0; i < BATCH; i++) torch.openScope().close();
  },
  'add-scope': () => {
    for (let i = 0; i < BATCH; i++) torch.scope(() => void a.add(b));
  },
  'add-gc': () => {
    for (let i = 0; i < BATCH; i++) a.add(b);
  },
};

const asyncScope = (milliseconds) =>
  torch.scope(async () => {
    const before = a.add(b);
    await wait(milliseconds);
    before.add(b);
  });

async function main() {
  const past = process.argv[2];
  if (past === 'used') await Promise.all(Array.from({ length: 1000 }, (_, i) => asyncScope(i % 10)));
  if (past === 'open') void torch.scope(() => new Promise(() => {}));
  const storage = past === 'storage' ? new AsyncLocalStorage() : undefined;
  const within = (loop) => (storage === undefined ? loop : () => storage.run(new Map(), loop));
  serve((op) => ({ loop: within(loops[op]), count: BATCH }));
}

void main();
