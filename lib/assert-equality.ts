/**
 * Tensors in node:assert: `deepStrictEqual` and its kin compare an object's own properties, and those of two tensors always
 * differ. The module's functions are replaced by ones that ask again with the tensors' values where the answer depends on
 * them. Comparisons without tensors are answered, and their errors made, by node:assert alone.
 */
import * as assertModule from 'node:assert';
import { syncBuiltinESMExports } from 'node:module';
import * as util from 'node:util';
import { withStandIns } from './stand-ins';

type Compare = (actual: unknown, expected: unknown, ...rest: unknown[]) => unknown;

/** On each function of ours: the one that it replaces. Another copy of the library (Jest loads one per file) finds it there. */
const replaced = Symbol.for('libtorch-node.replaced');

/** The two values with what stands for their tensors; undefined where there is none. */
function standing(actual: unknown, expected: unknown): [unknown, unknown] | undefined {
  const [a, b] = [withStandIns(actual), withStandIns(expected)];
  return a === undefined && b === undefined ? undefined : [a ? a.value : actual, b ? b.value : expected];
}

/** For an assertion that holds where two values are equal. */
function expectsEqual(original: Compare): Compare {
  return function compare(actual, expected, ...rest) {
    try {
      return original(actual, expected, ...rest);
    } catch (error) {
      const pair = standing(actual, expected);
      try {
        if (pair === undefined) throw error;
        return original(...pair, ...rest);
      } catch (caught) {
        if (util.types.isNativeError(caught)) Error.captureStackTrace(caught, compare);
        throw caught;
      }
    }
  };
}

/** For one that holds where they are not. */
function expectsUnequal(original: Compare): Compare {
  return function compare(actual, expected, ...rest) {
    try {
      original(actual, expected, ...rest);
      const pair = standing(actual, expected);
      if (pair !== undefined) original(...pair, ...rest);
    } catch (error) {
      if (util.types.isNativeError(error)) Error.captureStackTrace(error, compare);
      throw error;
    }
  };
}

/** For a question. */
const asks =
  (original: Compare): Compare =>
  (actual, expected, ...rest) => {
    if (original(actual, expected, ...rest)) return true;
    const pair = standing(actual, expected);
    return pair !== undefined && original(...pair, ...rest);
  };

function replace(objects: readonly object[], name: string, wrap: (original: Compare) => Compare): void {
  const [first] = objects as readonly Record<string, unknown>[];
  const present = first![name] as (Compare & { [replaced]?: Compare }) | undefined;
  if (typeof present !== 'function') return;
  const original = present[replaced] ?? present;
  const ours = Object.defineProperties(wrap(original), {
    name: { value: original.name },
    length: { value: original.length },
    [replaced]: { value: original },
  });
  // assert.strict.deepEqual is deepStrictEqual under another name.
  for (const object of objects as readonly Record<string, unknown>[]) {
    for (const key of Object.keys(object)) if (object[key] === present) object[key] = ours;
  }
}

/** Once for an environment; again for each copy of the library, of which the newest is the one that is called. */
export function teachAssert(): void {
  const assert = (assertModule as { default?: object }).default ?? assertModule;
  const all = [assert, (assert as unknown as { strict: object }).strict];
  try {
    for (const name of ['deepStrictEqual', 'deepEqual']) replace(all, name, expectsEqual);
    for (const name of ['notDeepStrictEqual', 'notDeepEqual']) replace(all, name, expectsUnequal);
    replace([(util as { default?: object }).default ?? util], 'isDeepStrictEqual', asks);
    syncBuiltinESMExports();
  } catch {
    // A frozen module, of a hardened program: it compares tensors by handle, and says that they differ.
  }
}
