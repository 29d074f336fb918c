/** Starts collectives: what all of them have in common. */
import type { Signal } from '../../types/base';
import { dtypeCodes } from '../addon/enums';
import { native } from '../addon/native';
import { onAbort } from '../async/signals';
import { handlesOf } from '../autograd/lists';
import { argumentError, refusal } from '../errors/errors';
import { keep } from '../lifetimes/movable';
import { type Tensor, wrap } from '../tensor/tensor';
import { signalOf } from './arguments';
import { memberOf, type ProcessGroup } from './group';
import { distributedError, type Opaque, runJob } from './library';

/** How the values of the ranks are combined. `avg` is for floating-point and complex dtypes. */
export type ReduceOpName = 'sum' | 'product' | 'min' | 'max' | 'band' | 'bor' | 'bxor' | 'avg';

/** PyTorch's names: `ReduceOp.SUM === 'sum'`. In the order of kReduceOps (test/distributed/names.test.ts). */
export const ReduceOp = {
  SUM: 'sum',
  PRODUCT: 'product',
  MIN: 'min',
  MAX: 'max',
  BAND: 'band',
  BOR: 'bor',
  BXOR: 'bxor',
  AVG: 'avg',
} as const satisfies Record<Uppercase<ReduceOpName>, ReduceOpName>;

const reduceOps: readonly ReduceOpName[] = Object.values(ReduceOp);

/** Kind of native/distributed/library.h (test/distributed/names.test.ts). */
export enum Kind {
  Broadcast,
  AllReduce,
  Reduce,
  AllGather,
  AllGatherIntoTensor,
  Gather,
  Scatter,
  ReduceScatter,
  AllToAll,
  AllToAllSingle,
  Send,
  Recv,
  Barrier,
  MonitoredBarrier,
}

export interface CollectiveOptions {
  /** The ranks that take part. Default: the default group. */
  group?: ProcessGroup | null | undefined;
  /**
   * Aborting it rejects with the signal's reason. The other ranks are not told: a `send` or `recv` is withdrawn, every other
   * collective goes on in the background, and what it writes is not to be relied on.
   */
  signal?: Signal | undefined;
}

export interface ReduceOptions extends CollectiveOptions {
  /** Default: 'sum'. */
  op?: ReduceOpName | undefined;
}

export interface Call {
  readonly fn: string;
  readonly group: ProcessGroup & { _native: Opaque };
  readonly signal: Signal | undefined;
  /** Whether it is a step of a call that has several, which holds up the others. */
  readonly isStep?: boolean;
}

export function callOf(name: string, { group, signal }: { group?: unknown; signal?: unknown }): Call {
  const fn = `distributed.${name}`;
  return { fn, signal: signalOf(fn, signal), group: memberOf(fn, group) };
}

export function opOf(fn: string, value: unknown, tensor: Tensor): number {
  const place = value === undefined ? 0 : reduceOps.indexOf(value as ReduceOpName);
  if (place < 0) throw argumentError(fn, 'op', `one of ${reduceOps.join(', ')}`, value);
  if (value === 'avg' && !/float|complex/.test(tensor.dtype)) {
    throw refusal(fn, 'op', `an op for integers, such as 'sum', as the tensor is ${tensor.dtype}`, "'avg'");
  }
  return place;
}

/** Bytes as a tensor that no scope owns. */
export function bytesTensor(bytes: Uint8Array): Tensor {
  const tensor = keep(wrap(native.newBytes(bytes.length))!);
  if (bytes.length > 0) native.fillBytes(tensor._handle, 0, bytes);
  return tensor;
}

/** Another handle for the memory of a tensor, which no scope owns. */
const alias = (tensor: Tensor): Tensor => keep(tensor.detach() as Tensor);

export interface Work {
  readonly kind: Kind;
  readonly inputs?: readonly Tensor[];
  readonly outputs?: readonly Tensor[];
  readonly op?: number;
  readonly root?: number;
  readonly tag?: number;
  readonly allRanks?: boolean;
  readonly timeoutMs?: number;
  readonly inputSplits?: readonly number[];
  readonly outputSplits?: readonly number[];
}

/** The dtypes of the backend, for messages. */
const supported = (group: Opaque, kind: Kind): string =>
  [...dtypeCodes]
    .filter(([, code]) => native.distributedSupports(group, code, kind))
    .map(([dtype]) => dtype)
    .join(', ');

