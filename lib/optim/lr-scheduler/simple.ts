/** Schedulers whose rates are products. */

import { isOptions } from '../../addon/options';
import { argumentError } from '../../errors/errors';
import { pow } from '../c-math';
import type { Optimizer } from '../optimizer';
import { at, demand, demandThat, type Given, read, resultOf } from './arguments';
import { groupsOf, LRScheduler, type SchedulerStateDict, stateOf } from './scheduler';

/** Gives the factor of an epoch. */
export type LrLambda = (epoch: number) => number;

/** The arguments of `LambdaLR`. */
export interface LambdaLROptions {
  /** A function for all groups, or one for each. */
  lrLambda: LrLambda | readonly LrLambda[];
  /** The epoch to resume from. Default: -1, the beginning. */
  lastEpoch?: number;
}
export type LambdaArgs = Given<[lrLambda: LrLambda | readonly LrLambda[], lastEpoch?: number], LambdaLROptions>;

abstract class ByLambda extends LRScheduler {
  /** @internal */
  readonly _lambdas: readonly LrLambda[];

  constructor(optimizer: Optimizer<any>, name: string, args: readonly unknown[]) {
    const fn = at(name);
    const { lrLambda, lastEpoch } = read<LambdaLROptions>(fn, { lrLambda: undefined, lastEpoch: -1 }, args);
    super(optimizer, lastEpoch);
    const count = groupsOf(optimizer).length;
    const list = Array.isArray(lrLambda) ? [...lrLambda] : new Array(count).fill(lrLambda);
    if (list.length !== count || !list.every((one) => typeof one === 'function')) {
      throw argumentError(fn, 'lrLambda', `a function, or a list of ${count}, one for each group`, lrLambda);
    }
    this._lambdas = list;
    this.start();
  }

  /** @internal */
  _factor(i: number): number {
    return resultOf(this, 'lrLambda', () => this._lambdas[i]!(this.lastEpoch));
  }

  /** The state without the functions, which the constructor gets again. */
  override stateDict(): SchedulerStateDict {
    return { ...super.stateDict(), lr_lambdas: this._lambdas.map(() => null) };
  }
}

/** The first rate times a function of the epoch. */
export class LambdaLR extends ByLambda {
  constructor(optimizer: Optimizer<any>, ...args: LambdaArgs) {
    super(optimizer, 'LambdaLR', args);
  }

  getLr(): number[] {
    return this.baseLrs.map((base, i) => base * this._factor(i));
  }
}

/** Each rate times a function of the epoch. */
export class MultiplicativeLR extends ByLambda {
  constructor(optimizer: Optimizer<any>, ...args: LambdaArgs) {
    super(optimizer, 'MultiplicativeLR', args);
  }

  getLr(): number[] {
    const rates = this.current();
    return this.isFirst() ? rates : rates.map((rate, i) => rate * this._factor(i));
  }
}

/** The arguments of `StepLR`. */
export interface StepLROptions {
  /** Epochs between two decays. */
  stepSize: number;
  /** The factor of a decay. Default: 0.1. */
  gamma?: number;
  /** The epoch to resume from. Default: -1, the beginning. */
  lastEpoch?: number;
}

/** A decay by `gamma` every `stepSize` epochs. */
export class StepLR extends LRScheduler<{ step_size: number; gamma: number }> {
  constructor(
    optimizer: Optimizer<any>,
    ...args: Given<[stepSize: number, gamma?: number, lastEpoch?: number], StepLROptions>
  ) {
    const fn = at('StepLR');
    const { stepSize, gamma, lastEpoch } = read<StepLROptions>(
      fn,
      { stepSize: undefined, gamma: 0.1, lastEpoch: -1 },
      args,
    );
    demand(fn, { stepSize, gamma }, { stepSize: 'integer', gamma: 'number' });
    demandThat(fn, stepSize > 0, 'stepSize', 'an integer of 1 or more', stepSize);
    super(optimizer, lastEpoch, { step_size: stepSize, gamma });
    this.start();
  }

  getLr(): number[] {
    const isDue = this.lastEpoch !== 0 && this.lastEpoch % this._own.step_size === 0;
    return isDue ? this.scaled(this._own.gamma) : this.current();
  }

  override _closedForm(): number[] {
    const { step_size, gamma } = this._own;
    return this.baseLrs.map((base) => base * pow(gamma, Math.floor(this.lastEpoch / step_size)));
  }
}

/** The arguments of `MultiStepLR`. */
export interface MultiStepLROptions {
  /** The epochs of the decays. */
  milestones: readonly number[];
  /** The factor of a decay. Default: 0.1. */
  gamma?: number;
  /** The epoch to resume from. Default: -1, the beginning. */
  lastEpoch?: number;
}

