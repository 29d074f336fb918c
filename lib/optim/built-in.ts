/** What the built-in optimizers have in common: options of the release, dense gradients, steps counted in the state. */
import { tensor } from '../elements/create';
import { codedError } from '../errors/errors';
import { isTensor, type Tensor } from '../tensor/tensor';
import { checkKinds, optionsOf } from './checks';
import { acceptFused, checkFused, hasFused } from './fused';
import type { ParamGroup, Params } from './groups';
import { Optimizer, unfit } from './optimizer';
import { countsInTensor, defaults } from './release';
import { owned, type ParamState } from './state-dict';

export abstract class BuiltIn<O extends object> extends Optimizer<O> {
  /** @internal The class of the library that a class of one's own may extend. */
  readonly _kind: string;
  /** Values of the kinds that options have. Each group may have to give the learning rate, which then has no default. */
  readonly #kinds: Readonly<Record<string, unknown>>;

  constructor(kind: string, params: Params<O>, options: O) {
    super(params, optionsOf(kind, options) as O);
    this._kind = kind;
    this.#kinds = { ...this.defaults, lr: 0 };
    checkFused(this._name(), this.defaults as Record<string, unknown>);
    for (const mode of ['capturable', 'differentiable', 'fused']) {
      if ((this.defaults as Record<string, unknown>)[mode] !== true || this._modes().includes(mode)) continue;
      const message = `${this._name()}: expected ${mode}: false, got true, which is not implemented`;
      throw codedError(Error, 'ERR_TORCH_NOT_IMPLEMENTED', message);
    }
  }

  /** @internal The modes that the formula has. */
  _modes(): readonly string[] {
    return [];
  }

  override _demandOptions(fn: string): void {
    for (const group of this.paramGroups) checkKinds(fn, group, this.#kinds);
  }

  override _accept(fn: string, parameter: Tensor, grad: Tensor, group: ParamGroup<O>): void {
    if (isFused(group)) acceptFused(fn, parameter, grad);
    if (grad.isSparse) throw unfit(fn, 'expected a dense gradient, got a sparse one');
  }

  override _otherDefaults(): Record<string, unknown> {
    return { ...defaults[this._kind] };
  }

  override _fromOther(state: ParamState): ParamState {
    for (const key of this._scalars()) {
      if (typeof state[key] === 'number') state[key] = owned(scalar(state[key]));
    }
    return state;
  }

  /** @internal Numbers of the state that are tensors in this release. */
  _scalars(): readonly string[] {
    return countsInTensor(this._kind) ? ['step'] : [];
  }

  /** @internal The first `step`. */
  _noSteps(): Tensor | number {
    return countsInTensor(this._kind) ? scalar(0) : 0;
  }
}

/** Whether the steps of a group are fused. */
export const isFused = (group: object): boolean => (group as { fused?: unknown }).fused === true;

/** The modes of a formula that also has fused steps, where libtorch has them. */
export const orFused = (...modes: string[]): readonly string[] => (hasFused ? [...modes, 'fused'] : modes);

/** A number in a tensor, as states have it. */
export const scalar = (value: number): Tensor => tensor(value) as Tensor;

export const zerosLike = (parameter: Tensor): Tensor => parameter.zerosLike() as Tensor;

export const numberIn = (value: Tensor): number => value.item() as number;

/** Counts a step, and returns its number. */
export function nextStep(state: ParamState): number {
  const { step } = state;
  if (!isTensor(step)) return ++state.step;
  step.add_(1);
  return numberIn(step);
}

/** Complex tensors as real ones with two numbers per element; others as they are. */
export const real = (isComplex: boolean, value: Tensor): Tensor => (isComplex ? value.viewAsReal() : value);

/** The gradient with the part that shrinks the parameter. */
export const decayed = (grad: Tensor, parameter: Tensor, weightDecay: number): Tensor =>
  weightDecay === 0 ? grad : (grad.add(parameter, { alpha: weightDecay }) as Tensor);

export const towards = (grad: Tensor, maximize: boolean | undefined): Tensor =>
  maximize === true ? (grad.neg() as Tensor) : grad;
