/** The default process group and further ones. The keys in the store are those of the release's distributed_c10d.py. */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { native } from '../addon/native';
import { argumentError } from '../errors/errors';
import { joinedAs } from '../observe/rank';
import { DEFAULT_TIMEOUT_MS, flagOf, integerOf, optionsOf, textOf, timeoutOf } from './arguments';
import { defaultGroup, endGroup, groupOf, ProcessGroup, world } from './group';
import { type Meeting, meetingOf } from './launch';
import { distributedError, type Opaque, openBackend, runJob } from './library';
import { FileStore, PrefixStore, type Store, storeOf, TCPStore } from './stores';

export interface InitProcessGroupOptions {
  /** 'gloo' for tensors on the CPU; 'nccl' for those on CUDA where this build has it. Default: 'gloo'. */
  backend?: string | undefined;
  /** Where the ranks meet: 'env://' (the default), 'tcp://host:port' or 'file:///path'. Not together with `store`. */
  initMethod?: string | undefined;
  /** The rank of this process: 0 to `worldSize` - 1. Default: the launcher's. */
  rank?: number | undefined;
  /** The number of processes. Default: the launcher's. */
  worldSize?: number | undefined;
  /** Time limit in ms of joining, and of each step of a collective. Default: 30 minutes. */
  timeoutMs?: number | undefined;
  /** A store through which the ranks find each other, with `rank` and `worldSize`. */
  store?: Store | undefined;
  /**
   * Compare kind, shape and dtype of each collective over all ranks before it starts, so that a difference is an error on all
   * of them. It costs one small exchange. Only among ranks in Node: with a rank in Python nothing is compared. Default: true.
   */
  checkCollectives?: boolean | undefined;
}

const FN = 'distributed.initProcessGroup';

const release = /^(\d+)\.(\d+)/.exec(native.version())!;
/** From 2.0 on c10d has a prefix for each type of device, and no barrier at the end. */
const isTwo = Number(release[1]) >= 2;

/** Who this process is, for other processes that claim its rank. */
const identity = `${hostname()}:${process.pid}:${randomUUID()}`;

function openStore(meeting: Meeting, timeoutMs: number): Store {
  if (meeting.kind === 'file') {
    const store = new FileStore(meeting.path, meeting.size);
    store.setTimeout(timeoutMs); // its own is 5 minutes
    return store;
  }
  const { host, port, rank, size } = meeting;
  if (port === 0) throw argumentError(FN, 'initMethod', 'a port from 1 to 65535', port);
  // torchrun's agent runs the server; in 1.13 it is the same one after a restart.
  const hasAgent = process.env.TORCHELASTIC_USE_AGENT_STORE === 'True';
  const store = new TCPStore(host, port, { worldSize: size, isMaster: rank === 0 && !hasAgent, timeoutMs });
  if (!hasAgent || isTwo) return store;
  return new PrefixStore(`/worker/attempt_${process.env.TORCHELASTIC_RESTART_COUNT ?? 0}`, store);
}

/** Refuses a second process with the same rank, and another number of ranks. Ranks in Python write no such keys. */
async function claimRank(store: Store, rank: number, size: number): Promise<void> {
  const said = String(await store.compareSet('libtorch_node/world_size', '', String(size)));
  if (said !== String(size)) {
    throw distributedError(FN, `worldSize is ${size} here, but another rank joined with ${said}`);
  }
  const owner = String(await store.compareSet(`libtorch_node/rank:${rank}`, '', identity));
  if (owner !== identity) {
    const [host, pid] = owner.split(':');
    throw distributedError(FN, `another process has joined as rank ${rank}: process ${pid} on ${host}`);
  }
}

/** The ranks of which the store has nothing: neither the host's name, which earlier releases of Gloo write first, nor an address. */
async function missingRanks(prefixed: Store, ranks: readonly number[]): Promise<number[]> {
  const has = async (place: number) =>
    (await prefixed.check([`0/rank_${place}`])) || (await prefixed.check([`0/${place}`]));
  const present = await Promise.all(ranks.map((_, place) => has(place)));
  return present.includes(true) ? ranks.filter((_, place) => !present[place]) : [];
}

/** Connects this process with the other ranks of a group. */
async function connect(fn: string, group: Connection): Promise<Opaque> {
  const { name, store, backend, rank, ranks, timeoutMs } = group;
  const prefixed = isTwo
    ? new PrefixStore(backend === 'nccl' ? 'cuda/' : 'cpu/', new PrefixStore(`${name}/`, store))
    : new PrefixStore(name, store);
  const opened = await prefixed._opened();
  try {
    return await runJob<Opaque>(
      fn,
      () => native.distributedGroup(opened, backend, rank, ranks.length, timeoutMs),
      // libtorch keeps the limit for each connection.
      { limitMs: timeoutMs + 1000 },
    );
  } catch (error) {
    const missing = await missingRanks(prefixed, ranks).catch(() => []); // the store may be what failed
    const { code, message } = error as Error & { code: string };
    if (missing.length === 0) throw error;
    const who = missing.length === 1 ? `rank ${missing[0]} has` : `the ranks ${missing.join(', ')} have`;
    throw distributedError(
      fn,
      `${who} not joined within ${timeoutMs} ms: ${message}`,
      code === 'ERR_TORCH_TIMEOUT' ? code : 'ERR_TORCH_TIMEOUT',
    );
  }
}

