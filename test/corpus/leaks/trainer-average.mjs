// A moving average of losses in an object of a class; every value carries the graph of the one before.
import torch from 'libtorch-node';
import steps from '../steps.cjs';

class Trainer {
  #weight = torch.randn([32, 1], { requiresGrad: true });
  #average = torch.zeros([]);

  step() {
    const loss = torch.randn([16, 32]).matmul(this.#weight).abs().mean();
    this.#average = this.#average.mul(0.9).add(loss.mul(0.1)); // LEAK
  }
}

const trainer = new Trainer();
await steps(() => trainer.step());
