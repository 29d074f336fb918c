/** Counts leftover contexts of a Function and tensors: after a backward, without one, after an error in forward. */
'use strict';

const { setImmediate: turn } = require('node:timers/promises');

const torch = require(process.argv[2]);
let contexts = 0;
const gone = new FinalizationRegistry(() => contexts--);

class Mul extends torch.autograd.Function {
  static forward(ctx, x, y, fails) {
    contexts++;
    gone.register(ctx, 0);
    const z = x.mul(y);
    ctx.saveForBackward(x, y, z, null);
    ctx.big = new Array(100);
    if (fails) throw new Error('mine');
    return z;
  }

  static backward(ctx, grad) {
    const [x, y, , none] = ctx.savedTensors;
    if (none !== null) throw new Error('expected null');
    return [grad.mul(y), grad.mul(x), null];
  }
}

function once(way) {
  const x = torch.tensor([1, 2], { requiresGrad: true });
  const y = torch.tensor([3, 4], { requiresGrad: true });
  let z;
  try {
    z = Mul.apply(x, y, way === 1);
  } catch {}
  if (way === 2) z.sum().backward();
  if (way === 3) torch.autograd.grad(z.sum(), [x, y], { createGraph: true });
}

async function main() {
  for (let i = 0; i < 40; i++) i < 20 ? once(i % 4) : torch.scope(() => once(i % 4));
  for (let tries = 0; tries < 200 && (contexts > 0 || torch.memory().tensors > 0); tries++) {
    global.gc();
    await turn();
  }
  console.log(JSON.stringify({ contexts, tensors: torch.memory().tensors }));
}

main();
