/** The model. Its weights are random: load your own in `loadModel`. */
import torch, { type Tensor } from 'libtorch-node';

export const FEATURES = 4;
export const LABELS = ['setosa', 'versicolor', 'virginica'];

class Classifier extends torch.nn.Module {
  hidden = new torch.nn.Linear(FEATURES, 16);
  out = new torch.nn.Linear(16, LABELS.length);

  override forward(x: Tensor): Tensor {
    return this.out.forward(this.hidden.forward(x).relu()).softmax(1);
  }
}

export type Model = Classifier;

export function loadModel(): Model {
  torch.manualSeed(0);
  const model = new Classifier();
  // model.loadStateDict(torch.load('model.pt'));
  model.eval();
  return model;
}

export interface Prediction {
  label: string;
  probability: number;
}

/** @param features as many numbers as the model has inputs */
export function predict(model: Model, features: number[]): Prediction {
  // The scope frees every tensor of the request; inference mode records nothing for gradients.
  return torch.inferenceMode(() =>
    torch.scope(() => {
      const x = torch.tensor(features).view([1, FEATURES]);
      const { values, indices } = model.forward(x).max(1);
      return { label: LABELS[Number(indices.item())]!, probability: values.item() };
    }),
  );
}
