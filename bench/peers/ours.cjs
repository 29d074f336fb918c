/** libtorch-node: in a scope around each batch, or, if the last argument is `gc`, without scopes. */
'use strict';

const torch = require('libtorch-node');
const { filled, serve, sizesOf } = require('./serve.cjs');

const { nn } = torch;
const sizes = sizesOf(process.argv.slice(2));
const collected = process.argv.at(-1) === 'gc';
torch.setNumThreads(1);

const make = (shape, seed, scale) =>
  torch
    .tensor(
      filled(
        shape.reduce((a, b) => a * b, 1),
        seed,
        scale,
      ),
    )
    .reshape(shape);
const owned = (body) => (collected ? body() : torch.scope(body));
/** `once` returns a tensor. */
const of = (once) => ({
  run: (count) =>
    owned(() => {
      for (let i = 0; i < count; i++) once();
    }),
  values: () => torch.scope(() => once().reshape([-1]).toTypedArray()),
});

const [a, b] = [1, 2].map((seed) => make([sizes.small], seed));
const [x, y, z] = [3, 4, 5].map((seed) => make([sizes.mid, sizes.mid], seed));
const [m, n] = [6, 7].map((seed) => make([sizes.mm, sizes.mm], seed));

function fill(module, seed, scale) {
  torch.noGrad(() => {
    module.weight.copy_(make(module.weight.shape, seed, scale));
    module.bias.copy_(make(module.bias.shape, seed + 1, scale));
  });
  return module;
}
const cnn = new nn.Sequential(
  fill(new nn.Conv2d(1, 8, 3, { padding: 1 }), 10, 0.6),
  new nn.ReLU(),
  new nn.MaxPool2d(2),
  fill(new nn.Conv2d(8, 16, 3, { padding: 1 }), 12, 0.2),
  new nn.ReLU(),
  new nn.MaxPool2d(2),
  new nn.Flatten(),
  fill(new nn.Linear(256, 10), 14, 0.1),
);
const images = make([sizes.images, 1, 16, 16], 16);

const mlp = new nn.Sequential(
  fill(new nn.Linear(784, 128), 20, 0.1),
  new nn.ReLU(),
  fill(new nn.Linear(128, 10), 22, 0.2),
);
const rows = make([sizes.rows, 784], 24);
const labels = torch.arange(sizes.rows).remainder(10);
const optimizer = new torch.optim.Adam(mlp.parameters(), { lr: 1e-3 });
function step() {
  optimizer.zeroGrad();
  const loss = nn.functional.crossEntropy(mlp.forward(rows), labels);
  loss.backward();
  optimizer.step();
  return loss.detach();
}

void serve({
  small: of(() => a.add(b)),
  mid: of(() => x.mul(y).add(z).relu()),
  mm: of(() => m.mm(n)),
  cnn: of(() => torch.noGrad(() => cnn.forward(images))),
  train: of(step),
});
