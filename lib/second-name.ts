/**
 * A Proxy around a tensor stands for that tensor, but whoever asks it runs the program's code: its traps. So it is asked once,
 * where a call is read. What the library goes on with is a second name of the tensor, an object of its own with the same
 * handle; what a call hands back is the Proxy that it was given.
 */
import { types } from 'node:util';
import { codedError } from './errors';
import { isGenuine, isTensor, secondName, type Tensor } from './tensor';

/** By the second name, which keeps the tensor alive by its Proxy. */
const givenAs = new WeakMap<object, object>();

/** How many there were ever: whether a call made any. */
let made = 0;
export const secondNames = (): number => made;

/** The value, or of a Proxy around a tensor a second name. Runs the traps: in the scope of the program. */
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

/** What the caller gave, where the value is a second name of it. */
export function asGiven(value: unknown): unknown {
  if (isGenuine(value) || typeof value !== 'object' || value === null) return value;
  return givenAs.get(value) ?? value;
}

/** The same for the result of a call, which may be a list; `before` is what secondNames() was before the call was read. */
export function resultAsGiven(result: unknown, before: number): unknown {
  if (made === before) return result;
  if (Array.isArray(result)) {
    for (let i = 0; i < result.length; i++) result[i] = asGiven(result[i]);
    return result;
  }
  return asGiven(result);
}
