/** torch.optim.swaUtils: averages of weights. Python's torch/optim/swa_utils.py. */
import { argumentError } from '../errors/errors';
import { isTensor, type Tensor } from '../tensor/tensor';
import { cos } from './c-math';
import { at, demandThat, type Given, perGroup, read } from './lr-scheduler/arguments';
import { demandOptimizer, groupsOf, LRScheduler } from './lr-scheduler/scheduler';
import type { Optimizer } from './optimizer';
import { schedulersKnowFirstStep } from './release';

/** The arguments of `SWALR`. */
export interface SWALROptions {
  /** The rate at the end. */
  swaLr: number | readonly number[];
  /** The epochs until then. Default: 10. */
  annealEpochs?: number;
  /** Default: 'cos'. */
  annealStrategy?: 'cos' | 'linear';
  /** The epoch to resume from. Default: -1, the beginning. */
  lastEpoch?: number;
}

/** From the rate of each group to a constant one, for averages of weights. */
export class SWALR extends LRScheduler<{ anneal_epochs: number; _anneal_strategy?: string }> {
  readonly #strategy: string;

  constructor(
    optimizer: Optimizer<any>,
    ...args: Given<
      [swaLr: number | readonly number[], annealEpochs?: number, annealStrategy?: 'cos' | 'linear'],
      SWALROptions
    >
  ) {
    const fn = at('SWALR').replace('lrScheduler', 'swaUtils');
    const defaults = { swaLr: undefined, annealEpochs: 10, annealStrategy: 'cos', lastEpoch: -1 };
    const { swaLr, annealEpochs, annealStrategy, lastEpoch } = read<SWALROptions>(fn, defaults, args);
    demandOptimizer(fn, optimizer);
    const isKnown = ['cos', 'linear'].includes(annealStrategy);
    demandThat(fn, isKnown, 'annealStrategy', "'cos' or 'linear'", annealStrategy);
    const isCount = Number.isInteger(annealEpochs) && annealEpochs >= 0;
    demandThat(fn, isCount, 'annealEpochs', 'an integer of 0 or more', annealEpochs);
    const groups = groupsOf(optimizer);
    const rates = perGroup(fn, 'swaLr', swaLr, groups.length);
    for (const [i, group] of groups.entries()) group.swaLr = rates[i];
    super(optimizer, lastEpoch, {
      ...(schedulersKnowFirstStep ? { _anneal_strategy: annealStrategy } : {}),
      anneal_epochs: annealEpochs,
    });
    this.#strategy = annealStrategy;
    this.start();
  }

  #part(t: number): number {
    return (this._own._anneal_strategy ?? this.#strategy) === 'cos' ? (1 - cos(Math.PI * t)) / 2 : t;
  }

  getLr(): number[] {
    const epochs = this._own.anneal_epochs;
    const step = epochs === 0 ? Math.max(1, this._stepCount - 1) : this._stepCount - 1;
    const partAt = (n: number) => this.#part(Math.max(0, Math.min(1, n / Math.max(1, epochs))));
    const before = partAt(step - 1);
    const now = partAt(step);
    return groupsOf(this.optimizer).map(({ lr, swaLr }) => {
      const first = before === 1 ? swaLr : (lr - before * swaLr) / (1 - before);
      return swaLr * now + first * (1 - now);
    });
  }
}

/** The next average of a parameter: `(average, parameter, averagesSoFar)`. */
export type AverageFunction = (average: Tensor, parameter: Tensor, averaged: number) => Tensor;

function demandTensor(fn: string, name: string, value: unknown): void {
  if (!isTensor(value)) throw argumentError(`optim.swaUtils.${fn}`, name, 'a Tensor', value);
}

function demandCount(fn: string, count: unknown): void {
  if (typeof count === 'number') return;
  throw argumentError(`optim.swaUtils.${fn}`, 'averaged', 'a number', count);
}

/** As many averages as parameters. */
function demandLists(fn: string, averages: unknown, parameters: unknown): void {
  for (const [name, list] of Object.entries({ averages, parameters })) {
    if (!Array.isArray(list)) throw argumentError(`optim.swaUtils.${fn}`, name, 'a list of Tensors', list);
    for (let i = 0; i < list.length; i++) demandTensor(fn, `${name}[${i}]`, list[i]);
  }
  const { length } = averages as Tensor[];
  if ((parameters as Tensor[]).length === length) return;
  throw argumentError(`optim.swaUtils.${fn}`, 'parameters', `a list of ${length}`, parameters);
}

/** The mean of all weights so far (stochastic weight averaging). */
export const getSwaAvgFn = (): AverageFunction => (average, parameter, averaged) => {
  demandTensor('getSwaAvgFn', 'average', average);
  demandTensor('getSwaAvgFn', 'parameter', parameter);
  demandCount('getSwaAvgFn', averaged);
  return average.add((parameter.sub(average) as Tensor).div(averaged + 1) as Tensor) as Tensor;
};

function demandDecay(fn: string, decay: unknown): void {
  if (typeof decay === 'number' && decay >= 0 && decay <= 1) return;
  throw argumentError(`optim.swaUtils.${fn}`, 'decay', 'a number from 0 to 1', decay);
}

/** An average that keeps `decay` of itself (exponential moving average). */
export function getEmaAvgFn(decay = 0.999): AverageFunction {
  demandDecay('getEmaAvgFn', decay);
  return (average, parameter) => {
    demandTensor('getEmaAvgFn', 'average', average);
    demandTensor('getEmaAvgFn', 'parameter', parameter);
    return (average.mul(decay) as Tensor).add(parameter.mul(1 - decay) as Tensor) as Tensor;
  };
}

/** Changes all averages of one dtype and device in place: `(averages, parameters, averagesSoFar)`. */
export type MultiAverageFunction = (
  averages: readonly Tensor[],
  parameters: readonly Tensor[],
  averaged: number,
) => void;

const isLinear = (tensor: Tensor): boolean => tensor.isFloatingPoint() || tensor.isComplex();

/** `getSwaAvgFn` for several parameters at once. */
export const getSwaMultiAvgFn = (): MultiAverageFunction => (averages, parameters, averaged) => {
  demandLists('getSwaMultiAvgFn', averages, parameters);
  demandCount('getSwaMultiAvgFn', averaged);
  const next = getSwaAvgFn();
  averages.forEach((average, i) => {
    // Python computes the weight as a tensor of float32.
    if (isLinear(average)) average.lerp_(parameters[i]!, Math.fround(1 / (averaged + 1)));
    else average.copy_(next(average, parameters[i]!, averaged));
  });
};

/** `getEmaAvgFn` for several parameters at once. */
export function getEmaMultiAvgFn(decay = 0.999): MultiAverageFunction {
  demandDecay('getEmaMultiAvgFn', decay);
  const next = getEmaAvgFn(decay);
  return (averages, parameters, averaged) => {
    demandLists('getEmaMultiAvgFn', averages, parameters);
    averages.forEach((average, i) => {
      if (isLinear(average)) average.lerp_(parameters[i]!, 1 - decay);
      else average.copy_(next(average, parameters[i]!, averaged));
    });
  };
}
