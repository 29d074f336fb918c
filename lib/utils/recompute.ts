/**
 * The op that a checkpoint adds to the graph. Its forward keeps only the arguments; its backward calls the function again
 * and runs a backward through the newly recorded graph.
 */

import { native } from '../addon/native';
import { runEngine } from '../autograd/anomaly';
import { type AutocastModes, inAutocastModes } from '../autograd/autocast';
import { AutogradFunction, type FunctionContext, NEEDS_SAVED } from '../autograd/function';
import { freeGiven, type Goal, goals, LEAVES, noteAnchor, withAnchors, withGoal } from '../autograd/goals';
import { gradientsOf } from '../autograd/grad';
import { handlesOf } from '../autograd/lists';
import { inGradMode } from '../autograd/mode';
import { failure, Made, ops } from '../autograd/tuples';
import { fromTypedArray } from '../elements/create';
import { argumentError, codedError } from '../errors/errors';
import { restoring } from '../errors/restoring';
import { type Scope, scope } from '../lifetimes/scope';
import { asUser } from '../lifetimes/user-code';
import { refusePromise } from '../tensor/promises';
import { isTensor, type Tensor, wrap } from '../tensor/tensor';

export const CHECKPOINT = 'utils.checkpoint.checkpoint';

/** The call to repeat. Lives until a backward frees the node's saved tensors, or the graph. Holds no tensors: the node saves them. */
export interface Segment {
  readonly fn: (...args: unknown[]) => unknown;
  /** The arguments, with null in place of each tensor. */
  readonly args: readonly unknown[];
  /** The positions of the tensors. */
  readonly places: readonly number[];
  readonly reentrant: boolean;
  /** The state of the random number generator to restore; null without preserveRngState. */
  readonly random: Uint8Array | null;
  readonly autocast: AutocastModes;
  readonly checks: boolean;
  /** The dtypes and shapes of forward's results, for determinismCheck. */
  results: string;
}

export function randomState(): Uint8Array {
  const state = wrap(native.rngState())!;
  try {
    return state.toTypedArray() as Uint8Array;
  } finally {
    state.dispose();
  }
}

function setRandomState(bytes: Uint8Array): void {
  const state = fromTypedArray(bytes);
  try {
    native.setRngState(state._handle);
  } finally {
    state.dispose();
  }
}

/** Runs `fn` with a state of the random number generator, and restores the current state afterwards. */
function withRandom<T>(random: Uint8Array | null, fn: () => T): T {
  if (random === null) return fn();
  const before = randomState();
  return restoring(
    () => setRandomState(before),
    () => {
      setRandomState(random);
      return fn();
    },
  );
}

/** Calls the program's function with these tensors instead of the original ones. */
export function callOn({ fn, args, places }: Segment, tensors: readonly Tensor[]): unknown {
  const all = [...args];
  places.forEach((place, i) => {
    all[place] = tensors[i];
  });
  const result = asUser(() => fn(...all));
  refusePromise(CHECKPOINT, result);
  return result;
}

function resultsOf(result: unknown): unknown[] {
  const list = Array.isArray(result) ? [...result] : [result];
  if (list.some(isTensor)) return list;
  throw argumentError(CHECKPOINT, 'fn', 'a function that returns a Tensor or an array with Tensors', result);
}

const described = (results: readonly unknown[]) =>
  results.map((one) => (isTensor(one) ? `${one.dtype} [${one.shape.join(', ')}]` : 'not a Tensor')).join(', ');

const isOf = (tensor: Tensor, owner: Scope) => native.scopeOf(tensor._handle) === owner._id;

const leafOf = (tensor: Tensor) => (tensor.detach() as Tensor).requiresGrad_(tensor.requiresGrad) as Tensor;

/** The results without a graph: new tensors that require no gradient are unchanged, all others are detached. */
function firstCall(segment: Segment, tensors: readonly Tensor[], ctx: FunctionContext): unknown {
  return scope((inner) => {
    const { reentrant } = segment;
    const given = reentrant ? tensors : tensors.map(leafOf);
    const result = inGradMode(!reentrant, () => callOn(segment, given));
    const plain: Tensor[] = [];
    const results = resultsOf(result).map((one) => {
      if (!isTensor(one) || tensors.includes(one)) return one;
      const own = isOf(one, inner) && !one.requiresGrad ? one : (one.detach() as Tensor);
      if (!reentrant && !one.requiresGrad) plain.push(own);
      return own;
    });
    segment.results = described(results);
    if (plain.length > 0) ctx.markNonDifferentiable(...plain);
    return Array.isArray(result) ? results : results[0];
  });
}

