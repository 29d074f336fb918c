/** What a collective is: its kind, tensors and numbers. */
import type { Signal } from '../../types/base';
import type { Tensor } from '../tensor/tensor';
import type { ProcessGroup } from './group';
import type { Opaque } from './library';

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

export const reduceOps: readonly ReduceOpName[] = Object.values(ReduceOp);

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

export interface Call {
  readonly fn: string;
  readonly group: ProcessGroup & { _native: Opaque };
  readonly signal: Signal | undefined;
  /** Whether it does not wait for calls of several steps: it is a step of such a call, or a message between two ranks. */
  readonly isStep?: boolean;
}

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
