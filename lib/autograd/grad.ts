/** torch.autograd.grad and torch.autograd.backward, with the semantics of PyTorch's functions of the same names. */

import type { Parts } from '../../types/base';
import { native } from '../addon/native';
import { isPlainObject, ownOptions } from '../addon/options';
import { spaces } from '../call/functions';
import { argumentError, codedError, describe, refusal } from '../errors/errors';
import { withoutRecording } from '../tensor/pending';
import { type Tensor, wrapElement } from '../tensor/tensor';
import { runEngine } from './anomaly';
import { type Goal, LEAVES, withAnchors, withGoal } from './goals';
import { furtherOptions, handlesOf, optionalTensorsOf, type Tensors, tensorsOf } from './lists';
import { inGradMode } from './mode';

export interface GradOptions {
  /** The gradient of the result with respect to each output; null for an output of one element. */
  gradOutputs?: Tensor | Iterable<Tensor | null> | null | undefined;
  /** Keep the graph for another run. Default: the value of `createGraph`. */
  retainGraph?: boolean | null | undefined;
  /** Make the gradients differentiable. */
  createGraph?: boolean | undefined;
  /** Give null for an input that the outputs do not depend on. Default: the value of `materializeGrads`. */
  allowUnused?: boolean | null | undefined;
  /** The first dimension of each of `gradOutputs` is a batch: one gradient for each, stacked. */
  isGradsBatched?: boolean | undefined;
  /** Give zeros for an input that the outputs do not depend on. */
  materializeGrads?: boolean | undefined;
}

/** Options with which no gradient is null. */
export interface UsedOptions extends Omit<GradOptions, 'allowUnused'> {
  allowUnused?: false | null | undefined;
}
/** The same, with gradients that have the shapes of their inputs. */
interface OnceOptions extends Omit<UsedOptions, 'isGradsBatched'> {
  isGradsBatched?: false | undefined;
}
/** A gradient has the dtype and shape of its input. */
type GradientsOf<I> =
  I extends Tensor<infer D, infer S>
    ? [Tensor<D, S>]
    : I extends readonly Tensor[]
      ? number extends I['length']
        ? Parts<Tensor>
        : { -readonly [K in keyof I]: I[K] extends Tensor<infer D, infer S> ? Tensor<D, S> : never }
      : Parts<Tensor>;
/** What `grad` takes after its inputs, by position, by name or both. */
export type GradArgs<O extends GradOptions> =
  | [options?: O]
  | [gradOutputs: O['gradOutputs'], options?: Omit<O, 'gradOutputs'>]
  | [
      gradOutputs: O['gradOutputs'],
      retainGraph: O['retainGraph'],
      createGraph?: O['createGraph'] | Omit<O, 'gradOutputs' | 'retainGraph'>,
      options?: Omit<O, 'gradOutputs' | 'retainGraph' | 'createGraph'>,
    ];

const gradOptions = [
  'gradOutputs',
  'retainGraph',
  'createGraph',
  'allowUnused',
  'isGradsBatched',
  'materializeGrads',
] as const;

/** A flag of an options object: undefined and null give the default. */
export function flagOf(fn: string, name: string, value: unknown, otherwise: boolean): boolean {
  if (value === undefined || value === null) return otherwise;
  if (typeof value !== 'boolean') throw argumentError(fn, name, 'a boolean', value);
  return value;
}

function requireMatching(fn: string, name: string, gradients: number, of: string, tensors: number): void {
  if (gradients === 0 || gradients === tensors) return;
  const expected = `one for each of the ${tensors} ${of}`;
  throw refusal(fn, name, expected, String(gradients));
}

/** The generated functions, which exist once all modules are loaded. */
const ops = () => spaces[''] as Record<string, (...args: unknown[]) => unknown>;

/** The arguments of one run of the engine. */
export interface Run {
  readonly outputs: readonly Tensor[];
  readonly inputs: readonly Tensor[];
  readonly createGraph: boolean;
  readonly allowUnused: boolean;
}

/** The sum of the graph's gradients and those that checkpoints found outside it, which have no graph. */
function joined(results: readonly (Tensor | null)[], found: readonly (Tensor | null)[]): (Tensor | null)[] {
  const sum = (one: Tensor, other: Tensor) => {
    const total = withoutRecording(() => inGradMode(false, () => one.add(other) as Tensor));
    one.dispose();
    other.dispose();
    return total;
  };
  return results.map((one, i) => {
    const other = found[i] ?? null;
    return one === null || other === null ? (one ?? other) : sum(one, other);
  });
}

const MAX_SHOWN = 4;

