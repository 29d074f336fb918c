/**
 * One rank of a group that learns digits: each rank reads its share of them, and all make the same steps. Rank 0 saves
 * checkpoints, with which a group that was started again continues. The launcher sets RANK, WORLD_SIZE, MASTER_ADDR and
 * MASTER_PORT: run.mjs, or one of the files in launch/.
 * `node train.js [--checkpoint FILE] [--epochs N] [--steps N in an epoch] [--batch N in a rank] [--rate N]
 *   [--trace FILE for Perfetto, of the third step; each rank appends its number]`
 */
import { existsSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import torch, { type Tensor } from 'libtorch-node';
import { type Digits, loadDigits } from '../digits/data';

const { Conv2d, Flatten, Linear, MaxPool2d, ReLU, Sequential } = torch.nn;
const { crossEntropy } = torch.nn.functional;
const { DataLoader, DistributedSampler, TensorDataset } = torch.utils.data;
const { distributed } = torch;

class Net extends torch.nn.Module {
  wide = new Sequential(new Conv2d(1, 8, 5), new ReLU(), new MaxPool2d(2)); // [B, 8, 12, 12]
  deep = new Sequential(new Conv2d(8, 16, 5), new ReLU(), new MaxPool2d(2)); // [B, 16, 4, 4]
  scores = new Sequential(new Flatten(), new Linear(256, 10));
  override forward(images: Tensor): Tensor {
    return this.scores.forward(this.deep.forward(this.wide.forward(images)));
  }
}

const number = (otherwise: string) => ({ type: 'string', default: otherwise }) as const;
const numbers = { epochs: number('3'), steps: number('Infinity'), batch: number('32'), rate: number('0.05') };
const { values } = parseArgs({ options: { ...numbers, checkpoint: { type: 'string' }, trace: { type: 'string' } } });
const [epochs, steps, batchSize, lr] = [values.epochs, values.steps, values.batch, values.rate].map(Number) as [
  number,
  number,
  number,
  number,
];
const file = values.checkpoint;

const tensorsOf = ({ pixels, labels }: Digits): [Tensor, Tensor] => [
  torch.fromTypedArray(pixels, [labels.length, 1, 28, 28]),
  torch.tensor(labels, { dtype: 'int64' }),
];

/** How many percent of the digits a model reads correctly. */
const read = (model: Net, [images, labels]: [Tensor, Tensor]): string =>
  torch.scope(() =>
    torch.noGrad(() => {
      const right = model.eval().forward(images).argmax(1).eq(labels).float().mean().item();
      model.train();
      return `${(100 * right).toFixed(1)} %`;
    }),
  );

async function main(): Promise<void> {
  await distributed.initProcessGroup({ timeoutMs: 60_000 });
  const [rank, ranks] = [distributed.getRank(), distributed.getWorldSize()];
  const say = (text: string) => console.log(`rank ${rank}: ${text}`);
  torch.manualSeed(1);
  const { training, heldOut } = loadDigits();
  const dataset = new TensorDataset(...tensorsOf(training));
  const sampler = new DistributedSampler(dataset); // of this rank
  const loader = new DataLoader(dataset, { batchSize, sampler, dropLast: true });
  const net = new Net();
  const model = new torch.nn.parallel.DistributedDataParallel(net); // from here on, all ranks have the net of rank 0
  const optimizer = new torch.optim.SGD(model.parameters(), { lr, momentum: 0.9 });
  let epoch = 0;
  if (file !== undefined && existsSync(file)) {
    torch.scope(() => {
      const saved = torch.load(file) as Record<string, any>;
      model.loadStateDict(saved.model);
      optimizer.loadStateDict(saved.optimizer);
      epoch = saved.epoch;
    });
    say(`continues after epoch ${epoch}`);
  }
  for (; epoch < epochs; epoch++) {
    sampler.setEpoch(epoch); // another order, the same for all ranks
    let n = 0;
    let loss = 0;
    for await (const [images, labels] of loader) {
      const learn = async () => {
        optimizer.zeroGrad();
        // The backward averages the gradients over the ranks, off the event loop.
        loss = await torch.scope(async () => {
          const value = await torch.run(() => {
            const mean = crossEntropy(model.forward(images), labels);
            mean.backward();
            return mean.detach();
          });
          return value.item();
        });
        optimizer.step();
      };
      if (values.trace !== undefined && epoch === 0 && n === 2) {
        writeFileSync(`${values.trace}.${rank}`, JSON.stringify(await distributed.trace(learn)));
      } else await learn();
      torch.disposeAll([images, labels]);
      if (++n >= steps) break;
    }
    say(`epoch ${epoch + 1}: loss ${loss.toFixed(4)} of its last batch`);
    if (rank === 0 && file !== undefined) {
      torch.save({ model: model.stateDict(), optimizer: optimizer.stateDict(), epoch: epoch + 1 }, file);
    }
  }
  if (rank === 0) {
    const digits = tensorsOf(heldOut);
    say(`${ranks} ranks read ${read(net, digits)} of ${heldOut.labels.length} new digits`);
  }
  const sum = torch.scope(() => torch.nn.utils.parametersToVector(net.parameters()).double().sum().item());
  say(`weights ${sum.toFixed(12)}`); // the same in all ranks
  model.dispose();
  await distributed.destroyProcessGroup();
}

main().catch((error: { code?: string; message: string }) => {
  // Another rank ended, or cannot be reached: the launcher starts all again.
  console.error(`rank ${process.env.RANK}: ${error.code ?? 'error'}: ${error.message}`);
  process.exitCode = 1;
});
