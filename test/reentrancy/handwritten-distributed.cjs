/** The functions of torch.distributed, whose calls need a process group. */
'use strict';

const names = [
  ...['allGather', 'allGatherIntoTensor', 'allGatherObject', 'allReduce', 'allToAll', 'allToAllSingle', 'barrier'],
  ...['broadcast', 'broadcastObject', 'destroyProcessGroup', 'gather', 'gatherObject', 'getBackend', 'getRank'],
  ...['getWorldSize', 'initProcessGroup', 'isAvailable', 'isInitialized', 'monitoredBarrier', 'newGroup', 'recv'],
  ...['recvObject', 'reduce', 'reduceScatter', 'scatter', 'scatterObject', 'send', 'sendObject', 'trace'],
];

module.exports = (nothing) => {
  const why = nothing('needs a process group: test/distributed/getters.test.ts');
  return Object.fromEntries(names.map((name) => [`distributed.${name}`, why]));
};
