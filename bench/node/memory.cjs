/**
 * One loop that must not accumulate memory; the second argument is the count: `zeros` (1 MiB each, not disposed), `add`
 * (one element each, not disposed), `add-scope` (`add` in a scope per iteration), or `scoped` (small ops of five kinds in
 * scopes of 100). Prints its memory use in bytes.
 */
'use strict';

const torch = require('libtorch-node');

const [loop, count] = [process.argv[2], Number(process.argv[3])];
const one = torch.ones([1]);
const small = torch.ones([4, 4]);

function twentyTimesFive() {
  for (let i = 0; i < 20; i++) {
    small.add(one).mul(small).relu().view([16]).sum();
  }
}

const { step, ops = 1 } = {
  zeros: { step: () => torch.zeros([1 << 18]) },
  add: { step: () => one.add(one) },
  'add-scope': { step: () => torch.scope(() => void one.add(one)) },
  scoped: { step: () => torch.scope(twentyTimesFive), ops: 100 },
}[loop];

// The small ops are their own warm-up, until V8's heap and malloc's arenas have grown to their size.
if (loop === 'scoped') for (let i = 0; i < count / 10; i += ops) step();
else for (let i = 0; i < Math.min(100, count); i++) one.add(one).dispose();

const before = process.memoryUsage.rss();
let most = before;
for (let i = 0; i < count; i += ops) {
  step();
  if (i % 10_000 === 0) most = Math.max(most, process.memoryUsage.rss());
}
const after = process.memoryUsage.rss();
const peak = process.resourceUsage().maxRSS * 1024;
console.log(JSON.stringify({ peak, growth: Math.max(most, after) - before, left: after - before }));
