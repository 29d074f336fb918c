/** What a module registers: under which names, and buffers that it owns. */
import { argumentError } from '../errors/errors';
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
