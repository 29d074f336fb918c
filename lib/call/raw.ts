/** `torch.ops.aten.<name>.<overload>`: every declaration, by its exact name. */

import { readRaw, readRawCalls } from '../addon/wrappers';
import { callRaw, f, rawSite } from './runtime';
import { signature } from './signature';
import { positionalNames } from './wrapper-names';

/** One overload: arguments in schema order, keyword-only ones in one trailing object by schema name. */
type RawFunction = ((...args: unknown[]) => unknown) & { readonly schema: string };

let calls: Record<number, (...args: never[]) => unknown> | undefined;

function rawFunction(number: number): RawFunction {
  calls ??= readRawCalls().makeRaw(f, { ...positionalNames, callRaw, rawSite });
  return Object.defineProperty(calls[number]!, 'schema', {
    get: () => signature(number).schema,
    enumerable: true,
  }) as RawFunction;
}

/** An object with lazily created, enumerable properties, so that Object.keys lists them all. */
function lazy<T>(names: readonly string[], make: (name: string) => T): Record<string, T> {
  const object: Record<string, T> = Object.create(null);
  for (const name of names) {
    Object.defineProperty(object, name, {
      enumerable: true,
      configurable: true,
      get: () => {
        const value = make(name);
        Object.defineProperty(object, name, { value, enumerable: true });
        return value;
      },
    });
  }
  return object;
}

const overloadsOf = (name: string) => readRaw().raw.aten![name]!;

export const ops = lazy(['aten'], () =>
  lazy(Object.keys(readRaw().raw.aten!), (name) =>
    lazy(Object.keys(overloadsOf(name)), (overload) => rawFunction(overloadsOf(name)[overload]!)),
  ),
);
