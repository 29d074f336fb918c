/** Schedulers of cycles, which change the momentum too. */
import { cos, pow } from '../c-math';
import { setRate } from '../groups';
import type { Optimizer } from '../optimizer';
import { since } from '../release';
import { camelCase } from '../state-dict';
import { at, demand, demandThat, type Given, perGroup, read, resultOf } from './arguments';
import { demandOptimizer, type Group, groupsOf, LRScheduler, stepError } from './scheduler';

export type PerGroup = number | readonly number[];

/** The arguments of `CyclicLR`. */
export interface CyclicLROptions {
  /** The smallest rate. */
  baseLr: PerGroup;
  /** The largest rate. */
  maxLr: PerGroup;
  /** The steps from the smallest to the largest. Default: 2000. */
  stepSizeUp?: number;
  /** The steps back. Default: as many. */
  stepSizeDown?: number | null;
  /** How the largest rate changes. Default: 'triangular', it does not. */
  mode?: 'triangular' | 'triangular2' | 'exp_range';
  /** The factor of 'exp_range' for each step. Default: 1. */
  gamma?: number;
  /** A function in place of a mode: from the cycle or the step to a factor. */
  scaleFn?: ((x: number) => number) | null;
  /** What `scaleFn` gets. Default: 'cycle'. */
  scaleMode?: 'cycle' | 'iterations';
  /** Change the momentum, against the rate. Default: true. */
  cycleMomentum?: boolean;
  /** The smallest momentum. Default: 0.8. */
  baseMomentum?: PerGroup;
  /** The largest momentum. Default: 0.9. */
  maxMomentum?: PerGroup;
  /** The step to resume from. Default: -1, the beginning. */
  lastEpoch?: number;
}

interface CyclicState {
  max_lrs: number[];
  total_size: number;
  step_ratio: number;
  mode: string;
  gamma: number;
  _scale_fn_custom: null;
  scale_mode: string;
  cycle_momentum: boolean;
  use_beta1?: boolean;
  base_momentums?: number[];
  max_momentums?: number[];
}

const momentumOf = (optimizer: Optimizer<any>): 'momentum' | 'betas' | undefined => {
  if ('betas' in optimizer.defaults) return 'betas';
  return 'momentum' in optimizer.defaults ? 'momentum' : undefined;
};

/** The momentum, or the first beta. */
function setMomentum(group: Group, kind: 'momentum' | 'betas', value: number): void {
  if (kind === 'momentum') group.momentum = value;
  else group.betas = [value, ...group.betas.slice(1)];
}

/** CyclicLR changes the first beta too, and notes the bounds in the groups. */
const takesBetas = since(2, 1);

const needsMomentum = 'false, since the optimizer has no momentum';

/** The checked arguments of CyclicLR. */
function cyclicArguments(
  fn: string,
  args: Given<[baseLr: PerGroup, maxLr: PerGroup], CyclicLROptions>,
): Required<CyclicLROptions> & { down: number } {
  const given = read<CyclicLROptions>(
    fn,
    {
      baseLr: undefined,
      maxLr: undefined,
      stepSizeUp: 2000,
      stepSizeDown: null,
      mode: 'triangular',
      gamma: 1,
      scaleFn: null,
      scaleMode: 'cycle',
      cycleMomentum: true,
      baseMomentum: 0.8,
      maxMomentum: 0.9,
      lastEpoch: -1,
    },
    args,
  );
  const { stepSizeUp: up, mode, gamma, scaleFn, cycleMomentum } = given;
  const down = given.stepSizeDown ?? up;
  demand(
    fn,
    { stepSizeUp: up, stepSizeDown: down, gamma, cycleMomentum },
    {
      stepSizeUp: 'number',
      stepSizeDown: 'number',
      gamma: 'number',
      cycleMomentum: 'boolean',
    },
  );
  // Python divides by them: ZeroDivisionError.
  demandThat(fn, up !== 0, 'stepSizeUp', 'a number other than 0', up);
  demandThat(fn, up + down !== 0, 'stepSizeDown', `a number other than ${-up}`, down);
  const modes = ['triangular', 'triangular2', 'exp_range'];
  demandThat(fn, scaleFn !== null || modes.includes(mode), 'mode', "'triangular', 'triangular2' or 'exp_range'", mode);
  demandThat(fn, scaleFn === null || typeof scaleFn === 'function', 'scaleFn', 'a function or null', scaleFn);
  return { ...given, down };
}

