/** The memory of a process whose workers have read ahead as far as they may: ends once it is within the budget. */
'use strict';

const { readFileSync } = require('node:fs');
const { setTimeout: pause } = require('node:timers/promises');

const [library, budget] = [process.env.LIBRARY, 64e6];
const torch = require(library);

/** Tensors of [side, side], made in the worker: 256 KiB each for 256. */
exports.squares = (side) => ({ length: 16_000, getItem: () => torch.ones([side, side]) });

const rss = () => 1024 * Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'))[1]);

/** The result of `look` at a process whose workers wait. */
async function filled(side, prefetchFactor, look) {
  const worker = { module: __filename, export: 'squares', args: [side] };
  const options = { batchSize: 4, numWorkers: 2, worker, prefetchFactor, prefetchBytes: budget };
  const loader = new torch.utils.data.DataLoader(exports.squares(side), options);
  const pass = loader[Symbol.asyncIterator]();
  torch.disposeAll((await pass.next()).value);
  const result = await look();
  await pass.return();
  await loader.dispose();
  return result;
}

async function main() {
  // What workers cost, with the JavaScript heaps of as many batches: they grow by megabytes, in Node 24 by more than in Node 20.
  const each = Math.ceil(budget / 2 ** 20 / 2);
  const waiting = async () => {
    while (torch.memory().tokens < 2 * each - 1) await pause(20);
    return rss();
  };
  await filled(1, each, waiting);
  const least = await filled(1, each, waiting);
  await filled(256, 1000, async () => {
    // One more batch does not fit.
    while (torch.memory().allocatedBytes < budget - 2 ** 21) await pause(20);
    while (rss() - least > 1.1 * budget) await pause(20);
  });
  process.stdout.write('within\n');
}

if (require.main === module) main();
