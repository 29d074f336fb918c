/** The base of schedulers of the learning rate. Python's torch/optim/lr_scheduler.py, in its order of operations. */
import { isOptions } from '../../addon/options';
import { warn } from '../../call/warnings';
import { argumentError, codedError } from '../../errors/errors';
import { rateIn, setRate } from '../groups';
import { Optimizer, stepCounts } from '../optimizer';
import { schedulersKnowFirstStep, since } from '../release';
import { at } from './arguments';

/** A group, whose options schedulers change. */
export type Group = Record<string, any>;

export const groupsOf = (optimizer: Optimizer<any>): Group[] => optimizer.paramGroups;

export function demandOptimizer(fn: string, optimizer: unknown): asserts optimizer is Optimizer<any> {
  if (!(optimizer instanceof Optimizer)) throw argumentError(fn, 'optimizer', 'an Optimizer', optimizer);
}

/** What a state dict of a scheduler holds, under Python's names. */
export type SchedulerStateDict = Record<string, any>;

/** What all schedulers have that need no metric, so all but `ReduceLROnPlateau`. */
export interface Scheduler {
  readonly optimizer: Optimizer<any>;
  step(): void;
  /** The learning rates that the last step set. */
  getLastLr(): number[];
  stateDict(): SchedulerStateDict;
  loadStateDict(stateDict: SchedulerStateDict): void;
}

/**
 * Sets the learning rates of an optimizer's groups, once when it is made and again with each `step()`. A class of one's own
 * has `getLr()`, and calls `this.start()` at the end of its constructor.
 */
export abstract class LRScheduler<S extends object = Record<string, unknown>> implements Scheduler {
  readonly optimizer: Optimizer<any>;
  /** The number of steps so far. */
  lastEpoch: number;
  /** The learning rates of the groups before the first step. */
  baseLrs: number[];
  /** @internal Python's fields of the class, under its names: they are in the state dict. */
  _own: S;
  /** @internal */
  _stepCount = 0;
  /** @internal Whether the step is the one of the constructor. */
  _isInitial = false;
  /** @internal */
  _lastLr: number[] = [];

  constructor(optimizer: Optimizer<any>, lastEpoch = -1, own = {} as S) {
    const fn = at(this.constructor.name);
    demandOptimizer(fn, optimizer);
    if (!Number.isInteger(lastEpoch) || lastEpoch < -1) {
      throw argumentError(fn, 'lastEpoch', 'an integer of -1 or more', lastEpoch);
    }
    this.optimizer = optimizer;
    this._own = own;
    for (const [i, group] of groupsOf(optimizer).entries()) {
      if (lastEpoch === -1) group.initialLr ??= rateIn(group);
      else if (group.initialLr === undefined) {
        throw argumentError(fn, 'lastEpoch', `-1, since group ${i} has no initialLr to resume from`, lastEpoch);
      }
    }
    this.baseLrs = groupsOf(optimizer).map((group) => rateIn({ lr: group.initialLr }));
    this.lastEpoch = lastEpoch;
  }

  /** The first step, which sets the learning rates. */
  start(): void {
    stepCounts.set(this.optimizer, 0);
    this._stepCount = 0;
    this._isInitial = true;
    try {
      this._advance();
    } finally {
      this._isInitial = false;
    }
  }

  /** The next learning rates, one for each group. */
  abstract getLr(): number[];

  /** @internal The learning rates of an epoch, without those before; Python's `_get_closed_form_lr`. */
  _closedForm(): number[] {
    return this.getLr();
  }

  /** The learning rates that the last step set. */
  getLastLr(): number[] {
    return [...this._lastLr];
  }

  /** Sets the learning rates of the next epoch, or of a given one, as Python's deprecated argument does. */
  step(epoch?: number): void {
    const fn = `${at(this.constructor.name)}.step`;
    if (epoch !== undefined && !(typeof epoch === 'number' && epoch >= 0)) {
      throw argumentError(fn, 'epoch', 'a number of 0 or more', epoch);
    }
    this._advance(epoch);
  }

