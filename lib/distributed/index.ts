/** torch.distributed: many processes, over libtorch's own c10d. Importing it loads nothing; the first use loads the second addon. */
export {
  type AllToAllSingleOptions,
  allGather,
  allGatherIntoTensor,
  allReduce,
  allToAll,
  allToAllSingle,
  barrier,
  broadcast,
  gather,
  type MonitoredBarrierOptions,
  monitoredBarrier,
  type PointOptions,
  recv,
  reduce,
  reduceScatter,
  scatter,
  send,
} from './collectives';
export { ProcessGroup } from './group';
export {
  destroyProcessGroup,
  getBackend,
  getRank,
  getWorldSize,
  type InitProcessGroupOptions,
  initProcessGroup,
  isInitialized,
  type NewGroupOptions,
  newGroup,
} from './init';
export { isAvailable } from './library';
export { allGatherObject, broadcastObject, gatherObject, recvObject, scatterObject, sendObject } from './objects';
export { FileStore, PrefixStore, Store, type StoreValue, TCPStore, type TCPStoreOptions } from './stores';
export { type Trace, type TraceEvent, trace } from './trace';
export { type CollectiveOptions, ReduceOp, type ReduceOpName, type ReduceOptions } from './work';
