/**
 * Tensors in node:assert: `deepStrictEqual` and similar functions compare own properties, which differ between any two
 * tensors. They are replaced by wrappers that compare again with the tensors' values if the values contain tensors. Without
 * tensors, results and errors are those of node:assert.
 */
import * as assertModule from 'node:assert';
import { syncBuiltinESMExports } from 'node:module';
import * as util from 'node:util';
import { holdsTensor, withStandIns } from './stand-ins';

type Compare = (...args: unknown[]) => unknown;

const { AssertionError } = assertModule;

/** The original, on each wrapper. Other copies of the library (Jest loads one per file) find it there. */
const replaced = Symbol.for('libtorch-node.replaced');

/** The two values with stand-ins for their tensors; undefined if there are none. */
function substituted(actual: unknown, expected: unknown): [unknown, unknown] | undefined {
  if (!holdsTensor(actual) && !holdsTensor(expected)) return undefined;
  const [a, b] = [withStandIns(actual), withStandIns(expected)];
  return a === undefined && b === undefined ? undefined : [a ? a.value : actual, b ? b.value : expected];
}

/** Removes the wrapper's frame from an error's stack, as node:assert does with its own. The program's errors stay unchanged. */
function trimmed(error: unknown, message: unknown, below: Compare): unknown {
  if (!(error instanceof AssertionError) || error === message) return error;
  // The first line of the stack includes the code, which is not part of the name.
  const { name, code } = error;
  error.name = `${name} [${code}]`;
  Error.captureStackTrace(error, below);
  void error.stack; // formatted now, with that name
  error.name = name;
  return error;
}

/** Wraps an assertion that two values are equal. */
function expectsEqual(original: Compare): Compare {
  return function compare(...args) {
    try {
      return original(...args);
    } catch (error) {
      // Other errors pass: a getter that throws, missing arguments.
      if (!(error instanceof AssertionError) && error !== args[2]) throw error;
      const pair = substituted(args[0], args[1]);
      if (pair === undefined) throw trimmed(error, args[2], compare);
      try {
        return original(...pair, ...args.slice(2));
      } catch (caught) {
        throw trimmed(caught, args[2], compare);
      }
    }
  };
}

/** Wraps an assertion that two values differ. */
function expectsUnequal(original: Compare): Compare {
  return function compare(...args) {
    try {
      original(...args);
      const pair = substituted(args[0], args[1]);
      if (pair !== undefined) original(...pair, ...args.slice(2));
    } catch (error) {
      throw trimmed(error, args[2], compare);
    }
  };
}

/** Wraps a predicate. */
const testsEqual =
  (original: Compare): Compare =>
  (...args) => {
    if (original(...args)) return true;
    const pair = substituted(args[0], args[1]);
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
  // assert.strict.deepEqual is the same function as deepStrictEqual.
  for (const object of objects as readonly Record<string, unknown>[]) {
    for (const key of Object.keys(object)) if (object[key] === present) object[key] = ours;
  }
}

/** Called by each copy of the library; the newest copy's wrappers are active. */
export function patchAssert(): void {
  const assert = (assertModule as { default?: object }).default ?? assertModule;
  const all = [assert, (assert as unknown as { strict: object }).strict];
  try {
    for (const name of ['deepStrictEqual', 'deepEqual']) replace(all, name, expectsEqual);
    for (const name of ['notDeepStrictEqual', 'notDeepEqual']) replace(all, name, expectsUnequal);
    replace([(util as { default?: object }).default ?? util], 'isDeepStrictEqual', testsEqual);
    syncBuiltinESMExports();
  } catch {
    // A frozen module of a hardened program: tensors are compared by handle and always differ.
  }
}