  /** @internal */
  _advance(epoch?: number): void {
    if (this._stepCount === 1 && stepCounts.get(this.optimizer)! < 1) {
      warn(
        `${at(this.constructor.name)}.step: it was called before optimizer.step(), so the first learning rate is not ` +
          'used: call optimizer.step() first',
        'TORCH_SCHEDULER_ORDER',
      );
    }
    this._stepCount++;
    this._update(epoch);
  }

  /** @internal A step that is not counted. */
  _update(epoch?: number): void {
    if (epoch === undefined) {
      this.lastEpoch++;
      this._set(this.getLr());
    } else {
      this.lastEpoch = epoch;
      this._set(this._closedForm());
    }
  }

  /** @internal */
  _set(values: readonly number[]): void {
    const groups = groupsOf(this.optimizer);
    for (const [i, group] of groups.entries()) if (i < values.length) setRate(group, values[i]!);
    this._lastLr = groups.map(rateIn);
  }

  /** Whether the first step leaves the rates as they are. */
  protected isFirst(): boolean {
    return schedulersKnowFirstStep ? this._isInitial : this.lastEpoch === 0;
  }

  /** The rates as they are. */
  protected current(): number[] {
    return groupsOf(this.optimizer).map(rateIn);
  }

  /** The rates times a factor. */
  protected scaled(factor: number): number[] {
    return groupsOf(this.optimizer).map((group) => rateIn(group) * factor);
  }

  /** The state in Python's form: plain values under its names. */
  stateDict(): SchedulerStateDict {
    const old = since(2, 7) ? {} : { verbose: false };
    return {
      ...copied(this._own),
      base_lrs: [...this.baseLrs],
      last_epoch: this.lastEpoch,
      ...old,
      _step_count: this._stepCount,
      ...(schedulersKnowFirstStep ? { _is_initial: false } : {}),
      _get_lr_called_within_step: false,
      _last_lr: [...this._lastLr],
    };
  }

  /** Takes a state of stateDict, of this library or of Python. The optimizer has its own. */
  loadStateDict(stateDict: SchedulerStateDict): void {
    const given = stateOf(at(`${this.constructor.name}.loadStateDict`), stateDict, this.stateDict());
    for (const key of Object.keys(this._own)) {
      if (given[key] !== undefined) (this._own as Record<string, unknown>)[key] = copied(given[key]);
    }
    if (given.base_lrs !== undefined) this.baseLrs = given.base_lrs.map((lr: unknown) => rateIn({ lr }));
    if (given.last_epoch !== undefined) this.lastEpoch = given.last_epoch;
    if (given._step_count !== undefined) this._stepCount = given._step_count;
    if (given._last_lr !== undefined) this._lastLr = given._last_lr.map((lr: unknown) => rateIn({ lr }));
  }
}

export function objectOf(fn: string, value: unknown): Record<string, any> {
  if (!isOptions(value)) {
    throw argumentError(fn, 'stateDict', 'an object, as stateDict() gives it', value);
  }
  return value as Record<string, any>;
}

/** A state to load, if its numbers, strings and lists are where the present one has them; else nothing is loaded. */
export function stateOf(fn: string, stateDict: unknown, present: SchedulerStateDict): Record<string, any> {
  const given = objectOf(fn, stateDict);
  if (!Object.keys(present).some((key) => given[key] !== undefined)) {
    // The state of an optimizer, for example, would change nothing.
    throw argumentError(fn, 'stateDict', `an object with ${Object.keys(present).join(', ')}`, stateDict);
  }
  for (const [key, value] of Object.entries(present)) {
    if (given[key] === undefined) continue;
    const kind = Array.isArray(value) ? 'an array' : `a ${typeof value}`;
    const fits = Array.isArray(value) ? Array.isArray(given[key]) : typeof given[key] === typeof value;
    const isChecked = Array.isArray(value) || typeof value === 'number' || typeof value === 'string';
    if (isChecked && !fits) throw argumentError(fn, `stateDict.${key}`, kind, given[key]);
  }
  return given;
}

/** Lists and dictionaries are copied. */
export function copied<T>(value: T): T {
  if (Array.isArray(value)) return value.map(copied) as T;
  if (value instanceof Map) return new Map(value) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, element]) => [key, copied(element)])) as T;
}

export const stepError = (fn: string, text: string): Error =>
  Object.assign(codedError(Error, 'ERR_TORCH_RUNTIME', `${fn}: ${text}`), { op: fn });
