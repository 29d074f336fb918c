/** The ops that public functions are made of, as functions: methods are on the tensors themselves. */
import { spaces } from '../functions';
import { f, results } from '../runtime';
import { isTensor } from '../tensor';
import { raw } from '../wrappers';

/** Typed where they are called: by what they return. */
type Op = (...args: any[]) => any;
type Ops = Readonly<Record<string, Op>>;

const all = (name: string): Ops => ({ ...spaces[name], ...spaces[`_${name}`] }) as Ops;

/** torch's own, those that a public function replaces with them. */
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
 * One overload, for arguments that the parser has read already: tensors, numbers, lists, null for none. Spares a call with
 * nulls in it, which no fast path takes, a second parsing. Not for dtypes and other names.
 */
export function direct(name: string, overload = 'default'): Op {
  let row: number | undefined;
  return (...args: unknown[]) => {
    row ??= raw.aten![name]![overload]!;
    const values = args.map(handles);
    // Native code reads what is not passed as null without asking.
    while (values.length > 0 && values[values.length - 1] === null) values.pop();
    return results(row, f[row]!(...values), args);
  };
}
