/** torch.autograd.Function: an op with user-defined forward and backward. */

import type { Parts } from '../../types/base';
import { native } from '../addon/native';
import { argumentError, codedError, describe, disposedError, refusal } from '../errors/errors';
import { restoring } from '../errors/restoring';
import { asUser } from '../lifetimes/user-code';
import { isTensor, type Tensor, wrapElement } from '../tensor/tensor';
import { gradientHandle } from './hooks';
import { handlesOf } from './lists';

// Not methods: a program that called them would end a node twice, which native code does not expect.
/** Ends forward: the results as graph outputs, null for those that are the given tensors themselves. */
let endForward: (
  ctx: FunctionContext,
  outputs: readonly Tensor[],
  needsSaved: boolean,
  backward: (raws: unknown[]) => number[],
) => (Tensor | null)[];
/** Forward failed. */
let cancelForward: (ctx: FunctionContext) => void;
let nameOf: (ctx: FunctionContext) => string;

/** What a forward may save, if backward reads `S`. */
type Saving<S extends readonly (Tensor | null)[]> = S extends Parts<Tensor> ? Tensor[] : S;

/**
 * Passes data from forward to backward. Any other property may be set on it too. `Saved`: what `savedTensors` gives, for a forward
 * that saves null.
 */
export class FunctionContext<Saved extends readonly (Tensor | null)[] = Parts<Tensor>> {
  /** Which arguments of forward are tensors that require gradients. */
  readonly needsInputGrad: readonly boolean[];
  /** @internal */
  #node: unknown;
  #name: string;
  #saved: readonly (Tensor | null)[] = [];
  #dirty: readonly Tensor[] = [];
  #nonDifferentiable: readonly Tensor[] = [];
  #materialize = true;
  [key: string]: unknown;

  /** @internal */
  constructor(name: string, node: unknown, needsInputGrad: readonly boolean[]) {
    this.#name = name;
    this.#node = node;
    this.needsInputGrad = needsInputGrad;
  }

  /** Saves arguments and results of forward for backward, which reads them from `savedTensors`. */
  saveForBackward(...tensors: Saving<Saved>): void {
    requireAll('ctx.saveForBackward', 'a Tensor or null', tensors, true);
    this.#saved = tensors;
  }

