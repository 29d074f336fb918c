/** Hooks of optimizers: functions that are called around steps and around state dicts. */
import { argumentError } from '../errors/errors';
import { asUser } from '../lifetimes/user-code';
import { type HookHandle, HookList, type HookOptions } from '../tensor/hook-list';
import { refusePromise } from '../tensor/promises';
import type { Optimizer } from './optimizer';
import type { OptimizerStateDict } from './state-dict';

/** Gets the optimizer before or after each step. */
export type StepHook = (optimizer: Optimizer<any>) => void;

/** Gets a state dict, and may return another one in its place. */
export type OptimizerStateDictHook = (optimizer: Optimizer<any>, stateDict: any) => object | undefined;

export type OptimizerHookHandle = HookHandle;
export type OptimizerHookOptions = HookOptions;

/** The hooks of one kind. They run in the caller's scope. */
class Hooks<F extends (optimizer: Optimizer<any>, ...more: any[]) => unknown> extends HookList<F> {
  /** Calls all of them. */
  call(optimizer: Optimizer<any>): void {
    for (const hook of this.all()) asUser(() => hook(optimizer));
  }

  /** Calls all of them with a state dict, and gives that of the last one that returned another. */
  pass<T extends object>(fn: string, optimizer: Optimizer<any>, given: T): T {
    let dict = given;
    for (const hook of this.all()) {
      const result = asUser(() => hook(optimizer, dict));
      refusePromise(fn, result);
      if (result === undefined || result === null) continue;
      if (typeof result !== 'object') throw argumentError(fn, "hook's result", 'a state dict or undefined', result);
      dict = result as T;
    }
    return dict;
  }
}

/** All kinds of hooks that an optimizer has. */
export class OptimizerHooks {
  readonly before = new Hooks<StepHook>();
  readonly after = new Hooks<StepHook>();
  readonly beforeStateDict = new Hooks<StepHook>();
  readonly afterStateDict = new Hooks<OptimizerStateDictHook>();
  readonly beforeLoad = new Hooks<OptimizerStateDictHook>();
  readonly afterLoad = new Hooks<StepHook>();

  /** Makes a state dict between its hooks. */
  stateDict(fn: string, optimizer: Optimizer<any>, make: () => OptimizerStateDict): OptimizerStateDict {
    this.beforeStateDict.call(optimizer);
    return this.afterStateDict.pass(fn, optimizer, make());
  }

  /** Loads a state dict between its hooks. They get a copy of its outer object, as in Python. */
  load(fn: string, optimizer: Optimizer<any>, given: object, load: (stateDict: object) => void): void {
    const isPlain = typeof given === 'object' && given !== null && !(given instanceof Map);
    load(this.beforeLoad.size === 0 || !isPlain ? given : this.beforeLoad.pass(fn, optimizer, { ...given }));
    this.afterLoad.call(optimizer);
  }
}
