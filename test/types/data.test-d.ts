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

// Batches have the types that defaultCollate gives them.
const pairs = new torch.utils.data.TensorDataset(torch.randn([100, 8]), torch.arange(100));
for (const [x, y] of new DataLoader(pairs, { batchSize: 4 })) {
  expectTypeOf(x).toEqualTypeOf<Tensor<'float32', [number, 8]>>();
  expectTypeOf(y.dtype).toEqualTypeOf<'int64'>();
}
const [training, validation] = randomSplit(pairs, [0.8, 0.2]);
for (const [x] of new DataLoader(training)) expectTypeOf(x.shape).toEqualTypeOf<[number, 8]>();
for (const [x] of new DataLoader(validation, { batchSize: null })) expectTypeOf(x.shape).toEqualTypeOf<[8]>();

interface Sample {
  image: Tensor<'uint8', [3, 4, 4]>;
  name: string;
  label: number;
  box: Float32Array;
  isCat: boolean;
}
class Images extends Dataset<Sample> {
  readonly length = 2;
  async getItem(): Promise<Sample> {
    throw new Error('never called');
  }
}
for (const batch of new DataLoader(new Images())) {
  expectTypeOf(batch.image).toEqualTypeOf<Tensor<'uint8', [number, 3, 4, 4]>>();
  expectTypeOf(batch.name).toEqualTypeOf<string[]>();
  expectTypeOf(batch.label).toEqualTypeOf<Tensor<'float32', [number]>>();
  expectTypeOf(batch.box).toEqualTypeOf<Tensor<'float32', [number, number]>>();
  expectTypeOf(batch.isCat).toEqualTypeOf<Tensor<'bool', [number]>>();
}

/** A list without a declared length: TypeScript knows one type for all elements. */
class Lists extends Dataset {
  readonly length = 2;
  getItem(index: number) {
    return [torch.ones([2]), index];
  }
}
for (const [x, y] of new DataLoader(new Lists())) expectTypeOf(x.add(y).dtype).toEqualTypeOf<'float32'>();
class Mixed extends Dataset {
  readonly length = 2;
  getItem(index: number) {
    return [torch.ones([2]), `${index}`];
  }
}
for (const [x] of new DataLoader(new Mixed())) expectTypeOf(x).toBeAny();
for (const batch of new DataLoader([1, 2, 3])) expectTypeOf(batch).toEqualTypeOf<Tensor<'float32', [number]>>();
for (const batch of new DataLoader(['a', 'b'])) expectTypeOf(batch).toEqualTypeOf<string[]>();
for (const batch of new DataLoader([1], { collateFn: (all) => all.length }))
  expectTypeOf(batch).toEqualTypeOf<number>();
for (const batch of new DataLoader([1], { batchSize: null, collateFn: (one) => `${one + 1}` }))
  expectTypeOf(batch).toEqualTypeOf<string>();
class Person {
  #name = 'x';
  name() {
    return this.#name;
  }
}
for (const batch of new DataLoader([new Person()], { batchSize: null })) expectTypeOf(batch).toEqualTypeOf<Person>();
for (const { box, at } of new DataLoader([{ box: new Float32Array(4), at: new Date() }], { batchSize: null })) {
  expectTypeOf(box).toEqualTypeOf<Tensor<'float32', [number]>>();
  expectTypeOf(at).toEqualTypeOf<Date>();
}
for (const batch of new DataLoader<[Tensor, string]>(new Mixed()))
  expectTypeOf(batch).toEqualTypeOf<[Tensor, string]>();
for (const batch of new DataLoader(new Images() as torch.utils.data.Dataset)) expectTypeOf(batch).toBeAny();
const one: torch.utils.data.DataLoader = new DataLoader(pairs);
expectTypeOf(one instanceof DataLoader).toEqualTypeOf<boolean>();

// The dataset keeps its class; of one that is not known only the length is asked, which streams may not have.
const images = new DataLoader(new Images(), { batchSize: 2 });
expectTypeOf(images.dataset).toEqualTypeOf<Images>();
expectTypeOf(images.dataset.length).toEqualTypeOf<number>();
expectTypeOf(new DataLoader([1, 2]).dataset).toEqualTypeOf<number[]>();
expectTypeOf(training.dataset.length).toEqualTypeOf<number>();
expectTypeOf(one.dataset.length).toEqualTypeOf<number | undefined>();
const narrower: torch.utils.data.DataLoader<unknown, Sample> = images;
expectTypeOf(narrower.dataset.length).toEqualTypeOf<number | undefined>();
expectTypeOf(new DataLoader<Tensor>(new Images()).dataset.length).toEqualTypeOf<number | undefined>();

// Datasets of datasets have their samples.
const { ChainDataset, ConcatDataset, StackDataset } = torch.utils.data;
expectTypeOf(new ConcatDataset([new Images(), new Images()])).toEqualTypeOf<torch.utils.data.ConcatDataset<Sample>>();
expectTypeOf(new ConcatDataset([[1], [2]])).toEqualTypeOf<torch.utils.data.ConcatDataset<number>>();
expectTypeOf(new ConcatDataset([new Images(), ['a']])).toEqualTypeOf<torch.utils.data.ConcatDataset>();
expectTypeOf(new ChainDataset([[1], new Set([2])])).toEqualTypeOf<torch.utils.data.ChainDataset<number>>();
for (const batch of new DataLoader(new StackDataset({ a: new Images(), b: [1] }))) {
  expectTypeOf(batch.a.name).toEqualTypeOf<string[]>();
  expectTypeOf(batch.b).toEqualTypeOf<Tensor<'float32', [number]>>();
}
class Own extends DataLoader<Tensor, Tensor> {}
for (const batch of new Own(torch.ones([2, 2]))) expectTypeOf(batch).toEqualTypeOf<Tensor>();
