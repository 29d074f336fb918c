/** The network. */
import torch, { type Tensor } from 'libtorch-node';
import { CLASSES } from './data.js';

export class Net extends torch.nn.Module {
  first = new torch.nn.Linear(2, 64);
  second = new torch.nn.Linear(64, 64);
  last = new torch.nn.Linear(64, CLASSES);

  override forward(x: Tensor): Tensor {
    const hidden = this.second.forward(this.first.forward(x).relu()).relu();
    return this.last.forward(hidden);
  }
}
