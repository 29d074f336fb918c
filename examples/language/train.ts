/** Trains a decoder on one text, or an adapter of it on another. */
import torch, { type Tensor } from 'libtorch-node';
import type { Decoder } from './generate';

export interface Training {
  steps: number;
  rate: number;
  /** Tokens in one line of a batch. */
  context?: number;
  batch?: number;
  /** Called with the loss of each step. */
  onStep?: (step: number, loss: number) => void;
}

/**
 * Trains the parameters on pieces of a text, drawn from the default generator.
 * `forward`: the model, or the model with the adapter that is trained.
 */
export function train(
  forward: Decoder['forward'],
  parameters: Tensor[],
  ids: readonly number[],
  { steps, rate, context = 128, batch = 8, onStep }: Training,
): void {
  const length = Math.min(context, ids.length - 1);
  // Its end is followed by its beginning, so that every piece is drawn as often as the others.
  const circle = [...ids, ...ids.slice(0, length)];
  const optimizer = new torch.optim.AdamW(parameters, { lr: rate, weightDecay: 0.01 });
  const schedule = new torch.optim.lrScheduler.OneCycleLR(optimizer, rate, { totalSteps: steps + 1 });
  torch.scope(() => {
    const text = torch.tensor(circle, { dtype: 'int64' });
    const window = torch.arange(length + 1);
    for (let step = 1; step <= steps; step++) {
      const loss = torch.scope(() => {
        const starts = torch.randint(0, ids.length, [batch, 1]);
        const lines = text.index([starts.add(window)]) as Tensor;
        const scores = forward(lines.narrow(1, 0, length));
        const cost = torch.nn.functional.crossEntropy(scores.flatten(0, 1), lines.narrow(1, 1, length).flatten());
        optimizer.zeroGrad();
        const value = torch.utils.assertFinite(cost, step);
        cost.backward();
        torch.nn.utils.clipGradNorm_(parameters, 1);
        optimizer.step();
        return value;
      });
      schedule.step();
      onStep?.(step, loss);
    }
  });
  optimizer.zeroGrad();
}
