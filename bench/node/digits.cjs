/**
 * Trains the digits example: `node digits.cjs FOLDER` answers lines "full STEPS" (every digit in each step) and "mini
 * STEPS" (batches of the example's size) with the time of a step and the mean loss of these steps. `… FOLDER write`
 * writes the digits there, for bench/python/digits.py.
 */
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { createInterface } = require('node:readline');
const torch = require('libtorch-node');

const example = path.join(__dirname, '..', '..', 'dist', 'examples', 'digits');
const { loadDigits, PIXELS } = require(path.join(example, 'data.js'));
const { Model } = require(path.join(example, 'model.js'));
const { batchesOf, optimizerOf, trainStep } = require(path.join(example, 'train.js'));

const SEED = 1;

class Training {
  constructor({ pixels, labels }) {
    torch.manualSeed(SEED);
    this.model = new Model();
    this.optimizer = optimizerOf(this.model);
    this.images = torch.fromTypedArray(pixels, [labels.length, PIXELS]);
    this.labels = torch.tensor(labels, { dtype: 'int64' });
  }
}

class FullBatch extends Training {
  step() {
    return torch.scope(() => trainStep(this.model, this.optimizer, this.images, this.labels));
  }
}

class MiniBatch extends Training {
  #batches = [];
  #next = 0;

  step() {
    if (this.#next === this.#batches.length) {
      torch.disposeAll(this.#batches);
      // Seeded here, so that the order does not depend on the other training's draws.
      torch.manualSeed(SEED);
      this.#batches = batchesOf(this.labels.numel);
      this.#next = 0;
    }
    const batch = this.#batches[this.#next++];
    return torch.scope(() =>
      trainStep(this.model, this.optimizer, this.images.indexSelect(0, batch), this.labels.indexSelect(0, batch)),
    );
  }
}

function measure(training, steps) {
  let sum = 0;
  const before = process.cpuUsage();
  const start = process.hrtime.bigint();
  for (let i = 0; i < steps; i++) sum += training.step();
  const elapsed = Number(process.hrtime.bigint() - start);
  const { user, system } = process.cpuUsage(before);
  return { ns: elapsed / steps, cpu: (1000 * (user + system)) / steps, loss: sum / steps };
}

torch.setNumThreads(Number(process.env.BENCH_THREADS ?? 1));
const [folder, command] = process.argv.slice(2);
const { training: digits } = loadDigits();
if (command === 'write') {
  fs.writeFileSync(path.join(folder, 'pixels'), digits.pixels);
  fs.writeFileSync(path.join(folder, 'labels'), BigInt64Array.from(digits.labels, BigInt));
} else {
  const trainings = { full: new FullBatch(digits), mini: new MiniBatch(digits) };
  createInterface({ input: process.stdin }).on('line', (line) => {
    const [name, steps] = line.split(' ');
    process.stdout.write(`${JSON.stringify(measure(trainings[name], Number(steps)))}\n`);
  });
}
