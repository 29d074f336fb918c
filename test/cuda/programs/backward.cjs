/**
 * Backwards with hooks, Functions and checkpoints; prints what they computed as JSON. With LTN_BACKWARD_THREAD set, nodes run
 * on another thread than JavaScript, as those on CUDA do.
 *
 *   node --expose-gc backward.cjs LIB [cpu|cuda]
 */
'use strict';

const fs = require('node:fs');
const { setImmediate: turn } = require('node:timers/promises');

const torch = require(process.argv[2]);
const { grad } = torch.autograd;
const [, , , device = 'cpu'] = process.argv;
const leaf = (...data) => torch.tensor(data, { requiresGrad: true, device });
const threads = () => fs.readdirSync('/proc/self/task');

class Cube extends torch.autograd.Function {
  static forward(ctx, x) {
    ctx.saveForBackward(x);
    return x.pow(3);
  }
  static backward(ctx, gradient) {
    const [x] = ctx.savedTensors;
    return gradient.mul(x.pow(2)).mul(3);
  }
}

/** Begins a backward in the middle of another one, as deep as it is told. */
class Nested extends torch.autograd.Function {
  static forward(ctx, x, depth) {
    ctx.depth = depth;
    ctx.saveForBackward(x);
    return x.mul(2);
  }
  static backward(ctx, gradient) {
    const [x] = ctx.savedTensors;
    if (ctx.depth === 0) return [gradient.mul(x), null];
    const inner = x.detach().requiresGrad_();
    torch.enableGrad(() => Nested.apply(inner, ctx.depth - 1).sum()).backward();
    return [gradient.mul(inner.grad), null];
  }
}

const cases = {
  hooks() {
    const x = leaf(1, 2, 3);
    const y = x.sin();
    const seen = [];
    y.registerHook((gradient) => {
      seen.push(['y', gradient.toArray(), torch.isGradEnabled()]);
      return gradient.mul(2);
    });
    x.registerHook((gradient) => void seen.push(['x', gradient.toArray()]));
    x.registerPostAccumulateGradHook((own) => void seen.push(['after', own.grad.toArray()]));
    y.square().sum().backward();
    return [seen, x.grad.toArray()];
  },
  functions() {
    const x = leaf(1, 2);
    Cube.apply(x).sum().backward();
    const [first] = grad(Cube.apply(x).sum(), [x], { createGraph: true });
    const [second] = grad(first.sum(), [x]);
    return [x.grad.toArray(), first.tolist(), second.toArray()];
  },
  nested() {
    const x = leaf(1, 2);
    Nested.apply(x, 5).sum().backward();
    return x.grad.toArray();
  },
  checkpoints() {
    const found = [];
    for (const useReentrant of [true, false]) {
      const x = leaf(0.5, 0.25);
      torch.utils.checkpoint
        .checkpoint((a) => a.exp().sin().tanh(), x, { useReentrant })
        .sum()
        .backward();
      found.push(x.grad.toArray());
    }
    return found;
  },
  exceptions() {
    const x = leaf(1);
    const error = new RangeError('from a hook');
    const handle = x.registerHook(() => {
      throw error;
    });
    let caught;
    try {
      x.mul(2).backward();
    } catch (thrown) {
      caught = thrown;
    }
    handle.remove();
    x.registerHook(() => torch.ones([2], { device }).matmul(torch.ones([3], { device })));
    let code;
    try {
      x.mul(2).backward();
    } catch (thrown) {
      code = thrown.code;
    }
    return [caught === error, code, x.grad];
  },
  modes() {
    const x = leaf(1, 2);
    const seen = [];
    x.registerHook((gradient) => {
      seen.push(torch.isGradEnabled(), gradient.mul(2).requiresGrad);
    });
    const y = x.square().sum();
    y.backward({ retainGraph: true });
    grad(y, [x], { createGraph: true });
    seen.push(torch.isGradEnabled());
    const w = torch.ones([4, 4], { requiresGrad: true, device });
    w.registerHook((gradient) => void seen.push(gradient.dtype));
    const loss = torch.autocast({ device, dtype: 'bfloat16' }, () => w.matmul(w).sum());
    loss.backward();
    seen.push(w.grad.dtype, torch.isAutocastEnabled(device));
    return seen;
  },
  scopes() {
    const kept = [];
    const x = leaf(1, 2);
    x.registerHook((gradient) => {
      kept.push(torch.keep(gradient.clone()));
    });
    torch.scope(() => x.mul(3).sum().backward());
    const values = kept.map((tensor) => tensor.toArray());
    torch.disposeAll(kept);
    return values;
  },
  tree() {
    // Hooks of one backward are called in the same order, and a tensor disposed in one is gone.
    const x = leaf(1);
    const order = [];
    const parts = [1, 2, 3, 4].map((factor) => {
      const part = x.mul(factor);
      part.registerHook((gradient) => {
        order.push(factor);
        gradient.dispose();
      });
      return part;
    });
    torch.stack(parts).sum().backward();
    return [order, x.grad.toArray()];
  },
};

async function main() {
  const results = {};
  for (const [name, run] of Object.entries(cases)) results[name] = torch.scope(run);
  for (let i = 0; i < 200; i++) cases.hooks();
  // A new thread runs the nodes while a hook runs.
  const x = leaf(1);
  const before = threads();
  let during = [];
  x.registerHook(() => {
    during = threads();
  });
  x.mul(2).backward();
  x.grad.dispose();
  x.dispose();
  for (let i = 0; i < 100 && torch.memory().tensors > 0; i++) {
    globalThis.gc();
    await turn();
  }
  const { tensors, bytes } = torch.memory();
  console.log(JSON.stringify({ results, isNew: during.some((thread) => !before.includes(thread)), tensors, bytes }));
}

main();
