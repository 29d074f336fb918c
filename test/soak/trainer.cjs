/** Trains a net again and again, with a checkpoint after each unit: `work(n)` makes n units, `model` says what must live. */
'use strict';

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { answerDriver, torch } = require('./program.cjs');

const { Conv2d, Flatten, Linear, MaxPool2d, ReLU, Sequential } = torch.nn;
const [STEPS, BATCH] = [10, 16];

torch.setNumThreads(1);
torch.setMemoryLimit(256 * 2 ** 20);
torch.manualSeed(1);
const net = new Sequential(
  new Conv2d(1, 4, 5),
  new ReLU(),
  new MaxPool2d(2),
  new Flatten(),
  new Linear(4 * 12 * 12, 32),
  new ReLU(),
  new Linear(32, 10),
);
const optimizer = new torch.optim.Adam(net.parameters(), { lr: 1e-3 });
const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'ltn-soak-trainer-')), 'checkpoint.pt');
process.on('exit', () => fs.rmSync(path.dirname(file), { recursive: true, force: true }));
/** A fault for the soak's own test: what a step leaves behind. */
const leaked = [];
const leaks = process.argv[2] === 'leak';

/** The labels are the brightest tenth of each picture, so that there is something to learn. */
function step(n) {
  torch.scope((s) => {
    const images = torch.rand([BATCH, 1, 28, 28]);
    const labels = images.flatten(1).narrow(1, 0, 780).view([BATCH, 10, 78]).sum(2).argmax(1);
    optimizer.zeroGrad();
    const loss = torch.nn.functional.crossEntropy(net.forward(images), labels);
    torch.utils.assertFinite(loss, n);
    loss.backward();
    optimizer.step();
    if (leaks) leaked.push(s.move(loss.detach()));
  });
}

let steps = 0;
async function unit() {
  for (let i = 0; i < STEPS; i++) step(++steps);
  optimizer.zeroGrad();
  torch.save({ net: net.stateDict(), optimizer: optimizer.stateDict() }, file);
  torch.scope(() => {
    const saved = torch.load(file);
    net.loadStateDict(saved.net);
    optimizer.loadStateDict(saved.optimizer);
  });
  // The same ops off the event loop, and one that is given up.
  await torch.scope(async () => {
    const images = torch.rand([BATCH, 1, 28, 28]);
    await torch.run(() => torch.noGrad(() => net.forward(images).argmax(1)));
    const gone = new AbortController();
    const asked = torch.async.matmul(torch.rand([64, 64]), torch.rand([64, 64]), { signal: gone.signal });
    gone.abort(new Error('given up'));
    await asked.catch(() => {});
  });
}

answerDriver({
  async work(units) {
    for (let i = 0; i < units; i++) await unit();
  },
  /** By the sizes of the net: each parameter, two averages of Adam and its count of steps, which is a float32 tensor. */
  model() {
    const sizes = [4 * 25, 4, 32 * 576, 32, 10 * 32, 10];
    const numbers = sizes.reduce((sum, size) => sum + size, 0);
    return { tensors: 4 * sizes.length, bytes: 4 * (3 * numbers + sizes.length) };
  },
});
