/**
 * torch.optim.Optimizer: parameter groups, state, steps. State belongs to the optimizer, whichever scope is current; a step
 * leaves no other tensor behind. Python's torch/optim/optimizer.py.
 */
import { inspect as inspectValue } from 'node:util';
import { native } from '../addon/native';
import { ownOptions } from '../addon/options';
import { inGradMode } from '../autograd/mode';
import { refuseRecording } from '../autograd/tuples';
import { argumentError, codedError, disposedError, refusal, type TorchError } from '../errors/errors';
import { ownScope } from '../lifetimes/scope';
import { asUser } from '../lifetimes/user-code';
import { disposesMore } from '../tensor/places';
import { refusePromise } from '../tensor/promises';
import { isTensor, type Tensor } from '../tensor/tensor';
import type { Due } from './fused';
import {
  completed,
  demandGroups,
  type Filled,
  type GivenGroup,
  groupsOf,
  type OwnGroup,
  type ParamGroup,
  type Params,
} from './groups';
import {
  type OptimizerHookHandle,
  type OptimizerHookOptions,
  OptimizerHooks,
  type OptimizerStateDictHook,
  type StepHook,
} from './hooks';
import { isEmpty, type NeedsOf, wrongIn } from './needs';
import { camelCase, cast, copied, type OptimizerStateDict, owned, type ParamState, packed, read } from './state-dict';

const inspect = Symbol.for('nodejs.util.inspect.custom');

export interface ZeroGradOptions {
  /** Drop the gradients instead of filling them with zeros. Default: true. */
  setToNone?: boolean | undefined;
}

/** Puts a state that needs no check. */
const setOf = Map.prototype.set;

/** Schedulers count the steps, for Python's warning about their order. */
export const stepCounts = new WeakMap<Optimizer<any>, number>();

/**
 * The base of all optimizers. A class of one's own has `begin`, which makes the state of a parameter, and `update`, which
 * changes the parameter; see docs/optim.md.
 */
export abstract class Optimizer<O extends object = Record<string, any>> {
  /** The options of groups that do not have their own. */
  readonly defaults: Filled<O>;
  /** The groups. Their options may be changed at any time: `optimizer.paramGroups[0].lr = 0.01`. */
  paramGroups: ParamGroup<O>[] = [];
  /** The state of each parameter that took part in a step, under Python's names. */
  readonly state = new Map<Tensor, ParamState>();
  /** Parameters whose state the optimizer did not make: it is checked once, before the next step that uses it. */
  readonly #unchecked = new Set<Tensor>();
  readonly #hooks = new OptimizerHooks();
  #isDisposed = false;

  constructor(params: Params<O>, defaults: O) {
    const fn = this._name();
    if (typeof defaults !== 'object' || defaults === null) throw argumentError(fn, 'defaults', 'an object', defaults);
    this.defaults = { ...defaults } as Filled<O>;
    // Also a program may put a state here. Not enumerable, so that it prints and compares as any Map.
    const set = (parameter: Tensor, state: ParamState) => {
      this.#unchecked.add(parameter);
      return setOf.call(this.state, parameter, state) as typeof this.state;
    };
    Object.defineProperty(this.state, 'set', { value: set, writable: true, configurable: true });
    for (const group of groupsOf<O>(fn, params)) this.#add(fn, group);
  }

  /** @internal "optim.Adam", for messages. */
  _name(method = ''): string {
    return `optim.${this.constructor.name}${method === '' ? '' : `.${method}`}`;
  }

  /** Adds a group, such as layers that are trained from now on. */
  addParamGroup(group: GivenGroup<O>): void {
    this.#add(this._name('addParamGroup'), group);
  }

