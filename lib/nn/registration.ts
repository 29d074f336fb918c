/** What a module registers: under which names, and buffers that it owns. */
import type { ScriptModule } from '../../types/generated/classes';
import { NativeObject } from '../call/object';
import { isOfAnotherCopy } from '../errors/copies';
import { argumentError, codedError, describe } from '../errors/errors';
import { disposesMore, tensors } from '../tensor/places';
import { isGenuine, isMarked, type Tensor } from '../tensor/tensor';
import { owned } from './parameter';

/** A TorchScript model of this copy of the library. */
export const isModel = (value: unknown): value is ScriptModule & NativeObject =>
  value instanceof NativeObject && value._class === 'ScriptModule';

/** Throws unless `name` can be a part of the keys of a state dict, where '.' separates the parts. */
export function requireName(fn: string, argument: string, name: unknown): asserts name is string {
  if (typeof name !== 'string' || name === '' || name.includes('.')) {
    throw argumentError(fn, argument, "a name without '.'", name);
  }
}

/** Throws unless `module` has no property of this name, or one that `isSame` says may be replaced. */
export function requireFree(module: object, fn: string, name: string, isSame: (value: unknown) => boolean): void {
  requireName(fn, 'name', name);
  const value = (module as Record<string, unknown>)[name];
  if (name in module && value !== null && value !== undefined && !isSame(value)) {
    throw argumentError(fn, 'name', `a name that ${module.constructor.name} does not have yet`, name);
  }
}

/**
 * Throws unless `member` may be registered by this name: null, an instance of a class that is a module or a parameter, or a
 * TorchScript model as a module.
 */
export function demandMember(
  module: object,
  fn: 'registerModule' | 'registerParameter',
  argument: string,
  cls: abstract new (...args: never[]) => unknown,
  name: string,
  member: unknown,
): void {
  const forModules = fn === 'registerModule';
  const isOne = (value: unknown) => value instanceof cls || (forModules && isModel(value));
  const expected = forModules ? 'a Module or null' : 'a Parameter or null';
  if (member !== null && !isOne(member)) throw argumentError(fn, argument, expected, member);
  requireFree(module, fn, name, isOne);
}

/** Defines a property that takes over each tensor that is assigned to it, beginning with `tensor`. */
export function defineOwning(module: object, name: string, tensor: unknown): void {
  let current: unknown = owned(tensor);
  Object.defineProperty(module, name, {
    enumerable: true,
    configurable: true,
    get: () => current,
    set(value: unknown) {
      current = owned(value);
    },
  });
}

/** A Module that shows a TorchScript model or a part of one: see lib/jit/scripted.ts. */
export const isOfModel = <M extends object>(module: M): module is M & { _whole(fn: string): ScriptModule } =>
  '_whole' in module;

/** The properties that are objects. Others, such as the mode and numbers, are not part of what a module registers. */
export function objectsIn(module: object): [name: string, value: unknown][] {
  const found: [string, unknown][] = [];
  for (const name of Object.keys(module)) {
    const value = (module as Record<string, unknown>)[name];
    if (typeof value === 'object') found.push([name, value]);
  }
  return found;
}

/** A TorchScript model is the Module that it gives. Not `strict`: unless it was disposed, instead of an error. */
const moduleIn = (value: unknown, strict: boolean): unknown =>
  !isModel(value) ? value : strict || !value.disposed ? value.asModule() : null;

/**
 * The members of a class, by name. If `strict`, a module or parameter of another copy of the library is refused: it would be
 * missing in the optimizer and in every file, without an error.
 */
export function membersOf<M>(
  module: { _members(): [name: string, value: unknown][] },
  cls: abstract new (...args: never[]) => M,
  strict: boolean,
): [name: string, member: M][] {
  const found: [name: string, member: M][] = [];
  for (const [name, value] of module._members()) {
    const member = moduleIn(value, strict);
    if (member instanceof cls) found.push([name, member]);
    else if (strict && isOfAnotherCopy(value) && ('_members' in value || 'asModule' in value || isMarked(value))) {
      const text = `expected a Module or a Parameter of the same copy of libtorch-node, got ${describe(value)}`;
      throw codedError(TypeError, 'ERR_TORCH_ARGUMENT', `${module.constructor.name}.${name}: ${text}`);
    }
  }
  return found;
}

interface Tree {
  _tree(prefix: string, once: boolean, seen: Set<never>, strict: boolean): [name: string, module: Members][];
}
interface Members {
  _members(): [name: string, value: unknown][];
}

/**
 * A module that a scope returns, or that is kept, takes along the tensors in its properties and the models in it. Its parameters and
 * buffers belong to no scope. A model leaves its scope when the module shows it (lib/jit/scripted.ts).
 */
export function bringsTensors<C extends { prototype: object }>(module: C): C {
  Object.defineProperty(module.prototype, tensors, {
    get(this: Tree): Tensor[] {
      const members = this._tree('', true, new Set(), false).flatMap(([, part]) => part._members());
      return members.map(([, value]) => value).filter((value) => isGenuine(value) && !value.disposed) as Tensor[];
    },
    configurable: true,
  });
  Object.defineProperty(module.prototype, disposesMore, { value: true });
  return module;
}
