/** torch.utils.data. */
import { ofElements, reportMissingNames } from '../call/misses';
import { Dataset, IterableDataset } from './dataset';
import { Sampler } from './samplers';
import { DataLoader } from './typed-loader';

export * from './adapters';
export type { Collated, Converted } from './batch-types';
export { defaultCollate, defaultConvert } from './collate';
export { SampleContext } from './context';
export {
  type AnyIterable,
  ChainDataset,
  ConcatDataset,
  Dataset,
  IterableDataset,
  type MapDataset,
  type RandomSplitOptions,
  randomSplit,
  Subset,
  TensorDataset,
} from './dataset';
export { DistributedSampler, type DistributedSamplerOptions } from './distributed-sampler';
export type { DataLoaderOptions, LoadingOptions, SampleOptions, WorkerModule } from './options';
export type { DataLoaderState } from './progress';
export {
  BatchSampler,
  type BatchSamplerOptions,
  RandomSampler,
  type RandomSamplerOptions,
  Sampler,
  SequentialSampler,
  SubsetRandomSampler,
  type SubsetRandomSamplerOptions,
  WeightedRandomSampler,
  type WeightedRandomSamplerOptions,
} from './samplers';
export { StackDataset } from './stack-dataset';
export * as transforms from './transforms';
export { DataLoader, type DataLoaderConstructor } from './typed-loader';

for (const { prototype, name } of [DataLoader, IterableDataset, Sampler])
  reportMissingNames(`utils.data.${name}`, prototype, { fields: true });
/** `dataset[0]`, which is a sample in Python, and what `Array.from(dataset)` reads. */
reportMissingNames('utils.data.Dataset', Dataset.prototype, {
  fields: true,
  read: ofElements((name) => `utils.data.Dataset: dataset[${name}] is not a sample: write dataset.getItem(${name})`),
});
