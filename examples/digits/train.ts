/** Trains the model. As a program: `node train.js [--epochs N] [--seed N] [--save FILE]`. */
import { parseArgs } from 'node:util';
import * as torch from 'libtorch-node';
import { type Digits, loadDigits, PIXELS, type Split } from './data';
import { Model } from './model';

const BATCH = 64;
const RATE = 0.002;

export interface TrainOptions {
  epochs?: number;
  seed?: number;
  onEpoch?: (result: Epoch) => void;
}

/** After one pass over all digits: the mean training loss, and the accuracy on held-out digits. */
export interface Epoch {
  epoch: number;
  loss: number;
  accuracy: number;
}

export function train({ training, heldOut }: Split, { epochs = 5, seed = 1, onEpoch }: TrainOptions = {}): Model {
  torch.manualSeed(seed);
  // One scope around everything: only the model's weights outlive it, because they belong to the model.
  return torch.scope(() => {
    const model = new Model();
    const optimizer = optimizerOf(model);
    const images = imagesOf(training);
    const labels = torch.tensor(training.labels, { dtype: 'int64' });
    for (let epoch = 1; epoch <= epochs; epoch++) {
      const loss = torch.scope(() => trainEpoch(model, optimizer, images, labels));
      onEpoch?.({ epoch, loss, accuracy: accuracyOn(model, heldOut) });
    }
    optimizer.dispose();
    return model;
  });
}

export const optimizerOf = (model: Model) => new torch.optim.Adam(model.parameters(), { lr: RATE });

/** Trains on every digit once, in random order. Returns the mean loss. */
function trainEpoch(
  model: Model,
  optimizer: torch.optim.Optimizer,
  images: torch.Tensor,
  labels: torch.Tensor,
): number {
  const batches = batchesOf(labels.numel);
  let sum = 0;
  for (const batch of batches) {
    // A step's activations and gradients are freed at its end; it returns only a number.
    sum += torch.scope(() => trainStep(model, optimizer, images.indexSelect(0, batch), labels.indexSelect(0, batch)));
  }
  return sum / batches.length;
}

/** The indices of the digits in random order, in batches. */
export const batchesOf = (digits: number): torch.Tensor[] => torch.randperm(digits).split(BATCH);

/** Trains one step on these images. Returns the loss before it. */
export function trainStep(
  model: Model,
  optimizer: torch.optim.Optimizer,
  images: torch.Tensor,
  labels: torch.Tensor,
): number {
  optimizer.zeroGrad();
  const scores = model.forward(images);
  const loss = torch.nn.functional.crossEntropy(scores, labels);
  loss.backward();
  optimizer.step();
  return Number(loss.item());
}

/** The share of digits whose highest score is the right one. */
export function accuracyOn(model: Model, digits: Digits): number {
  return torch.scope(() =>
    torch.noGrad(() => {
      const answers = model.forward(imagesOf(digits)).argmax(1);
      const right = answers.eq(torch.tensor(digits.labels, { dtype: 'int64' })).sum();
      return Number(right.item()) / digits.labels.length;
    }),
  );
}

const imagesOf = (digits: Digits) => torch.fromTypedArray(digits.pixels, [digits.labels.length, PIXELS]);

export const formatEpoch = ({ epoch, loss, accuracy }: Epoch): string =>
  `epoch ${epoch}   loss ${loss.toFixed(4)}   accuracy ${(accuracy * 100).toFixed(1)} %`;

if (require.main === module) {
  const { values } = parseArgs({
    options: { epochs: { type: 'string' }, seed: { type: 'string' }, save: { type: 'string' } },
  });
  const model = train(loadDigits(), {
    ...(values.epochs === undefined ? {} : { epochs: Number(values.epochs) }),
    ...(values.seed === undefined ? {} : { seed: Number(values.seed) }),
    onEpoch: (result) => console.log(formatEpoch(result)),
  });
  if (values.save !== undefined) model.save(values.save);
}