  #add(fn: string, given: GivenGroup<O>): void {
    const taken = this.paramGroups.flatMap(({ params }) => params);
    const group = completed<O>(fn, given, this.defaults as Record<string, unknown>, taken);
    const [first] = this.paramGroups;
    const isNamed = (one: ParamGroup<O>) => (one as { paramNames?: unknown }).paramNames !== undefined;
    if (first !== undefined && isNamed(first) !== isNamed(group)) {
      throw refusal(fn, 'params', 'a name for the parameters of all groups or of none', 'a group that differs');
    }
    this.paramGroups.push(group);
  }

  /**
   * Updates all parameters that have a gradient. `closure` computes the loss and its gradients again, with gradients recorded;
   * the step returns its result.
   */
  step(closure?: undefined): undefined;
  step<T>(closure: () => T): T;
  step<T>(closure?: () => T): T | undefined {
    const fn = this._name('step');
    return this._whole(fn, closure, () => {
      const result = closure === undefined ? undefined : this._loss(fn, closure);
      this._demandOptions(fn);
      this.#demandStates(fn);
      // One group is checked when its step begins.
      if (this.paramGroups.length > 1) for (const group of this.paramGroups) this._demandUsable(fn, group);
      const enabled = (this.defaults as { differentiable?: unknown }).differentiable === true;
      inGradMode(enabled, () => {
        for (const group of this.paramGroups) ownScope(() => this.#stepGroup(fn, group));
      });
      return result;
    });
  }

  /** @internal A step with its checks and hooks. */
  _whole<T>(fn: string, closure: unknown, body: () => T): T {
    refuseRecording(fn);
    this.#demandLive(fn);
    if (closure !== undefined && typeof closure !== 'function')
      throw argumentError(fn, 'closure', 'a function', closure);
    this.#hooks.before.call(this);
    this.#demandLive(fn); // a hook may dispose it
    demandGroups(fn, this.paramGroups);
    const result = body();
    this.#hooks.after.call(this);
    const count = stepCounts.get(this);
    if (count !== undefined) stepCounts.set(this, count + 1);
    return result;
  }

  #demandLive(fn: string): void {
    if (this.#isDisposed) throw codedError(Error, 'ERR_TORCH_DISPOSED', `${fn}: the optimizer was disposed`);
  }

  /** @internal Calls the closure, in the caller's scope. */
  _loss<T>(fn: string, closure: () => T): T {
    const result = inGradMode(true, () => asUser(closure));
    refusePromise(fn, result);
    this.#demandLive(fn);
    demandGroups(fn, this.paramGroups);
    return result;
  }

  /** @internal The group as formulas take it. */
  _inNumbers(group: ParamGroup<O>): ParamGroup<O> {
    return group;
  }

  #stepGroup(fn: string, given: ParamGroup<O>): void {
    const group = this._inNumbers(given);
    if (this._stepAtOnce(group)) return;
    if (this.paramGroups.length === 1) this._demandUsable(fn, group);
    // All states are there before the first parameter changes, so that a gradient that is refused changes nothing.
    const due: Due[] = [];
    const fresh: Due[] = [];
    for (const parameter of group.params) {
      const { grad } = parameter;
      if (grad === null) continue;
      this._accept(fn, parameter, grad, group);
      let state = this.state.get(parameter);
      if (state === undefined || isEmpty(state)) {
        // An empty one stays the same object: it may be that of the same parameter earlier in this group.
        state ??= {};
        for (const [key, value] of Object.entries(this.#begun(parameter, group, grad))) {
          state[key] = isTensor(value) ? owned(value) : value;
        }
        setOf.call(this.state, parameter, state);
        fresh.push({ parameter, grad, state });
      }
      due.push({ parameter, grad, state });
    }
    if (!this._updateAll(due, group)) {
      for (const { parameter, grad, state } of due) {
        ownScope(() => {
          refusePromise(this._name('update'), this.update(parameter, grad, state, group));
        });
      }
    }
    // As in Python, a parameter that needs no state has no entry.
    for (const { parameter, state } of fresh) if (Object.keys(state).length === 0) this.state.delete(parameter);
  }

  /** The result of `begin`, which a class of the program may define. */
  #begun(parameter: Tensor, group: ParamGroup<O>, grad: Tensor): ParamState {
    const state: unknown = this.begin(parameter, group, grad);
    refusePromise(this._name('begin'), state);
    if (typeof state === 'object' && state !== null && !isTensor(state)) return state as ParamState;
    throw argumentError(this._name('begin'), 'result', 'an object', state);
  }

  /** @internal Refuses options of groups that were given values of another kind. */
  _demandOptions(_fn: string): void {}

  /**
   * @internal Refuses a step whose parameters, or tensors of their states, were disposed, or whose states lack what the options
   * need now, before it changes one.
   */
  _demandUsable(fn: string, group: ParamGroup<O>): void {
    const needs = this._needs(group);
    for (const parameter of group.params) {
      if (parameter.disposed) throw disposedError(fn, parameter._handle, 'params');
      const state = this.state.get(parameter);
      if (state === undefined) continue;
      for (const value of Object.values(state)) {
        if (isTensor(value) && value.disposed && parameter.grad !== null)
          throw disposedError(fn, value._handle, 'state');
      }
      this.#demandState(fn, parameter, state, needs, true);
    }
  }

  /** Refuses states from outside that do not fit, before any step, also a native one, uses them. */
  #demandStates(fn: string): void {
    if (this.#unchecked.size === 0) return;
    for (const group of this.paramGroups) {
      const needs = this._needs(group);
      for (const parameter of group.params) {
        if (!this.#unchecked.has(parameter) || parameter.disposed || parameter.grad === null) continue;
        const state = this.state.get(parameter);
        if (state !== undefined) this.#demandState(fn, parameter, state, needs, false);
        this.#unchecked.delete(parameter);
      }
    }
  }

  #demandState(fn: string, parameter: Tensor, state: ParamState, needs: NeedsOf | undefined, known: boolean): void {
    if (needs === undefined || isEmpty(state)) return;
    const wrong = wrongIn(state, needs(parameter), parameter, known);
    // Asked last: a gradient is slow to get.
    if (wrong !== null && parameter.grad !== null) throw this._badState(fn, parameter, wrong);
  }

  /** @internal The error of a state with which the formula cannot go on. */
  _badState(fn: string, parameter: Tensor, text: string): TorchError {
    const number = this.paramGroups.flatMap(({ params }) => params).indexOf(parameter);
    return unfit(fn, `state of parameter ${number}: ${text}`);
  }

  /** @internal What the formula reads from the states of a group's parameters, if that is known. */
  _needs(_group: ParamGroup<O>): NeedsOf | undefined {
    return undefined;
  }

  /** @internal The whole step in one native call, for the formulas that have one. False if it changed nothing. */
  _stepAtOnce(_group: ParamGroup<O>): boolean {
    return false;
  }

  /** @internal Changes all parameters that are due, by fused ops. False if the group does not use them. */
  _updateAll(_due: readonly Due[], _group: ParamGroup<O>): boolean {
    return false;
  }

  /** @internal Refuses a gradient that the formula does not take. */
  _accept(_fn: string, _parameter: Tensor, _grad: Tensor, _group: ParamGroup<O>): void {}

  /** The first state of a parameter, under the names that the state dict uses. The optimizer owns its tensors. */
  protected begin(_parameter: Tensor, _group: OwnGroup<O>, _grad: Tensor): ParamState {
    return {};
  }

  /** Changes a parameter and its state. Gradients are not recorded; other tensors that are made are released. */
  protected update(_parameter: Tensor, _grad: Tensor, _state: ParamState, _group: OwnGroup<O>): void {
    const fn = this._name();
    throw codedError(Error, 'ERR_TORCH_NOT_IMPLEMENTED', `${fn}: expected a class with a method update`);
  }

  /** Clears the gradients: drops them, or fills them with zeros. */
  zeroGrad(options: ZeroGradOptions = {}): void {
    const fn = this._name('zeroGrad');
    const { setToNone = true } = ownOptions(fn, options, ['setToNone']);
    if (typeof setToNone !== 'boolean') throw argumentError(fn, 'setToNone', 'a boolean', setToNone);
    demandGroups(fn, this.paramGroups);
    ownScope(() => {
      for (const { params } of this.paramGroups) {
        for (const parameter of params) {
          if (setToNone) {
            parameter.grad = null;
            continue;
          }
          const { grad } = parameter;
          if (grad === null) continue;
          if (grad.gradFn === null) grad.requiresGrad = false;
          else grad.detach_();
          grad.zero_();
        }
      }
    });
  }

  /** The state in Python's form; its tensors are those of the optimizer, not copies. For torch.save and loadStateDict. */
  stateDict(): OptimizerStateDict {
    return this.#hooks.stateDict(this._name('stateDict'), this, () => packed(this.paramGroups, this.state));
  }

  /** Takes a copy of a state of stateDict, of this library or of Python, with the options of its groups. */
  loadStateDict(stateDict: object): void {
    const fn = this._name('loadStateDict');
    this.#demandLive(fn);
    this.#hooks.load(fn, this, stateDict, (dict) => this.#load(fn, dict));
  }

  #load(fn: string, stateDict: object): void {
    const saved = read(fn, stateDict, this.paramGroups);
    const byNumber = new Map<unknown, Tensor>();
    for (const [i, { params }] of saved.groups.entries()) {
      const here = this.paramGroups[i]!.params;
      for (const [n, number] of (params as unknown[]).entries()) byNumber.set(Number(number), here[n]!);
    }
    const state = new Map<Tensor, ParamState>();
    for (const [number, values] of saved.state) {
      const parameter = byNumber.get(Number(number));
      if (parameter === undefined) {
        throw refusal(fn, 'stateDict.state', 'the parameters of its groups as keys', String(number));
      }
      if (typeof values !== 'object' || values === null || isTensor(values)) {
        throw argumentError(fn, `stateDict.state[${number}]`, 'an object', values);
      }
      state.set(parameter, this._fromOther(cast(parameter, values) as ParamState));
    }
    this.paramGroups = saved.groups.map((group, i) => {
      const { params: _, ...options } = group;
      const own = (value: unknown) =>
        isTensor(value) ? owned(ownScope(() => value.detach().clone() as Tensor)) : copied(value);
      const named = Object.entries(options).map(([name, value]) => [camelCase(name), own(value)]);
      return { ...this._otherDefaults(), ...Object.fromEntries(named), params: this.paramGroups[i]!.params };
    });
    this.state.clear();
    for (const [parameter, values] of state) this.state.set(parameter, values);
  }

  /** @internal The options that a file of an older release lacks. */
  _otherDefaults(): Record<string, unknown> {
    return {};
  }

  /** @internal The state of a file of another release, in the form of this one. */
  _fromOther(state: ParamState): ParamState {
    return state;
  }

  /** Calls `hook` before each step. */
  registerStepPreHook(hook: StepHook): OptimizerHookHandle {
    return this.#hooks.before.add(this._name('registerStepPreHook'), hook);
  }

  /** Calls `hook` after each step. */
  registerStepPostHook(hook: StepHook): OptimizerHookHandle {
    return this.#hooks.after.add(this._name('registerStepPostHook'), hook);
  }

  /** Calls `hook` before each `stateDict()`. */
  registerStateDictPreHook(hook: StepHook, options?: OptimizerHookOptions): OptimizerHookHandle {
    return this.#hooks.beforeStateDict.add(this._name('registerStateDictPreHook'), hook, options);
  }

  /** Calls `hook` with the result of each `stateDict()`. */
  registerStateDictPostHook(hook: OptimizerStateDictHook, options?: OptimizerHookOptions): OptimizerHookHandle {
    return this.#hooks.afterStateDict.add(this._name('registerStateDictPostHook'), hook, options);
  }

  /** Calls `hook` with what is passed to each `loadStateDict`. */
  registerLoadStateDictPreHook(hook: OptimizerStateDictHook, options?: OptimizerHookOptions): OptimizerHookHandle {
    return this.#hooks.beforeLoad.add(this._name('registerLoadStateDictPreHook'), hook, options);
  }

  /** Calls `hook` after each `loadStateDict`. */
  registerLoadStateDictPostHook(hook: StepHook, options?: OptimizerHookOptions): OptimizerHookHandle {
    return this.#hooks.afterLoad.add(this._name('registerLoadStateDictPostHook'), hook, options);
  }

  /** Releases the state now, also the tensors of state dicts that were taken; the parameters stay. */
  dispose(): void {
    this.#isDisposed = true;
    for (const values of this.state.values()) release(values);
    this.state.clear();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  /** @internal */
  get [disposesMore](): true {
    return true;
  }

  toString(): string {
    const groups = this.paramGroups.map((group, i) => {
      const { params: _, ...options } = group as Record<string, unknown>;
      const lines = Object.keys(options)
        .sort()
        .map((name) => `    ${name}: ${inspectValue(options[name])}\n`);
      return `Parameter Group ${i}\n${lines.join('')}`;
    });
    return `${this.constructor.name} (\n${groups.join('\n')})`;
  }

  [inspect](): string {
    return this.toString();
  }
}

/** Frees the tensors of a state. */
export function release(value: unknown): void {
  if (isTensor(value)) native.free(value._handle);
  else if (typeof value === 'object' && value !== null) for (const element of Object.values(value)) release(element);
}

/** The error of a gradient or a mode that a formula does not have: Python's RuntimeError. */
export const unfit = (fn: string, text: string): TorchError =>
  Object.assign(codedError(Error, 'ERR_TORCH_RUNTIME', `${fn}: ${text}`), { op: fn });
