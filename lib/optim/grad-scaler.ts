/**
 * torch.amp.GradScaler: scales losses so that small gradients do not become zero in float16, and skips steps whose gradients
 * overflowed. Python's torch/amp/grad_scaler.py; PyTorch and libtorch-node can load its state dicts. The formulas are those of
 * its kernels, which are missing on the CPU before libtorch 2.3, written with other ops: so one form serves every device and
 * release.
 */
import { byName, isOptions } from '../addon/options';
import { flagOf } from '../autograd/grad';
import { inGradMode } from '../autograd/mode';
import { failure, refuseRecording } from '../autograd/tuples';
import { warn } from '../call/warnings';
import * as cuda from '../cuda/index';
import { tensor } from '../elements/create';
import { argumentError } from '../errors/errors';
import { ownScope } from '../lifetimes/scope';
import { bare } from '../tensor/second-name';
import { isTensor, type Tensor } from '../tensor/tensor';
import { Optimizer } from './optimizer';

export interface GradScalerOptions {
  /** 'cuda', the default, or 'cpu'. */
  device?: 'cuda' | 'cpu' | undefined;
  /** The first scale. Default: 65,536. */
  initScale?: number | undefined;
  /** By which the scale grows after `growthInterval` steps without an overflow. Default: 2. */
  growthFactor?: number | undefined;
  /** By which the scale shrinks after an overflow. Default: 0.5. */
  backoffFactor?: number | undefined;
  /** Default: 2000. */
  growthInterval?: number | undefined;
  /** False makes `scale` return its argument, and `step` call that of the optimizer. Default: true. */
  enabled?: boolean | undefined;
}

/** Python's form. Empty if the scaler is disabled. */
export interface GradScalerState {
  scale?: number;
  growth_factor?: number;
  backoff_factor?: number;
  growth_interval?: number;
  _growth_tracker?: number;
}

/** A loss, or losses in arrays. */
export type Scalable = Tensor | readonly Scalable[];

const NAME = 'amp.GradScaler';
const names = ['device', 'initScale', 'growthFactor', 'backoffFactor', 'growthInterval', 'enabled'] as const;
const saved = {
  scale: 'scale',
  growth_factor: 'growthFactor',
  backoff_factor: 'backoffFactor',
  growth_interval: 'growthInterval',
  _growth_tracker: 'tracker',
} as const;

/** What happened to an optimizer's gradients since the last update. */
interface Stage {
  /** Null if no parameter had a gradient. */
  overflowed: boolean | null;
  isStepped: boolean;
}

function numberOf(name: string, value: unknown, expected = 'a number', fits = (_: number) => true): number {
  if (typeof value !== 'number' || !fits(value)) throw argumentError(NAME, name, expected, value);
  return value;
}

/** Arguments by position, in Python's order; options last. As in Python before 2.3, the device may be left out. */
function optionsOf(args: unknown[]): GradScalerOptions {
  return byName(NAME, names, 0, typeof args[0] === 'number' ? [undefined, ...args] : args);
}

/** Multiplies losses by a scale that it adapts. */
export class GradScaler {
  readonly #isEnabled: boolean;
  readonly #values: Record<(typeof saved)[keyof typeof saved], number>;
  #isUsed = false;
  #stages = new Map<Optimizer<any>, Stage>();

