/** Schedulers that follow a cosine. */
import { cos, log, pow } from '../c-math';
import { rateIn } from '../groups';
import type { Optimizer } from '../optimizer';
import { schedulersKnowFirstStep } from '../release';
import { at, demand, demandThat, type Given, read } from './arguments';
import { groupsOf, LRScheduler } from './scheduler';

/** The arguments of `CosineAnnealingLR`. */
export interface CosineAnnealingLROptions {
  /** The number of epochs from the first rate to `etaMin`: half of the cosine's period. */
  TMax: number;
  /** The smallest rate. Default: 0. */
  etaMin?: number;
  /** The epoch to resume from. Default: -1, the beginning. */
  lastEpoch?: number;
}

/** A cosine from the first rate to `etaMin` and back. */
export class CosineAnnealingLR extends LRScheduler<{ T_max: number; eta_min: number }> {
  constructor(
    optimizer: Optimizer<any>,
    ...args: Given<[TMax: number, etaMin?: number, lastEpoch?: number], CosineAnnealingLROptions>
  ) {
    const fn = at('CosineAnnealingLR');
    const { TMax, etaMin, lastEpoch } = read<CosineAnnealingLROptions>(
      fn,
      { TMax: undefined, etaMin: 0, lastEpoch: -1 },
      args,
    );
    demand(fn, { TMax, etaMin }, { TMax: 'number', etaMin: 'number' });
    demandThat(fn, TMax !== 0, 'TMax', 'a number other than 0', TMax); // Python divides by it: ZeroDivisionError
    super(optimizer, lastEpoch, { T_max: TMax, eta_min: etaMin });
    this.start();
  }

  getLr(): number[] {
    const { T_max: max, eta_min: min } = this._own;
    const epoch = this.lastEpoch;
    if (this.isFirst()) return this.current();
    if (this._stepCount === 1 && epoch > 0) {
      return this.baseLrs.map((base) => min + ((base - min) * (1 + cos((epoch * Math.PI) / max))) / 2);
    }
    const groups = groupsOf(this.optimizer);
    if ((epoch - 1 - max) % (2 * max) === 0) {
      return groups.map((group, i) => rateIn(group) + ((this.baseLrs[i]! - min) * (1 - cos(Math.PI / max))) / 2);
    }
    const ratio = (1 + cos((Math.PI * epoch) / max)) / (1 + cos((Math.PI * (epoch - 1)) / max));
    return groups.map((group) => ratio * (rateIn(group) - min) + min);
  }

  override _closedForm(): number[] {
    const { T_max: max, eta_min: min } = this._own;
    return this.baseLrs.map((base) => min + ((base - min) * (1 + cos((Math.PI * this.lastEpoch) / max))) / 2);
  }
}

/** The arguments of `CosineAnnealingWarmRestarts`. */
export interface CosineAnnealingWarmRestartsOptions {
  /** The epochs before the first restart. */
  T0: number;
  /** The factor by which each period is longer than the one before. Default: 1. */
  TMult?: number;
  /** The smallest rate. Default: 0. */
  etaMin?: number;
  /** The epoch to resume from. Default: -1, the beginning. */
  lastEpoch?: number;
}

/** A cosine from the first rate to `etaMin`, again and again. `step(epoch)` takes fractions of epochs too. */
export class CosineAnnealingWarmRestarts extends LRScheduler<{
  T_0: number;
  T_i: number;
  T_mult: number;
  eta_min: number;
  T_cur: number;
}> {
  constructor(
    optimizer: Optimizer<any>,
    ...args: Given<
      [T0: number, TMult?: number, etaMin?: number, lastEpoch?: number],
      CosineAnnealingWarmRestartsOptions
    >
  ) {
    const fn = at('CosineAnnealingWarmRestarts');
    const defaults = { T0: undefined, TMult: 1, etaMin: 0, lastEpoch: -1 };
    const { T0, TMult, etaMin, lastEpoch } = read<CosineAnnealingWarmRestartsOptions>(fn, defaults, args);
    demandThat(fn, Number.isInteger(T0) && T0 > 0, 'T0', 'an integer of 1 or more', T0);
    demandThat(fn, Number.isInteger(TMult) && TMult >= 1, 'TMult', 'an integer of 1 or more', TMult);
    demand(fn, { etaMin }, { etaMin: 'number' });
    super(optimizer, lastEpoch, { T_0: T0, T_i: T0, T_mult: TMult, eta_min: etaMin, T_cur: lastEpoch });
    this.start();
  }

  getLr(): number[] {
    const { eta_min: min, T_cur, T_i } = this._own;
    return this.baseLrs.map((base) => min + ((base - min) * (1 + cos((Math.PI * T_cur) / T_i))) / 2);
  }

  override _advance(given?: number): void {
    const own = this._own;
    const { T_0, T_mult } = own;
    let epoch = given === undefined && this.lastEpoch < 0 ? 0 : given;
    if (epoch === undefined) {
      epoch = this.lastEpoch + 1;
      own.T_cur++;
      if (own.T_cur >= own.T_i) {
        own.T_cur = schedulersKnowFirstStep ? own.T_cur % own.T_i : own.T_cur - own.T_i;
        own.T_i *= T_mult;
      }
    } else if (epoch < T_0) {
      own.T_i = T_0;
      own.T_cur = epoch;
    } else if (T_mult === 1) {
      own.T_cur = epoch % T_0;
    } else {
      const n = Math.trunc(log((epoch / T_0) * (T_mult - 1) + 1, T_mult));
      own.T_cur = epoch - (T_0 * (pow(T_mult, n) - 1)) / (T_mult - 1);
      own.T_i = T_0 * pow(T_mult, n);
    }
    this.lastEpoch = Math.floor(epoch);
    this._set(this.getLr());
  }
}
