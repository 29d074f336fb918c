/**
 * Training steps from Node. `node train.cjs` answers lines "NET MILLISECONDS" with the time of a step, in a scope as in
 * docs/training.md; bench/cpp/serve.h describes the protocol. `node train.cjs COUNT` makes that many steps of a small net
 * without any scope, and prints what they left.
 */
'use strict';

const torch = require('libtorch-node');
const { serve } = require('./serve.cjs');

const { nn } = torch;

torch.setNumThreads(Number(process.env.BENCH_THREADS ?? 1));
torch.manualSeed(0);

const mlp = () => new nn.Sequential(new nn.Linear(784, 128), new nn.ReLU(), new nn.Linear(128, 10));
const cnn = () =>
  new nn.Sequential(
    new nn.Conv2d(1, 8, 3, { padding: 1 }),
    new nn.ReLU(),
    new nn.MaxPool2d(2),
    new nn.Conv2d(8, 16, 3, { padding: 1 }),
    new nn.ReLU(),
    new nn.MaxPool2d(2),
    new nn.Flatten(),
    new nn.Linear(256, 10),
  );

class Transformer extends nn.Module {
  encoder = new nn.TransformerEncoder(
    new nn.TransformerEncoderLayer(64, 4, { dimFeedforward: 256, batchFirst: true }),
    4,
  );
  scores = new nn.Linear(64, 10);
  forward(x) {
    return this.scores.forward(this.encoder.forward(x).mean(1));
  }
}

/** A step with Adam and the cross entropy. */
function stepOf(net, x, classes = 10) {
  const optimizer = new torch.optim.Adam(net.parameters(), { lr: 1e-3 });
  const labels = torch.arange(x.shape[0]).remainder(classes);
  return () => {
    optimizer.zeroGrad();
    const loss = nn.functional.crossEntropy(net.forward(x), labels);
    loss.backward();
    optimizer.step();
  };
}

function left(count) {
  const step = stepOf(
    new nn.Sequential(new nn.Linear(4, 8), new nn.ReLU(), new nn.Linear(8, 2)),
    torch.randn([4, 4]),
    2,
  );
  const now = () => ({ tensors: torch.memory().tensors, rss: process.memoryUsage.rss() });
  // Until V8's heap and malloc's arenas have grown to their size.
  for (let i = 0; i < count / 10; i++) step();
  const before = now();
  let tensors = 0;
  for (let i = 0; i < count; i++) {
    step();
    if (i % 1000 === 0) tensors = Math.max(tensors, torch.memory().tensors);
  }
  const after = now();
  return { left: after.rss - before.rss, tensors, before: before.tensors, after: after.tensors };
}

const count = Number(process.argv[2] ?? 0);
if (count > 0) {
  console.log(JSON.stringify(left(count)));
} else {
  const steps = {
    mlp: stepOf(mlp(), torch.randn([32, 784])),
    cnn: stepOf(cnn(), torch.randn([64, 1, 16, 16])),
    transformer: stepOf(new Transformer(), torch.randn([8, 32, 64])),
  };
  const loops = Object.fromEntries(Object.entries(steps).map(([name, step]) => [name, () => torch.scope(step)]));
  serve((name) => ({ loop: loops[name], count: 1 }));
}
