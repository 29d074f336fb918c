/** The processes that share a dataset, if the program does not name them: those of the default process group. */
import { codedError } from '../errors/errors';

export interface Replicas {
  readonly rank: number;
  readonly worldSize: number;
}

let source: (() => Replicas | null) | null = null;

/** torch.distributed says which process this is. */
export function setReplicas(of: () => Replicas | null): void {
  source = of;
}

export function replicas(fn: string): Replicas {
  const found = source?.() ?? null;
  if (found !== null) return found;
  const expected = 'numReplicas and rank, or a default process group (torch.distributed.initProcessGroup)';
  throw Object.assign(codedError(Error, 'ERR_TORCH_DISTRIBUTED', `${fn}: expected ${expected}, got neither`), {
    op: fn,
  });
}
