/** Checked by `npm run typecheck`, never run: generators of loaders, samplers and samples. */
import { expectTypeOf } from 'expect-type';
import torch, { type Tensor } from '../../types';

const { DataLoader, Dataset, RandomSampler, randomSplit, SubsetRandomSampler, WeightedRandomSampler } =
  torch.utils.data;

class Noise extends Dataset<Tensor> {
  get length() {
    return 4;
  }
  getItem(_index: number, context: torch.utils.data.SampleContext): Tensor {
    expectTypeOf(context.generator).toEqualTypeOf<torch.Generator>();
    return torch.rand([2], { generator: context.generator });
  }
}

const generator = new torch.Generator();
const loader = new DataLoader(new Noise(), { batchSize: 2, generator });
expectTypeOf(loader.generator).toEqualTypeOf<torch.Generator | null>();
new DataLoader(new Noise(), { generator: undefined });
new DataLoader(new Noise(), { generator: null });
expectTypeOf(new RandomSampler([1, 2], { generator }).generator).toEqualTypeOf<torch.Generator | null>();
new SubsetRandomSampler([1, 2], generator);
new WeightedRandomSampler([1, 2], 2, true, generator);
randomSplit([1, 2], [1, 1], generator);
new torch.utils.data.transforms.RandomCrop(2).forward(torch.ones([3, 4, 4]), { generator });

// @ts-expect-error: not a generator
new DataLoader(new Noise(), { generator: new Date() });
// @ts-expect-error: a seed is not a generator
new RandomSampler([1, 2], { generator: 42 });
// @ts-expect-error: not a generator
new WeightedRandomSampler([1, 2], 2, true, {});
// @ts-expect-error: not a generator
randomSplit([1, 2], [1, 1], new Map());