/** Rates between two values, up and down. For a step after each batch. */
export class CyclicLR extends LRScheduler<CyclicState> {
  readonly #scale: ((x: number) => number) | null;
  readonly #kind: 'momentum' | 'betas' | undefined;

  constructor(optimizer: Optimizer<any>, ...args: Given<[baseLr: PerGroup, maxLr: PerGroup], CyclicLROptions>) {
    const fn = at('CyclicLR');
    const given = cyclicArguments(fn, args);
    const { stepSizeUp: up, down, mode, gamma, scaleFn, cycleMomentum, lastEpoch } = given;
    demandOptimizer(fn, optimizer);
    const groups = groupsOf(optimizer);
    const baseLrs = perGroup(fn, 'baseLr', given.baseLr, groups.length);
    const maxLrs = perGroup(fn, 'maxLr', given.maxLr, groups.length);
    const kind = takesBetas ? momentumOf(optimizer) : 'momentum' in optimizer.defaults ? 'momentum' : undefined;
    demandThat(fn, !cycleMomentum || kind !== undefined, 'cycleMomentum', needsMomentum, cycleMomentum);
    const bases = perGroup(fn, 'baseMomentum', given.baseMomentum, groups.length);
    const most = perGroup(fn, 'maxMomentum', given.maxMomentum, groups.length);
    if (lastEpoch === -1) {
      for (const [i, group] of groups.entries()) {
        setRate(group, baseLrs[i]!);
        if (!cycleMomentum) continue;
        setMomentum(group, kind!, bases[i]!);
        if (takesBetas) Object.assign(group, { maxMomentum: most[i], baseMomentum: bases[i] });
      }
    }
    super(optimizer, lastEpoch, {
      max_lrs: maxLrs,
      total_size: up + down,
      step_ratio: up / (up + down),
      mode,
      gamma,
      _scale_fn_custom: null,
      scale_mode: scaleFn !== null ? given.scaleMode : mode === 'exp_range' ? 'iterations' : 'cycle',
      cycle_momentum: cycleMomentum,
      ...(cycleMomentum && takesBetas ? { use_beta1: kind === 'betas' } : {}),
      ...(cycleMomentum ? { base_momentums: bases, max_momentums: most } : {}),
    });
    this.#scale = scaleFn;
    this.#kind = kind;
    this.start();
    this.baseLrs = baseLrs;
  }

  #factor(x: number): number {
    const { mode, gamma } = this._own;
    if (this.#scale !== null) return resultOf(this, 'scaleFn', () => this.#scale!(x));
    if (mode === 'triangular') return 1;
    return mode === 'triangular2' ? 1 / pow(2, x - 1) : pow(gamma, x);
  }

