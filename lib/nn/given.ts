/** A module as an argument. */
import type { ScriptModule } from '../../types/generated/classes';
import { argumentError } from '../errors/errors';
import { type Kind, kind } from './arguments';
import { Module } from './module';
import { isModel } from './registration';

/** A module, or a TorchScript model, which stands for the Module of its `asModule`, as both are one object in Python. */
export type ModuleLike<M extends Module = Module> = M | ScriptModule;

const moduleOf = (value: unknown): Module | undefined =>
  value instanceof Module ? value : isModel(value) ? value.asModule() : undefined;

/** The module. Throws for other values. */
export function demandModule(fn: string, argument: string, value: unknown): Module {
  const module = moduleOf(value);
  if (module === undefined) throw argumentError(fn, argument, 'a Module', value);
  return module;
}

/**
 * The modules of several arguments. All are checked before the first is converted: a model leaves its scope when it becomes a
 * module, and a refusal must not change anything.
 */
export function demandModules(fn: string, given: readonly (readonly [argument: string, value: unknown])[]): Module[] {
  for (const [argument, value] of given) {
    if (isModel(value)) value._live();
    else demandModule(fn, argument, value);
  }
  return given.map(([argument, value]) => demandModule(fn, argument, value));
}

export const moduleLike: Kind<Module> = kind<Module>('a Module', undefined, moduleOf, () => '');
