/** Gradients, and the gradient modes. */

import { native } from '../addon/native';
import { argumentError } from '../errors/errors';
import { begin, end, ending, type Unfinished } from '../errors/restoring';
import { refuseAwaiting } from '../tensor/promises';
import { isTensor, type Tensor } from '../tensor/tensor';
import { runEngine } from './anomaly';
import { type Goal, LEAVES, withAnchors, withGoal } from './goals';
import { furtherOptions } from './lists';

export interface BackwardOptions {
  /** The gradient of the result with respect to this tensor; may be omitted for a tensor of one element. */
  gradient?: Tensor | null;
  /** Keep the graph for another backward. Default: the value of `createGraph`. */
  retainGraph?: boolean | null;
  /** Make the gradients differentiable. */
  createGraph?: boolean;
  /** The leaves to accumulate into; all by default. */
  inputs?: Tensor | Iterable<Tensor>;
}

const backwardOptions = ['gradient', 'retainGraph', 'createGraph', 'inputs'] as const;

/** The leaves to accumulate into. A single tensor is one leaf: its rows are not leaves. An empty list would mean all. */
function leavesOf(inputs: Tensor | Iterable<Tensor>): Tensor[] {
  const expected = 'one or more Tensors';
  if (isTensor(inputs)) return [inputs];
  if (typeof (inputs as { [Symbol.iterator]?: unknown } | null)?.[Symbol.iterator] !== 'function') {
    throw argumentError('backward', 'inputs', expected, inputs);
  }
  const leaves = [...inputs];
  const wrong = leaves.find((leaf) => !isTensor(leaf));
  if (wrong !== undefined) throw argumentError('backward', 'inputs', expected, wrong);
  if (leaves.length === 0) throw argumentError('backward', 'inputs', expected, leaves);
  return leaves;
}

/** Accumulates gradients into the `grad` of the leaves that `tensor` was computed from. */
export function backward(tensor: Tensor, options?: BackwardOptions): void;
export function backward(
  tensor: Tensor,
  gradient: Tensor | null | undefined,
  options?: Omit<BackwardOptions, 'gradient'>,
): void;
export function backward(
  tensor: Tensor,
  gradient: Tensor | null | undefined,
  retainGraph: BackwardOptions['retainGraph'],
  createGraph?: boolean | Pick<BackwardOptions, 'createGraph' | 'inputs'>,
  inputs?: Tensor | Iterable<Tensor> | Pick<BackwardOptions, 'inputs'>,
): void;
export function backward(tensor: Tensor, ...passed: unknown[]): void {
  if (!isTensor(tensor)) throw argumentError('backward', 'tensor', 'a Tensor', tensor);
  const given = furtherOptions<BackwardOptions>('backward', backwardOptions, backwardOptions, passed);
  const { gradient = null, retainGraph = null, createGraph = false, inputs } = given;
  for (const [name, flag] of Object.entries({ retainGraph, createGraph })) {
    if (flag !== null && typeof flag !== 'boolean') throw argumentError('backward', name, 'a boolean', flag);
  }
  if (gradient !== null && !isTensor(gradient)) throw argumentError('backward', 'gradient', 'a Tensor', gradient);
  const into = inputs === undefined ? [] : leavesOf(inputs);
  const goal: Goal = into.length === 0 ? LEAVES : { kind: 'into', tensors: into, found: null };
  withAnchors(into, (all) =>
    withGoal(goal, () => runEngine(() => tensor._backward([...all], { gradient, retainGraph, createGraph }))),
  );
}

class GradMode implements Unfinished {
  declare _below: Unfinished | null;

  constructor(private readonly before: boolean) {}

  _undo(): void {
    native.setGradEnabled(this.before);
  }
}

class InferenceMode implements Unfinished {
  declare _below: Unfinished | null;
  /** 0 before it begins. */
  depth = 0;

  _undo(): void {
    if (this.depth > 0) native.inferenceExit(this.depth);
  }
}

function withGrad<T>(name: string, enabled: boolean, fn: () => T): T {
  if (typeof fn !== 'function') throw argumentError(name, 'fn', 'a function', fn);
  const before = native.gradEnabled();
  const mode = new GradMode(before);
  begin(mode);
  let result: T;
  try {
    native.setGradEnabled(enabled);
    result = fn();
  } finally {
    ending(mode);
    native.setGradEnabled(before);
    end(mode);
  }
  refuseAwaiting(name, result);
  return result;
}

/** Runs `fn` without recording gradients. */
export function noGrad<T>(fn: () => T): T {
  return withGrad('noGrad', false, fn);
}

/** Runs `fn` recording gradients, inside noGrad too. */
export function enableGrad<T>(fn: () => T): T {
  return withGrad('enableGrad', true, fn);
}

/** Runs `fn` in inference mode: faster than noGrad, and its tensors can never take part in autograd. */
export function inferenceMode<T>(fn: () => T): T {
  if (typeof fn !== 'function') throw argumentError('inferenceMode', 'fn', 'a function', fn);
  const mode = new InferenceMode();
  begin(mode);
  let result: T;
  try {
    mode.depth = native.inferenceEnter();
    result = fn();
  } finally {
    ending(mode);
    mode._undo();
    end(mode);
  }
  refuseAwaiting('inferenceMode', result);
  return result;
}

export const isGradEnabled = (): boolean => native.gradEnabled();
export const isInferenceModeEnabled = (): boolean => native.inferenceEnabled();

/** Switches gradient recording on or off for this thread, until the next call. */
export function setGradEnabled(enabled: boolean): void;
/** Runs `fn` with gradient recording on or off, as Python's `with torch.set_grad_enabled(enabled):`. */
export function setGradEnabled<T>(enabled: boolean, fn: () => T): T;
export function setGradEnabled<T>(enabled: boolean, ...more: [fn?: () => T]): T | undefined {
  if (typeof enabled !== 'boolean') throw argumentError('setGradEnabled', 'enabled', 'a boolean', enabled);
  const [fn] = more;
  if (fn !== undefined) return withGrad('setGradEnabled', enabled, fn);
  native.setGradEnabled(enabled);
  return undefined;
}