/** Calls the function again and records its graph. */
function secondCall(segment: Segment, tensors: readonly Tensor[], made: Made): unknown[] {
  return withRandom(segment.random, () =>
    scope((inner) => {
      const results = inGradMode(true, () =>
        inAutocastModes(segment.autocast, () => resultsOf(callOn(segment, tensors))),
      );
      for (const one of results) if (isTensor(one) && isOf(one, inner)) made.own(one);
      const got = described(results);
      if (!segment.checks || got === segment.results) return results;
      const text = `expected the same results from the function in the backward, ${segment.results}, got ${got}`;
      throw failure(CHECKPOINT, text);
    }),
  );
}

/** The outputs and gradients with which a backward through the second call begins. */
function rootsOf(results: readonly unknown[], grads: readonly (Tensor | null)[]) {
  const outputs: Tensor[] = [];
  const given: Tensor[] = [];
  results.forEach((one, i) => {
    const grad = grads[i] ?? null;
    if (grad === null || !isTensor(one) || !one.requiresGrad) return;
    outputs.push(one);
    given.push(grad);
  });
  return { outputs, given };
}

/** Adds gradients for the tensors of the enclosing backward. */
function addFound(goal: Goal, found: readonly (Tensor | null)[]): void {
  const before = goal.found;
  goal.found = found.map((one, i) => {
    const other = before?.[i] ?? null;
    if (one === null || other === null) return one ?? other;
    const sum = one.add(other) as Tensor;
    one.dispose();
    other.dispose();
    return sum;
  });
}

/** A gradient or null for each tensor, in the order of the arguments. */
function placed(tensors: readonly Tensor[], found: readonly (Tensor | null)[]): (Tensor | null)[] {
  let next = 0;
  return tensors.map((tensor) => (tensor.requiresGrad ? (found[next++] ?? null) : null));
}

/** The inputs of the node's backward. */
interface Task {
  readonly segment: Segment;
  readonly saved: readonly Tensor[];
  readonly grads: readonly (Tensor | null)[];
  readonly goal: Goal;
  readonly made: Made;
}

/** Gradients without a graph. Tensors that the function captures get their gradients too. */
function plainGradients({ segment, saved, grads, goal, made }: Task): (Tensor | null)[] {
  const leaves = saved.map((tensor) => made.own(leafOf(tensor)));
  const { outputs, given } = rootsOf(secondCall(segment, leaves, made), grads);
  if (outputs.length === 0) {
    if (!segment.reentrant) return saved.map(() => null);
    throw failure(CHECKPOINT, 'expected a result that requires gradients in the backward, got none');
  }
  const wanted = leaves.filter((leaf) => leaf.requiresGrad);
  if (goal.kind === 'grad') {
    const run = { outputs, inputs: [...wanted, ...goal.tensors], createGraph: false, allowUnused: true };
    const found = gradientsOf(run, given, true);
    addFound(goal, found.slice(wanted.length));
    return placed(leaves, found);
  }
  const into = goal.kind === 'into' ? [...wanted, ...goal.tensors] : [];
  const aim: Goal = goal.kind === 'into' ? { kind: 'into', tensors: into, found: null } : LEAVES;
  // Without useReentrant, captured tensors may be part of both backwards.
  withAnchors(into, (all) => {
    const handles = [handlesOf(outputs), handlesOf(given), handlesOf(all)] as const;
    const engine = () => native.autogradBackward(handles[0], handles[1], !segment.reentrant, false, handles[2]);
    withGoal(aim, () => runEngine(engine));
  });
  return placed(
    leaves,
    wanted.map((leaf) => leaf.grad as Tensor | null),
  );
}

const unavailable = (text: string): Error =>
  Object.assign(codedError(Error, 'ERR_TORCH_NOT_IMPLEMENTED', `${CHECKPOINT}: ${text}`), { op: CHECKPOINT });

