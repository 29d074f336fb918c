/** The names of a small options object, for the generated fast paths. */

const { getPrototypeOf, prototype } = Object;
/** V8 compiles a call with a name of for…in to a check of the object's shape; Object.hasOwn searches for the name. */
const hasOwn = prototype.hasOwnProperty;

/** The names that `named` found last. */
export const names = { first: '', second: '' };

/**
 * The number of names of an options object, 1 or 2, which are then in `names`; 0 for every other value, also for objects of other
 * prototypes, which are left to lib/tensor/reading.ts. No code of the program runs but traps of a Proxy.
 */
export function named(value: unknown): number {
  if (typeof value !== 'object' || value === null || getPrototypeOf(value) !== prototype) return 0;
  let count = 0;
  let first = '';
  let second = '';
  for (const name in value) {
    // Names of Object.prototype are not the object's.
    if (count === 2 || !hasOwn.call(value, name)) return 0;
    if (count++ === 0) first = name;
    else second = name;
  }
  // Now, because a trap may have called the library.
  names.first = first;
  names.second = second;
  return count;
}
