/**
 * A profile of `libtorch-node/pprof` with many live tensors, made on many lines: prints the milliseconds of each answer, for how
 * long of them the event loop was blocked, and the processor time of that.
 */
'use strict';

const { runInThisContext } = require('node:vm');
const torch = require('libtorch-node');
const { handler } = require('libtorch-node/pprof');

const [tensors, rounds] = process.argv.slice(2).map(Number);
const LINES = 200;
const heap = handler({ sampleBytes: 0 });
// A line each, so that stacks differ.
const lines = Array.from({ length: LINES }, (_, i) => `function f${i}() { return torch.empty([16]); },`);
const makers = runInThisContext(`(torch) => [\n${lines.join('\n')}\n]`, { filename: '/bench/makers.js' })(torch);
const held = Array.from({ length: tensors }, (_, i) => makers[i % LINES]());

const answer = () =>
  new Promise((resolve, reject) => {
    const [begin, cpuBegin] = [performance.now(), process.cpuUsage()];
    let [blocked, cpu] = [0, 0];
    const response = {
      headersSent: false,
      writeHead(status) {
        if (status !== 200) reject(new Error(`status ${status}`));
      },
      end(body) {
        resolve({ ms: performance.now() - begin, blocked, cpu, bytes: body.length });
      },
      destroy: reject,
    };
    heap({ method: 'GET' }, response);
    blocked = performance.now() - begin;
    const { user, system } = process.cpuUsage(cpuBegin);
    cpu = (user + system) / 1000;
  });

async function main() {
  for (let i = 0; i < 3; i++) await answer(); // warm-up
  const answers = [];
  for (let i = 0; i < rounds; i++) answers.push(await answer());
  console.log(JSON.stringify({ answers, held: held.length }));
}
main();
