/** Whether the programs compute the same numbers, without which their times could not be compared. */
import { CPP } from './programs.mjs';

const RELATIVE = 2e-5;
const ABSOLUTE = 2e-6;

/**
 * @param {Record<string, Record<string, (number[] | undefined)[]>>} values by program and case; undefined: it does not have the case
 * @returns {string[]} what differs from C++
 */
export function differences(values) {
  return Object.entries(values).flatMap(([program, cases]) =>
    Object.entries(cases).flatMap(([name, [got]]) => {
      const expected = values[CPP][name][0];
      if (got === undefined || got === null) return []; // null: undefined in JSON
      const equal = (value, i) => Math.abs(value - expected[i]) <= ABSOLUTE + RELATIVE * Math.abs(expected[i]);
      const same = got.length === expected.length && got.every(equal);
      return same ? [] : [`${program}, ${name}: expected ${expected.join(', ')}, got ${got.join(', ')}`];
    }),
  );
}
