/**
 * What becomes of tensors that nothing disposes of, for the row "memory" in docs/comparison.md:
 *
 *   PEERS=FOLDER node --expose-gc bench/peers/held.cjs PACKAGE
 *
 * makes 2,000 tensors of 1 MiB in a loop that never yields, keeps none, and prints how far the resident set rose above what it was
 * before, then what is left after a collection. FOLDER has node_modules with the package; ours is this checkout's.
 */
'use strict';

const { readFileSync } = require('node:fs');
const { createRequire } = require('node:module');
const path = require('node:path');
const { model } = require('./onnx-model.cjs');

const COUNT = 2000;
const SIDE = 512; // 1 MiB of float32
const fromPeers = createRequire(`${process.env.PEERS ?? __dirname}/`);

/** Each gives a function that makes a tensor, and one that counts those that the package knows of. */
const packages = {
  'libtorch-node': () => {
    const { full, memory } = require(path.resolve(__dirname, '../../dist/lib/index.js'));
    return { make: (value) => full([SIDE, SIDE], value), count: () => memory().tensors };
  },
  '@frost-beta/mlx': () => {
    const { core } = fromPeers('@frost-beta/mlx').default ?? fromPeers('@frost-beta/mlx');
    return {
      make(value) {
        const array = core.full([SIDE, SIDE], value);
        core.eval(array); // it is lazy
        return array;
      },
    };
  },
  // Not tfjs-node, whose addon npm does not bring: its tensors are those of the same @tensorflow/tfjs-core.
  '@tensorflow/tfjs': async () => {
    const tf = fromPeers('@tensorflow/tfjs');
    await tf.setBackend('cpu');
    return { make: (value) => tf.fill([SIDE, SIDE], value), count: () => tf.memory().numTensors };
  },
  'onnxruntime-node': async () => {
    const { InferenceSession, Tensor } = fromPeers('onnxruntime-node');
    const shape = [SIDE, SIDE];
    const bytes = model([['Relu', ['in'], 'out']], { in: shape }, { name: 'out', shape });
    const session = await InferenceSession.create(bytes, { intraOpNumThreads: 1, interOpNumThreads: 1 });
    const feeds = { in: new Tensor('float32', new Float32Array(SIDE * SIDE), shape) };
    return { make: async () => (await session.run(feeds)).out, data: (result) => result.data.constructor.name };
  },
};

const kilobytes = (name) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(readFileSync('/proc/self/status', 'utf8'))[1]);
const megabytes = (name, before) => `${Math.round((kilobytes(name) - before) / 1024)} MiB`;

async function main() {
  const name = process.argv[2];
  if (!(name in packages)) throw new Error(`expected ${Object.keys(packages).join(' | ')}, got ${name}`);
  const { make, count, data } = await packages[name]();
  const first = make(0);
  if (first instanceof Promise) await first;
  globalThis.gc();
  const before = kilobytes('VmRSS');
  for (let i = 0; i < COUNT; i++) {
    const made = make(i);
    if (made instanceof Promise) await made; // only onnxruntime-node, which has no other way
  }
  const peak = megabytes('VmHWM', before);
  const counted = count?.();
  for (let i = 0; i < 10; i++) {
    globalThis.gc();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const left = [megabytes('VmRSS', before), ...(count === undefined ? [] : [`${count()} tensors of ${counted}`])];
  if (data !== undefined) left.push(`a result's data is a ${data(await make(0))}`);
  console.log(`${name}: ${COUNT} tensors of 1 MiB, at most +${peak}; after a collection +${left.join(', ')}`);
}

main();
