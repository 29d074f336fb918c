/** A program of one file: the workers of its loader import it for the dataset, and so run the loop, too. */
import torch from 'libtorch-node';

export class Own extends torch.utils.data.Dataset {
  static module = import.meta.url;
  length = 4;
  getItem(index) {
    return index;
  }
}

for await (const batch of new torch.utils.data.DataLoader(new Own(), { numWorkers: 1 })) console.log(batch.item());
