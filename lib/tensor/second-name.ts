/**
 * A Proxy around a tensor counts as that tensor, but accessing it runs user code: its traps. So it is accessed once, when a
 * call is read. The library continues with a second object for the tensor, with the same handle; a call that returns its
 * argument returns the Proxy.
 */
import { types } from 'node:util';
import { codedError } from '../errors/errors';
import { isGenuine, isTensor, secondName, type Tensor } from './tensor';

/** The Proxy of each second object. It keeps the tensor alive. */
const givenAs = new WeakMap<object, object>();

/** The total number created, to detect whether a call created any. */
let made = 0;
export const secondNames = (): number => made;

/** The value, or a second object for a Proxy around a tensor. Runs the traps, in the scope of the program. */
export function bare<T>(value: T): T {
  if (isGenuine(value) || !types.isProxy(value) || !isTensor(value)) return value;
  const { _handle: handle } = value;
  const name = secondName(handle, handle < 0 ? (value as { recorder?: unknown }).recorder : null);
  if (name === null) {
    throw codedError(
      TypeError,
      'ERR_TORCH_ARGUMENT',
      'expected a Tensor, got a Proxy that shows only a part of a pending one',
    );
  }
  made++;
  givenAs.set(name, value);
  return name as T & Tensor;
}

/** The caller's Proxy if the value is its second object, else the value. */
export function asGiven(value: unknown): unknown {
  if (isGenuine(value) || typeof value !== 'object' || value === null) return value;
  return givenAs.get(value) ?? value;
}

/** The same for a result, which may be a list. `before`: the value of secondNames() before the call was read. */
export function resultAsGiven(result: unknown, before: number): unknown {
  if (made === before) return result;
  if (Array.isArray(result)) {
    for (let i = 0; i < result.length; i++) result[i] = asGiven(result[i]);
    return result;
  }
  return asGiven(result);
}
