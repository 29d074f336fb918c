/**
 * Ops off the event loop: prints one JSON line with the wall time of `products` matrix products, synchronous and by
 * torch.async, the delay of the event loop during them, and the cost of one small op and of a chain of ten. All figures
 * are in ns, except `p99` in ms.
 */
'use strict';

const { monitorEventLoopDelay } = require('node:perf_hooks');
const torch = require('libtorch-node');

const [products, small] = process.argv.slice(2).map(Number);
const a = torch.ones([800, 800]);
const one = torch.ones([1]);

async function timed(fn) {
  const start = process.hrtime.bigint();
  await fn();
  return Number(process.hrtime.bigint() - start);
}

/** The time of the second run: V8 compiles the code of the first. */
async function warmed(fn) {
  await fn();
  return timed(fn);
}

async function main() {
  await timed(() => torch.scope(() => void a.mm(a)));
  (await torch.async.mm(a, a)).dispose();
  const sync = await timed(() => {
    for (let i = 0; i < products; i++) a.mm(a).dispose();
  });
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const off = await timed(() =>
    Promise.all(Array.from({ length: products }, async () => (await torch.async.mm(a, a)).dispose())),
  );
  delay.disable();
  const ops = await warmed(async () => {
    for (let i = 0; i < small; i++) (await torch.async.add(one, one)).dispose();
  });
  const chains = await warmed(async () => {
    for (let i = 0; i < small; i++) {
      const result = await torch.run((t) => {
        let x = t.add(one, one);
        for (let j = 1; j < 10; j++) x = x.add(one);
        return x;
      });
      result.dispose();
    }
  });
  const here = await warmed(() => {
    for (let i = 0; i < small; i++) one.add(one).dispose();
  });
  // The histogram includes the resolution: its smallest value is 1 ms when the loop is not delayed.
  console.log(
    JSON.stringify({
      sync,
      off,
      p99: delay.percentile(99) / 1e6,
      op: ops / small,
      chain: chains / small,
      here: here / small,
    }),
  );
}

void main();