/** The milestones of a state, and how often each counts. */
function countsOf(fn: string, given: unknown): Map<number, number> {
  const entries: unknown[][] | null =
    given instanceof Map
      ? [...given]
      : isOptions(given)
        ? Object.entries(given).map(([epoch, times]) => [Number(epoch), times])
        : null;
  if (entries?.every((entry) => entry.every(Number.isInteger))) return new Map(entries as [number, number][]);
  throw argumentError(fn, 'stateDict.milestones', 'a Map or an object from epochs to their counts', given);
}

/** A decay by `gamma` at each milestone. */
export class MultiStepLR extends LRScheduler<{ milestones: Map<number, number>; gamma: number }> {
  constructor(
    optimizer: Optimizer<any>,
    ...args: Given<[milestones: readonly number[], gamma?: number, lastEpoch?: number], MultiStepLROptions>
  ) {
    const fn = at('MultiStepLR');
    const defaults = { milestones: undefined, gamma: 0.1, lastEpoch: -1 };
    const { milestones, gamma, lastEpoch } = read<MultiStepLROptions>(fn, defaults, args);
    const isList = Array.isArray(milestones) && milestones.every(Number.isInteger);
    demandThat(fn, isList, 'milestones', 'a list of integers', milestones);
    demand(fn, { gamma }, { gamma: 'number' });
    const counts = new Map<number, number>();
    for (const milestone of milestones) counts.set(milestone, (counts.get(milestone) ?? 0) + 1);
    super(optimizer, lastEpoch, { milestones: counts, gamma });
    this.start();
  }

  getLr(): number[] {
    const times = this._own.milestones.get(this.lastEpoch);
    return times === undefined ? this.current() : this.scaled(pow(this._own.gamma, times));
  }

  override _closedForm(): number[] {
    let passed = 0;
    for (const [milestone, times] of this._own.milestones) if (milestone <= this.lastEpoch) passed += times;
    return this.baseLrs.map((base) => base * pow(this._own.gamma, passed));
  }

  /** As a Map in Python's file. JSON has no Maps and gets an object. */
  override stateDict(): SchedulerStateDict {
    const state = super.stateDict();
    const { milestones } = state as { milestones: Map<number, number> };
    Object.defineProperty(milestones, 'toJSON', { value: () => Object.fromEntries(milestones) });
    return state;
  }

  override loadStateDict(stateDict: SchedulerStateDict): void {
    const fn = at(`${this.constructor.name}.loadStateDict`);
    const { milestones, ...others } = stateOf(fn, stateDict, this.stateDict());
    super.loadStateDict(milestones === undefined ? stateDict : { ...others, milestones: countsOf(fn, milestones) });
  }
}

/** The arguments of `ConstantLR`. */
export interface ConstantLROptions {
  /** The factor until `totalIters`. Default: 1/3. */
  factor?: number;
  /** The epochs with the factor. Default: 5. */
  totalIters?: number;
  /** The epoch to resume from. Default: -1, the beginning. */
  lastEpoch?: number;
}

/** A factor for the first epochs. */
export class ConstantLR extends LRScheduler<{ factor: number; total_iters: number }> {
  constructor(
    optimizer: Optimizer<any>,
    ...args: Given<[factor?: number, totalIters?: number, lastEpoch?: number], ConstantLROptions>
  ) {
    const fn = at('ConstantLR');
    const { factor, totalIters, lastEpoch } = read<ConstantLROptions>(
      fn,
      { factor: 1 / 3, totalIters: 5, lastEpoch: -1 },
      args,
    );
    demand(fn, { factor, totalIters }, { factor: 'number', totalIters: 'integer' });
    demandThat(fn, factor >= 0 && factor <= 1, 'factor', 'a number from 0 to 1', factor);
    super(optimizer, lastEpoch, { factor, total_iters: totalIters });
    this.start();
  }

  getLr(): number[] {
    const { factor, total_iters } = this._own;
    if (this.lastEpoch === 0) return this.scaled(factor);
    return this.lastEpoch === total_iters ? this.scaled(1 / factor) : this.current();
  }

  override _closedForm(): number[] {
    const { factor, total_iters } = this._own;
    return this.baseLrs.map((base) => base * (factor + (this.lastEpoch >= total_iters ? 1 : 0) * (1 - factor)));
  }
}

