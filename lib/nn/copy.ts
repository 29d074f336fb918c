/** Copies of modules. */

import type { ScriptModule } from '../../types/generated/classes';
import { inGradMode } from '../autograd/mode';
import { NativeObject } from '../call/object';
import { codedError } from '../errors/errors';
import { isTensor, type Tensor } from '../tensor/tensor';
import { onFirstForward } from './first-forward';
import type { Module } from './module';
import { Buffer, held, owned, Parameter, UninitializedBuffer, UninitializedParameter } from './parameter';
import { isOfModel } from './registration';
import { attach } from './utils/computed';

/** Cannot be cloned: structuredClone, which would make an object without the module's tensors, throws this text. */
export const notCloned: symbol = Symbol(
  'torch.nn.Module: pass module.share() to another thread and call loadShared there; module.deepCopy() copies, and torch.save(module.stateDict(), path) stores it',
);

interface Made {
  /** Modules and tensors that were copied: shared ones stay shared. */
  readonly copies: Map<object, unknown>;
  /** The class Module. */
  readonly base: new () => Module;
}

const isModule = (value: unknown): value is Module =>
  typeof value === 'object' && value !== null && '_state' in value && '_keyOf' in value;

/**
 * A copy of a module's properties that another library made (lodash's cloneDeep) has the class, but not the state that the
 * constructor made. Only such an object reads the prototype's property.
 */
export function refuseForeignCopies<C extends { prototype: object }>(module: C): C {
  Object.defineProperty(module.prototype, '_state', {
    get(this: object): never {
      throw codedError(
        TypeError,
        'ERR_TORCH_ARGUMENT',
        `${this.constructor.name}: expected a module of its constructor, got a copy of a module's properties; copy with module.deepCopy()`,
      );
    },
    configurable: true,
  });
  return module;
}

export const deepCopyOf = (module: Module, base: Made['base']): Module => copyOf(module, { copies: new Map(), base });

function copyOf(module: Module, made: Made): Module {
  const known = made.copies.get(module);
  if (known !== undefined) return known as Module;
  if (isOfModel(module)) return copyOfModel(module._whole('deepCopy'), made).asModule();
  // A module of the same classes, whose constructors do not run.
  const copy = Reflect.construct(made.base, [], module.constructor as never) as Module;
  made.copies.set(module, copy);
  for (const key of Reflect.ownKeys(module)) {
    if (key === '_state') continue;
    const descriptor = Object.getOwnPropertyDescriptor(module, key)!;
    const persistent = module._state.buffers.get(key as string);
    // Getters compute: their values are not copied.
    if (persistent === undefined && descriptor.get !== undefined) {
      Object.defineProperty(copy, key, descriptor);
      continue;
    }
    const value = copyOfValue((module as unknown as Record<PropertyKey, unknown>)[key], made);
    if (persistent !== undefined) copy.registerBuffer(key as string, value as Tensor | null, { persistent });
    else Object.defineProperty(copy, key, { ...descriptor, value });
  }
  for (const [name, key] of module._state.keys) copy._state.keys.set(name, key);
  for (const [name, { method }] of module._state.computed) {
    attach(copy, name, method, (copy as unknown as Record<string, Tensor>)[name]!);
  }
  if (module._state.firstForward !== null) onFirstForward(copy, module._state.firstForward);
  return copy;
}

function copyOfValue(value: unknown, made: Made): unknown {
  if (isModule(value)) return copyOf(value, made);
  if (value instanceof NativeObject && value._class === 'ScriptModule') {
    return copyOfModel(value as unknown as ScriptModule, made);
  }
  if (isTensor(value)) {
    const known = made.copies.get(value);
    if (known !== undefined) return known;
    const copy = copyOfTensor(value);
    made.copies.set(value, copy);
    return copy;
  }
  if (value instanceof Map) return new Map([...value].map(([key, inner]) => [key, copyOfValue(inner, made)]));
  if (Array.isArray(value)) return value.map((inner) => copyOfValue(inner, made));
  return value;
}

function copyOfModel(model: ScriptModule, made: Made): ScriptModule {
  const known = (made.copies.get(model) as ScriptModule | undefined) ?? model.deepCopy();
  made.copies.set(model, known);
  owned((known as unknown as NativeObject)._token); // it may outlive the scope, as the copy's parameters do
  return known;
}

function copyOfTensor(tensor: Tensor): Tensor {
  const { requiresGrad } = tensor;
  if (tensor instanceof UninitializedParameter) {
    const { dtype, device } = tensor;
    return new (tensor.constructor as typeof UninitializedParameter)({ requiresGrad, dtype, device });
  }
  const copy = inGradMode(false, () => tensor.clone() as Tensor);
  try {
    if (tensor instanceof Parameter) {
      return new (tensor.constructor as typeof Parameter)(copy, { requiresGrad });
    }
    if (tensor instanceof Buffer) return new Buffer(copy, { persistent: tensor.persistent });
    const own = held(copy);
    if (tensor instanceof UninitializedBuffer) Object.setPrototypeOf(own, UninitializedBuffer.prototype);
    return own;
  } finally {
    copy.dispose();
  }
}
