/**
 * What hooks that were removed leave behind in the tensor that they were on.
 *
 *   node --expose-gc hook-lists.cjs LIB leaf|computed|accumulated ROUNDS
 */
'use strict';

const [lib, on, rounds] = process.argv.slice(2);
const torch = require(lib);

const leaf = torch.tensor([1, 2], { requiresGrad: true });
const tensor = on === 'computed' ? leaf.mul(2) : leaf;
const nothing = () => {};
const register = () =>
  on === 'accumulated' ? tensor.registerPostAccumulateGradHook(nothing) : tensor.registerHook(nothing);

// One that stays: what goes is in the middle of the list.
let calls = 0;
tensor.registerHook(() => void calls++);

/** Hooks that come and go, one by one and many at a time. */
function some(count) {
  for (let i = 0; i < count; i++) register().remove();
  for (let left = count; left > 0; left -= 1000) {
    const handles = Array.from({ length: 1000 }, register);
    for (const handle of handles) handle.remove();
  }
}

function residentMb() {
  for (let i = 0; i < 3; i++) global.gc();
  return process.memoryUsage().rss / 1e6;
}

async function main() {
  const turn = () => new Promise(setImmediate);
  for (let i = 0; i < 5; i++) {
    some(2000);
    residentMb();
    await turn();
  }
  const before = residentMb();
  for (let done = 0; done < Number(rounds); done += 4000) {
    some(2000);
    residentMb();
    await turn();
  }
  const grown = residentMb() - before;
  torch.autograd.backward(tensor.sum());
  console.log(JSON.stringify({ grown, calls, tensors: torch.memory().tensors }));
}

main();
