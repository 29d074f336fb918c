/** Tensors of a module that a pre-hook computes from its parameters before each forward: weightNorm, spectralNorm, prune. */
import { argumentError } from '../../errors/errors';
import { ownScope } from '../../lifetimes/scope';
import type { HookHandle } from '../../tensor/hook-list';
import type { Tensor } from '../../tensor/tensor';
import type { Module } from '../module';
import { owned, Parameter, UninitializedParameter } from '../parameter';

/** How a tensor is computed. Methods know no module, so that a copy of a module can use the same one. */
export interface Method {
  compute(module: Module, name: string): Tensor;
}

export interface Computed {
  readonly method: Method;
  readonly handle: HookHandle;
  /** The last result, which the module owns. */
  tensor: Tensor;
}

type Properties = Record<string, Tensor | null>;
export const propertiesOf = (module: Module): Properties => module as unknown as Properties;

/** A parameter or buffer of a module, such as `weightMask` for `weight`, whose key is `weight_mask`. */
export function part(name: string, suffix: string): string {
  return name + suffix[0]!.toUpperCase() + suffix.slice(1);
}

function noteKey(module: Module, name: string, suffix: string): string {
  const made = part(name, suffix);
  module._state.keys.set(made, `${module._keyOf(name)}_${suffix}`);
  return made;
}

export function addParameter(module: Module, name: string, suffix: string, parameter: Parameter): void {
  module.registerParameter(noteKey(module, name, suffix), parameter);
}

export function addBuffer(module: Module, name: string, suffix: string, tensor: Tensor): void {
  module.registerBuffer(noteKey(module, name, suffix), tensor);
}

/** Notes a tensor that the module no longer uses. The program may still, until `module.dispose()`. */
export function retire(module: Module, tensor: Tensor): void {
  module._state.retire(tensor._handle);
}

/** Removes a property, and gives its value. */
export function taken(module: Module, name: string): Tensor | null {
  const properties = propertiesOf(module);
  const value = properties[name] ?? null;
  if (value !== null) retire(module, value);
  delete properties[name];
  module._state.buffers.delete(name);
  module._state.keys.delete(name);
  return value;
}

/** The parameter of a name that functions of torch.nn.utils replace. */
export function demandParameter(fn: string, module: Module, name: string): Parameter {
  const value: unknown = Object.hasOwn(module, name) ? propertiesOf(module)[name] : undefined;
  if (value instanceof Parameter && !(value instanceof UninitializedParameter)) return value;
  const expected = `a parameter of ${module.constructor.name} that has a shape`;
  throw argumentError(`nn.utils.${fn}`, 'name', expected, name);
}

/** Computes the tensor before each forward. `tensor` is its value until then. */
export function attach(module: Module, name: string, method: Method, tensor: Tensor): void {
  const handle = module.registerForwardPreHook((called: Module) => {
    renew(called, name, method);
  });
  module._state.computed.set(name, { method, handle, tensor });
  propertiesOf(module)[name] = owned(tensor) as Tensor;
}

/** Computes the tensor now. */
function renew(module: Module, name: string, method: Method): void {
  const computed = module._state.computed.get(name);
  const before = computed?.tensor;
  const next = ownScope(() => method.compute(module, name), false);
  propertiesOf(module)[name] = owned(next) as Tensor;
  if (computed !== undefined) computed.tensor = next;
  if (before !== next) before?.dispose();
}

/** Stops computing the tensor, and removes it. */
export function detach(module: Module, name: string): void {
  const { handle, tensor } = module._state.computed.get(name)!;
  handle.remove();
  module._state.computed.delete(name);
  delete propertiesOf(module)[name];
  tensor.dispose();
}
