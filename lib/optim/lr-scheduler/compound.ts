/** Schedulers of schedulers, and the one that follows a metric. */
import { upTo } from '../../errors/arity';
import { argumentError, refusal } from '../../errors/errors';
import { isTensor, type Tensor } from '../../tensor/tensor';
import { rateIn, setRate } from '../groups';
import type { Optimizer } from '../optimizer';
import { schedulersKnowFirstStep, since } from '../release';
import { at, demand, demandThat, type Given, perGroup, read } from './arguments';
import {
  copied,
  demandOptimizer,
  groupsOf,
  LRScheduler,
  type Scheduler,
  type SchedulerStateDict,
  stateOf,
} from './scheduler';

function schedulersOf(fn: string, schedulers: unknown, optimizer?: Optimizer<any>): LRScheduler<object>[] {
  const isList = Array.isArray(schedulers) && schedulers.length > 0;
  if (!isList) throw argumentError(fn, 'schedulers', 'a list of one scheduler or more', schedulers);
  const wrong = schedulers.findIndex((one) => !(one instanceof LRScheduler));
  if (wrong >= 0) throw argumentError(fn, `schedulers[${wrong}]`, 'a scheduler', schedulers[wrong]);
  const first = optimizer ?? (schedulers[0] as LRScheduler).optimizer;
  const other = schedulers.findIndex((one: LRScheduler) => one.optimizer !== first);
  if (other >= 0) throw refusal(fn, `schedulers[${other}]`, 'a scheduler of the same optimizer', 'one of another');
  return [...schedulers];
}

/** What both have: the state is that of their schedulers. */
abstract class Compound implements Scheduler {
  readonly optimizer: Optimizer<any>;
  /** @internal */
  readonly _schedulers: readonly LRScheduler<object>[];
  /** @internal */
  _lastLr: number[] = [];

  constructor(optimizer: Optimizer<any>, schedulers: readonly LRScheduler<object>[]) {
    this.optimizer = optimizer;
    this._schedulers = schedulers;
  }

  abstract step(): void;

  /** The learning rates that the last step set. */
  getLastLr(): number[] {
    return [...this._lastLr];
  }

  stateDict(): SchedulerStateDict {
    return { _last_lr: [...this._lastLr], _schedulers: this._schedulers.map((one) => one.stateDict()) };
  }

  loadStateDict(stateDict: SchedulerStateDict): void {
    const fn = at(`${this.constructor.name}.loadStateDict`);
    const given = stateOf(fn, stateDict, this.stateDict());
    const saved: unknown = given._schedulers;
    const count = this._schedulers.length;
    if (!Array.isArray(saved) || saved.length !== count) {
      throw argumentError(fn, 'stateDict._schedulers', `the states of ${count} schedulers`, saved);
    }
    if (given._last_lr !== undefined) this._lastLr = [...given._last_lr];
    for (const [i, one] of this._schedulers.entries()) one.loadStateDict(saved[i]);
  }
}

/** The arguments of `SequentialLR`. */
export interface SequentialLROptions {
  schedulers: readonly LRScheduler<any>[];
  /** The epochs at which the next scheduler begins. */
  milestones: readonly number[];
  /** The epoch to resume from. Default: -1, the beginning. */
  lastEpoch?: number;
}

function demandMilestones(fn: string, name: string, milestones: unknown, schedulers: number): void {
  const isList = Array.isArray(milestones) && milestones.every(Number.isInteger);
  const expected = `a list of ${schedulers - 1} integers, one fewer than schedulers`;
  demandThat(fn, isList && milestones.length === schedulers - 1, name, expected, milestones);
}

/** One scheduler after the other. */
export class SequentialLR extends Compound {
  lastEpoch: number;
  readonly #milestones: number[];

