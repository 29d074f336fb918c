/** Adds the place of the failing layer to an error that passes through `forward`. */
import { types } from 'node:util';
import type { Module } from './module';

interface Place {
  /** Has the outermost module so far whose tree has the layer. Weak: a program may keep the error. */
  outer: WeakSet<Module>;
  /** The name of its class. */
  outermost: string;
  /** From that module to the layer: "encoder.layers.3.linear1". */
  path: string;
  /** The class of the layer. */
  readonly layer: string;
  /** The message without the place. */
  readonly message: string;
}

const places = new WeakMap<Error, Place>();

const isOwn = (error: unknown): error is Error & { code: string } =>
  types.isNativeError(error) && String((error as { code?: unknown }).code).startsWith('ERR_TORCH_');

/** The way from `module` to the module in `inner` by property names; null if there is none. */
function pathTo(module: Module, inner: WeakSet<Module>, seen: Set<Module>): string | null {
  seen.add(module);
  for (const [name, child] of module._children(false)) {
    if (inner.has(child)) return name;
    if (seen.has(child)) continue;
    const rest = pathTo(child, inner, seen);
    if (rest !== null) return `${name}.${rest}`;
  }
  return null;
}

const textOf = ({ outermost, path, layer }: Place) =>
  path === '' ? `in ${layer}` : `in ${outermost}.${path} (${layer})`;

/** The error that `module.forward` threw, with the layer's path in its message. Other programs' errors are unchanged. */
export function located(error: unknown, module: Module): unknown {
  if (!isOwn(error) || Object.isFrozen(error)) return error;
  let place = places.get(error);
  if (place === undefined) {
    const { name } = module.constructor;
    place = { outer: new WeakSet([module]), outermost: name, path: '', layer: name, message: error.message };
    places.set(error, place);
  } else if (!place.outer.has(module)) {
    const path = pathTo(module, place.outer, new Set());
    if (path === null) return error;
    place.path = place.path === '' ? path : `${path}.${place.path}`;
    place.outer = new WeakSet([module]);
    place.outermost = module.constructor.name;
  }
  const before = error.message;
  const { stack } = error;
  error.message = `${place.message}\n  ${textOf(place)}`;
  if (stack?.includes(before)) error.stack = stack.replace(before, () => error.message);
  return error;
}
