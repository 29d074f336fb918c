/** The lifetime of native reducers, whose hooks on the parameters every backward may call. */
import { native } from '../../addon/native';
import { isEngineRunning } from '../../autograd/anomaly';
import { codedError } from '../../errors/errors';
import type { Tensor } from '../../tensor/tensor';

declare module '../../addon/interface' {
  interface Native {
    reducerOpen(
      group: unknown,
      parameters: number[],
      sparse: boolean[],
      bucketBytes: number,
      findUnused: boolean,
      bucketViews: boolean,
      isStatic: boolean,
      names: string[],
    ): unknown;
    reducerVerify(group: unknown, parameters: number[]): void;
    reducerBeforeForward(reducer: unknown, reduces: boolean): void;
    reducerBeforeBackward(reducer: unknown, outputs: number[]): void;
    reducerSink(reducer: unknown, outputs: number[]): unknown[];
    reducerClose(reducer: unknown): void;
  }
}

/** How long a lost reducer waits for a backward that is in progress, ms. */
const RETRY_MS = 100;

/** Held here, so that no collection can free one while a backward uses it. */
const open = new Set<Reducer>();

export interface ReducerOptions {
  readonly sparse: boolean[];
  /** -1: libtorch's default. */
  readonly bucketBytes: number;
  readonly findUnused: boolean;
  readonly bucketViews: boolean;
  readonly isStatic: boolean;
  readonly names: string[];
}

export const handlesOf = (tensors: readonly Tensor[]): number[] => tensors.map(({ _handle }) => _handle);

/** Owns a native reducer, until close(). */
export class Reducer {
  #native: unknown;

  /** Waits until all ranks of the group have called it. */
  constructor(group: unknown, parameters: readonly Tensor[], options: ReducerOptions) {
    const { sparse, bucketBytes, findUnused, bucketViews, isStatic, names } = options;
    const handles = handlesOf(parameters);
    this.#native = native.reducerOpen(group, handles, sparse, bucketBytes, findUnused, bucketViews, isStatic, names);
    open.add(this);
  }

  get #open(): unknown {
    if (this.#native !== null) return this.#native;
    throw codedError(Error, 'ERR_TORCH_DISPOSED', 'nn.parallel.DistributedDataParallel: the module was disposed');
  }

  beforeForward(reduces: boolean): void {
    native.reducerBeforeForward(this.#open, reduces);
  }

  beforeBackward(outputs: readonly Tensor[]): void {
    native.reducerBeforeBackward(this.#open, handlesOf(outputs));
  }

  /** What replaces the outputs, for wrapElement(). */
  sink(outputs: readonly Tensor[]): unknown[] {
    return native.reducerSink(this.#open, handlesOf(outputs));
  }

  /** Frees it, at once or as soon as no backward is in progress. Further calls do nothing. */
  close(): void {
    const reducer = this.#native;
    if (reducer === null) return;
    this.#native = null;
    this.#end(reducer);
  }

  #end(reducer: unknown): void {
    const [, running, queued] = native.poolStatus() as [number, number, number];
    if (isEngineRunning() || running + queued > 0) {
      setTimeout(() => this.#end(reducer), RETRY_MS).unref();
      return;
    }
    native.reducerClose(reducer);
    open.delete(this);
  }
}

/** Closes the reducers of modules that the program has lost. */
export const lost = new FinalizationRegistry<Reducer>((reducer) => reducer.close());
