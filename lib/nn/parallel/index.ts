/** torch.nn.parallel; SyncBatchNorm is in torch.nn. */
export { DistributedDataParallel, type DistributedDataParallelOptions } from './distributed-data-parallel';
