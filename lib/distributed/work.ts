/** Starts collectives: what all of them have in common. */
import type { Signal } from '../../types/base';
import { dtypeCodes } from '../addon/enums';
import { native } from '../addon/native';
import { handlesOf } from '../autograd/lists';
import { argumentError, refusal } from '../errors/errors';
import type { Tensor } from '../tensor/tensor';
import { signalOf } from './arguments';
import { memberOf, type ProcessGroup } from './group';
import { type Opaque, runJob } from './library';

/** How the values of the ranks are combined. `avg` is for floating-point and complex dtypes. */
export type ReduceOpName = 'sum' | 'product' | 'min' | 'max' | 'band' | 'bor' | 'bxor' | 'avg';

/** kReduceOps of native/distributed/library.h. */
const reduceOps: readonly ReduceOpName[] = ['sum', 'product', 'min', 'max', 'band', 'bor', 'bxor', 'avg'];

/** PyTorch's names: `ReduceOp.SUM === 'sum'`. */
export const ReduceOp = {
  SUM: 'sum',
  PRODUCT: 'product',
  MIN: 'min',
  MAX: 'max',
  BAND: 'band',
  BOR: 'bor',
  BXOR: 'bxor',
  AVG: 'avg',
} as const;

/** Kind of native/distributed/library.h. */
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

interface Work {
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

/** The dtypes of Gloo, for messages. */
const supported = (group: Opaque, kind: Kind): string =>
  [...dtypeCodes]
    .filter(([, code]) => native.distributedSupports(group, code, kind))
    .map(([dtype]) => dtype)
    .join(', ');

function requireDtypes({ fn, group }: Call, work: Work): void {
  for (const tensor of [...(work.inputs ?? []), ...(work.outputs ?? [])]) {
    if (native.distributedSupports(group._native, dtypeCodes.get(tensor.dtype)!, work.kind)) continue;
    throw refusal(fn, 'tensor', `a dtype of ${group.backend} (${supported(group._native, work.kind)})`, tensor.dtype);
  }
}

function start<T>({ fn, group, signal }: Call, work: Work): Promise<T> {
  const { op = 0, root = -1, tag = 0, allRanks = false, timeoutMs = group.timeoutMs } = work;
  return runJob<T>(
    fn,
    () =>
      native.distributedStart(
        group._native,
        work.kind,
        handlesOf(work.inputs ?? []),
        handlesOf(work.outputs ?? []),
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
  requireDtypes(call, work);
  const { busy } = call.group;
  if (busy === null || call.isStep) return start(call, work);
  // Every rank has the same order, so every rank waits here.
  return busy.then(() => start(callOf(call.fn.slice('distributed.'.length), call), work));
}

/** Runs a call of several collectives, whose order among those of the group must be the same on all ranks. */
export function inSteps<T>(call: Call, steps: (call: Call) => Promise<T>): Promise<T> {
  const { group } = call;
  const before = group.busy ?? Promise.resolve();
  const result = before.then(() => steps({ ...callOf(call.fn.slice('distributed.'.length), call), isStep: true }));
  const busy: Promise<unknown> = result
    .catch(() => {}) // reported by `result`
    .finally(() => {
      if (group.busy === busy) group.busy = null;
    });
  group.busy = busy;
  return result;
}
