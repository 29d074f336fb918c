/**
 * Whether a value needs no conversion, by the table of base types (codegen/model/type_table.cpp): the generated fast paths
 * contain the same tests.
 */
import { Plain } from '../generated/codes';

/** Whether a value fits unchanged. Tensors are tested by their users: what crosses is the handle. */
export function isPlain(value: unknown, plain: Plain): boolean {
  switch (plain) {
    case Plain.Number:
      return typeof value === 'number';
    case Plain.Integer:
      return Number.isInteger(value);
    case Plain.Boolean:
      return typeof value === 'boolean';
    case Plain.String:
      return typeof value === 'string';
    default:
      return false;
  }
}
