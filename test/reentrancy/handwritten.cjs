/**
 * The hand-written functions: each with a callback at every point where it runs user code. A name of lib/torch.ts that is
 * missing here is an error, and so is one that no longer exists.
 *
 *   handwritten.cjs LIB {"folder": a folder to write into}
 */
'use strict';

const assert = require('node:assert');
const path = require('node:path');
const modules = require('./handwritten-nn.cjs');
const { hostileKit } = require('./hostile.cjs');

const [lib, text] = process.argv.slice(2);
const { folder } = JSON.parse(text);
const { torch, Run, names, state, checkAfter, checkPromises, outcomeOf, same, plain, forms, read, tensorsLeft } =
  hostileKit(lib);
const exported = require(path.join(lib, 'torch.js'));

const F = torch.nn.functional;
const ones = () => torch.ones([2, 2]);
const doubles = () => torch.ones([2], { dtype: 'float64', requiresGrad: true });
const bytes = torch.saveToBuffer({ a: 1 });

/** A list whose first element, an object whose property, runs the callback. */
const list = (fire, values) =>
  Object.defineProperty([...values], 0, { enumerable: true, get: () => read(fire, values[0]) });
const options = (fire, name, value, others = {}) =>
  Object.defineProperty({ ...others }, name, { enumerable: true, get: () => read(fire, value) });
function* generator(fire, values) {
  fire();
  yield* values;
}
/** Takes only tensors, which run user code if they are Proxies. */
const tensorsOnly = (...calls) => calls.map((call) => Object.assign(call, { tensorsOnly: true }));
/** A sum of squares and its input; then `fire` runs. */
function squares(fire = () => {}) {
  const w = torch.ones([2], { requiresGrad: true });
  return [w.pow(2).sum(), w, fire()];
}
const backwardOfProduct = (fire) => (ctx, grad) => {
  const [w] = ctx.savedTensors;
  return [read(fire, grad.mul(w).mul(2)), null];
};
/** The same for a Function whose forward runs `fire`. */
function product(fire, backward) {
  class Product extends torch.autograd.Function {
    static forward(ctx, w, n) {
      ctx.saveForBackward(w);
      return read(fire, w.pow(n));
    }
    static backward = backward;
  }
  const w = torch.ones([2], { requiresGrad: true });
  return [Product.apply(w, 2).sum(), w];
}
/** One of torch.autograd.functional's products, of a function and a vector that run `fire`. */
const products = (name, shape) => [
  (fire) => torch.autograd.functional[name]((x) => read(fire, x.pow(2).sum()), ones(), [torch.ones(shape)]),
  (fire) =>
    torch.autograd.functional[name]((x) => x.pow(2).sum(), ones(), list(fire, [torch.ones(shape)]), {
      get createGraph() {
        return read(fire, true);
      },
    }),
];
/** Does not run user code, for this reason. */
const nothing = (why) => ({ why });
const numbers = 'takes numbers, strings or nothing';
const plainly = (...names) => Object.fromEntries(names.map((name) => [name, nothing(numbers)]));
const path_ = 'takes a path and options that ownOptions reads once: see load';

const nn = modules({ torch, read, ones, options, generator, tensorsOnly, nothing, numbers });

