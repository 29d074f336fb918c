/**
 * Tensors in node:assert: `deepStrictEqual` and its kin compare an object's own properties, and those of two tensors always
 * differ. The module's functions are replaced by ones that ask again with the tensors' values where the answer depends on
 * them. Comparisons without tensors are answered, and their errors made, by node:assert alone.
 */
import * as assertModule from 'node:assert';
import { syncBuiltinESMExports } from 'node:module';
import * as util from 'node:util';
import { holdsTensor, withStandIns } from './stand-ins';

type Compare = (...args: unknown[]) => unknown;

const { AssertionError } = assertModule;

/** On each function of ours: the one that it replaces. Another copy of the library (Jest loads one per file) finds it there. */
const replaced = Symbol.for('libtorch-node.replaced');

/** The two values with what stands for their tensors; undefined where there is none. */
function standing(actual: unknown, expected: unknown): [unknown, unknown] | undefined {
  if (!holdsTensor(actual) && !holdsTensor(expected)) return undefined;
  const [a, b] = [withStandIns(actual), withStandIns(expected)];
  return a === undefined && b === undefined ? undefined : [a ? a.value : actual, b ? b.value : expected];
}

/** Leaves our own frame out of an error's stack, as node:assert leaves out its own. What the program passed stays as it is. */
function trimmed(error: unknown, message: unknown, below: Compare): unknown {
  if (!(error instanceof AssertionError) || error === message) return error;
  // The first line of a stack has the code, which is not a part of the name.
  const { name, code } = error;
  error.name = `${name} [${code}]`;
  Error.captureStackTrace(error, below);
  void error.stack; // formatted now, with that name
  error.name = name;
  return error;
}

/** For an assertion that holds where two values are equal. */
function expectsEqual(original: Compare): Compare {
  return function compare(...args) {
    try {
      return original(...args);
    } catch (error) {
      // Not for a getter of the program's that throws, or arguments that are missing.
      if (!(error instanceof AssertionError) && error !== args[2]) throw error;
      const pair = standing(args[0], args[1]);
      if (pair === undefined) throw trimmed(error, args[2], compare);
      try {
        return original(...pair, ...args.slice(2));
      } catch (caught) {
        throw trimmed(caught, args[2], compare);
      }
    }
  };
}

/** For one that holds where they are not. */
function expectsUnequal(original: Compare): Compare {
  return function compare(...args) {
    try {
      original(...args);
      const pair = standing(args[0], args[1]);
      if (pair !== undefined) original(...pair, ...args.slice(2));
    } catch (error) {
      throw trimmed(error, args[2], compare);
    }
  };
}

/** For a question. */
const asks =
  (original: Compare): Compare =>
  (...args) => {
    if (original(...args)) return true;
    const pair = standing(args[0], args[1]);
    return pair !== undefined && original(...pair, ...args.slice(2));
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
