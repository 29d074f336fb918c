/** The ops that public functions use, as functions. */

import { lateRow } from '../addon/wrappers';
import { spaces } from '../call/functions';
import { f, results } from '../call/runtime';
import { isTensor } from '../tensor/tensor';

/** The call site gives the result type. */
type Op = (...args: any[]) => any;
type Ops = Readonly<Record<string, Op>>;

const all = (name: string): Ops => ({ ...spaces[name], ...spaces[`_${name}`] }) as Ops;

/** torch's ops, including those that a public function replaces. */
export const aten: Ops = all('');
/** torch._C._nn. */
export const nn: Ops = all('nn.functional');
export const linalg: Ops = all('linalg');
export const sparse: Ops = all('sparse');

const handles = (value: unknown): unknown => {
  if (isTensor(value)) return value._handle;
  return Array.isArray(value) && isTensor(value[0]) ? value.map(handles) : value;
};

/**
 * One overload, for arguments that are already parsed: tensors, numbers, lists, null for none. Avoids parsing a call with
 * nulls again, which no fast path takes. Not for dtypes and other names.
 */
export function direct(name: string, overload = 'default'): Op {
  const rowOf = lateRow(name, overload);
  return (...args: unknown[]) => {
    const row = rowOf();
    const values = args.map(handles);
    // Native code reads omitted arguments as null.
    while (values.length > 0 && values[values.length - 1] === null) values.pop();
    return results(row, f[row]!(...values), args);
  };
}
