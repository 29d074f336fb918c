/** The processes that share a dataset, if the program does not name them: those of the default process group. */
import { world } from '../distributed/group';
import { codedError } from '../errors/errors';

export interface Replicas {
  readonly rank: number;
  readonly worldSize: number;
}

export function replicas(fn: string): Replicas {
  const { group } = world;
  if (group !== null) return { rank: group.rank, worldSize: group.size };
  const expected = 'numReplicas and rank, or a default process group (torch.distributed.initProcessGroup)';
  throw Object.assign(codedError(Error, 'ERR_TORCH_DISTRIBUTED', `${fn}: expected ${expected}, got neither`), {
    op: fn,
  });
}