/** The calls, by the callback and a tensor to dispose. */
const getter = (fire) => Object.defineProperty({}, 'a', { enumerable: true, get: () => read(fire, ones()) });
const functions = {
  ...require('./handwritten-utils.cjs')({ torch, options, list, generator, read, nothing, numbers }),
  ...require('./handwritten-data.cjs')({ torch, options, list, generator, nothing }),
  getAllocationThreshold: nothing(numbers),
  setAllocationThreshold: nothing(numbers),
  'audit.label': [(fire) => torch.audit.label('a', 'b', () => read(fire, 5))],
  'audit.mark': nothing(numbers),
  backward: [
    (fire) => {
      const w = torch.ones([2], { requiresGrad: true });
      torch.backward(w.mul(2).sum(), options(fire, 'retainGraph', false));
      return w.grad;
    },
    (fire) => {
      const w = torch.ones([2], { requiresGrad: true });
      torch.backward(w.mul(2).sum(), { inputs: generator(fire, [w]) });
      return w.grad;
    },
  ],
  'autograd.grad': [
    (fire) => torch.autograd.grad(...squares().slice(0, 2), options(fire, 'createGraph', true)),
    (fire) => {
      const [y, w] = squares();
      return torch.autograd.grad(generator(fire, [y]), generator(fire, [w]), { gradOutputs: generator(fire, [null]) });
    },
  ],
  'autograd.backward': [
    (fire) => {
      const [y, w] = squares();
      torch.autograd.backward(generator(fire, [y]), generator(fire, [null]), options(fire, 'inputs', [w]));
      return w.grad;
    },
  ],
  'autograd.setDetectAnomaly': [(fire) => torch.autograd.setDetectAnomaly(false, options(fire, 'checkNan', true))],
  'autograd.detectAnomaly': [
    (fire) => torch.autograd.detectAnomaly(() => read(fire, 5), options(fire, 'checkNan', true)),
    (fire) => torch.autograd.detectAnomaly(() => squares(fire)[0].sum()),
  ],
  'autograd.isAnomalyEnabled': nothing(numbers),
  'autograd.isAnomalyCheckNanEnabled': nothing(numbers),
  'autograd.onceDifferentiable': [
    (fire) => {
      const [y, w] = product(fire, torch.autograd.onceDifferentiable(backwardOfProduct(fire)));
      return torch.autograd.grad(y, w, { createGraph: true });
    },
  ],
  'autograd.gradcheck': [
    (fire) => torch.autograd.gradcheck((x) => read(fire, x.pow(2)), doubles(), options(fire, 'raiseException', false)),
    (fire) => torch.autograd.gradcheck((x, y) => read(fire, [x.mul(y), y]), generator(fire, [doubles(), doubles()])),
  ],
  'autograd.gradgradcheck': [
    (fire) => torch.autograd.gradgradcheck((x) => read(fire, x.pow(2)), doubles(), options(fire, 'rtol', 0.5)),
  ],
  'autograd.functional.jacobian': [
    (fire) => torch.autograd.functional.jacobian((x) => read(fire, x.pow(2)), ones(), options(fire, 'strict', true)),
    (fire) =>
      torch.autograd.functional.jacobian((x, y) => read(fire, [x.mul(y), y]), generator(fire, [ones(), ones()])),
  ],
  'autograd.functional.hessian': [
    (fire) =>
      torch.autograd.functional.hessian((x) => read(fire, x.pow(2).sum()), ones(), options(fire, 'strict', false)),
  ],
  'autograd.functional.vjp': products('vjp', []),
  'autograd.functional.jvp': products('jvp', [2, 2]),
  'autograd.functional.vhp': products('vhp', [2, 2]),
  'autograd.functional.hvp': products('hvp', [2, 2]),
  // Their functions run in their own scope, like that of scope, so their tensors are freed when the call ends.
  ...nn.functions,
  'optim.swaUtils.getEmaAvgFn': nothing(numbers),
  'optim.swaUtils.getSwaAvgFn': nothing(numbers),
  'utils.checkpoint.checkpoint': [
    (fire) => {
      const w = torch.ones([2], { requiresGrad: true });
      const given = options(fire, 'useReentrant', false);
      return torch.autograd.grad(torch.utils.checkpoint.checkpoint((x) => x.pow(2), w, given).sum(), w);
    },
    (fire) => {
      const w = torch.ones([2], { requiresGrad: true });
      w.registerHook((grad) => read(fire, grad.mul(2)));
      torch.utils.checkpoint
        .checkpoint((x) => x.mul(w), ones().select(0, 0), { useReentrant: false })
        .sum()
        .backward();
      return w.grad;
    },
  ],
  'utils.checkpoint.checkpointSequential': [
    (fire) => {
      const w = torch.ones([2], { requiresGrad: true });
      const layers = [(x) => x.pow(2), (x) => x.mul(3)];
      const given = options(fire, 'preserveRngState', false);
      torch.utils.checkpoint.checkpointSequential(generator(fire, layers), 2, w, given).sum().backward();
      return w.grad;
    },
  ],
  enableGrad: [(fire) => torch.enableGrad(() => read(fire, 5))],
  inferenceMode: [(fire) => torch.inferenceMode(() => read(fire, 5))],
  isGradEnabled: nothing(numbers),
  isInferenceModeEnabled: nothing(numbers),
  noGrad: [(fire) => torch.noGrad(() => read(fire, 5))],
  setGradEnabled: nothing(numbers),
  fromTypedArray: [(fire) => torch.fromTypedArray(new Float32Array(4), list(fire, [2, 2]))],
  tensor: [
    (fire) => torch.tensor(list(fire, [1, 2, 3])),
    (fire) => torch.tensor([[1, 2], list(fire, [1, 2])]),
    (fire) => torch.tensor([{ re: 1, im: 2 }, options(fire, 're', 2, { im: 1 })]),
    (fire) => torch.tensor([1, 2], options(fire, 'dtype', 'float64')),
  ],
  capture: nothing('its function is recorded, like that of torch.run: test/capture'),
  ...require('./handwritten-distributed.cjs')(nothing),
  ...plainly('cuda.isAvailable', 'cuda.deviceCount', 'cuda.currentDevice', 'cuda.synchronize', 'cuda.emptyCache'),
  ...plainly('cuda.memory'),
  ...require('./handwritten-files.cjs')({ torch, folder, options, list, getter, tensorsOnly, nothing, path_ }),
  slice: nothing(numbers),
  'inductor.aotiLoadPackage': nothing(path_),
  'jit.load': [(fire) => torch.jit.load(bytes, options(fire, 'device', 'cpu'))],
  'jit.freeze': [(fire, t) => torch.jit.freeze(t, options(fire, 'optimizeNumerics', true))],
  'jit.save': nothing('takes a model and a path'),
  'jit.optimizeForInference': [(fire, t) => torch.jit.optimizeForInference(t, list(fire, ['forward']))],
  'TensorLogger.start': [(fire) => torch.TensorLogger.start(options(fire, 'detailNum', 1)).cancel()],
  setPrintOptions: [(fire) => torch.setPrintOptions(options(fire, 'precision', 4))],
  disposeAll: [(fire, t) => torch.disposeAll(options(fire, 'a', t.clone()))],
  keep: [
    (fire, t) => {
      const copy = t.clone();
      torch.keep(list(fire, [copy]));
      copy.dispose();
    },
  ],
  openScope: nothing(numbers),
  scope: nothing('what it calls runs in the scope that it opens: test/lifetimes/scope.test.ts'),
  fromShared: tensorsOnly((_fire, t) => torch.fromShared(t.share())),
  getNumThreads: nothing(numbers),
  getDefaultDtype: nothing(numbers),
  showConfig: nothing(numbers),
  memory: nothing(numbers),
  setMemoryLimit: nothing(numbers),
  getMemoryLimit: nothing(numbers),
  manualSeed: nothing(numbers),
  setNumThreads: nothing(numbers),
  setDefaultDtype: nothing(numbers),
  full: [(fire) => torch.full(list(fire, [2, 3]), 5), (fire) => torch.full([2], options(fire, 'fillValue', 5))],
};

