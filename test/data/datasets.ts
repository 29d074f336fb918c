/** Small datasets: by index, asynchronous, and a stream. */
import { torch } from '../support/torch';

const { Dataset, IterableDataset } = torch.utils.data;

/** Makes two tensors for each sample, of which one is in the sample. */
export class Squares extends Dataset {
  constructor(readonly length: number) {
    super();
  }
  getItem(index: number): any {
    return { x: torch.tensor([index, index]).mul(index), y: BigInt(index) };
  }
}
export class Later extends Squares {
  override async getItem(index: number): Promise<any> {
    await new Promise(setImmediate);
    return super.getItem(index);
  }
}
export class Stream extends IterableDataset {
  read = 0;
  ended = 0;
  constructor(readonly n: number) {
    super();
  }
  override async *[Symbol.asyncIterator]() {
    try {
      for (let i = 0; i < this.n; i++) {
        await null;
        this.read++;
        yield [i, torch.tensor([i])];
      }
    } finally {
      this.ended++;
    }
  }
}
