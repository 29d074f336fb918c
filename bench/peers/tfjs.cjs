/** TensorFlow.js; the last argument is the backend: `wasm`, or `tensorflow` of tfjs-node. Results are freed by tf.tidy. */
'use strict';

const path = require('node:path');
const { createRequire } = require('node:module');
const { filled, serve, sizesOf } = require('./serve.cjs');

const fromPeers = createRequire(`${process.env.PEERS}/`);
const backend = process.argv.at(-1);
const sizes = sizesOf(process.argv.slice(2));

async function main() {
  const tf = fromPeers(backend === 'wasm' ? '@tensorflow/tfjs' : '@tensorflow/tfjs-node');
  if (backend === 'wasm') {
    const wasm = fromPeers('@tensorflow/tfjs-backend-wasm');
    wasm.setWasmPaths(`${path.dirname(fromPeers.resolve('@tensorflow/tfjs-backend-wasm'))}${path.sep}`);
    wasm.setThreadsCount(1);
  }
  await tf.setBackend(backend);

  const make = (shape, seed, scale) =>
    tf.tensor(
      filled(
        shape.reduce((a, b) => a * b, 1),
        seed,
        scale,
      ),
      shape,
    );
  const of = (once) => ({
    run(count) {
      tf.tidy(() => {
        for (let i = 0; i < count; i++) once();
      });
    },
    values: () => tf.tidy(() => once().dataSync()),
  });

  const [a, b] = [1, 2].map((seed) => make([sizes.small], seed));
  const [x, y, z] = [3, 4, 5].map((seed) => make([sizes.mid, sizes.mid], seed));
  const [m, n] = [6, 7].map((seed) => make([sizes.mm, sizes.mm], seed));

  // Channels last: the weights and the input of the others, with their dimensions in TensorFlow's order.
  const kernel = (shape, seed, scale) => tf.transpose(make(shape, seed, scale), [2, 3, 1, 0]);
  const [k1, k2] = [kernel([8, 1, 3, 3], 10, 0.6), kernel([16, 8, 3, 3], 12, 0.2)];
  const [c1, c2, c3] = [make([8], 11, 0.6), make([16], 13, 0.2), make([10], 15, 0.1)];
  const scores = tf.reshape(
    tf.transpose(tf.reshape(make([10, 256], 14, 0.1), [10, 16, 4, 4]), [2, 3, 1, 0]),
    [256, 10],
  );
  const images = tf.reshape(make([sizes.images, 1, 16, 16], 16), [sizes.images, 16, 16, 1]);
  const block = (input, k, c) => tf.maxPool(tf.relu(tf.add(tf.conv2d(input, k, 1, 'same'), c)), 2, 2, 'valid');
  const cnn = () => tf.add(tf.matMul(tf.reshape(block(block(images, k1, c1), k2, c2), [-1, 256]), scores), c3);

  const weight = (inputs, outputs, seed, scale) => tf.variable(tf.transpose(make([outputs, inputs], seed, scale)));
  const [w1, w2] = [weight(784, 128, 20, 0.1), weight(128, 10, 22, 0.2)];
  const [b1, b2] = [tf.variable(make([128], 21, 0.1)), tf.variable(make([10], 23, 0.2))];
  const rows = make([sizes.rows, 784], 24);
  const labels = tf.oneHot(
    tf.tensor1d(
      Array.from({ length: sizes.rows }, (_, i) => i % 10),
      'int32',
    ),
    10,
  );
  const optimizer = tf.train.adam(1e-3, 0.9, 0.999, 1e-8);
  const step = () =>
    optimizer.minimize(() => {
      const hidden = tf.relu(tf.add(tf.matMul(rows, w1), b1));
      return tf.losses.softmaxCrossEntropy(labels, tf.add(tf.matMul(hidden, w2), b2));
    }, true);

  await serve({
    small: of(() => tf.add(a, b)),
    mid: of(() => tf.relu(tf.add(tf.mul(x, y), z))),
    mm: of(() => tf.matMul(m, n)),
    cnn: of(cnn),
    train: of(step),
  });
}

void main();
