/** The memory of a process whose workers have read ahead as far as they may: ends once it is within the budget. */
'use strict';

const { readFileSync } = require('node:fs');
const { setTimeout: pause } = require('node:timers/promises');

const [library, budget] = [process.env.LIBRARY, 64e6];
const torch = require(library);

/** 256 KiB each, made in the worker. */
exports.batches = () => ({ length: 16_000, getItem: () => torch.ones([256, 256]) });

const rss = () => 1024 * Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'))[1]);

/** The result of `look` at a process whose workers wait. */
async function filled(prefetchBytes, look) {
  const worker = { module: __filename, export: 'batches', args: [] };
  const options = { batchSize: 4, numWorkers: 2, worker, prefetchFactor: 1000, prefetchBytes };
  const loader = new torch.utils.data.DataLoader(exports.batches(), options);
  const pass = loader[Symbol.asyncIterator]();
  torch.disposeAll((await pass.next()).value);
  const result = await look();
  await pass.return();
  await loader.dispose();
  return result;
}

async function main() {
  const full = (bytes) => async () => {
    // One more batch does not fit.
    while (torch.memory().allocatedBytes < bytes - 2 ** 21) await pause(20);
    return rss();
  };
  await filled(2 ** 22, full(2 ** 22)); // what workers cost
  const least = (await filled(2 ** 22, full(2 ** 22))) - 2 ** 22;
  await filled(budget, async () => {
    await full(budget)();
    while (rss() - least > 1.1 * budget) await pause(20);
  });
  process.stdout.write('within\n');
}

if (require.main === module) main();