/** Functions outside lib/torch.ts, or with callbacks that are not in a signature. */
const others = {
  ...nn.others,
  'optim.Optimizer': [
    (fire, t) => {
      const p = t.detach().requiresGrad_();
      const optimizer = new torch.optim.SGD(generator(fire, [p]), options(fire, 'lr', 0.1));
      optimizer.step(() => {
        read(fire, p).pow(2).sum().backward();
      });
      optimizer.registerStepPostHook(() => fire());
      optimizer.step();
      p.grad = null;
      return p.detach();
    },
  ],
  'Tensor.registerHook': [
    (fire, t) => {
      const w = torch.ones([2, 2], { requiresGrad: true });
      const y = w.mul(t);
      y.registerHook((grad) => read(fire, grad.mul(2)));
      w.registerHook(() => read(fire, undefined));
      const loss = y.sum();
      loss.backward();
      return w.grad;
    },
  ],
  'Tensor.registerPostAccumulateGradHook': [
    (fire) => {
      const w = torch.ones([2, 2], { requiresGrad: true });
      w.registerPostAccumulateGradHook(() => read(fire, undefined));
      w.mul(2).sum().backward();
      return w.grad;
    },
  ],
  'autograd.Function': [
    (fire) => {
      const [y, w] = product(fire, backwardOfProduct(fire));
      return torch.autograd.grad(y, w);
    },
  ],
  'Tensor.at': [(fire, t) => t.at(list(fire, [0, 1])), (fire, t) => t.at(0, list(fire, [true, false]))],
  'Tensor.set': [
    (fire, t) => t.set([list(fire, [0, 1])], 5),
    (fire, t) => t.set(list(fire, [0, 1]), 5),
    ...tensorsOnly((_fire, t) => t.set([0], t.at(1))),
  ],
  'Tensor.apply_': [(fire, t) => t.apply_((x) => read(fire, x + 1))],
  'Tensor.map_': [(fire, t) => t.map_(ones(), (x, y) => read(fire, x + y))],
  'Tensor.map2_': [(fire, t) => t.map2_(ones(), ones(), (x, y, z) => read(fire, x + y + z))],
  'nn.functional.tripletMarginWithDistanceLoss': [
    (fire, t) =>
      F.tripletMarginWithDistanceLoss(t, ones(), ones().add(1), {
        distanceFunction: (a, b) => read(fire, a.sub(b).abs()),
      }),
  ],
  'data in lists': [
    (fire) => torch.asTensor([[1, 2], list(fire, [3, 4])]),
    (fire) => torch.sparseCooTensor([[0, 1]], list(fire, [1, 2]), [2]).toDense(),
    (fire, t) => t.newTensor(list(fire, [1, 2])),
    (fire, t) => torch.tensordot(t, t, [list(fire, [0]), [1]]),
    (fire, t) => torch.einsum(t, list(fire, [0, 1]), t, [1, 2]),
    (fire, t) => torch.norm(t, 2, { dim: list(fire, [0]) }),
    (fire, t) => t.repeat(list(fire, new Array(17).fill(1))).numel,
  ],
};

