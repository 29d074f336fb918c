/** Hooks of modules, and `forward` as the call that runs them. */

import { types } from 'node:util';
import { AutogradFunction, type FunctionContext } from '../autograd/function';
import { requireAtMost } from '../errors/arity';
import { argumentError } from '../errors/errors';
import { asHook } from '../lifetimes/scope';
import { HookList } from '../tensor/hook-list';
import { bodyNow } from '../tensor/pending';
import { refusePromise } from '../tensor/promises';
import { isTensor, type Tensor } from '../tensor/tensor';
import { located } from './located';
import type { Module } from './module';

/** Gets the arguments of `forward`, and may return others: a list, or one value. */
export type ForwardPreHook<M extends Module = any> = (module: M, inputs: Parameters<M['forward']>) => unknown;
/** Gets the arguments and the result of `forward`, and may return another result. */
export type ForwardHook<M extends Module = any> = (
  module: M,
  inputs: Parameters<M['forward']>,
  output: ReturnType<M['forward']>,
) => unknown;
type Grads = (Tensor | null)[];
/** Gets the gradients of the arguments and results of `forward`, and may return other gradients of the arguments. */
export type FullBackwardHook<M extends Module = any> = (module: M, gradInput: Grads, gradOutput: Grads) => unknown;

/** The hooks that `forward` runs. */
export interface CallHooks {
  readonly pre: HookList<ForwardPreHook>;
  readonly after: HookList<ForwardHook>;
  readonly backward: HookList<FullBackwardHook>;
}

export const noCallHooks = (): CallHooks => ({
  pre: new HookList(),
  after: new HookList(),
  backward: new HookList(),
});

const isNothing = (value: unknown): value is null | undefined => value === null || value === undefined;

/** One call whose gradients hooks get. */
interface Call {
  readonly module: Module;
  readonly hooks: readonly FullBackwardHook[];
  gradOutput: Grads;
  /** The number of results of the hook that may replace gradients; null if no argument requires any. */
  inputs: number | null;
}

function runBackwardHooks(call: Call, grads: Grads): Grads {
  let current = grads;
  for (const hook of call.hooks) {
    const result = hook(call.module, [...current], call.gradOutput);
    refusePromise('registerFullBackwardHook', result);
    if (isNothing(result)) continue;
    const list = isTensor(result) ? [result] : (result as Grads);
    if (list.length !== current.length) {
      const expected = `${current.length} gradients, one for each argument of forward`;
      throw argumentError('registerFullBackwardHook', "the hook's result", expected, list);
    }
    current = [...list];
  }
  return current;
}

/** An identity whose backward calls `seen` with the gradients. */
class Watched extends AutogradFunction {
  static override forward(ctx: FunctionContext, seen: (grads: Grads) => Grads, ...tensors: Tensor[]): Tensor[] {
    ctx.seen = seen;
    ctx.setMaterializeGrads(false);
    const plain = tensors.map((tensor) => tensor.detach() as Tensor);
    ctx.markNonDifferentiable(...plain.filter((_, i) => ctx.needsInputGrad[i + 1] !== true));
    return plain;
  }

  static override backward(ctx: FunctionContext, ...grads: Grads): Grads {
    return [null, ...(ctx.seen as (grads: Grads) => Grads)(grads)];
  }
}

/** Passes the tensors of a list through `Watched`. */
function watched(values: readonly unknown[], seen: (grads: Grads) => Grads): unknown[] {
  const tensors = values.filter(isTensor);
  const results = Watched.apply(seen, ...tensors) as Tensor[];
  let next = 0;
  return values.map((value) => (isTensor(value) ? results[next++] : value));
}

const needsGradients = (values: readonly unknown[]) => values.some((value) => isTensor(value) && value.requiresGrad);

function watchInputs(call: Call, inputs: unknown[]): unknown[] {
  if (!needsGradients(inputs)) return inputs;
  call.inputs = inputs.filter(isTensor).length;
  return watched(inputs, (grads) => runBackwardHooks(call, grads));
}

