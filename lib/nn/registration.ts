/** What a module registers: under which names, and buffers that it owns. */
import { NativeObject } from '../call/object';
import { isOfAnotherCopy } from '../errors/copies';
import { argumentError, codedError, describe } from '../errors/errors';
import { isMarked } from '../tensor/tensor';
import { owned } from './parameter';

/** Throws unless `module` has no property of this name, or one that `isSame` says may be replaced. */
export function requireFree(module: object, fn: string, name: string, isSame: (value: unknown) => boolean): void {
  if (typeof name !== 'string' || name === '' || name.includes('.')) {
    throw argumentError(fn, 'name', "a name without '.'", name);
  }
  const value = (module as Record<string, unknown>)[name];
  if (name in module && value !== null && value !== undefined && !isSame(value)) {
    throw argumentError(fn, 'name', `a name that ${module.constructor.name} does not have yet`, name);
  }
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

/** Python's modules have the scripted ones in them. Here its parameters would be missing in the optimizer, without an error. */
function refuseScript(module: object, name: string): never {
  const text =
    'expected a Module, got a ScriptModule, which parameters(), stateDict() and eval() of a Module do not reach: keep it in a ' +
    'private field (#name), and call its own parameters() and eval()';
  throw codedError(TypeError, 'ERR_TORCH_ARGUMENT', `${module.constructor.name}.${name}: ${text}`);
}

/**
 * The members of a class, by name. If `strict`, a module or parameter of another copy of the library is refused: it would be
 * missing in the optimizer and in every file, without an error.
 */
export function membersOf<M>(
  module: { _members(): [name: string, value: unknown][] },
  cls: abstract new (...args: never[]) => M,
  strict: boolean,
): [name: string, member: M][] {
  return module._members().filter((member): member is [string, M] => {
    const [name, value] = member;
    if (value instanceof cls) return true;
    if (strict && value instanceof NativeObject && value._class === 'ScriptModule') refuseScript(module, name);
    if (!strict || !isOfAnotherCopy(value) || !('_members' in value || isMarked(value))) return false;
    const text = `expected a Module or a Parameter of the same copy of libtorch-node, got ${describe(value)}`;
    throw codedError(TypeError, 'ERR_TORCH_ARGUMENT', `${module.constructor.name}.${name}: ${text}`);
  });
}