/** Reads the tensors, which may be Proxies of the program, before it uses the group, which their traps may end. */
function requireFit({ fn, group }: Call, work: Work): void {
  const facts = [...(work.inputs ?? []), ...(work.outputs ?? [])].map(({ dtype, device }) => ({ dtype, device }));
  const { _native } = memberOf(fn, group);
  for (const { dtype, device } of facts) {
    if (group.backend === 'nccl' && !device.startsWith('cuda')) {
      throw refusal(fn, 'tensor', 'a tensor on CUDA, as the backend is nccl', device);
    }
    if (native.distributedSupports(_native, dtypeCodes.get(dtype)!, work.kind)) continue;
    throw refusal(fn, 'tensor', `a dtype of ${group.backend} (${supported(_native, work.kind)})`, dtype);
  }
}

function start<T>({ fn, group, signal }: Call, work: Work): Promise<T> {
  const { op = 0, root = -1, tag = 0, allRanks = false, timeoutMs = group.timeoutMs } = work;
  const inputs = handlesOf(work.inputs ?? []);
  const outputs = handlesOf(work.outputs ?? []);
  const { _native } = memberOf(fn, group);
  return runJob<T>(
    fn,
    () =>
      native.distributedStart(
        _native,
        work.kind,
        inputs,
        outputs,
        [op, root, tag, Number(allRanks), timeoutMs],
        work.inputSplits ?? [],
        work.outputSplits ?? [],
      ),
    {
      signal,
      explain: (failure, timedOut) => {
        if (group.destroyed) {
          return { text: 'the process group was destroyed before the collective ended', code: 'ERR_TORCH_DISTRIBUTED' };
        }
        const text = `rank ${group.rank} of ${group.size}: ${failure}`;
        return { text, code: timedOut ? 'ERR_TORCH_TIMEOUT' : 'ERR_TORCH_DISTRIBUTED' };
      },
    },
  );
}

/** Starts a collective: at once, unless a call of several steps is in progress on the group. */
export function run<T>(call: Call, work: Work): Promise<T> {
  if (call.signal?.aborted) return Promise.reject(call.signal.reason); // before anything is sent
  requireFit(call, work);
  if (call.isStep) return start(call, work);
  const isCompared = call.group.checks && work.kind !== Kind.Barrier && work.kind !== Kind.MonitoredBarrier;
  if (isCompared && work.kind !== Kind.Send && work.kind !== Kind.Recv) return compared(call, work);
  const { busy } = call.group;
  if (busy === null || work.kind === Kind.Send || work.kind === Kind.Recv) return start(call, work);
  // Every rank has the same order, so every rank waits here.
  const { kept, free } = keeping(work);
  return abortable(call, busy.then(() => start<T>(again(call), kept)).finally(free));
}

/** The same work on handles of its own, as the program may dispose its tensors before the work starts. */
function keeping(work: Work): { kept: Work; free: () => void } {
  const [inputs = [], outputs = []] = [work.inputs, work.outputs].map((list) => list?.map(alias));
  const free = () => {
    for (const tensor of [...inputs, ...outputs]) tensor.dispose();
  };
  return { kept: { ...work, inputs, outputs }, free };
}

/** The call when its turn has come: the group may have been destroyed meanwhile. The other ranks rely on it, so no signal ends it. */
const again = ({ fn, group }: Call): Call => callOf(fn.slice('distributed.'.length), { group });

/** What the caller gets: the result, or at once the reason of its signal, while the call goes on. */
function abortable<T>({ signal }: Call, result: Promise<T>): Promise<T> {
  if (signal === undefined) return result;
  return new Promise<T>((resolve, reject) => {
    const forget = onAbort(signal, () => reject(signal.reason));
    result.finally(forget).then(resolve, reject);
  });
}

