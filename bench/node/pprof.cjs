/**
 * A profile of `libtorch-node/pprof` with many living tensors, made on many lines: prints the milliseconds of each answer, and
 * for how long of them the event loop was blocked.
 */
'use strict';

const torch = require('libtorch-node');
const { handler } = require('libtorch-node/pprof');

const [tensors, rounds] = process.argv.slice(2).map(Number);
const LINES = 200;
const heap = handler({ sampleBytes: 0 });
// A function each, so that stacks differ.
const makers = Array.from({ length: LINES }, (_, i) =>
  new Function('torch', `return function f${i}() { return torch.empty([16]); }`)(torch),
);
const held = Array.from({ length: tensors }, (_, i) => makers[i % LINES]());

const answer = () =>
  new Promise((resolve, reject) => {
    const begin = performance.now();
    let blocked = 0;
    const response = {
      headersSent: false,
      writeHead(status) {
        if (status !== 200) reject(new Error(`status ${status}`));
      },
      end(body) {
        resolve({ ms: performance.now() - begin, blocked, bytes: body.length });
      },
      destroy: reject,
    };
    heap({ method: 'GET' }, response);
    blocked = performance.now() - begin;
  });

async function main() {
  for (let i = 0; i < 3; i++) await answer(); // warm-up
  const answers = [];
  for (let i = 0; i < rounds; i++) answers.push(await answer());
  console.log(JSON.stringify({ answers, held: held.length }));
}
main();
