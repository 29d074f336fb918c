/** Runs the job for some seconds: `npm start`, or `node dist/src/main.js --seconds 5`. */
import { setImmediate } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import torch from 'libtorch-node';
import { LIMIT } from './cache.js';
import { Comparer } from './job.js';

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '3' } } });
const seconds = Number(values.seconds);
if (!(seconds > 0)) {
  console.error(`--seconds: expected a number above 0, got ${values.seconds}`);
  process.exit(2);
}

const comparer = new Comparer(LIMIT);
let pairs = 0;
let similar = 0;
for (const end = Date.now() + seconds * 1000; Date.now() < end; pairs++) {
  const [a, b] = [`document ${pairs}`, `document ${(pairs * 7) % 1000}`];
  if (comparer.similarity(a, b) > 0.9) similar++;
  if (pairs % 100 === 0) await setImmediate(); // signals and timers have their turn
}
console.log(`${pairs} pairs compared, ${similar} similar, ${comparer.cached} vectors cached`);
torch.audit.mark('shutdown'); // what is released from here on is not held against the job, nor for it
comparer.dispose();
