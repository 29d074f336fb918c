/** Datasets for workers. */
import { parentPort } from 'node:worker_threads';
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
        if (kind === 'close' || kind === 'unref') {
          if (kind === 'close') setInterval(() => {}, 1000); // keeps the thread running
          parentPort[kind]();
          return new Promise(() => {}); // which keeps nothing running
        }
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

/** A stream whose sample `at` fails. */
export const failing = (at) => ({
  *[Symbol.iterator]() {
    for (let i = 0; i < at; i++) yield torch.tensor([i]);
    throw new TypeError('of the stream');
  },
});

export const broken = () => {
  throw new TypeError('cannot be made');
};

/** Notes in the cells how often it was opened and closed. */
export function closing(cells, text) {
  const noted = new Int32Array(cells);
  return {
    async *[Symbol.asyncIterator]() {
      Atomics.add(noted, 0, 1);
      try {
        for (let i = 0; i < 100; i++) yield i;
      } finally {
        await null;
        Atomics.add(noted, 1, 1);
        if (text !== undefined) await Promise.reject(new RangeError(text));
      }
    },
  };
}

/** Samples without memory of their own, of 40 bytes, or views of one tensor. The second cell counts them. */
export function counted(kind, cells) {
  const read = new Int32Array(cells);
  const slab = kind === 'views' ? torch.keep(torch.arange(20)) : null;
  return {
    length: 200,
    getItem() {
      Atomics.add(read, 1, 1);
      if (kind === 'text') return 'text';
      if (kind === 'functions') return [torch.ones([1]), () => 1];
      return kind === 'arrays' ? new Uint8Array(40) : slab.narrow(0, 0, 1);
    },
  };
}

export const list = [5, 6, 7];
export const rows = async () => torch.tensor([5, 6, 7]);
export const nothing = 5;

/** Only sample `at` of a batch does not come as the others do. */
export const uneven = (length, kind, at) => ({
  length,
  async getItem(index) {
    await new Promise(setImmediate);
    if (index !== at) return index;
    if (kind === 'exit') process.exit(3);
    if (kind === 'string') return 'five';
    return new Promise(() => {
      if (kind === 'throw')
        setImmediate(() => {
          throw new RangeError('of a timer');
        });
    });
  },
});
