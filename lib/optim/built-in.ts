/** What the built-in optimizers have in common: options of the release, dense gradients, steps counted in the state. */
import { tensor } from '../elements/create';
import { requireAtMost } from '../errors/arity';
import { codedError, refusal } from '../errors/errors';
import { ownScope } from '../lifetimes/scope';
import { isTensor, type Tensor } from '../tensor/tensor';
import { checkKinds, optionsOf } from './checks';
import { acceptFused, checkFused, hasFused } from './fused';
import type { Arguments, ParamGroup, Params } from './groups';
import { type NeedsOf, needsOf } from './needs';
import { Optimizer, unfit } from './optimizer';
import { countsInTensor, defaults } from './release';
import { owned, type ParamState } from './state-dict';

/** The options. A learning rate in their place is more likely than a third argument, and is refused first. */
function optionsIn<O extends object>(kind: string, passed: Arguments<O>): O {
  const [, given = {} as O] = passed;
  const options = optionsOf(kind, given) as O;
  requireAtMost(`optim.${kind}`, 2, passed);
  return options;
}

export abstract class BuiltIn<O extends object> extends Optimizer<O> {
  /** @internal The class of the library that a class of one's own may extend. */
  readonly _kind: string;
  /** Values of the kinds that options have. Each group may have to give the learning rate, which then has no default. */
  readonly #kinds: Readonly<Record<string, unknown>>;
  /** Whether `update` is that of the library. */
  #hasFormula: boolean | undefined;

  constructor(kind: string, ...passed: [params: Params<O>, options?: O]) {
    super(passed[0], optionsIn(kind, passed));
    this._kind = kind;
    this.#kinds = { ...this.defaults, lr: 0 };
    checkFused(this._name(), this.defaults as Record<string, unknown>);
    this.#demandRate();
    for (const mode of ['capturable', 'differentiable', 'fused']) {
      if ((this.defaults as Record<string, unknown>)[mode] !== true || this._modes().includes(mode)) continue;
      const message = `${this._name()}: expected ${mode}: false, got true, which is not implemented`;
      throw codedError(Error, 'ERR_TORCH_NOT_IMPLEMENTED', message);
    }
  }

  /** Refuses a learning rate that is a tensor where the formula does not use it as one. */
  #demandRate(): void {
    for (const { lr, foreach, differentiable } of this.paramGroups as Record<string, any>[]) {
      if (!isTensor(lr)) continue;
      if (foreach === true && /^AdamW?$/.test(this._kind)) {
        throw refusal(this._name(), 'lr', 'a number, since foreach is true', 'a Tensor');
      }
      if (differentiable === true && lr.requiresGrad) {
        throw refusal(this._name(), 'lr', 'a Tensor whose gradient is not recorded', 'one that requires it');
      }
    }
  }

  /** @internal The modes that the formula has. */
  _modes(): readonly string[] {
    return ['differentiable'];
  }

  /** As in Python, a learning rate that is a tensor is used as the number in it. */
  override _inNumbers(group: ParamGroup<O>): ParamGroup<O> {
    const { lr } = group as { lr: unknown };
    if (!isTensor(lr)) return group;
    return { ...group, lr: numberIn(lr), [rounding]: roundingTo(lr.dtype) };
  }

  override _demandOptions(fn: string): void {
    for (const group of this.paramGroups) checkKinds(fn, group, this.#kinds);
  }

  override _accept(fn: string, parameter: Tensor, grad: Tensor, group: ParamGroup<O>): void {
    if (isFused(group)) acceptFused(fn, parameter, grad);
    if (grad.isSparse) throw unfit(fn, 'expected a dense gradient, got a sparse one');
  }

  /** @internal A class of one's own with another `update` reads what it likes. */
  override _needs(group: ParamGroup<O>): NeedsOf | undefined {
    this.#hasFormula ??= isFormula(this, this.update);
    return this.#hasFormula ? needsOf(this._kind, group) : undefined;
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

/** Whether `update` comes from a class right below BuiltIn: those are the library's. */
function isFormula(optimizer: object, update: unknown): boolean {
  let prototype = Object.getPrototypeOf(optimizer);
  while (Object.getPrototypeOf(prototype) !== BuiltIn.prototype) prototype = Object.getPrototypeOf(prototype);
  return prototype.update === update;
}

const rounding = Symbol('rounding');
type Rounding = (value: number) => number;
const exactly: Rounding = (value) => value;

/** Rounds as arithmetic on tensors of the dtype does: double precision is enough for one operation on smaller floats. */
function roundingTo(dtype: string): Rounding {
  if (dtype === 'float64') return exactly;
  if (dtype === 'float32') return Math.fround;
  return (value) => ownScope(() => numberIn(tensor(value, { dtype: dtype as 'float16' }) as Tensor));
}

/** How numbers are rounded that a formula computes with the learning rate of a group: it may be a tensor in float32. */
export const roundingOf = (group: object): Rounding => (group as { [rounding]?: Rounding })[rounding] ?? exactly;

/** Whether the group's learning rate is a tensor. */
export const hasRounding = (group: object): boolean => rounding in group;

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

/** A tensor plus a number: in place, unless gradients are recorded through it. */
export const plus = (tensor: Tensor, value: number, differentiable: boolean | undefined): Tensor =>
  differentiable === true ? (tensor.add(value) as Tensor) : tensor.add_(value);
