/** onnxruntime-node: it runs models, so each case is a model; it does not train. A result belongs to the collector. */
'use strict';

const { createRequire } = require('node:module');
const { model } = require('./onnx-model.cjs');
const { filled, serve, sizesOf } = require('./serve.cjs');

const fromPeers = createRequire(`${process.env.PEERS}/`);
const { InferenceSession, Tensor } = fromPeers('onnxruntime-node');
const sizes = sizesOf(process.argv.slice(2));
const options = { intraOpNumThreads: 1, interOpNumThreads: 1 };

const numbers = (shape, seed, scale) => ({
  shape,
  data: filled(
    shape.reduce((a, b) => a * b, 1),
    seed,
    scale,
  ),
});

/** `inputs`: numbers by name. */
async function of(nodes, inputs, shape, weights = {}) {
  const shapes = Object.fromEntries(Object.entries(inputs).map(([name, each]) => [name, each.shape]));
  const session = await InferenceSession.create(model(nodes, shapes, { name: 'out', shape }, weights), options);
  const feeds = Object.fromEntries(
    Object.entries(inputs).map(([name, each]) => [name, new Tensor('float32', each.data, each.shape)]),
  );
  return {
    async run(count) {
      for (let i = 0; i < count; i++) await session.run(feeds);
    },
    values: async () => (await session.run(feeds)).out.data,
  };
}

async function main() {
  const { small, mid, mm, images } = sizes;
  const square = [mid, mid];
  const pads = { pads: [1, 1, 1, 1], kernel_shape: [3, 3] };
  const pool = { kernel_shape: [2, 2], strides: [2, 2] };
  await serve({
    small: await of([['Add', ['a', 'b'], 'out']], { a: numbers([small], 1), b: numbers([small], 2) }, [small]),
    mid: await of(
      [
        ['Mul', ['x', 'y'], 'xy'],
        ['Add', ['xy', 'z'], 'sum'],
        ['Relu', ['sum'], 'out'],
      ],
      { x: numbers(square, 3), y: numbers(square, 4), z: numbers(square, 5) },
      square,
    ),
    mm: await of([['MatMul', ['m', 'n'], 'out']], { m: numbers([mm, mm], 6), n: numbers([mm, mm], 7) }, [mm, mm]),
    cnn: await of(
      [
        ['Conv', ['images', 'k1', 'b1'], 'c1', pads],
        ['Relu', ['c1'], 'r1'],
        ['MaxPool', ['r1'], 'p1', pool],
        ['Conv', ['p1', 'k2', 'b2'], 'c2', pads],
        ['Relu', ['c2'], 'r2'],
        ['MaxPool', ['r2'], 'p2', pool],
        ['Flatten', ['p2'], 'flat'],
        ['Gemm', ['flat', 'w', 'b3'], 'out', { transB: 1 }],
      ],
      { images: numbers([images, 1, 16, 16], 16) },
      [images, 10],
      {
        k1: numbers([8, 1, 3, 3], 10, 0.6),
        b1: numbers([8], 11, 0.6),
        k2: numbers([16, 8, 3, 3], 12, 0.2),
        b2: numbers([16], 13, 0.2),
        w: numbers([10, 256], 14, 0.1),
        b3: numbers([10], 15, 0.1),
      },
    ),
  });
}

void main();
