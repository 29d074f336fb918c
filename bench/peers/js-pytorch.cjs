/**
 * js-pytorch, plain JavaScript: no convolutions. Its ReLU is a leaky one, so masked_fill computes the ReLU, and its Adam has no
 * bias correction, so the steps after the first differ from the others'.
 */
'use strict';

const { createRequire } = require('node:module');
const { filled, serve, sizesOf } = require('./serve.cjs');

const fromPeers = createRequire(`${process.env.PEERS}/`);
const { torch } = fromPeers('js-pytorch');

const sizes = sizesOf(process.argv.slice(2));

function nested(numbers, shape) {
  if (shape.length === 1) return Array.from(numbers);
  const size = numbers.length / shape[0];
  return Array.from({ length: shape[0] }, (_, i) => nested(numbers.subarray(i * size, (i + 1) * size), shape.slice(1)));
}
const make = (shape, seed, scale) =>
  torch.tensor(
    nested(
      filled(
        shape.reduce((a, b) => a * b, 1),
        seed,
        scale,
      ),
      shape,
    ),
  );
const relu = (t) => torch.masked_fill(t, t, (value) => value < 0, 0);
const of = (once) => ({
  run(count) {
    for (let i = 0; i < count; i++) once();
  },
  values: () => once().tolist().flat(),
});

const [a, b] = [1, 2].map((seed) => make([sizes.small], seed));
const [x, y, z] = [3, 4, 5].map((seed) => make([sizes.mid, sizes.mid], seed));
const [m, n] = [6, 7].map((seed) => make([sizes.mm, sizes.mm], seed));

/** A linear layer, whose weight js-pytorch stores transposed. */
function linear(inputs, outputs, seed, scale) {
  const layer = new torch.nn.Linear(inputs, outputs);
  const weight = filled(inputs * outputs, seed, scale);
  layer.W._data = Array.from({ length: inputs }, (_, i) =>
    Array.from({ length: outputs }, (_, j) => weight[j * inputs + i]),
  );
  layer.b._data = Array.from(filled(outputs, seed + 1, scale));
  return layer;
}
const [first, second] = [linear(784, 128, 20, 0.1), linear(128, 10, 22, 0.2)];
const optimizer = new torch.optim.Adam([first.W, first.b, second.W, second.b], 1e-3);
const rows = make([sizes.rows, 784], 24);
const labels = torch.tensor(Array.from({ length: sizes.rows }, (_, i) => i % 10));
const crossEntropy = new torch.nn.CrossEntropyLoss();
function step() {
  const loss = crossEntropy.forward(second.forward(relu(first.forward(rows))), labels);
  loss.backward();
  optimizer.step();
  loss.zero_grad_graph();
  return loss;
}

void serve({
  small: of(() => torch.add(a, b)),
  mid: of(() => relu(torch.add(torch.mul(x, y), z))),
  mm: of(() => torch.matmul(m, n)),
  train: of(step),
});