  /**
   * The tensors that forward saved, in backward. Throws if one was modified since, or if they were freed by a backward that
   * did not retain the graph.
   */
  get savedTensors(): Saved {
    return native.functionSaved(this.#node).map(wrapElement) as readonly (Tensor | null)[] as Saved;
  }

  /** Declares that forward modified these arguments; it must return them. */
  markDirty(...tensors: Tensor[]): void {
    requireAll('ctx.markDirty', 'a Tensor', tensors);
    this.#dirty = tensors;
  }

  /** Declares that these results have no gradients. */
  markNonDifferentiable(...tensors: Tensor[]): void {
    requireAll('ctx.markNonDifferentiable', 'a Tensor', tensors);
    this.#nonDifferentiable = tensors;
  }

  /** Whether backward gets zeros (default) or null for the gradient of an unused result. */
  setMaterializeGrads(value: boolean): void {
    if (typeof value !== 'boolean') throw argumentError('ctx.setMaterializeGrads', 'value', 'a boolean', value);
    this.#materialize = value;
  }

  static {
    endForward = (ctx, outputs, needsSaved, backward) => {
      const saved = ctx.#saved;
      ctx.#saved = []; // owned by the node from now on
      const lists = [outputs, saved, ctx.#dirty, ctx.#nonDifferentiable].map(handlesOf);
      ctx.#dirty = ctx.#nonDifferentiable = [];
      const [results, kept, dirty, plain] = lists as [number[], number[], number[], number[]];
      const node = ctx.#node;
      const raws = native.functionEnd(node, results, kept, dirty, plain, ctx.#materialize, needsSaved, backward);
      return raws.map(wrapElement);
    };
    cancelForward = (ctx) => {
      ctx.#saved = ctx.#dirty = ctx.#nonDifferentiable = []; // the program may keep it
      native.functionCancel(ctx.#node);
    };
    nameOf = (ctx) => ctx.#name;
  }
}

/** Python's names, which would be new properties or undefined. */
const pythons = {
  save_for_backward: 'saveForBackward',
  saved_tensors: 'savedTensors',
  needs_input_grad: 'needsInputGrad',
  mark_dirty: 'markDirty',
  mark_non_differentiable: 'markNonDifferentiable',
  set_materialize_grads: 'setMaterializeGrads',
};
for (const [name, here] of Object.entries(pythons)) {
  const refuse = () => {
    throw codedError(TypeError, 'ERR_TORCH_NAME', `ctx.${name} is not a name here: write ${here}`);
  };
  Object.defineProperty(FunctionContext.prototype, name, { get: refuse, set: refuse, configurable: true });
}

function requireLive(fn: string, argument: string, expected: string, value: unknown): asserts value is Tensor {
  if (!isTensor(value)) throw argumentError(fn, argument, expected, value);
  if (value.disposed) throw disposedError(fn, value._handle, argument);
}

function requireAll(fn: string, expected: string, tensors: readonly unknown[], isNullable = false): void {
  for (const [i, tensor] of tensors.entries()) {
    if (tensor !== null || !isNullable) requireLive(fn, `tensors[${i}]`, expected, tensor);
  }
}

/**
 * Set on a class whose backward always reads `savedTensors` first. So it cannot run once they are freed, and what it refers to is
 * freed with them.
 */
export const NEEDS_SAVED = Symbol('needsSaved');

/** A class with forward and backward. */
interface FunctionClass {
  readonly name: string;
  readonly [NEEDS_SAVED]?: true;
  forward(ctx: FunctionContext, ...args: never[]): unknown;
  backward(ctx: FunctionContext, ...grads: never[]): unknown;
}

/** What backward needs from the call; the arguments themselves are not kept. */
interface Shape {
  readonly cls: FunctionClass;
  readonly ctx: FunctionContext;
  /** For each argument of forward, whether it is a tensor. */
  readonly inputs: readonly boolean[];
  /** The same for each result. */
  outputs: readonly boolean[];
}

/** The node's callback: converts gradients of the tensor results to gradients of the tensor arguments. */
const backwardOf = (shape: Shape) => (raws: unknown[]) => {
  const { cls, ctx, inputs, outputs } = shape;
  const name = nameOf(ctx);
  const given = raws.map(wrapElement);
  let next = 0;
  const grads = outputs.map((isOne) => (isOne ? given[next++]! : null));
  const result = asUser(() => (cls.backward as (...args: unknown[]) => unknown).call(cls, ctx, ...grads));
  const list: unknown[] = Array.isArray(result) ? [...result] : [result ?? null];
  while (list.length > inputs.length && (list.at(-1) ?? null) === null) list.pop();
  if (list.length !== inputs.length) {
    const expected = `one gradient for each of the ${inputs.length} arguments of forward (null for none)`;
    throw refusal(`${name}.backward`, 'result', expected, String(list.length));
  }
  const handles: number[] = [];
  inputs.forEach((isOne, i) => {
    const place = `result[${i}]`;
    if (isOne) handles.push(gradientHandle(`${name}.backward`, place, list[i]));
    else if ((list[i] ?? null) !== null) {
      throw argumentError(`${name}.backward`, place, 'null, since that argument of forward is not a Tensor', list[i]);
    }
  });
  return handles;
};

function runForward(shape: Shape, args: readonly unknown[]): unknown {
  const before = native.gradEnabled();
  return restoring(
    () => native.setGradEnabled(before),
    () => {
      native.setGradEnabled(false);
      return asUser(() => (shape.cls.forward as (...all: unknown[]) => unknown).call(shape.cls, shape.ctx, ...args));
    },
  );
}

function apply(cls: FunctionClass, args: readonly unknown[]): unknown {
  const name = cls.name === '' ? 'Function' : cls.name;
  const inputs = args.map((arg) => isTensor(arg));
  const tensors = args.filter(isTensor);
  const node = native.functionBegin(handlesOf(tensors), `${name}Backward`);
  const needs = args.map((arg) => isTensor(arg) && arg.requiresGrad);
  const ctx = new FunctionContext(name, node, needs);
  const shape: Shape = { cls, ctx, inputs, outputs: [] };
  let isOver = false;
  try {
    const result = runForward(shape, args);
    const results: unknown[] = Array.isArray(result) ? [...result] : [result];
    shape.outputs = results.map((one) => isTensor(one));
    const outputs = results.filter(isTensor);
    if (outputs.length === 0) {
      throw argumentError(`${name}.forward`, 'result', 'a Tensor or a list with Tensors', result);
    }
    for (const output of outputs) requireLive(`${name}.forward`, 'result', 'a Tensor', output);
    const wrapped = endForward(ctx, outputs, cls[NEEDS_SAVED] === true, backwardOf(shape));
    isOver = true;
    let next = 0;
    const all = results.map((one) => (isTensor(one) ? (wrapped[next++] ?? one) : one));
    return Array.isArray(result) ? all : all[0];
  } finally {
    if (!isOver) cancelForward(ctx);
  }
}

/**
 * An op of your own, with its derivative: a class with static `forward(ctx, …args)` and `backward(ctx, …gradOutputs)`, called
 * as `MyOp.apply(…args)`. Python's `torch.autograd.Function`; see docs/autograd.md.
 */
// biome-ignore lint/complexity/noStaticOnlyClass: programs extend it
export abstract class AutogradFunction {
  /** Computes the results. Gradients are not recorded in it. */
  static forward(_ctx: FunctionContext<any>, ..._args: any[]): unknown {
    throw codedError(Error, 'ERR_TORCH_NOT_IMPLEMENTED', 'autograd.Function: expected a class with a static forward');
  }

  /** Computes the gradients of forward's arguments from those of its results: one per argument, null for none. */
  static backward(_ctx: FunctionContext<any>, ..._gradOutputs: any[]): Tensor | null | readonly (Tensor | null)[] {
    throw codedError(Error, 'ERR_TORCH_NOT_IMPLEMENTED', 'autograd.Function: expected a class with a static backward');
  }

  /** Calls forward and adds its results to the graph. */
  static apply<A extends unknown[], R>(this: { forward(ctx: FunctionContext<any>, ...args: A): R }, ...args: A): R {
    // biome-ignore lint/complexity/noThisInStatic: the subclass that it is called on
    const cls = this as unknown as FunctionClass | undefined;
    if (typeof cls?.forward !== 'function' || typeof cls.backward !== 'function') {
      const expected = 'a class with static forward and backward';
      const got = cls === undefined ? 'undefined; call MyOp.apply(x) itself, which an alias does not' : describe(cls);
      throw refusal('autograd.Function.apply', 'this', expected, got);
    }
    return apply(cls, args) as R;
  }
}

/** Wraps the results of a backward that cannot be differentiated, so that differentiating them is an error. */
class NotTwice extends AutogradFunction {
  static override forward(ctx: FunctionContext, name: string, ...grads: Tensor[]): Tensor[] {
    ctx.of = name;
    return grads.map((grad) => grad.detach() as Tensor);
  }

  static override backward(ctx: FunctionContext): never {
    const message = `${ctx.of}: expected to be differentiated once, got a second differentiation: its backward is onceDifferentiable`;
    throw codedError(Error, 'ERR_TORCH_RUNTIME', message);
  }
}

/**
 * Marks a backward as not differentiable: its ops are not recorded, and differentiating its results is an error.
 * `static backward = torch.autograd.onceDifferentiable((ctx, grad) => …)`
 */
export function onceDifferentiable<F extends (ctx: FunctionContext<any>, ...grads: any[]) => unknown>(backward: F): F {
  if (typeof backward !== 'function')
    throw argumentError('autograd.onceDifferentiable', 'backward', 'a function', backward);
  const once = function (this: unknown, ctx: FunctionContext, ...grads: unknown[]): unknown {
    const before = native.gradEnabled();
    const result = restoring(
      () => native.setGradEnabled(before),
      () => {
        native.setGradEnabled(false);
        return backward.call(this, ctx, ...grads);
      },
    );
    if (!before || !grads.some((grad) => isTensor(grad) && grad.requiresGrad)) return result;
    const list: unknown[] = Array.isArray(result) ? [...result] : [result];
    const leaves = list.filter(isTensor).map((grad) => (grad.detach() as Tensor).requiresGrad_() as Tensor);
    if (leaves.length === 0) return result;
    const delayed = NotTwice.apply(nameOf(ctx), ...leaves);
    let next = 0;
    const all = list.map((grad) => (isTensor(grad) ? delayed[next++] : grad));
    return Array.isArray(result) ? all : all[0];
  };
  return once as unknown as F;
}
