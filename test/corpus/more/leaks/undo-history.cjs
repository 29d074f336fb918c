// An editor's history in a private field has no limit.
const torch = require('libtorch-node');
const steps = require('../../steps.cjs');
class Mask {
  #history = [];
  paint(i) {
    const next = torch.zeros([24, 24]); // LEAK
    next.at(i % 24).fill_(1);
    this.#history.push(next);
  }
}

const mask = new Mask();
steps((i) => mask.paint(i));