  getLr(): number[] {
    const own = this._own;
    const cycle = Math.floor(1 + this.lastEpoch / own.total_size);
    const x = 1 + this.lastEpoch / own.total_size - cycle;
    const height = x <= own.step_ratio ? x / own.step_ratio : (x - 1) / (own.step_ratio - 1);
    const scale = () => this.#factor(own.scale_mode === 'cycle' ? cycle : this.lastEpoch);
    const rates = this.baseLrs.map((base, i) => base + (own.max_lrs[i]! - base) * height * scale());
    if (own.cycle_momentum) {
      for (const [i, group] of groupsOf(this.optimizer).entries()) {
        const most = own.max_momentums![i]!;
        setMomentum(group, this.#kind!, most - (most - own.base_momentums![i]!) * height * scale());
      }
    }
    return rates;
  }
}

/** The arguments of `OneCycleLR`. */
export interface OneCycleLROptions {
  /** The largest rate. */
  maxLr: PerGroup;
  /** The steps of the cycle; or `epochs` and `stepsPerEpoch`. */
  totalSteps?: number | null;
  epochs?: number | null;
  stepsPerEpoch?: number | null;
  /** The part of the cycle in which the rate grows. Default: 0.3. */
  pctStart?: number;
  /** Default: 'cos'. */
  annealStrategy?: 'cos' | 'linear';
  /** Change the momentum, against the rate. Default: true. */
  cycleMomentum?: boolean;
  /** The smallest momentum. Default: 0.85. */
  baseMomentum?: PerGroup;
  /** The largest momentum. Default: 0.95. */
  maxMomentum?: PerGroup;
  /** The first rate is the largest divided by this. Default: 25. */
  divFactor?: number;
  /** The last rate is the first divided by this. Default: 1e4. */
  finalDivFactor?: number;
  /** Fall as long as grow, then to the last rate. Default: false. */
  threePhase?: boolean;
  /** The step to resume from. Default: -1, the beginning. */
  lastEpoch?: number;
}

interface Phase {
  end_step: number;
  start_lr: string;
  end_lr: string;
  start_momentum: string;
  end_momentum: string;
}

interface OneCycleState {
  total_steps: number;
  _schedule_phases: Phase[];
  _anneal_func_type?: string;
  cycle_momentum: boolean;
  use_beta1?: boolean;
}

/** Up within `part` of the steps, and down in one phase, or back to the first rate and further down. */
function phasesOf(part: number, total: number, threePhase: boolean): Phase[] {
  const rise: Phase = {
    end_step: part * total - 1,
    start_lr: 'initial_lr',
    end_lr: 'max_lr',
    start_momentum: 'max_momentum',
    end_momentum: 'base_momentum',
  };
  const fall: Phase = {
    end_step: total - 1,
    start_lr: 'max_lr',
    end_lr: 'min_lr',
    start_momentum: 'base_momentum',
    end_momentum: 'max_momentum',
  };
  if (!threePhase) return [rise, fall];
  const back: Phase = { ...fall, end_step: 2 * part * total - 2, end_lr: 'initial_lr' };
  return [rise, back, { ...rise, end_step: total - 1, end_lr: 'min_lr', end_momentum: 'max_momentum' }];
}

/** The checked arguments of OneCycleLR, and its number of steps. */
function oneCycleArguments(
  fn: string,
  args: Given<[maxLr: PerGroup, totalSteps?: number | null], OneCycleLROptions>,
): Required<OneCycleLROptions> & { total: number } {
  const given = read<OneCycleLROptions>(
    fn,
    {
      maxLr: undefined,
      totalSteps: null,
      epochs: null,
      stepsPerEpoch: null,
      pctStart: 0.3,
      annealStrategy: 'cos',
      cycleMomentum: true,
      baseMomentum: 0.85,
      maxMomentum: 0.95,
      divFactor: 25,
      finalDivFactor: 1e4,
      threePhase: false,
      lastEpoch: -1,
    },
    args,
  );
  const { pctStart: part, annealStrategy, cycleMomentum, divFactor, finalDivFactor, threePhase } = given;
  const isCount = (value: unknown) => Number.isInteger(value) && (value as number) > 0;
  if (given.totalSteps !== null) {
    demandThat(fn, isCount(given.totalSteps), 'totalSteps', 'an integer of 1 or more', given.totalSteps);
  } else {
    const { epochs, stepsPerEpoch } = given;
    demandThat(fn, isCount(epochs), 'epochs', 'an integer of 1 or more, or totalSteps', epochs);
    demandThat(fn, isCount(stepsPerEpoch), 'stepsPerEpoch', 'an integer of 1 or more', stepsPerEpoch);
  }
  const total = given.totalSteps ?? given.epochs! * given.stepsPerEpoch!;
  demand(
    fn,
    { pctStart: part, cycleMomentum, divFactor, finalDivFactor, threePhase },
    {
      pctStart: 'number',
      cycleMomentum: 'boolean',
      divFactor: 'number',
      finalDivFactor: 'number',
      threePhase: 'boolean',
    },
  );
  demandThat(fn, part >= 0 && part <= 1, 'pctStart', 'a number from 0 to 1', part);
  // Python divides by them, and by the length of the first phase: ZeroDivisionError.
  demandThat(fn, divFactor !== 0, 'divFactor', 'a number other than 0', divFactor);
  demandThat(fn, finalDivFactor !== 0, 'finalDivFactor', 'a number other than 0', finalDivFactor);
  demandThat(fn, part * total !== 1, 'pctStart', `a share of the ${total} steps other than one step`, part);
  const isKnown = ['cos', 'linear'].includes(annealStrategy);
  demandThat(fn, isKnown, 'annealStrategy', "'cos' or 'linear'", annealStrategy);
  return { ...given, total };
}

/** One cycle of the rate over the whole training: up, and far down. For a step after each batch. */
export class OneCycleLR extends LRScheduler<OneCycleState> {
  readonly #isCosine: boolean;