/** A list of tensors as in the errors of native calls (native/convert/call_error.cpp). */
function listed(tensors: readonly (Tensor | null)[]): string {
  const shown = tensors.slice(0, MAX_SHOWN).map((one) => describe(one).replace('a Tensor ', ''));
  const more = tensors.length - shown.length;
  return `[${shown.join(', ')}${more > 0 ? `, and ${more} more` : ''}]`;
}

/** The check of a native call, for a run that had to be lenient. */
function requireUsed(results: readonly (Tensor | null)[], run: Run, given: readonly (Tensor | null)[]): void {
  const unused = results.indexOf(null);
  if (unused < 0) return;
  for (const result of results) result?.dispose();
  const text =
    `inputs[${unused}]: the outputs were not computed from it: pass { allowUnused: true } to get null for it\n` +
    `  with outputs: ${listed(run.outputs)}, inputs: ${listed(run.inputs)}, gradOutputs: ${listed(given)}`;
  throw Object.assign(codedError(Error, 'ERR_TORCH_RUNTIME', `autograd.grad: ${text}`), { op: 'autograd.grad' });
}

/** One run of the engine. */
export function gradientsOf(run: Run, given: readonly (Tensor | null)[], retain: boolean): (Tensor | null)[] {
  const { outputs, inputs, createGraph, allowUnused } = run;
  const goal: Goal = { kind: 'grad', tensors: inputs, found: null };
  return withAnchors(inputs, (all) => {
    const handles = [handlesOf(outputs), handlesOf(all), handlesOf(given)] as const;
    // An input that the graph does not use may be used inside a checkpoint.
    const isLenient = all !== inputs;
    const engine = () => native.autogradGrad(...handles, retain, createGraph, allowUnused || isLenient);
    const results = withGoal(goal, () => runEngine(engine)).map(wrapElement);
    if (!isLenient) return results;
    const found = joined(results.slice(0, inputs.length), goal.found ?? []);
    if (!allowUnused) requireUsed(found, run, given);
    return found;
  });
}

/** One run per element of the batch, where PyTorch uses vmap. */
function batchedGradients(run: Run, given: readonly (Tensor | null)[], retain: boolean): (Tensor | null)[] {
  const first = given.find((gradient) => gradient !== null);
  const size = first !== undefined && first.ndim > 0 ? first.shape[0]! : 0;
  const fits = (gradient: Tensor | null) => gradient !== null && gradient.ndim > 0 && gradient.shape[0] === size;
  const wrong = given.find((gradient) => !fits(gradient));
  if (size === 0 || wrong !== undefined) {
    const expected = 'tensors whose first dimension is the same batch, of 1 or more elements (isGradsBatched)';
    throw argumentError('autograd.grad', 'gradOutputs', expected, wrong === undefined ? given : wrong);
  }
  // Not in a scope: tensors made by hooks belong to the program's scope.
  const made: Tensor[] = [];
  try {
    const rows = Array.from({ length: size }, (_, i) => {
      const row = given.map((gradient) => gradient!.select(0, i) as Tensor);
      made.push(...row);
      const gradients = gradientsOf(run, row, retain || i < size - 1);
      for (const gradient of gradients) if (gradient !== null) made.push(gradient);
      return gradients;
    });
    return run.inputs.map((_, input) => {
      const parts = rows.map((row) => row[input]!);
      return parts.includes(null as never) ? null : (ops().stack!(parts) as Tensor);
    });
  } finally {
    for (const tensor of made) tensor.dispose();
  }
}

/**
 * The gradients of `outputs` with respect to each of `inputs`, in their order: Python's `torch.autograd.grad`. Nothing is
 * accumulated into `grad`. An input that the outputs do not depend on is an error, or null with `allowUnused`.
 */