interface Connection {
  readonly name: string;
  readonly store: Store;
  readonly backend: string;
  readonly rank: number;
  readonly ranks: readonly number[];
  readonly timeoutMs: number;
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** c10d's barrier over the store, which 1.13 has at the end of each of these functions. */
async function storeBarrier(fn: string, store: Store, size: number, timeoutMs: number): Promise<void> {
  const key = `store_based_barrier_key:${world.count}`;
  const start = performance.now();
  let count = await store.add(key, 1);
  // `!==` would wait forever if a rank joined twice.
  while (count < size) {
    if (performance.now() - start > timeoutMs) {
      const text = `timed out after ${timeoutMs} ms: ${count} of ${size} ranks have joined`;
      throw distributedError(fn, text, 'ERR_TORCH_TIMEOUT');
    }
    await pause(10);
    count = await store.add(key, 0);
  }
}

/** Makes a group, of which this process may be no member (rank -1). */
async function makeGroup(fn: string, given: Omit<Connection, 'name'>): Promise<ProcessGroup> {
  const name = String(world.count++);
  const { store, backend, rank, ranks, timeoutMs } = given;
  const opaque = rank < 0 ? null : await connect(fn, { ...given, name });
  // In PyTorch 2, groups that are made later meet below the default group's prefix.
  const below = isTwo ? new PrefixStore(`${name}/`, store) : store;
  const group = new ProcessGroup(opaque, name, backend, ranks, rank, timeoutMs, below);
  try {
    if (!isTwo) await storeBarrier(fn, store, world.group?.size ?? ranks.length, timeoutMs);
    if (opaque !== null) {
      const start = () => native.distributedSetSequenceNumber(opaque);
      await runJob<void>(fn, start, { limitMs: timeoutMs + 1000 });
    }
  } catch (error) {
    await endGroup(group);
    throw error;
  }
  world.groups.add(group);
  return group;
}

function backendOf(fn: string, value: unknown): string {
  const backend = value === undefined ? 'gloo' : textOf(fn, 'backend', value).toLowerCase();
  if (backend !== 'gloo' && backend !== 'nccl') throw argumentError(fn, 'backend', "'gloo' or 'nccl'", value);
  return backend;
}

/** What initProcessGroup is asked for, read completely before anything begins. `named`: the backend as an argument of its own. */
function readOptions(named: string | undefined, options: InitProcessGroupOptions | undefined) {
  const given = optionsOf(FN, options, [
    'backend',
    'initMethod',
    'rank',
    'worldSize',
    'timeoutMs',
    'store',
    'checkCollectives',
  ]);
  if (named !== undefined && given.backend !== undefined) {
    throw argumentError(FN, 'options', 'no backend, as it is the first argument', options);
  }
  const backend = backendOf(FN, named ?? given.backend);
  const timeoutMs = timeoutOf(FN, given.timeoutMs, DEFAULT_TIMEOUT_MS);
  const size = given.worldSize === undefined ? undefined : integerOf(FN, 'worldSize', given.worldSize, 1, 2 ** 31 - 1);
  const rank = given.rank === undefined ? undefined : integerOf(FN, 'rank', given.rank, 0, 2 ** 31 - 1);
  const store = given.store === undefined ? null : storeOf(FN, 'store', given.store);
  if (store !== null && given.initMethod !== undefined) {
    throw argumentError(FN, 'initMethod', 'nothing, as a store is given', given.initMethod);
  }
  if (store !== null && rank === undefined) throw argumentError(FN, 'rank', 'an integer, as a store is given', rank);
  if (store !== null && size === undefined)
    throw argumentError(FN, 'worldSize', 'an integer, as a store is given', size);
  const initMethod = given.initMethod === undefined ? 'env://' : textOf(FN, 'initMethod', given.initMethod);
  const meeting = store === null ? meetingOf(initMethod, rank, size) : { rank: rank!, size: size! };
  if (meeting.rank >= meeting.size)
    throw argumentError(FN, 'rank', `an integer from 0 to ${meeting.size - 1}`, meeting.rank);
  const checks = flagOf(FN, 'checkCollectives', given.checkCollectives, true);
  return { backend, timeoutMs, store, meeting, checks };
}

/**
 * Joins the default process group; resolves when all ranks have joined. Every process of the program calls it, in Node or in
 * Python on the same release of libtorch. The backend may come first, as in PyTorch: `initProcessGroup('gloo', { rank, worldSize })`.
 *
 * @throws (rejects) ERR_TORCH_DISTRIBUTED, ERR_TORCH_TIMEOUT; the error names the ranks that are missing
 */
export function initProcessGroup(options?: InitProcessGroupOptions): Promise<ProcessGroup>;
export function initProcessGroup(
  backend: string,
  options?: Omit<InitProcessGroupOptions, 'backend'>,
): Promise<ProcessGroup>;
export async function initProcessGroup(
  first: string | InitProcessGroupOptions = {},
  more?: InitProcessGroupOptions,
): Promise<ProcessGroup> {
  const [named, options] = typeof first === 'string' ? [first, more] : [undefined, first];
  if (named === undefined && more !== undefined) throw argumentError(FN, 'backend', "'gloo' or 'nccl'", first);
  const { backend, timeoutMs, store: given, meeting, checks } = readOptions(named, options);
  if (world.group !== null) throw distributedError(FN, 'the default process group exists already');
  if (world.isStarting) throw distributedError(FN, 'the default process group is being joined already');
  openBackend(FN, backend);
  world.isStarting = true;
  const { rank, size } = meeting;
  try {
    const store = given ?? new PrefixStore('default_pg', openStore(meeting as Meeting, timeoutMs));
    await claimRank(store, rank, size);
    if (checks) await store.set(`libtorch_node/rank:${rank}:checks`, '1');
    const ranks = Array.from({ length: size }, (_, i) => i);
    const joining = makeGroup(FN, { store, backend, rank, ranks, timeoutMs });
    world.connecting = joining.catch(() => {}); // reported here
    const group = await joining;
    try {
      // Every rank in Node wrote its key before it was connected, and all are connected.
      const wantsChecks = checks && size > 1 && backend === 'gloo';
      group.checks = wantsChecks && (await store.check(ranks.map((each) => `libtorch_node/rank:${each}:checks`)));
    } catch (error) {
      await endGroup(group);
      throw error;
    }
    world.group = group;
    joinedAs(rank, size);
    return group;
  } catch (error) {
    world.count = 0;
    throw error;
  } finally {
    world.isStarting = false;
  }
}

export interface NewGroupOptions {
  /** Default: that of the default group. */
  backend?: string | undefined;
  /** Default: 30 minutes. */
  timeoutMs?: number | undefined;
}

/**
 * Makes a group of some ranks (null: all). Every rank of the default group calls it, members or not, in the same order. A
 * process that is not a member gets a group whose `rank` is -1.
 */
export async function newGroup(
  ranks: readonly number[] | null = null,
  options: NewGroupOptions = {},
): Promise<ProcessGroup> {
  const fn = 'distributed.newGroup';
  const whole = defaultGroup(fn);
  const given = optionsOf(fn, options, ['backend', 'timeoutMs']);
  const backend = given.backend === undefined ? whole.backend : backendOf(fn, given.backend);
  openBackend(fn, backend);
  const timeoutMs = timeoutOf(fn, given.timeoutMs, DEFAULT_TIMEOUT_MS);
  if (ranks !== null && !Array.isArray(ranks)) throw argumentError(fn, 'ranks', 'an array of ranks', ranks);
  const members = [...(ranks ?? whole.ranks)].map((rank, i) => integerOf(fn, `ranks[${i}]`, rank, 0, whole.size - 1));
  members.sort((a, b) => a - b);
  if (members.length === 0) throw argumentError(fn, 'ranks', 'at least one rank', ranks);
  const twice = members.find((rank, i) => rank === members[i + 1]);
  if (twice !== undefined) throw argumentError(fn, 'ranks', 'each rank once', ranks);
  const rank = members.indexOf(whole.rank);
  const made = world.connecting.then(async () => {
    if (world.group !== whole) throw distributedError(fn, 'the default process group was destroyed');
    const group = await makeGroup(fn, { store: whole._store, backend, rank, ranks: members, timeoutMs });
    group.checks = whole.checks && members.length > 1 && backend === 'gloo';
    return group;
  });
  world.connecting = made.catch(() => {}); // reported by `made`
  return made;
}

/** Ends a group, or without an argument all of them. Its collectives in progress reject. */
export async function destroyProcessGroup(group?: ProcessGroup): Promise<void> {
  const fn = 'distributed.destroyProcessGroup';
  const ended = groupOf(fn, group);
  const all = ended === world.group ? [...world.groups] : [ended];
  if (ended === world.group) {
    world.group = null;
    world.count = 0;
  }
  await Promise.all(all.map(endGroup));
}

/** Whether initProcessGroup has resolved, and destroyProcessGroup was not called since. */
export const isInitialized = (): boolean => world.group !== null;

/** The rank of this process in a group (default: the default one); -1 if it is not in it. */
export const getRank = (group?: ProcessGroup): number => groupOf('distributed.getRank', group).rank;

/** The number of ranks of a group; -1 if this process is not in it. */
export function getWorldSize(group?: ProcessGroup): number {
  const asked = groupOf('distributed.getWorldSize', group);
  return asked.rank < 0 ? -1 : asked.size;
}

/** The backend of a group. */
export const getBackend = (group?: ProcessGroup): string => groupOf('distributed.getBackend', group).backend;