  constructor(options?: GradScalerOptions);
  constructor(
    device?: 'cuda' | 'cpu',
    initScale?: number | GradScalerOptions,
    growthFactor?: number | GradScalerOptions,
    backoffFactor?: number | GradScalerOptions,
    growthInterval?: number | GradScalerOptions,
    enabled?: boolean | GradScalerOptions,
  );
  constructor(...args: unknown[]) {
    const given = optionsOf(args);
    const {
      device = 'cuda',
      initScale = 2 ** 16,
      growthFactor = 2,
      backoffFactor = 0.5,
      growthInterval = 2000,
    } = given;
    if (device !== 'cuda' && device !== 'cpu') throw argumentError(NAME, 'device', "'cuda' or 'cpu'", device);
    const isWanted = flagOf(NAME, 'enabled', given.enabled, true);
    this.#isEnabled = isWanted && (device === 'cpu' || cuda.isAvailable());
    if (isWanted && !this.#isEnabled) {
      warn(`${NAME}: it is enabled, but CUDA is not available, so it is disabled; for the CPU pass { device: 'cpu' }`);
    }
    this.#values = {
      scale: Math.fround(numberOf('initScale', initScale)),
      growthFactor: numberOf('growthFactor', growthFactor, 'a number above 1', (value) => value > 1),
      backoffFactor: numberOf('backoffFactor', backoffFactor, 'a number below 1', (value) => value < 1),
      growthInterval: numberOf('growthInterval', growthInterval, 'an integer', Number.isInteger),
      tracker: 0,
    };
  }

  isEnabled(): boolean {
    return this.#isEnabled;
  }

  /** The losses times the scale. As in Python, a loss without dimensions gets one. */
  scale(outputs: Tensor): Tensor;
  scale<T extends Scalable>(outputs: T): T;
  scale(outputs: Scalable): Scalable {
    if (!this.#isEnabled) return outputs;
    this.#isUsed = true;
    const scaled = (given: Scalable): Scalable => {
      const value = bare(given);
      if (isTensor(value)) return ownScope(() => value.mul(this.#tensorOf(this.#values.scale, value)) as Tensor);
      if (Array.isArray(value)) return value.map(scaled);
      throw argumentError(`${NAME}.scale`, 'outputs', 'a Tensor or an array of Tensors', value);
    };
    return scaled(outputs);
  }

  #tensorOf(value: number, { device }: Tensor): Tensor {
    return tensor([value], { dtype: 'float32', device }) as Tensor;
  }

  /** Divides the gradients of an optimizer by the scale, to clip or inspect them before `step`. */
  unscale_(optimizer: Optimizer<any>): void {
    const fn = `${NAME}.unscale_`;
    this.#demand(fn, optimizer);
    if (!this.#isEnabled) return;
    this.#demandUse(fn);
    const stage = this.#stages.get(optimizer);
    if (stage?.isStepped) throw failure(fn, 'it is called after step()');
    if (stage !== undefined) throw failure(fn, 'it was already called for this optimizer since the last update()');
    this.#stages.set(optimizer, { overflowed: this.#unscale(fn, optimizer), isStepped: false });
  }

  /** Returns whether a gradient is not finite; null without gradients. */
  #unscale(fn: string, optimizer: Optimizer<any>): boolean | null {
    // The reciprocal in float64, rounded once: Python's.
    const inverse = Math.fround(1 / this.#values.scale);
    return inGradMode(false, () =>
      ownScope(() => {
        const grads = optimizer.paramGroups.flatMap(({ params }) => params.flatMap(({ grad }) => grad ?? []));
        if (grads.some(({ dtype }) => dtype === 'float16')) {
          throw failure(fn, 'expected gradients in float32, got float16: keep the parameters in float32');
        }
        const values = grads.map((grad) => (grad.isSparse ? grad._values() : grad) as Tensor);
        const finite = values.map((value) => value.isfinite().all() as Tensor);
        for (const value of values) value.mul_(this.#tensorOf(inverse, value));
        return grads.length === 0 ? null : finite.some((flag) => !flag.item());
      }),
    );
  }

  /** Unscales the gradients, unless `unscale_` did, and calls `optimizer.step(...args)` if all of them are finite. */
  step(optimizer: Optimizer<any>, ...args: unknown[]): unknown {
    const fn = `${NAME}.step`;
    this.#demand(fn, optimizer);
    if (!this.#isEnabled) return optimizer.step(...(args as []));
    if (args.length > 0) throw failure(fn, 'a closure is not supported if the scaler is enabled');
    this.#demandUse(fn);
    if (this.#stages.get(optimizer)?.isStepped) throw failure(fn, 'it was already called since the last update()');
    const isUnscaled = this.#stages.has(optimizer);
    if (!isUnscaled) this.unscale_(optimizer);
    const stage = this.#stages.get(optimizer)!;
    if (stage.overflowed === null) {
      if (!isUnscaled) this.#stages.delete(optimizer); // a step that throws changes nothing
      throw failure(fn, 'no parameter of the optimizer has a gradient');
    }
    const result = stage.overflowed ? undefined : optimizer.step();
    stage.isStepped = true;
    return result;
  }

  /** At the end of an iteration: shrinks the scale after an overflow, or lets it grow; or sets it. */
  update(newScale?: number | Tensor): void {
    const fn = `${NAME}.update`;
    refuseRecording(fn);
    if (!this.#isEnabled) return;
    this.#demandUse(fn);
    const values = this.#values;
    if (newScale !== undefined) {
      const given = bare(newScale);
      const value = isTensor(given) && given.numel === 1 ? given.item() : given;
      if (typeof value !== 'number') throw argumentError(fn, 'newScale', 'a number or a Tensor of one element', given);
      values.scale = Math.fround(value);
    } else {
      const checks = [...this.#stages.values()].map(({ overflowed }) => overflowed).filter((one) => one !== null);
      if (checks.length === 0) throw failure(fn, 'expected step() or unscale_() of gradients before');
      if (checks.includes(true)) {
        values.scale = Math.fround(values.scale * values.backoffFactor);
        values.tracker = 0;
      } else if (++values.tracker === values.growthInterval) {
        const grown = Math.fround(values.scale * values.growthFactor);
        if (Number.isFinite(grown)) values.scale = grown;
        values.tracker = 0;
      }
    }
    this.#stages = new Map();
  }

  #demand(fn: string, optimizer: unknown): void {
    refuseRecording(fn);
    if (!(optimizer instanceof Optimizer))
      throw argumentError(fn, 'optimizer', 'an optimizer of torch.optim', optimizer);
  }

  #demandUse(fn: string): void {
    if (!this.#isUsed) throw failure(fn, 'expected scale(loss) before, in this iteration');
  }

  /** 1 if the scaler is disabled. */
  getScale(): number {
    return this.#isEnabled ? this.#values.scale : 1;
  }

  getGrowthFactor(): number {
    return this.#values.growthFactor;
  }

  setGrowthFactor(value: number): void {
    this.#values.growthFactor = numberOf('growthFactor', value);
  }

  getBackoffFactor(): number {
    return this.#values.backoffFactor;
  }

  setBackoffFactor(value: number): void {
    this.#values.backoffFactor = numberOf('backoffFactor', value);
  }

  getGrowthInterval(): number {
    return this.#values.growthInterval;
  }

  setGrowthInterval(value: number): void {
    this.#values.growthInterval = numberOf('growthInterval', value, 'an integer', Number.isInteger);
  }

  /** After `update`, for a checkpoint. */
  stateDict(): GradScalerState {
    if (!this.#isEnabled) return {};
    return Object.fromEntries(Object.entries(saved).map(([key, name]) => [key, this.#values[name]]));
  }

  /** Takes a state of `stateDict`, of this library or of Python. Does nothing if the scaler is disabled. */
  loadStateDict(stateDict: GradScalerState): void {
    const fn = `${NAME}.loadStateDict`;
    if (!isOptions(stateDict)) throw argumentError(fn, 'stateDict', 'an object, as stateDict() gives it', stateDict);
    if (!this.#isEnabled) return;
    if (Object.keys(stateDict).length === 0) throw failure(fn, 'the state is empty: its scaler was disabled');
    const entries = Object.entries(saved).map(([key, name]) => {
      const value = (stateDict as Record<string, unknown>)[key];
      if (typeof value !== 'number') throw argumentError(fn, `stateDict.${key}`, 'a number', value);
      return [name, value] as const;
    });
    Object.assign(this.#values, Object.fromEntries(entries));
  }
}
