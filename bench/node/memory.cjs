/**
 * One loop that must not hold memory: `zeros` (1 MiB each, nothing disposed), `add` (one element each, nothing disposed)
 * or `add-scope` (the same in a scope per iteration), as often as the second argument says. Prints what it cost.
 */
'use strict';

const torch = require('libtorch-node');

const [loop, count] = [process.argv[2], Number(process.argv[3])];
const one = torch.ones([1]);
const step = {
  zeros: () => torch.zeros([1 << 18]),
  add: () => one.add(one),
  'add-scope': () => torch.scope(() => void one.add(one)),
}[loop];

for (let i = 0; i < Math.min(100, count); i++) one.add(one).dispose();
const before = process.memoryUsage.rss();
let most = before;
for (let i = 0; i < count; i++) {
  step();
  if (i % 10_000 === 0) most = Math.max(most, process.memoryUsage.rss());
}
most = Math.max(most, process.memoryUsage.rss());
const peak = process.resourceUsage().maxRSS * 1024;
console.log(JSON.stringify({ peak, growth: most - before }));
