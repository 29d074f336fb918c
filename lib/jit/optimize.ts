/** `torch.jit.freeze` and `torch.jit.optimizeForInference`: faster copies of a model. See docs/models.md. */
import type { ScriptModule } from '../../types/generated/classes';
import { native } from '../addon/native';
import { isOptions, ownOptions } from '../addon/options';
import { argumentError } from '../errors/errors';
import { ownScope } from '../lifetimes/scope';
import type { Module } from '../nn/module';
import { wrap } from '../tensor/tensor';
import { demandModel } from './model';
import { moduleOf } from './module';

export interface FreezeOptions {
  /** Methods and attributes to keep besides `forward`; a part's as `'part.name'`. Default: none. */
  preservedAttrs?: readonly string[] | null | undefined;
  /** Whether passes may run that change results by rounding, such as folding batch norms. Default: true. */
  optimizeNumerics?: boolean | undefined;
}

export interface OptimizeForInferenceOptions {
  /** Methods to keep and optimise besides `forward`. Default: none. */
  otherMethods?: readonly string[] | null | undefined;
}

/** A copy, so that code of the program (a Proxy) cannot run later. */
function readNames(fn: string, argument: string, value: unknown): string[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw argumentError(fn, argument, 'an array of strings', value);
  const names: unknown[] = Array.from(value);
  for (const name of names)
    if (typeof name !== 'string') throw argumentError(fn, argument, 'an array of strings', value);
  return names as string[];
}

/** The arguments by name: Python's, given by position or in an object. */
const byName = <T extends object>(
  fn: string,
  given: unknown,
  rest: Partial<T>,
  known: readonly (keyof T & string)[],
): T => (isOptions(given) ? ownOptions(fn, given as T, known) : ({ [known[0]!]: given, ...rest } as T));

/**
 * A new model whose parameters and attributes are constants of its code, with the passes that this allows, as Python's
 * `torch.jit.freeze`. `forward` stays, and what `preservedAttrs` names. The model must be in evaluation mode. It stays as it is,
 * and the new one shares its memory.
 *
 * @throws ERR_TORCH_ARGUMENT in training mode, and for names that the model does not have
 * @throws ERR_TORCH_MODEL if libtorch cannot freeze it
 */
export function freeze(model: ScriptModule | Module, options?: FreezeOptions): ScriptModule;
export function freeze(
  model: ScriptModule | Module,
  preservedAttrs?: readonly string[] | null,
  optimizeNumerics?: boolean,
): ScriptModule;
export function freeze(model: ScriptModule | Module, given?: unknown, numerics?: boolean): ScriptModule {
  const fn = 'jit.freeze';
  if (isOptions(given) && numerics !== undefined)
    throw argumentError(fn, 'preservedAttrs', 'an array of strings', given);
  const { preservedAttrs, optimizeNumerics = true } = byName<FreezeOptions>(fn, given, { optimizeNumerics: numerics }, [
    'preservedAttrs',
    'optimizeNumerics',
  ]);
  const names = readNames(fn, 'preservedAttrs', preservedAttrs);
  if (typeof optimizeNumerics !== 'boolean') throw argumentError(fn, 'optimizeNumerics', 'a boolean', optimizeNumerics);
  // Last, since reading the others may run code of the program, and outside our scope, since a Proxy may run it too.
  const handle = demandModel(fn, model)._live();
  return ownScope(() => moduleOf(wrap(native.modelFreeze(handle, names, optimizeNumerics))!));
}

/**
 * A new model that is frozen and optimised for this machine, as Python's `torch.jit.optimize_for_inference`: convolutions use
 * oneDNN's layouts where libtorch has it. Unlike in Python the model stays as it is: it is not put into evaluation mode, and a
 * frozen one is copied. Measure whether it is faster: for small inputs it can be slower.
 *
 * @throws ERR_TORCH_ARGUMENT for methods that the model does not have
 * @throws ERR_TORCH_MODEL if libtorch cannot optimise it
 */
export function optimizeForInference(model: ScriptModule | Module, options?: OptimizeForInferenceOptions): ScriptModule;
export function optimizeForInference(
  model: ScriptModule | Module,
  otherMethods?: readonly string[] | null,
): ScriptModule;
export function optimizeForInference(model: ScriptModule | Module, given?: unknown): ScriptModule {
  const fn = 'jit.optimizeForInference';
  const { otherMethods } = byName<OptimizeForInferenceOptions>(fn, given, {}, ['otherMethods']);
  const names = readNames(fn, 'otherMethods', otherMethods);
  const handle = demandModel(fn, model)._live();
  return ownScope(() => moduleOf(wrap(native.modelOptimize(handle, names))!));
}
