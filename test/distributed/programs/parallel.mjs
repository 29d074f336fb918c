/** `node parallel.mjs method rank size joined`: what trains on several ranks beside DistributedDataParallel. Prints 'done'. */
import torch from '../../../dist/lib/index.mjs';
import { syncBatchNorm } from './sync-batch-norm.mjs';
import { zero } from './zero.mjs';

const [initMethod, rankText, sizeText, joined] = process.argv.slice(2);
const [rank, worldSize] = [Number(rankText), Number(sizeText)];
torch.setNumThreads(1);
await torch.distributed.initProcessGroup({ initMethod, rank, worldSize, timeoutMs: 60_000 });
await zero(rank, worldSize);
await syncBatchNorm(rank, worldSize, joined); // it destroys the group
console.log('done');
