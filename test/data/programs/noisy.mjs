/** Datasets for workers. */
import torch from 'libtorch-node';

export class Noisy extends torch.utils.data.Dataset {
  static module = import.meta.url;
  constructor(length, weights) {
    super();
    this.length = length;
    this.weights = weights;
  }
  getItem(index, { generator, seed, epoch }) {
    const noise = torch.rand([2], { generator });
    return { index: BigInt(index), noise, weight: this.weights.at(index % 3), text: `${epoch} ${seed}` };
  }
}

export default class Later extends torch.utils.data.Dataset {
  constructor(length) {
    super();
    this.length = length;
  }
  async getItem(index) {
    await new Promise(setImmediate);
    return torch.tensor([index]);
  }
}

/** What a test does in a worker, once for each cell that is not set. */
export function faulty(length, kind, at, cells) {
  const done = new Int32Array(cells);
  return {
    length,
    getItem(index) {
      Atomics.add(done, 1, 1);
      if (index === at && Atomics.exchange(done, 0, 1) === 0) {
        if (kind === 'throw') throw new RangeError('of the dataset');
        if (kind === 'exit') process.exit(3);
        if (kind === 'hang') Atomics.wait(done, 2, 0);
        if (kind === 'async')
          return new Promise(() =>
            setImmediate(() => {
              throw new RangeError('of a timer');
            }),
          );
      }
      return torch.tensor([index]);
    },
  };
}

export class Numbers extends torch.utils.data.IterableDataset {
  static module = import.meta.url;
  at = 0;
  constructor(n) {
    super();
    this.n = n;
  }
  async *[Symbol.asyncIterator]() {
    while (this.at < this.n) yield this.at++;
    this.at = 0;
  }
  stateDict() {
    return { at: this.at };
  }
  loadStateDict({ at }) {
    this.at = at;
  }
}

export const broken = () => {
  throw new TypeError('cannot be made');
};
