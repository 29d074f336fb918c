/** The classes of programs/noisy.mjs with the library of the tests. Their module is what workers load. */
import * as path from 'node:path';
import { pathToFileURL } from 'node:url';
import { torch } from '../support/torch';

const module_ = pathToFileURL(path.join(__dirname, 'programs/noisy.mjs')).href;

export class Noisy extends torch.utils.data.Dataset {
  static module = module_;
  constructor(
    readonly length: number,
    readonly weights: any,
  ) {
    super();
  }
  getItem(index: number, { generator, seed, epoch }: any) {
    const noise = torch.rand([2], { generator });
    return { index: BigInt(index), noise, weight: this.weights.at(index % 3), text: `${epoch} ${seed}` };
  }
}

export class Numbers extends torch.utils.data.IterableDataset {
  static module = module_;
  at = 0;
  constructor(readonly n: number) {
    super();
  }
  override async *[Symbol.asyncIterator]() {
    while (this.at < this.n) yield this.at++;
    this.at = 0;
  }
  stateDict() {
    return { at: this.at };
  }
  loadStateDict({ at }: { at: number }) {
    this.at = at;
  }
}