  constructor(
    optimizer: Optimizer<any>,
    ...args:
      | [options: SequentialLROptions]
      | [schedulers: readonly LRScheduler<any>[], milestones: readonly number[], lastEpoch?: number]
      | [schedulers: readonly LRScheduler<any>[], options: Omit<SequentialLROptions, 'schedulers'>]
  ) {
    const fn = at('SequentialLR');
    demandOptimizer(fn, optimizer);
    const defaults = { schedulers: undefined, milestones: undefined, lastEpoch: -1 };
    const { schedulers, milestones, lastEpoch } = read<SequentialLROptions>(fn, defaults, args);
    const all = schedulersOf(fn, schedulers, optimizer);
    demandMilestones(fn, 'milestones', milestones, all.length);
    demandThat(fn, Number.isInteger(lastEpoch) && lastEpoch >= -1, 'lastEpoch', 'an integer of -1 or more', lastEpoch);
    super(optimizer, all);
    this.#milestones = [...milestones];
    this.lastEpoch = lastEpoch + 1;
    for (const group of groupsOf(optimizer)) setRate(group, rateIn({ lr: group.initialLr }));
    for (const one of all) one.lastEpoch--;
    const first = all[schedulersKnowFirstStep ? this.#passed(0) : 0]!;
    first.start();
    this._lastLr = first.getLastLr();
  }

  /** How many milestones an epoch has reached. */
  #passed(epoch: number): number {
    return this.#milestones.filter((milestone) => milestone <= epoch).length;
  }

  step(): void {
    this.lastEpoch++;
    const n = this.#passed(this.lastEpoch);
    const current = this._schedulers[n]!;
    const begins = n > 0 && this.#milestones[n - 1] === this.lastEpoch;
    if (begins && schedulersKnowFirstStep) current._update(0);
    else current._advance(begins ? 0 : undefined);
    this._lastLr = current.getLastLr();
  }