export function grad<const I extends Tensors>(
  outputs: Tensors,
  inputs: I,
  ...more: GradArgs<OnceOptions>
): GradientsOf<I>;
export function grad(outputs: Tensors, inputs: Tensors, ...more: GradArgs<UsedOptions>): Parts<Tensor>;
export function grad(outputs: Tensors, inputs: Tensors, ...more: GradArgs<GradOptions>): (Tensor | null)[];
export function grad(named: UsedOptions & { outputs: Tensors; inputs: Tensors }): Parts<Tensor>;
export function grad(named: GradOptions & { outputs: Tensors; inputs: Tensors }): (Tensor | null)[];
export function grad(...passed: unknown[]): (Tensor | null)[] {
  if (passed.length === 1 && isPlainObject(passed[0])) {
    const { outputs, inputs, ...options } = ownOptions('autograd.grad', passed[0], [
      'outputs',
      'inputs',
      ...gradOptions,
    ]);
    return grad(outputs as Tensors, inputs as Tensors, options as GradOptions);
  }
  const [outputs, inputs, ...rest] = passed as [Tensors, Tensors, ...unknown[]];
  const given = furtherOptions<GradOptions>('autograd.grad', gradOptions.slice(0, 3), gradOptions, rest);
  const from = tensorsOf('autograd.grad', 'outputs', outputs);
  const to = tensorsOf('autograd.grad', 'inputs', inputs);
  const gradients = optionalTensorsOf('autograd.grad', 'gradOutputs', given.gradOutputs);
  const flag = (name: keyof GradOptions, otherwise: boolean) => flagOf('autograd.grad', name, given[name], otherwise);
  const createGraph = flag('createGraph', false);
  const retain = flag('retainGraph', createGraph);
  const materialize = flag('materializeGrads', false);
  const allowUnused = flag('allowUnused', materialize);
  const batched = flag('isGradsBatched', false);
  if (to.length === 0) throw argumentError('autograd.grad', 'inputs', 'one Tensor or more', to);
  requireMatching('autograd.grad', 'gradOutputs', gradients.length, 'outputs', from.length);
  if (materialize && !allowUnused) {
    const expected = 'true or nothing with materializeGrads, which gives zeros for an unused input';
    throw argumentError('autograd.grad', 'allowUnused', expected, false);
  }
  const run = { outputs: from, inputs: to, createGraph, allowUnused };
  const results = batched ? batchedGradients(run, gradients, retain) : gradientsOf(run, gradients, retain);
  if (!materialize) return results;
  return results.map((gradient, i) => gradient ?? (ops().zerosLike!(to[i]) as Tensor));
}

export interface BackwardManyOptions {
  /** Keep the graph for another run. Default: the value of `createGraph`. */
  retainGraph?: boolean | null | undefined;
  /** Make the gradients differentiable. */
  createGraph?: boolean | undefined;
  /** The tensors to accumulate into; all leaves by default. */
  inputs?: Tensors | null | undefined;
}

const backwardManyOptions = ['gradTensors', 'retainGraph', 'createGraph', 'inputs'] as const;

/**
 * Accumulates the gradients of several tensors at once into the `grad` of the leaves that they were computed from:
 * Python's `torch.autograd.backward`. `gradTensors` may be left out where each has one element.
 */
export function backward(
  tensors: Tensors,
  options?: BackwardManyOptions & { gradTensors?: Tensor | Iterable<Tensor | null> | null | undefined },
): void;
export function backward(
  tensors: Tensors,
  gradTensors: Tensor | Iterable<Tensor | null> | null | undefined,
  options?: BackwardManyOptions,
): void;
export function backward(
  tensors: Tensors,
  gradTensors: Tensor | Iterable<Tensor | null> | null | undefined,
  retainGraph: BackwardManyOptions['retainGraph'],
  createGraph?: BackwardManyOptions['createGraph'] | Omit<BackwardManyOptions, 'retainGraph'>,
  options?: Pick<BackwardManyOptions, 'inputs'>,
): void;
export function backward(tensors: Tensors, ...passed: unknown[]): void {
  const given = furtherOptions<
    BackwardManyOptions & { gradTensors?: Tensor | Iterable<Tensor | null> | null | undefined }
  >('autograd.backward', backwardManyOptions.slice(0, 3), backwardManyOptions, passed);
  const from = tensorsOf('autograd.backward', 'tensors', tensors);
  const gradients = optionalTensorsOf('autograd.backward', 'gradTensors', given.gradTensors);
  const into =
    given.inputs === undefined || given.inputs === null ? null : tensorsOf('autograd.backward', 'inputs', given.inputs);
  const createGraph = flagOf('autograd.backward', 'createGraph', given.createGraph, false);
  const retain = flagOf('autograd.backward', 'retainGraph', given.retainGraph, createGraph);
  if (into?.length === 0) throw argumentError('autograd.backward', 'inputs', 'one Tensor or more, or nothing', into);
  requireMatching('autograd.backward', 'gradTensors', gradients.length, 'tensors', from.length);
  const goal: Goal = into === null ? LEAVES : { kind: 'into', tensors: into, found: null };
  withAnchors(into ?? [], (all) => {
    const handles = [handlesOf(from), handlesOf(gradients), handlesOf(all)] as const;
    const engine = () => native.autogradBackward(handles[0], handles[1], retain, createGraph, handles[2]);
    withGoal(goal, () => runEngine(engine));
  });
}
