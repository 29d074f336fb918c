/** torch.utils.data. */
import { reportMissingNames } from '../call/misses';
import { Dataset, IterableDataset } from './dataset';
import { DataLoader } from './loader';
import { Sampler } from './samplers';

export * from './adapters';
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
export { DataLoader } from './loader';
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

for (const { prototype, name } of [DataLoader, Dataset, IterableDataset, Sampler])
  reportMissingNames(`utils.data.${name}`, prototype, { fields: true });