  constructor(
    optimizer: Optimizer<any>,
    ...args: Given<[maxLr: PerGroup, totalSteps?: number | null], OneCycleLROptions>
  ) {
    const fn = at('OneCycleLR');
    const given = oneCycleArguments(fn, args);
    const { total, pctStart: part, annealStrategy, cycleMomentum, divFactor, finalDivFactor, lastEpoch } = given;
    demandOptimizer(fn, optimizer);
    const groups = groupsOf(optimizer);
    const most = perGroup(fn, 'maxLr', given.maxLr, groups.length);
    const kind = momentumOf(optimizer);
    demandThat(fn, !cycleMomentum || kind !== undefined, 'cycleMomentum', needsMomentum, cycleMomentum);
    const maxMomentums = perGroup(fn, 'maxMomentum', given.maxMomentum, groups.length);
    const baseMomentums = perGroup(fn, 'baseMomentum', given.baseMomentum, groups.length);
    if (lastEpoch === -1) {
      for (const [i, group] of groups.entries()) {
        group.initialLr = most[i]! / divFactor;
        group.maxLr = most[i];
        group.minLr = group.initialLr / finalDivFactor;
        if (!cycleMomentum) continue;
        setMomentum(group, kind!, maxMomentums[i]!);
        group.maxMomentum = maxMomentums[i];
        group.baseMomentum = baseMomentums[i];
      }
    }
    super(optimizer, lastEpoch, {
      total_steps: total,
      _schedule_phases: phasesOf(part, total, given.threePhase),
      ...(since(2, 0) ? { _anneal_func_type: annealStrategy } : {}),
      cycle_momentum: cycleMomentum,
      ...(cycleMomentum ? { use_beta1: kind === 'betas' } : {}),
    });
    this.#isCosine = annealStrategy === 'cos';
    this.start();
  }

  #between(start: number, end: number, part: number): number {
    if (!this.#isCosine) return (end - start) * part + start;
    return end + ((start - end) / 2) * (cos(Math.PI * part) + 1);
  }

  getLr(): number[] {
    const { total_steps: total, _schedule_phases: phases, cycle_momentum, use_beta1 } = this._own;
    const step = this.lastEpoch;
    if (step > total) {
      throw stepError(`${at('OneCycleLR')}.step`, `expected at most ${total} steps, got ${step + 1}`);
    }
    return groupsOf(this.optimizer).map((group) => {
      let start = 0;
      let phase = phases[0]!;
      for (phase of phases) {
        if (step <= phase.end_step || phase === phases.at(-1)) break;
        start = phase.end_step;
      }
      if (phase.end_step === start) {
        // Python: ZeroDivisionError. The rate would be NaN.
        throw stepError(`${at('OneCycleLR')}.step`, `expected at most ${total - 1} steps with pctStart 1, got ${step}`);
      }
      const part = (step - start) / (phase.end_step - start);
      const value = (from: string, to: string) => this.#between(group[camelCase(from)], group[camelCase(to)], part);
      const rate = value(phase.start_lr, phase.end_lr);
      if (cycle_momentum) {
        setMomentum(group, use_beta1 ? 'betas' : 'momentum', value(phase.start_momentum, phase.end_momentum));
      }
      return rate;
    });
  }
}