/** What ranks compare: everything that must not differ, and the sizes that each rank expects of the others. */
function facts({ fn, group }: Call, { kind, inputs = [], outputs = [], op = 0, root = -1, ...splits }: Work): string {
  const shapes = (tensors: readonly Tensor[]) =>
    tensors.map((tensor) => `${tensor.dtype}[${tensor.shape.join(', ')}]`).join(' ');
  // Of lists that only one rank passes, the elements have the shape of every rank's tensor.
  const one = kind === Kind.Scatter ? outputs : inputs;
  const mine = kind === Kind.AllToAll || kind === Kind.AllToAllSingle || kind === Kind.ReduceScatter;
  const same = mine ? `${one.length} tensors of ${one[0]?.dtype}` : shapes(one);
  const lists = [inputs, outputs].map((list) => list.map((tensor) => tensor.numel));
  return JSON.stringify({
    call: `${fn.slice('distributed.'.length)}, op ${reduceOps[op]}, root ${root}`,
    same,
    lists: mine
      ? [
          splits.inputSplits?.length ? splits.inputSplits : lists[0],
          splits.outputSplits?.length ? splits.outputSplits : lists[1],
        ]
      : [],
    kind,
    rank: group.rank,
  });
}

interface Facts {
  readonly call: string;
  readonly same: string;
  readonly lists: readonly (readonly number[])[];
  readonly kind: Kind;
}

/** Why the ranks' calls do not fit, or null. All ranks come to the same result. */
function misfit(all: readonly Facts[], ranks: readonly number[]): string | null {
  const first = all[0]!;
  for (const [i, { call, same, lists }] of all.entries()) {
    if (call !== first.call) return `rank ${ranks[0]} calls ${first.call}, rank ${ranks[i]} calls ${call}`;
    if (same !== first.same) return `rank ${ranks[0]} has ${first.same}, rank ${ranks[i]} has ${same}`;
    if (first.kind === Kind.ReduceScatter && lists[0]!.some((size) => size !== first.lists[0]![0])) {
      return `rank ${ranks[i]} has tensors of ${lists[0]!.join(', ')} elements, expected ${first.lists[0]![0]} in each`;
    }
    if (first.kind !== Kind.AllToAll && !(first.kind === Kind.AllToAllSingle && lists[0]!.length > 1)) continue;
    for (const [j, other] of all.entries()) {
      if (lists[0]![j] === other.lists[1]![i]) continue;
      return `rank ${ranks[i]} sends ${lists[0]![j]} to rank ${ranks[j]}, which expects ${other.lists[1]![i]}`;
    }
  }
  return null;
}

/** The bytes in which the facts of a rank fit, so that one exchange is enough; longer ones are cut. */
const FACTS = 512;

/** Compares the calls of all ranks, then starts the collective. What the program disposes meanwhile is kept. */
function compared<T>(call: Call, work: Work): Promise<T> {
  const text = facts(call, work).slice(0, 4096);
  const { kept, free } = keeping(work);
  const { size, rank } = call.group;
  const compare = async (step: Call): Promise<{ ended: Promise<T> }> => {
    const bytes = Buffer.alloc(FACTS);
    const digest = text.length <= FACTS - 1 ? text : '';
    bytes.write(digest === '' ? '!' : digest);
    const own = bytesTensor(bytes);
    const all = Array.from({ length: size }, () => bytesTensor(Buffer.alloc(FACTS)));
    try {
      await start(step, { kind: Kind.AllGather, inputs: [own], outputs: all });
      const texts = all.map((tensor) =>
        Buffer.from(tensor.toTypedArray() as Uint8Array)
          .toString()
          .replace(/\0+$/, ''),
      );
      // Long lists are not compared.
      const problem = texts.includes('!')
        ? null
        : misfit(
            texts.map((each) => JSON.parse(each) as Facts),
            call.group.ranks,
          );
      if (problem !== null) {
        throw distributedError(call.fn, `rank ${rank} of ${size}: the ranks differ: ${problem}`);
      }
      return { ended: start(step, kept) };
    } finally {
      for (const tensor of [own, ...all]) tensor.dispose();
    }
  };
  const result = inSteps({ ...call, signal: undefined }, compare).then(({ ended }) => ended);
  return abortable(call, result.finally(free));
}

/** Runs a call of several collectives, whose order among those of the group must be the same on all ranks. */
export function inSteps<T>(call: Call, steps: (call: Call) => Promise<T>): Promise<T> {
  const { group, signal } = call;
  if (signal?.aborted) return Promise.reject(signal.reason); // before anything is sent
  const before = group.busy ?? Promise.resolve();
  const result = before.then(() => steps({ ...again(call), isStep: true }));
  const busy: Promise<unknown> = result
    .catch(() => {}) // reported by `result`
    .finally(() => {
      if (group.busy === busy) group.busy = null;
    });
  group.busy = busy;
  return abortable(call, result);
}
