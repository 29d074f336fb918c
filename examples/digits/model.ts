/** A perceptron with one hidden layer. Its file is a state dict, which PyTorch reads too. */
import type { Tensor } from 'libtorch-node';
import * as torch from 'libtorch-node';
import { CLASSES, PIXELS } from './data';

const HIDDEN = 128;

/** Its first weights are random, after torch.manualSeed. */
export class Model extends torch.nn.Module {
  readonly hidden = new torch.nn.Linear(PIXELS, HIDDEN);
  readonly scores = new torch.nn.Linear(HIDDEN, CLASSES);

  /** Reads the weights that save() wrote. */
  static load(file: string): Model {
    const model = new Model();
    try {
      torch.scope(() => model.loadStateDict(torch.load(file) as torch.nn.StateDict));
    } catch (error) {
      // The messages do not name the file.
      throw new Error(`${file}: ${(error as Error).message}`, { cause: error });
    }
    return model;
  }

  save(file: string): void {
    torch.save(this.stateDict(), file);
  }

  /** Images, one or a batch of rows, to one score per class (logits). */
  override forward(images: Tensor): Tensor {
    return this.scores.forward(this.hidden.forward(images).relu());
  }
}
