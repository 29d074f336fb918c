/**
 * Whether a value needs no conversion, by the table of base types (codegen/model/fit.h): the generated fast paths
 * contain the same tests.
 */
import { Plain } from '../generated/codes';

export const isInteger = Number.isInteger as (value: unknown) => value is number;
export const isNumber = (value: unknown): value is number => typeof value === 'number';

/** Whether a value fits unchanged. Tensors are tested by their users: what crosses is the handle. */
export function isPlain(value: unknown, plain: Plain): boolean {
  switch (plain) {
    case Plain.Number:
      return isNumber(value);
    case Plain.Integer:
      return isInteger(value);
    case Plain.Boolean:
      return typeof value === 'boolean';
    case Plain.String:
      return typeof value === 'string';
    default:
      return false;
  }
}
