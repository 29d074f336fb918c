/**
 * Leftovers of checkpoints outside scopes. `way`: 0 no backward, 1 backward of a reentrant checkpoint, 2 of one that is not,
 * 3 autograd.grad, 4 an error of the function when it is recomputed.
 */
'use strict';

const path = require('node:path');
const { setImmediate: turn } = require('node:timers/promises');

const [lib] = process.argv.slice(2);
const torch = require(lib);
const { goals } = require(path.join(lib, 'autograd/goals.js'));
const { checkpoint } = torch.utils.checkpoint;
let functions = 0;
const gone = new FinalizationRegistry(() => functions--);

function once(way) {
  const x = torch.ones([100], { requiresGrad: true });
  const w = torch.ones([100], { requiresGrad: true });
  let calls = 0;
  const fn = (a, b) => {
    if (way === 4 && calls++ > 0) throw new Error('mine');
    return checkpoint((c) => c.mul(w).exp(), a, { useReentrant: false }).mul(b);
  };
  functions++;
  gone.register(fn, 0);
  const loss = checkpoint(fn, x, w, { useReentrant: way === 1 }).sum();
  if (way === 1 || way === 2) loss.backward();
  if (way === 3) torch.autograd.grad(loss, [x, w], { retainGraph: true });
  if (way === 4) {
    try {
      loss.backward();
    } catch {}
  }
}

/** V8 keeps the variables of a block together for all functions in it, so `fn` refers to its own result too. */
function beside(useReentrant) {
  const x = torch.ones([100], { requiresGrad: true });
  const fn = (a) => a.exp();
  functions++;
  gone.register(fn, 0);
  const loss = checkpoint(fn, x, { useReentrant }).sum();
  const walk = (options) => loss.backward(options);
  walk({ retainGraph: true });
  walk();
}

async function main() {
  const before = torch.memory().allocatedBytes;
  for (let i = 0; i < 50; i++) once(i % 5);
  for (let i = 0; i < 20; i++) beside(i % 2 === 0);
  const left = () => {
    const { tensors, allocatedBytes } = torch.memory();
    const anchors = [...goals.anchors].filter((anchor) => anchor.get() !== undefined).length;
    return { functions, anchors, tensors, bytes: allocatedBytes - before };
  };
  for (let tries = 0; tries < 200 && Object.values(left()).some((count) => count > 0); tries++) {
    global.gc();
    await turn();
  }
  console.log(JSON.stringify(left()));
}

main();
