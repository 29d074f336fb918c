/** torch.distributed.optim: ZeRO-1. Python's torch/distributed/optim/zero_redundancy_optimizer.py. */

import type { DType } from '../../types/base';
import { dtypeCodes } from '../addon/enums';
import { native } from '../addon/native';
import { recv, send } from '../distributed/collectives';
import { memberOf, type ProcessGroup } from '../distributed/group';
import { distributedError } from '../distributed/library';
import { gatherObject } from '../distributed/objects';
import { Kind } from '../distributed/work';
import { upTo } from '../errors/arity';
import { argumentError, refusal } from '../errors/errors';
import { keep } from '../lifetimes/movable';
import { ownScope } from '../lifetimes/scope';
import { isTensor, type Tensor } from '../tensor/tensor';
import type { GivenGroup, Params } from './groups';
import { LBFGS } from './lbfgs';
import { Optimizer, release } from './optimizer';
import { type OptimizerStateDict, owned, type ParamState } from './state-dict';

export type OptimizerClass<O extends object> = new (params: Iterable<GivenGroup<O>>, options: O) => Optimizer<any>;

/** The options of the optimizer, and the ranks that share its state (default: the default group). */
export type ZeroOptions<O> = O & { processGroup?: ProcessGroup | null | undefined };

const FN = 'distributed.optim.ZeroRedundancyOptimizer';

/** Where a value of the state is: a tensor that is sent, or the value itself. */
type Entry = readonly [key: string, tensor: { dtype: string; shape: readonly number[] } | null, value: unknown];
type Plan = readonly (readonly [parameter: number, entries: readonly Entry[]])[];

/**
 * Each rank has the optimizer's state of a part of the parameters alone, makes the step for them, and gets the others from the
 * ranks that have theirs. The parameters are the same as with the plain optimizer, to the bit. All ranks make the same calls, and
 * have the same parameters and gradients, as with DistributedDataParallel. A step waits for all ranks on the JavaScript thread.
 */
export class ZeroRedundancyOptimizer<O extends object = Record<string, any>> extends Optimizer<O> {
  readonly #group: ReturnType<typeof memberOf>;
  readonly #inner: Optimizer<any>;
  /** The rank in the group that has a parameter. */
  readonly #owners = new Map<Tensor, number>();
  /** The number of elements that each rank has. */
  readonly #sizes: number[];
  /** Whether `state` has that of all ranks. */
  #isWhole = false;

