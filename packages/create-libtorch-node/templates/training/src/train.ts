/** The training loop. */
import torch from 'libtorch-node';
import type { Points } from './data.js';
import type { Net } from './model.js';

export interface Options {
  epochs: number;
  batchSize: number;
  lr: number;
  /** Called after each epoch with the mean loss of its batches. */
  onEpoch?: (epoch: number, loss: number) => void;
}

/** Trains the network in place. */
export async function train(net: Net, { x, y }: Points, { epochs, batchSize, lr, onEpoch }: Options): Promise<void> {
  const data = new torch.utils.data.TensorDataset(x, y);
  const loader = new torch.utils.data.DataLoader(data, { batchSize, shuffle: true });
  const optimizer = new torch.optim.AdamW(net.parameters(), { lr });
  const lossOf = new torch.nn.CrossEntropyLoss();
  net.train();
  for (let epoch = 1; epoch <= epochs; epoch++) {
    let sum = 0;
    let batches = 0;
    for await (const [images, labels] of loader) {
      // The scope frees every tensor of the step; only the number leaves it.
      sum += torch.scope(() => {
        optimizer.zeroGrad();
        const loss = lossOf.forward(net.forward(images!), labels!);
        loss.backward();
        optimizer.step();
        return loss.item();
      });
      torch.disposeAll([images, labels]);
      batches++;
    }
    onEpoch?.(epoch, sum / batches);
  }
  optimizer.dispose();
}

/** The share of points whose class the network finds. */
export function accuracy(net: Net, { x, y }: Points): number {
  net.eval();
  return torch.noGrad(() => torch.scope(() => net.forward(x).argmax(1).eq(y).to({ dtype: 'float32' }).mean().item()));
}