function watchResult(call: Call, result: unknown, inputs: readonly unknown[]): unknown {
  const list = Array.isArray(result) ? result : [result];
  if (!needsGradients(list)) return result;
  const made = watched(list, (grads) => {
    call.gradOutput = grads;
    if (call.inputs === null)
      runBackwardHooks(
        call,
        inputs.filter(isTensor).map(() => null),
      );
    return grads;
  });
  return Array.isArray(result) ? made : made[0];
}

type Forward = (this: Module, ...inputs: unknown[]) => unknown;

/** Runs `forward` between the hooks, as Python's `Module.__call__`. */
function callWithHooks(module: Module, forward: Forward, passed: unknown[], hooks: CallHooks): unknown {
  let inputs = passed;
  for (const hook of hooks.pre.all()) {
    const given = inputs;
    const changed = asHook(given, () => hook(module, given));
    refusePromise('registerForwardPreHook', changed);
    if (!isNothing(changed)) inputs = Array.isArray(changed) ? changed : [changed];
  }
  const call: Call | null =
    hooks.backward.size === 0 ? null : { module, hooks: hooks.backward.all(), gradOutput: [], inputs: null };
  if (call !== null) inputs = watchInputs(call, inputs);
  let result = forward.apply(module, inputs);
  for (const hook of hooks.after.all()) {
    const output = result;
    const changed = asHook([inputs, output], () => hook(module, inputs, output));
    if (!types.isPromise(result)) refusePromise('registerForwardHook', changed);
    if (!isNothing(changed)) result = changed;
  }
  return call === null ? result : watchResult(call, result, inputs);
}

const prepared = new WeakSet<object>();

/** The most inputs of the built-in layers' `forward`. A class of the program takes what it likes, as any function. */
const mostInputs = new WeakMap<object, number>();

/** Sets how many inputs `forward` of a class takes: those that it declares, if the count is omitted. */
export function takesInputs(cls: { readonly prototype: { forward: unknown } }, count?: number): void {
  const forward = cls.prototype.forward as Forward;
  mostInputs.set(forward, count ?? forward.length);
}

/** `forward` of a class as the call of a module: runs hooks, and names the layer in errors. */
function asCall(forward: Forward): Forward {
  const most = mostInputs.get(forward) ?? Number.POSITIVE_INFINITY;
  const call = function (this: Module, ...inputs: unknown[]): unknown {
    // Not for super.forward(…) and other calls of a method that the module overrides: the module's own call does both.
    if (this?.forward !== call) return forward.apply(this, inputs);
    bodyNow()?.onModule?.(this);
    try {
      if (inputs.length > most) requireAtMost(`nn.${this.constructor.name}.forward`, most, inputs);
      const hooks = this._callHooks;
      return hooks === null ? forward.apply(this, inputs) : callWithHooks(this, forward, inputs, hooks);
    } catch (error) {
      throw located(error, this);
    }
  };
  prepared.add(call);
  return Object.defineProperties(call, {
    name: { value: forward.name, configurable: true },
    length: { value: forward.length, configurable: true },
  });
}

/** Makes `forward` of an object, a class's prototype or a module with a `forward` of its own, the call. */
export function prepareOwn(object: object): void {
  const forward = Object.getOwnPropertyDescriptor(object, 'forward');
  if (forward === undefined || typeof forward.value !== 'function' || prepared.has(forward.value)) return;
  Object.defineProperty(object, 'forward', { ...forward, value: asCall(forward.value) });
}

/** Prepares the classes of a new module, from its own up to Module. Each class is prepared once. */
export function prepareClasses(prototype: object, base: object): void {
  for (let at = prototype; at !== base && !prepared.has(at); at = Object.getPrototypeOf(at)) {
    prepareOwn(at);
    prepared.add(at);
  }
}