  constructor(params: Params<O>, optimizerClass: OptimizerClass<O>, options?: ZeroOptions<O>);
  constructor(...passed: [params: Params<O>, optimizerClass: OptimizerClass<O>, options?: ZeroOptions<O>]) {
    const [params, optimizerClass, options = {} as ZeroOptions<O>] = upTo(FN, 3, passed);
    if (typeof optimizerClass !== 'function' || !(optimizerClass.prototype instanceof Optimizer)) {
      throw argumentError(FN, 'optimizerClass', 'a class of optimizers', optimizerClass);
    }
    if (typeof options !== 'object' || options === null) throw argumentError(FN, 'options', 'an object', options);
    const { processGroup = null, ...defaults } = options;
    const group = memberOf(FN, processGroup);
    super(params, defaults as unknown as O);
    if (optimizerClass === (LBFGS as unknown) || optimizerClass.prototype instanceof LBFGS) {
      throw refusal(FN, 'optimizerClass', 'one that changes each parameter by itself', 'LBFGS');
    }
    this.#group = group;
    this.#sizes = Array(group.size).fill(0);
    const mine = this.paramGroups.map((one) => this.#partOf(one));
    this.#inner = new optimizerClass(mine as unknown as GivenGroup<O>[], defaults as unknown as O);
    this.#share(this.#inner, this);
  }

  /** @internal */
  override _name(method = ''): string {
    return `distributed.optim.${this.constructor.name}${method === '' ? '' : `.${method}`}`;
  }

  /** The group with the parameters of this rank: as in Python, the largest first, to the rank that has the least so far. */
  #partOf(group: { params: Tensor[] }): { params: Tensor[] } {
    const { _native, backend } = this.#group;
    for (const { dtype } of group.params) {
      if (native.distributedSupports(_native, dtypeCodes.get(dtype)!, Kind.Broadcast)) continue;
      throw refusal(FN, 'params', `a dtype of ${backend}`, dtype);
    }
    for (const parameter of [...group.params].sort((a, b) => b.numel - a.numel)) {
      const rank = this.#sizes.indexOf(Math.min(...this.#sizes));
      this.#sizes[rank]! += parameter.numel;
      this.#owners.set(parameter, rank);
    }
    const { paramNames: _, ...rest } = group as { params: Tensor[]; paramNames?: unknown };
    return { ...rest, params: group.params.filter((each) => this.#owners.get(each) === this.#group.rank) };
  }

  /** The options of groups, which programs and schedulers change on this optimizer. */
  #share(from: Optimizer<any>, to: Optimizer<any>): void {
    for (const [i, group] of from.paramGroups.entries()) {
      const { params: _, paramNames: __, ...options } = group;
      Object.assign(to.paramGroups[i]!, options);
    }
  }

  override addParamGroup(group: GivenGroup<O>): void {
    super.addParamGroup(group);
    const last = this.paramGroups.length - 1;
    this.#inner.addParamGroup(this.#partOf(this.paramGroups[last]!) as never);
    Object.assign(this.paramGroups[last]!, {
      ...this.#inner.paramGroups[last]!,
      params: this.paramGroups[last]!.params,
    });
  }

  /** The step of the parameters that this rank has; then all ranks get those of each. */
  override step(closure?: undefined): undefined;
  override step<T>(closure: () => T): T;
  override step<T>(closure?: () => T): T | undefined {
    const fn = this._name('step');
    return this._whole(fn, closure, () => {
      const { _native, size } = memberOf(fn, this.#group);
      this.#forget();
      this.#share(this, this.#inner);
      const result = this.#inner.step(closure as () => T);
      this.#share(this.#inner, this);
      for (let rank = 0; rank < size; rank++) {
        const parameters = [...this.#owners].filter(([, owner]) => owner === rank).map(([parameter]) => parameter);
        native.zeroBroadcast(
          _native,
          parameters.map(({ _handle }) => _handle),
          rank,
        );
      }
      return result;
    });
  }

  /** Frees the state of all ranks, which a step makes old. */
  #forget(): void {
    if (!this.#isWhole) return;
    for (const values of this.state.values()) release(values);
    this.state.clear();
    this.#isWhole = false;
  }

  /**
   * Brings the state of all ranks to rank `to`, whose `stateDict()` is that of the plain optimizer until the next step. Every rank
   * calls it.
   */
  async consolidateStateDict(to = 0): Promise<void> {
    const fn = this._name('consolidateStateDict');
    const group = memberOf(fn, this.#group);
    const place = group.ranks.indexOf(to);
    if (place < 0) throw argumentError(fn, 'to', `a rank of the group (${group.ranks.join(', ')})`, to);
    const all = this.paramGroups.flatMap(({ params }) => params);
    const numbers = new Map(all.map((parameter, i) => [parameter, i]));
    const mine = [...this.#inner.state].map(([parameter, values]) => [numbers.get(parameter)!, values] as const);
    const plan: Plan = mine.map(([number, values]) => [
      number,
      Object.entries(values).map(([key, value]): Entry => {
        if (isTensor(value)) return [key, { dtype: value.dtype, shape: value.shape as readonly number[] }, null];
        return [key, null, value];
      }),
    ]);
    const isTarget = place === group.rank;
    const tensors = mine.flatMap(([, values]) => Object.values(values).filter(isTensor));
    const plans = await gatherObject(plan, to, { group });
    if (!isTarget) {
      const sent = tensors.map((tensor) => keep((tensor.detach() as Tensor).contiguous() as Tensor));
      try {
        for (const tensor of sent) await send(tensor, to, { group });
      } finally {
        for (const tensor of sent) tensor.dispose();
      }
      return;
    }
    const state = new Map<Tensor, ParamState>();
    for (const [rank, theirs] of plans!.entries()) {
      for (const [number, entries] of theirs) {
        const values: ParamState = {};
        state.set(all[number]!, values);
        for (const [key, form, value] of entries) {
          values[key] = form === null ? value : await this.#received(all[number]!, form, rank, tensors);
        }
      }
    }
    this.#forget();
    for (const [parameter, values] of state) this.state.set(parameter, values);
    this.#isWhole = true;
  }

  /** The next tensor of a rank; a copy of the next of `own` for this one. */
  async #received(like: Tensor, { dtype, shape }: NonNullable<Entry[1]>, rank: number, own: Tensor[]): Promise<Tensor> {
    const group = this.#group;
    if (rank === group.rank) return owned(ownScope(() => own.shift()!.detach().clone() as Tensor));
    const tensor = owned(like.newZeros(shape as number[], { dtype: dtype as DType }) as Tensor);
    await recv(tensor, group.ranks[rank]!, { group });
    return tensor;
  }

  /** The state of all ranks, on the rank of `consolidateStateDict`, in the form of the plain optimizer. */
  override stateDict(): OptimizerStateDict {
    if (!this.#isWhole) {
      const text = `expected await consolidateStateDict(${this.#group.ranks[this.#group.rank]}) on all ranks since the last step`;
      throw distributedError(this._name('stateDict'), text, 'ERR_TORCH_RUNTIME');
    }
    return super.stateDict();
  }

  /** Takes the state of all ranks, or of the plain optimizer; each rank keeps its part. */
  override loadStateDict(stateDict: object): void {
    super.loadStateDict(stateDict); // a copy
    for (const values of this.#inner.state.values()) release(values);
    this.#inner.state.clear();
    for (const [parameter, values] of this.state) {
      if (this.#owners.get(parameter) === this.#group.rank) this.#inner.state.set(parameter, values);
      else release(values);
    }
    this.state.clear();
    this.#isWhole = false;
    this.#share(this, this.#inner);
  }

  /** Releases the state of this rank's parameters, and that of all ranks. */
  override dispose(): void {
    this.#inner.dispose();
    super.dispose();
  }
}
