/** Trains and saves: `npm start`, or `node dist/src/main.js --epochs 20 --save model.pt`. */
import { parseArgs } from 'node:util';
import torch from 'libtorch-node';
import { spirals } from './data.js';
import { Net } from './model.js';
import { accuracy, train } from './train.js';

const { values } = parseArgs({
  options: { epochs: { type: 'string', default: '60' }, save: { type: 'string', default: 'model.pt' } },
});
const epochs = Number(values.epochs);
if (!Number.isInteger(epochs) || epochs < 1) {
  console.error(`--epochs: expected a whole number of 1 or more, got ${values.epochs}`);
  process.exit(2);
}

torch.manualSeed(0);
const [points, unseen] = [spirals(300), spirals(100)];
const net = new Net();
await train(net, points, {
  epochs,
  batchSize: 64,
  lr: 0.01,
  onEpoch: (epoch, loss) => {
    if (epoch % 10 === 0 || epoch === epochs) console.log(`epoch ${epoch} of ${epochs}: loss ${loss.toFixed(3)}`);
  },
});
console.log(`accuracy on unseen points: ${(100 * accuracy(net, unseen)).toFixed(1)}%`);
torch.save(net.stateDict(), values.save);
console.log(`saved ${values.save}`);
