/** Recognising a model: an instance of the class, from this copy of the library or another one. */
import type { ScriptModule } from '../../types/generated/classes';
import { argumentError } from '../errors/errors';
import { isModel as isScriptModule } from '../nn/registration';
import type { Tensor } from '../tensor/tensor';

export type Model = ScriptModule & { _live(): number; readonly _token?: Tensor };

export const isModel = (value: unknown): value is Model => isScriptModule(value);

/** The model that a value is, or that a Module of `asModule` shows. Throws for others. */
export function demandModel(fn: string, value: unknown): Model {
  if (isModel(value)) return value;
  // In Python a model and its Module are one object.
  if (typeof value === 'object' && value !== null && '_whole' in value) {
    return (value as { _whole(fn: string): Model })._whole(fn);
  }
  throw argumentError(fn, 'model', 'a ScriptModule', value);
}

export function modelOf(self: unknown, member: string): Model {
  if (isModel(self)) return self;
  throw argumentError(`ScriptModule.${member}`, 'this', 'a ScriptModule', self);
}
