/** Which rank of a group of processes this process is, for the labels of its tensors. */
import { isMainThread } from 'node:worker_threads';
import { native } from '../addon/native';

/** Variables in the order in which they are asked: torchrun's and Kubeflow's, then Slurm's. native/addon.cpp has the same. */
export const RANK_VARIABLES = ['RANK', 'SLURM_PROCID'] as const;
export const SIZE_VARIABLES = ['WORLD_SIZE', 'SLURM_NTASKS'] as const;

/** Null: none. Undefined: the environment was not asked yet. */
let known: string | null | undefined;

/** The rank that the launcher gave or, without one, that of the first group that was joined; null outside groups. */
export function knownRank(): string | null {
  if (known !== undefined) return known;
  const text = RANK_VARIABLES.map((name) => process.env[name]).find((value) => value !== undefined && value !== '');
  known = text !== undefined && /^\d{1,9}$/.test(text) ? String(Number(text)) : null;
  return known;
}

/** This thread has joined a group. What the launcher gave counts more. Workers may be different ranks, so they name no process. */
export function joinedAs(rank: number, size: number): void {
  known = knownRank() ?? String(rank);
  if (isMainThread) native.auditJoined(rank, size);
}
