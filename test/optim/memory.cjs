/** Counts of tensors over many steps, and an optimizer that is lost. Prints what memory.test.ts expects. */
'use strict';

const torch = require(process.argv[2]);
const { collectAll } = require(`${process.argv[2]}/memory/collector.js`);

const names = [
  'SGD',
  'Adam',
  'AdamW',
  'Adamax',
  'NAdam',
  'RAdam',
  'Adagrad',
  'Adadelta',
  'RMSprop',
  'Rprop',
  'ASGD',
  'Adafactor',
  'Muon',
];
const leaf = () => torch.ones([2, 4]).requiresGrad_();
const tensors = () => torch.memory().tensors;

/** How many tensors 1,000 steps leave behind, without any collection. */
function growth(name, options) {
  const p = leaf();
  const optimizer = new torch.optim[name]([p], options);
  torch.scope(() => {
    p.grad = torch.ones([2, 4]);
  });
  const step = () => optimizer.step();
  // State made in a scope stays when the scope ends.
  torch.scope(step);
  const before = tensors();
  for (let i = 0; i < 1000; i++) step();
  const left = tensors() - before;
  optimizer.dispose();
  return left;
}

/** How many tensors each step leaves once the history is full, without any collection, and how many `dispose` leaves. */
function growthOfLbfgs(lineSearchFn, isFailing) {
  const p = leaf();
  const lr = torch.tensor(1e-3);
  const empty = tensors();
  const options = { lr, maxIter: 4, historySize: 2, toleranceChange: 0, toleranceGrad: 0, lineSearchFn };
  const optimizer = new torch.optim.LBFGS([p], options);
  let n = 0;
  const step = () =>
    torch.scope(() => {
      let calls = 0;
      n++;
      optimizer.step(() => {
        if (isFailing && n > 5 && n % 2 === 0 && ++calls === 2) throw new Error('half-way');
        optimizer.zeroGrad();
        const loss = p.sub(3).pow(4).sum();
        loss.backward();
        return loss;
      });
    });
  const tried = () => {
    try {
      step();
    } catch (error) {
      if (error.message !== 'half-way') throw error;
    }
  };
  for (let i = 0; i < 5; i++) tried();
  const before = tensors();
  const counts = [];
  for (let i = 0; i < 40; i++) {
    tried();
    counts.push(tensors() - before);
  }
  optimizer.dispose();
  torch.scope(() => optimizer.zeroGrad());
  const disposed = tensors() - empty;
  // Not left to a collection, which could come while the next ones are counted.
  p.dispose();
  lr.dispose();
  return { counts: [...new Set(counts)], disposed };
}

/** Optimizers that nothing refers to any more. They are counted while a list holds them, so that no collection can differ. */
function lost() {
  collectAll();
  const before = tensors();
  const held = [];
  for (let i = 0; i < 50; i++) {
    const p = leaf();
    p.grad = torch.ones([2, 4]);
    const optimizer = new torch.optim.Adam([p]);
    optimizer.step();
    optimizer.registerStepPostHook(() => optimizer);
    held.push(new torch.optim.lrScheduler.StepLR(optimizer, 1));
  }
  const made = tensors() - before;
  held.length = 0;
  return made;
}

async function main() {
  const left = Object.fromEntries(names.map((name) => [name, growth(name, { lr: 0.01 })]));
  collectAll();
  const start = tensors();
  const made = lost();
  // Freed objects may hold others, and V8's stack may hold the last ones.
  for (let i = 0; i < 20 && tensors() > start; i++) {
    await new Promise(setImmediate);
    collectAll();
  }
  const kept = Math.max(0, tensors() - start);
  const kinds = [null, 'strong_wolfe'].flatMap((search) => [false, true].map((isFailing) => [search, isFailing]));
  const lbfgs = kinds.map(([search, isFailing]) => growthOfLbfgs(search, isFailing));
  console.log(JSON.stringify({ left, made, kept, lbfgs }));
}

main();