  override stateDict(): SchedulerStateDict {
    const { _schedulers, _last_lr } = super.stateDict();
    return { _milestones: [...this.#milestones], last_epoch: this.lastEpoch, _last_lr, _schedulers };
  }

  override loadStateDict(stateDict: SchedulerStateDict): void {
    const fn = at('SequentialLR.loadStateDict');
    const { _milestones: milestones } = stateOf(fn, stateDict, this.stateDict());
    if (milestones !== undefined) demandMilestones(fn, 'stateDict._milestones', milestones, this._schedulers.length);
    super.loadStateDict(stateDict);
    if (stateDict.last_epoch !== undefined) this.lastEpoch = stateDict.last_epoch;
    if (milestones !== undefined) this.#milestones.splice(0, Number.POSITIVE_INFINITY, ...milestones);
  }
}

/** Several schedulers at once: each changes the rate that the last one set. */
export class ChainedScheduler extends Compound {
  constructor(schedulers: readonly LRScheduler<any>[]);
  constructor(...passed: [schedulers: readonly LRScheduler<any>[]]) {
    const [schedulers] = upTo(at('ChainedScheduler'), 1, passed);
    const all = schedulersOf(at('ChainedScheduler'), schedulers);
    super(all[0]!.optimizer, all);
    this._lastLr = groupsOf(this.optimizer).map(rateIn);
  }

  step(): void {
    for (const one of this._schedulers) one.step();
    this._lastLr = groupsOf(this.optimizer).map(rateIn);
  }
}

/** The arguments of `ReduceLROnPlateau`. */
export interface ReduceLROnPlateauOptions {
  /** Whether the metric shall fall or grow. Default: 'min'. */
  mode?: 'min' | 'max';
  /** The factor of a decay. Default: 0.1. */
  factor?: number;
  /** Epochs without a better metric before a decay. Default: 10. */
  patience?: number;
  /** How much better counts. Default: 1e-4. */
  threshold?: number;
  /** As a part of the best metric, or as a difference. Default: 'rel'. */
  thresholdMode?: 'rel' | 'abs';
  /** Epochs after a decay that do not count. Default: 0. */
  cooldown?: number;
  /** The smallest rate. Default: 0. */
  minLr?: number | readonly number[];
  /** Smaller changes of the rate are not made. Default: 1e-8. */
  eps?: number;
}

/** A decay when a metric no longer improves: `step(loss)` after each epoch. */
export class ReduceLROnPlateau {
  readonly optimizer: Optimizer<any>;
  /** @internal */
  readonly _own: Record<string, any>;

  constructor(
    optimizer: Optimizer<any>,
    ...args: Given<[mode?: 'min' | 'max', factor?: number, patience?: number], ReduceLROnPlateauOptions>
  ) {
    const fn = at('ReduceLROnPlateau');
    demandOptimizer(fn, optimizer);
    const given = read<ReduceLROnPlateauOptions>(
      fn,
      {
        mode: 'min',
        factor: 0.1,
        patience: 10,
        threshold: 1e-4,
        thresholdMode: 'rel',
        cooldown: 0,
        minLr: 0,
        eps: 1e-8,
      },
      args,
    );
    const { mode, factor, patience, threshold, thresholdMode, cooldown, eps } = given;
    demand(
      fn,
      { factor, patience, threshold, cooldown, eps },
      {
        factor: 'number',
        patience: 'number',
        threshold: 'number',
        cooldown: 'number',
        eps: 'number',
      },
    );
    demandThat(fn, factor < 1, 'factor', 'a number below 1', factor);
    demandThat(fn, ['min', 'max'].includes(mode), 'mode', "'min' or 'max'", mode);
    demandThat(fn, ['rel', 'abs'].includes(thresholdMode), 'thresholdMode', "'rel' or 'abs'", thresholdMode);
    const groups = groupsOf(optimizer);
    const worst = mode === 'min' ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY;
    this.optimizer = optimizer;
    this._own = {
      factor,
      min_lrs: perGroup(fn, 'minLr', given.minLr, groups.length),
      patience,
      ...(since(2, 7) ? {} : { verbose: false }),
      cooldown,
      cooldown_counter: 0,
      mode,
      threshold,
      threshold_mode: thresholdMode,
      best: worst,
      num_bad_epochs: 0,
      mode_worse: worst,
      eps,
      last_epoch: 0,
      ...(since(2, 2) ? { _last_lr: groups.map(rateIn) } : {}),
    };
  }

  /** The number of steps so far. */
  get lastEpoch(): number {
    return this._own.last_epoch;
  }

  /** The best metric so far. */
  get best(): number {
    return this._own.best;
  }

  /** The epochs since then, or since the rate was reduced. */
  get numBadEpochs(): number {
    return this._own.num_bad_epochs;
  }

  /** The learning rates that the last step left. */
  getLastLr(): number[] {
    return [...(this._own._last_lr ?? groupsOf(this.optimizer).map(rateIn))];
  }

  #isBetter(metric: number): boolean {
    const { mode, threshold, threshold_mode, best } = this._own;
    if (mode === 'min') return metric < (threshold_mode === 'rel' ? best * (1 - threshold) : best - threshold);
    return metric > (threshold_mode === 'rel' ? best * (threshold + 1) : best + threshold);
  }

  /** Takes the metric of an epoch. */
  step(metric: number | Tensor): void {
    const fn = `${at('ReduceLROnPlateau')}.step`;
    const value = isTensor(metric) && metric.numel === 1 ? Number(metric.item()) : metric;
    if (typeof value !== 'number') throw argumentError(fn, 'metric', 'a number or a Tensor of one element', metric);
    const own = this._own;
    own.last_epoch++;
    if (this.#isBetter(value)) {
      own.best = value;
      own.num_bad_epochs = 0;
    } else {
      own.num_bad_epochs++;
    }
    if (own.cooldown_counter > 0) {
      own.cooldown_counter--;
      own.num_bad_epochs = 0;
    }
    const groups = groupsOf(this.optimizer);
    if (own.num_bad_epochs > own.patience) {
      for (const [i, group] of groups.entries()) {
        const rate = Math.max(rateIn(group) * own.factor, own.min_lrs[i]);
        if (rateIn(group) - rate > own.eps) setRate(group, rate);
      }
      own.cooldown_counter = own.cooldown;
      own.num_bad_epochs = 0;
    }
    own._last_lr = groups.map(rateIn);
  }

  stateDict(): SchedulerStateDict {
    return copied(this._own);
  }

  loadStateDict(stateDict: SchedulerStateDict): void {
    const { mode_worse: _, ...present } = this._own; // follows from the mode
    const given = stateOf(at('ReduceLROnPlateau.loadStateDict'), stateDict, present);
    Object.assign(this._own, copied(given));
    this._own.mode_worse = this._own.mode === 'min' ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY;
  }
}
