/** Trains the ResNet on a folder of images, and tests it on another. */
import torch, { type Tensor } from 'libtorch-node';
import type { Images } from './dataset';
import { ResNet } from './resnet';

const { crossEntropy } = torch.nn.functional;
const { DataLoader } = torch.utils.data;
const BATCH = 64;

export interface Settings {
  epochs: number;
  /** Threads that decode images. */
  workers: number;
  onEpoch: (epoch: number, result: { loss: number; accuracy: number; perSecond: number }) => void;
}

type Batch = [images: Tensor, labels: Tensor];

/** The share of images that the net reads correctly. */
async function accuracyOf(net: ResNet, loader: AsyncIterable<unknown>): Promise<number> {
  let [right, count] = [0, 0];
  net.eval();
  for await (const [images, labels] of loader as AsyncIterable<Batch>) {
    torch.scope(() => {
      const answers = torch.noGrad(() => net.forward(images)).argmax(1);
      right += answers.eq(labels).sum().item() as number;
    });
    count += labels.numel;
    torch.disposeAll([images, labels]);
  }
  return right / count;
}

/** @throws Error for images that do not fill a batch, or folders of other classes */
export async function train(training: Images, validation: Images, settings: Settings): Promise<ResNet> {
  const { epochs, workers: numWorkers, onEpoch } = settings;
  if (training.length < BATCH) throw new Error(`expected at least ${BATCH} images, got ${training.length}`);
  if (String(training.classes) !== String(validation.classes))
    throw new Error(`expected images of [${training.classes}] to test with, got [${validation.classes}]`);
  const net = new ResNet(training.classes.length);
  const optimizer = new torch.optim.AdamW(net.parameters(), { lr: 0.005 });
  const loader = new DataLoader(training, { batchSize: BATCH, shuffle: true, dropLast: true, numWorkers });
  const tested = new DataLoader(validation, { batchSize: BATCH, numWorkers });
  const schedule = new torch.optim.lrScheduler.CosineAnnealingLR(optimizer, epochs);
  for (let epoch = 1; epoch <= epochs; epoch++) {
    const start = performance.now();
    let [sum, steps] = [0, 0];
    net.train();
    for await (const [images, labels] of loader as AsyncIterable<Batch>) {
      sum += torch.scope(() => {
        optimizer.zeroGrad();
        const loss = crossEntropy(net.forward(images), labels);
        const value = torch.utils.assertFinite(loss, steps + 1);
        loss.backward();
        optimizer.step();
        return value;
      });
      steps++;
      torch.disposeAll([images, labels]);
    }
    const perSecond = (1000 * steps * BATCH) / (performance.now() - start);
    schedule.step();
    onEpoch(epoch, { loss: sum / steps, accuracy: await accuracyOf(net, tested), perSecond });
  }
  optimizer.zeroGrad();
  await Promise.all([loader.dispose(), tested.dispose()]);
  return net.eval() as ResNet;
}