/** Refuses captured inputs: differentiable gradients of captured tensors cannot be returned from here. */
function requireNoOthers({ segment, saved, grads, goal, made }: Task): void {
  const leaves = saved.map((tensor) => made.own(leafOf(tensor)));
  const { outputs, given } = rootsOf(secondCall(segment, leaves, made), grads);
  if (outputs.length === 0) return;
  const run = { outputs, inputs: goal.tensors, createGraph: false, allowUnused: true };
  const found = made.ownAll(gradientsOf(run, given, true));
  const other = found.findIndex((tensor) => tensor !== null);
  if (other < 0) return;
  const expected = `expected inputs[${other}] of autograd.grad to be an argument of the function, with createGraph`;
  throw unavailable(`${expected}, got a tensor that the function captures`);
}

/** Differentiable gradients, connected to the arguments and to captured tensors. */
function gradientsWithGraph(task: Task): (Tensor | null)[] {
  const { segment, saved, grads, goal, made } = task;
  if (goal.kind !== 'grad') {
    throw unavailable('expected autograd.grad, with { useReentrant: false }, for createGraph, got backward');
  }
  inGradMode(false, () => requireNoOthers(task));
  const inputs = saved.map((tensor) =>
    made.own((tensor.requiresGrad ? tensor.viewAs(tensor) : tensor.detach()) as Tensor),
  );
  const { outputs, given } = rootsOf(secondCall(segment, inputs, made), grads);
  const wanted = inputs.filter((input) => input.requiresGrad);
  if (outputs.length === 0 || wanted.length === 0) return saved.map(() => null);
  const run = { outputs, inputs: wanted, createGraph: true, allowUnused: true };
  return placed(inputs, gradientsOf(run, given, true));
}

/**
 * A leaf behind each checkpoint, so that the engine always visits it, even if no argument requires gradients: the function
 * may capture a tensor that does.
 */
class CheckpointAnchor extends AutogradFunction {
  static override forward(ctx: FunctionContext, leaf: Tensor): Tensor {
    ctx.saveForBackward(leaf);
    ctx.setMaterializeGrads(false);
    noteAnchor(ctx);
    return leaf.clone() as Tensor;
  }

  static override backward(): null {
    return null;
  }
}

/** Calls `fn` with a new anchor. */
export function anchored<T>(fn: (anchor: Tensor) => T): T {
  const leaf = ops().zeros!([0], { requiresGrad: true });
  try {
    const anchor = CheckpointAnchor.apply(leaf);
    try {
      return fn(anchor);
    } finally {
      anchor.dispose();
    }
  } finally {
    leaf.dispose();
  }
}

export class CheckpointFunction extends AutogradFunction {
  static readonly [NEEDS_SAVED] = true;

  static override forward(ctx: FunctionContext, segment: Segment, ...tensors: Tensor[]): unknown {
    ctx.segment = segment;
    const given = tensors.slice(0, segment.places.length); // without the anchor
    ctx.saveForBackward(...given);
    ctx.setMaterializeGrads(segment.reentrant);
    return firstCall(segment, given, ctx);
  }

  static override backward(ctx: FunctionContext, ...grads: (Tensor | null)[]): (Tensor | null)[] {
    freeGiven(); // those of the previous checkpoint, which the engine holds by now
    const segment = ctx.segment as Segment;
    const goal = goals.now;
    if (segment.reentrant && goal.kind !== 'leaves') {
      for (const grad of grads) grad?.dispose(); // the program never gets them
      const got = goal.kind === 'grad' ? 'autograd.grad' : 'backward with inputs';
      throw failure(CHECKPOINT, `expected backward() for all leaves, got ${got}: pass { useReentrant: false }`);
    }
    const made = new Made();
    const saved = ctx.savedTensors as Tensor[];
    made.ownAll([...saved]);
    made.ownAll(grads);
    const task: Task = { segment, saved, grads, goal, made };
    try {
      const found = native.gradEnabled() ? gradientsWithGraph(task) : plainGradients(task);
      for (const tensor of found) if (tensor !== null) goals.given.push(tensor);
      // One per argument of forward; the last may be the anchor.
      return Object.assign(new Array<Tensor | null>(ctx.needsInputGrad.length).fill(null), [null, ...found]);
    } finally {
      made.end([]);
    }
  }
}