const wrong = [];
let calls = 0;

/** `proxied`: the callback runs in the traps of a Proxy around the tensor, at every access to it, and nowhere else. */
async function one(label, call, name, proxied = false) {
  const where = `${label}, ${proxied ? 'a Proxy, ' : ''}${name}`;
  const expected = torch.scope(() => outcomeOf(() => call(() => {}, ones())));
  const tensors = torch.memory().tensors;
  calls++;
  let run;
  try {
    torch.scope(() => {
      const victim = ones();
      run = new Run(name, () => victim.dispose());
      const before = state();
      const outcome = outcomeOf(
        () =>
          proxied
            ? call(
                () => {},
                forms.proxied(victim, () => run.fire()),
              )
            : call(() => run.fire(), victim),
        () => {
          run.over = true;
        },
      );
      if (run.runs === 0) assert.fail('the callback never ran');
      checkAfter(run, before);
      if (name === 'throw' && run.runs > 0) assert.strictEqual(outcome.code, 'mine');
      else if (name !== 'dispose')
        assert(same(outcome, expected), `another result: ${JSON.stringify([outcome, expected])}`);
    });
    await checkPromises(run);
    const left = await tensorsLeft(tensors);
    assert(left <= 0, `${left} tensors are left`);
  } catch (error) {
    wrong.push(`${where}: ${error.message}`);
  }
}

/** torch.run and torch.async: calls of the callback are separate, recorded only by torch.run, and strands are not mixed. */
async function oneAsync(label, call, name) {
  const tensors = torch.memory().tensors;
  const kept = torch.keep(ones());
  calls++;
  try {
    const run = new Run(name, () => {});
    const before = state();
    let outcome;
    const promise = call(() => run.fire(), kept);
    const recorded = (tensor) => label.startsWith('torch.run') && String(tensor) === 'Tensor { pending }';
    for (const tensor of run.kept) {
      assert(recorded(tensor) || (!tensor.disposed && tensor.numel > 0), 'what the callback made is not there');
    }
    checkAfter(run, before);
    try {
      outcome = await promise;
      assert.deepStrictEqual(plain(outcome).elements, label.startsWith('torch.async') ? '2,2' : '4,4');
      outcome.dispose();
    } catch (error) {
      if (name !== 'throw' || error.message !== 'of the callback') throw error;
    }
    await checkPromises(run);
    kept.dispose();
    await new Promise(setImmediate);
    const left = await tensorsLeft(tensors);
    assert(left <= 0, `${left} tensors are left`);
  } catch (error) {
    wrong.push(`${label}, ${name}: ${error.message}`);
  }
}

const asyncs = {
  'torch.async, an option': (fire, t) => torch.async.sum(t, options(fire, 'dim', [0])),
  'torch.async, a list': (fire, t) => torch.async.sum(t, list(fire, [0])),
  'torch.run, an option': (fire, t) => torch.run((T) => T.sum(T.mul(t, 2), options(fire, 'dim', [0]))),
  'torch.run, a method of a pending tensor': (fire, t) => torch.run((T) => T.mul(t, 2).sum(options(fire, 'dim', [0]))),
  'torch.run, autocast': (fire, t) => torch.run((T) => T.autocast({}, () => read(fire, T.sum(T.mul(t, 2), [0])))),
  'torch.run, noGrad': (fire, t) => torch.run((T) => T.noGrad(() => read(fire, T.sum(T.mul(t, 2), [0])))),
};

function exportedNames(space = exported, at = '') {
  const isClass = (value) => /^class/.test(String(value));
  return Object.entries(space).flatMap(([name, value]) => {
    if (typeof value === 'function') return isClass(value) ? [] : [`${at}${name}`];
    return typeof value === 'object' && value !== null ? exportedNames(value, `${at}${name}.`) : [];
  });
}

(async () => {
  const missing = exportedNames().filter((name) => !Object.hasOwn(functions, name));
  const gone = Object.keys(functions).filter((name) => !exportedNames().includes(name));
  for (const [label, list] of [...Object.entries(functions), ...Object.entries(others)]) {
    if (!Array.isArray(list)) continue;
    for (const call of list) {
      for (const name of names) {
        if (!call.tensorsOnly) await one(label, call, name);
        if (call.length > 1) await one(label, call, name, true);
      }
    }
  }
  for (const [label, call] of Object.entries(asyncs)) for (const name of names) await oneAsync(label, call, name);
  console.log(JSON.stringify({ missing, gone, calls, wrong }));
})();
