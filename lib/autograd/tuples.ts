/** Arguments, results and errors of torch.autograd.functional: a tensor, or an array for Python's tuple. */

import { native } from '../addon/native';
import { isOptions, ownOptions } from '../addon/options';
import { spaces } from '../call/functions';
import { argumentError, codedError, refusal } from '../errors/errors';
import { Flag, RecordingMode } from '../generated/codes';
import { asUser } from '../lifetimes/user-code';
import { bodyNow } from '../tensor/pending';
import { refusePromise } from '../tensor/promises';
import { isTensor, type Tensor } from '../tensor/tensor';
import { flagOf } from './grad';
import { tensorsOf } from './lists';

/** Tensors, and whether a single one was passed without an array. */
export interface Tuple {
  readonly single: boolean;
  readonly tensors: Tensor[];
}

export type Func = (...inputs: Tensor[]) => unknown;

/** The generated functions, which exist once all modules are loaded. */
export const ops = () => spaces[''] as Record<string, (...args: unknown[]) => Tensor>;

/** Intermediate tensors of a call, released when it returns or throws. */
export class Made {
  #all: Tensor[] = [];

  /** Adds a tensor that has no other owner. */
  own<T extends Tensor | null>(tensor: T): T {
    if (tensor !== null) this.#all.push(tensor);
    return tensor;
  }

  ownAll<T extends Tensor | null>(tensors: T[]): T[] {
    for (const tensor of tensors) this.own(tensor);
    return tensors;
  }

  /** Releases all but the results. */
  end(results: readonly Tensor[]): void {
    const kept = new Set(results);
    for (const tensor of this.#all.splice(0)) if (!kept.has(tensor)) tensor.dispose();
  }
}

/** Refuses torch.run: these functions need real results, to know which require gradients. */
export function refuseRecording(name: string): void {
  if (native.flags[Flag.Recording] === RecordingMode.Off) return;
  bodyNow()?.refuse?.(`it calls ${name}`);
  const message = `${name}: expected a call outside torch.run, where its function's results are not there yet`;
  throw Object.assign(codedError(Error, 'ERR_TORCH_PENDING', message), { op: name });
}

/** An error about the results of the program's function. */
export const failure = (name: string, text: string): Error =>
  Object.assign(codedError(Error, 'ERR_TORCH_RUNTIME', `${name}: ${text}`), { op: name });

export function inputsOf(name: string, inputs: unknown): Tuple {
  const tensors = tensorsOf(name, 'inputs', inputs);
  if (tensors.length === 0) throw argumentError(name, 'inputs', 'one Tensor or more', inputs);
  return { single: isTensor(inputs), tensors };
}

/** Calls the program's function. Its result is a tensor or an array of them. */
export function callFunc(name: string, func: Func, inputs: readonly Tensor[]): Tuple {
  const result = asUser(() => func(...inputs));
  refusePromise(name, result);
  const expected = 'a function that returns a Tensor or an array of Tensors';
  if (!isTensor(result) && !Array.isArray(result)) throw argumentError(name, 'func', expected, result);
  const tensors: unknown[] = isTensor(result) ? [result] : [...result];
  const wrong = tensors.findIndex((tensor) => !isTensor(tensor));
  if (wrong >= 0) throw argumentError(name, 'func', `${expected}, at [${wrong}] too`, tensors[wrong]);
  if (tensors.length === 0) throw argumentError(name, 'func', expected, result);
  return { single: isTensor(result), tensors: tensors as Tensor[] };
}

/** The same for a function whose result is one tensor of one element. */
export function callScalarFunc(name: string, func: Func, inputs: readonly Tensor[]): Tuple {
  const outputs = callFunc(name, func, inputs);
  const expected = 'a function that returns a single Tensor with a single element';
  const [output] = outputs.tensors as [Tensor];
  if (!outputs.single) throw refusal(name, 'func', expected, 'one that returns an array');
  if (output.numel !== 1) throw argumentError(name, 'func', expected, output);
  return outputs;
}

const shapeText = (tensor: Tensor) => `[${tensor.shape.join(', ')}]`;

/** The vector of a product, with the shapes of `like`. Null if omitted, which only a single element allows. */
export function vectorOf(name: string, v: unknown, like: Tuple, what: string): Tensor[] | null {
  if (v === null || v === undefined) {
    if (like.tensors.length === 1 && like.tensors[0]!.numel === 1) return null;
    throw refusal(name, 'v', `a Tensor for each of ${what}, because there is more than one element`, 'nothing');
  }
  const tensors = tensorsOf(name, 'v', v);
  const count = like.tensors.length;
  if (tensors.length !== count) {
    const expected = count === 1 ? 'a single Tensor' : `${count} Tensors, one for each of ${what}`;
    throw refusal(name, 'v', expected, String(tensors.length));
  }
  return tensors.map((tensor, i) => {
    const place = isTensor(v) ? 'v' : `v[${i}]`;
    const expected = shapeText(like.tensors[i]!);
    if (shapeText(tensor) !== expected) throw argumentError(name, place, `a Tensor of shape ${expected}`, tensor);
    return tensor;
  });
}

/** How a product is computed. */
export interface ProductOptions {
  /** Compute the results in a way that can be differentiated. */
  createGraph?: boolean | undefined;
  /** Refuse a function whose results do not depend on an input, instead of giving zeros. */
  strict?: boolean | undefined;
}

/** The vector may be passed among the options. */
export interface VectorOptions extends ProductOptions {
  v?: Tensor | readonly Tensor[] | null | undefined;
}

export interface Flags {
  readonly createGraph: boolean;
  readonly strict: boolean;
}

export const flagsOf = (name: string, options: ProductOptions): Flags => ({
  createGraph: flagOf(name, 'createGraph', options.createGraph, false),
  strict: flagOf(name, 'strict', options.strict, false),
});

/** `(v, options)`, `(options)`, either or none. */
export function vectorAndFlags(name: string, third: unknown, fourth: unknown): { v: unknown; flags: Flags } {
  const isInOptions = fourth === undefined && isOptions(third) && !isTensor(third) && !(Symbol.iterator in third);
  const given: VectorOptions = isInOptions
    ? ownOptions(name, third as VectorOptions, ['v', 'createGraph', 'strict'])
    : ownOptions(name, (fourth ?? {}) as VectorOptions, ['createGraph', 'strict']);
  return { v: isInOptions ? given.v : third, flags: flagsOf(name, given) };
}

export function requireFunc(name: string, func: unknown): asserts func is Func {
  if (typeof func !== 'function') throw argumentError(name, 'func', 'a function', func);
}
