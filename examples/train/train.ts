/**
 * A convolutional network learns digits: validation, schedule, early stop, and checkpoints, which the same command continues.
 * `node train.js [--checkpoint FILE] [--epochs N] [--steps N in an epoch] [--rate N] [--patience N epochs]`
 */
import { existsSync } from 'node:fs';
import { parseArgs } from 'node:util';
import torch, { type Tensor } from 'libtorch-node';
import { type Digits, loadDigits } from '../digits/data';

const { Conv2d, Dropout, Flatten, Linear, MaxPool2d, ReLU, Sequential } = torch.nn;
const { crossEntropy } = torch.nn.functional;
const [BATCH, VALIDATION] = [64, 1330];

class Net extends torch.nn.Module {
  wide = new Sequential(new Conv2d(1, 8, 5), new ReLU(), new MaxPool2d(2)); // [B, 8, 12, 12]
  deep = new Sequential(new Conv2d(8, 16, 5), new ReLU(), new MaxPool2d(2)); // [B, 16, 4, 4]
  scores = new Sequential(new Flatten(), new Dropout(0.25), new Linear(256, 10));
  override forward(images: Tensor): Tensor {
    return this.scores.forward(this.deep.forward(this.wide.forward(images)));
  }
}

const number = (otherwise: string) => ({ type: 'string', default: otherwise }) as const;
const numbers = { epochs: number('10'), steps: number('Infinity'), rate: number('0.002'), patience: number('3') };
const { values } = parseArgs({ options: { ...numbers, checkpoint: { type: 'string' } } });
const [epochs, steps, rate, patience] = [values.epochs, values.steps, values.rate, values.patience].map(Number);
const file = values.checkpoint;

/** Images, and the digits that they show. */
type Pairs = [images: Tensor, labels: Tensor];
const tensorsOf = ({ pixels, labels }: Digits): Pairs => [
  torch.fromTypedArray(pixels, [labels.length, 1, 28, 28]),
  torch.tensor(labels, { dtype: 'int64' }),
];

torch.manualSeed(1);
const { training, heldOut } = loadDigits();
const digits = tensorsOf(training);
const pick = (which: Tensor): Pairs => [digits[0].indexSelect(0, which), digits[1].indexSelect(0, which)];
const order = torch.randperm(training.labels.length);
const [learned, validation] = [order.slice({ start: VALIDATION }), pick(order.slice({ end: VALIDATION }))];
const [net, best] = [new Net(), new Net()];
const optimizer = new torch.optim.AdamW(net.parameters(), { lr: rate! });
const schedule = new torch.optim.lrScheduler.CosineAnnealingLR(optimizer, epochs!);
let progress = { epoch: 0, bestEpoch: 0, bestLoss: Number.POSITIVE_INFINITY };

if (file !== undefined && existsSync(file)) {
  const saved = torch.load(file) as Record<string, any>;
  for (const [name, part] of Object.entries({ net, best, optimizer, schedule })) part.loadStateDict(saved[name]);
  torch.setRngState(saved.random);
  progress = saved.progress;
  console.log(`continues after epoch ${progress.epoch}`);
}

/** The mean loss of a model on digits, and how many percent of them it reads correctly. */
const test = (model: Net, [images, labels]: Pairs) =>
  torch.scope(() =>
    torch.noGrad(() => {
      const scores = model.eval().forward(images);
      const right = scores.argmax(1).eq(labels).float().mean().item();
      return { loss: crossEntropy(scores, labels).item(), percent: `${(100 * right).toFixed(1)} %` };
    }),
  );

/** One step. Its activations and gradients are freed at its end. */
const step = (which: Tensor, n: number) =>
  torch.scope(() => {
    const [images, labels] = pick(which);
    optimizer.zeroGrad();
    const loss = crossEntropy(net.forward(images), labels);
    const value = torch.utils.assertFinite(loss, n);
    loss.backward();
    optimizer.step();
    return value;
  });

while (progress.epoch < epochs! && progress.epoch - progress.bestEpoch < patience!) {
  const epoch = progress.epoch + 1;
  const batches = learned.indexSelect(0, torch.randperm(learned.numel)).split(BATCH).slice(0, steps);
  const shown = new torch.utils.Progress({ total: batches.length, label: `epoch ${epoch}` });
  net.train();
  for (const [i, batch] of batches.entries()) {
    const loss = step(batch, (epoch - 1) * batches.length + i + 1);
    shown.step({ loss, samples: batch.numel });
  }
  shown.end();
  schedule.step();
  const { loss, percent } = test(net, validation);
  progress = loss < progress.bestLoss ? { epoch, bestEpoch: epoch, bestLoss: loss } : { ...progress, epoch };
  if (epoch === progress.bestEpoch) best.loadStateDict(net.stateDict());
  console.log(`epoch ${epoch}: validation loss ${loss.toFixed(6)}, reads ${percent}`);
  const state = { optimizer: optimizer.stateDict(), schedule: schedule.stateDict(), random: torch.getRngState() };
  if (file !== undefined) torch.save({ net: net.stateDict(), best: best.stateDict(), ...state, progress }, file);
}
const { percent } = test(best, tensorsOf(heldOut));
console.log(`the net of epoch ${progress.bestEpoch} reads ${percent} of ${heldOut.labels.length} new digits`);
