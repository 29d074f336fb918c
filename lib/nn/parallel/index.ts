/** torch.nn.parallel. */
export { DistributedDataParallel, type DistributedDataParallelOptions } from './distributed-data-parallel';
