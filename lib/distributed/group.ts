/** Process groups: which ranks take part in a collective. */
import { native } from '../addon/native';
import { argumentError } from '../errors/errors';
import { distributedError, type Opaque, runJob } from './library';
import type { Store } from './stores';

/** The ranks of a group, in the order of their ranks within it. Made by `initProcessGroup` and `newGroup`. */
export class ProcessGroup {
  /** @internal null once destroyed, and for a group that this process does not belong to. */
  _native: Opaque | null;
  /** @internal Whether all ranks run Node and compare what they pass to a collective before it starts. */
  checks = false;
  /** @internal The end of the call of several collectives that is in progress. */
  busy: Promise<unknown> | null = null;

  /** @internal */
  constructor(
    opaque: Opaque | null,
    /** The name under which the ranks met in the store. */
    readonly name: string,
    readonly backend: string,
    /** The ranks in the default group. */
    readonly ranks: readonly number[],
    /** The rank of this process in the group; -1 if it does not belong to it. */
    readonly rank: number,
    readonly timeoutMs: number,
    /** @internal The store below the group's own prefix. */
    readonly _store: Store,
  ) {
    this._native = opaque;
  }

  /** The number of ranks. */
  get size(): number {
    return this.ranks.length;
  }

  /** Whether the group was destroyed. */
  get destroyed(): boolean {
    return this._native === null && this.rank >= 0;
  }
}

export interface World {
  /** The default group. */
  group: ProcessGroup | null;
  /** All groups that are not destroyed. */
  readonly groups: Set<ProcessGroup>;
  /** The number of groups so far, from which c10d makes their names. */
  count: number;
  /** Groups are connected one after the other, in the order of the calls, which is the same on all ranks. */
  connecting: Promise<unknown>;
  /** Whether initProcessGroup is in progress. */
  isStarting: boolean;
}

declare module '../addon/interface' {
  interface Native {
    /** The groups of this thread, shared by all copies of the library that use one addon. */
    distributedWorld?: World;
  }
}

native.distributedWorld ??= {
  group: null,
  groups: new Set(),
  count: 0,
  connecting: Promise.resolve(),
  isStarting: false,
};
export const world: World = native.distributedWorld;

export function defaultGroup(fn: string): ProcessGroup {
  if (world.group === null) {
    throw distributedError(
      fn,
      'the default process group does not exist: await torch.distributed.initProcessGroup() first',
    );
  }
  return world.group;
}

/** The group of a call's options: the default one unless another is given. */
export function groupOf(fn: string, value: unknown): ProcessGroup {
  if (value === undefined || value === null) return defaultGroup(fn);
  if (!(value instanceof ProcessGroup)) throw argumentError(fn, 'group', 'a ProcessGroup', value);
  return value;
}

/** The same, of which this process is a member. */
export function memberOf(fn: string, value: unknown): ProcessGroup & { _native: Opaque } {
  const group = groupOf(fn, value);
  if (group.rank < 0)
    throw distributedError(fn, `this process is not in the group of the ranks ${group.ranks.join(', ')}`);
  if (group._native === null) throw distributedError(fn, 'the process group was destroyed');
  return group as ProcessGroup & { _native: Opaque };
}

/** The rank within a group of a rank of the default group. */
export function rankWithin(fn: string, name: string, group: ProcessGroup, rank: unknown): number {
  const place = group.ranks.indexOf(rank as number);
  if (place < 0) throw argumentError(fn, name, `a rank of the group (${group.ranks.join(', ')})`, rank);
  return place;
}

/** Ends a group: what is in progress fails, here and on the other ranks. */
export async function endGroup(group: ProcessGroup): Promise<void> {
  world.groups.delete(group);
  const opaque = group._native;
  group._native = null;
  if (opaque !== null) {
    await runJob<void>('distributed.destroyProcessGroup', () => native.distributedClose(opaque));
  }
}