/** The arguments of `LinearLR`. */
export interface LinearLROptions {
  /** The first factor. Default: 1/3. */
  startFactor?: number;
  /** The last factor. Default: 1. */
  endFactor?: number;
  /** The epochs from one to the other. Default: 5. */
  totalIters?: number;
  /** The epoch to resume from. Default: -1, the beginning. */
  lastEpoch?: number;
}

/** A factor that changes evenly over the first epochs: a warm-up. */
export class LinearLR extends LRScheduler<{ start_factor: number; end_factor: number; total_iters: number }> {
  constructor(
    optimizer: Optimizer<any>,
    ...args: Given<[startFactor?: number, endFactor?: number, totalIters?: number, lastEpoch?: number], LinearLROptions>
  ) {
    const fn = at('LinearLR');
    const defaults = { startFactor: 1 / 3, endFactor: 1, totalIters: 5, lastEpoch: -1 };
    const { startFactor, endFactor, totalIters, lastEpoch } = read<LinearLROptions>(fn, defaults, args);
    demand(
      fn,
      { startFactor, endFactor, totalIters },
      { startFactor: 'number', endFactor: 'number', totalIters: 'integer' },
    );
    demandThat(fn, startFactor > 0 && startFactor <= 1, 'startFactor', 'a number above 0, at most 1', startFactor);
    demandThat(fn, endFactor >= 0 && endFactor <= 1, 'endFactor', 'a number from 0 to 1', endFactor);
    super(optimizer, lastEpoch, { start_factor: startFactor, end_factor: endFactor, total_iters: totalIters });
    this.start();
  }

  getLr(): number[] {
    const { start_factor: start, end_factor: end, total_iters: total } = this._own;
    if (this.lastEpoch === 0) return this.scaled(start);
    if (this.isFirst() || this.lastEpoch > total) return this.current();
    return this.scaled(1 + (end - start) / (total * start + (this.lastEpoch - 1) * (end - start)));
  }

  override _closedForm(): number[] {
    const { start_factor: start, end_factor: end, total_iters: total } = this._own;
    return this.baseLrs.map((base) => base * (start + ((end - start) * Math.min(total, this.lastEpoch)) / total));
  }
}

/** The arguments of `ExponentialLR`. */
export interface ExponentialLROptions {
  /** The factor of each epoch. */
  gamma: number;
  /** The epoch to resume from. Default: -1, the beginning. */
  lastEpoch?: number;
}

/** A decay by `gamma` every epoch. */
export class ExponentialLR extends LRScheduler<{ gamma: number }> {
  constructor(optimizer: Optimizer<any>, ...args: Given<[gamma: number, lastEpoch?: number], ExponentialLROptions>) {
    const fn = at('ExponentialLR');
    const { gamma, lastEpoch } = read<ExponentialLROptions>(fn, { gamma: undefined, lastEpoch: -1 }, args);
    demand(fn, { gamma }, { gamma: 'number' });
    super(optimizer, lastEpoch, { gamma });
    this.start();
  }

  getLr(): number[] {
    return this.isFirst() ? this.current() : this.scaled(this._own.gamma);
  }

  override _closedForm(): number[] {
    return this.baseLrs.map((base) => base * pow(this._own.gamma, this.lastEpoch));
  }
}

/** The arguments of `PolynomialLR`. */
export interface PolynomialLROptions {
  /** The epochs until the rate is 0. Default: 5. */
  totalIters?: number;
  /** The power of the polynomial. Default: 1. */
  power?: number;
  /** The epoch to resume from. Default: -1, the beginning. */
  lastEpoch?: number;
}

/** A decay to 0 by a polynomial. */
export class PolynomialLR extends LRScheduler<{ total_iters: number; power: number }> {
  constructor(
    optimizer: Optimizer<any>,
    ...args: Given<[totalIters?: number, power?: number, lastEpoch?: number], PolynomialLROptions>
  ) {
    const fn = at('PolynomialLR');
    const { totalIters, power, lastEpoch } = read<PolynomialLROptions>(
      fn,
      { totalIters: 5, power: 1, lastEpoch: -1 },
      args,
    );
    demand(fn, { totalIters, power }, { totalIters: 'integer', power: 'number' });
    super(optimizer, lastEpoch, { total_iters: totalIters, power });
    this.start();
  }

  getLr(): number[] {
    const { total_iters: total, power } = this._own;
    if (this.isFirst() || this.lastEpoch > total) return this.current();
    return this.scaled(pow((1 - this.lastEpoch / total) / (1 - (this.lastEpoch - 1) / total), power));
  }

  override _closedForm(): number[] {
    const { total_iters: total, power } = this._own;
    return this.baseLrs.map((base) => base * pow(1 - Math.min(total, this.lastEpoch) / total, power));
  }
}
