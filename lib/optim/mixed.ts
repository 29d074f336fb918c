/** Arithmetic of Python numbers and tensors of one element, as LBFGS mixes them: a tensor decides the precision. */
import { isTensor, type Tensor } from '../tensor/tensor';

export type Num = number | Tensor;

const own = (value: unknown): Tensor => value as Tensor;

export function add(a: Num, b: Num): Num {
  if (isTensor(a)) return own(a.add(b as number));
  return isTensor(b) ? own(b.add(a)) : a + b;
}

export function sub(a: Num, b: Num): Num {
  if (isTensor(a)) return own(a.sub(b as number));
  return isTensor(b) ? own(own(b.neg()).add(a)) : a - b;
}

export function mul(a: Num, b: Num): Num {
  if (isTensor(a)) return own(a.mul(b as number));
  return isTensor(b) ? own(b.mul(a)) : a * b;
}

export function div(a: Num, b: Num): Num {
  if (isTensor(a)) return own(a.div(b as number));
  return isTensor(b) ? own(own(b.reciprocal()).mul(a)) : a / b;
}

export const abs = (a: Num): Num => (isTensor(a) ? own(a.abs()) : Math.abs(a));

const truth = (value: unknown): boolean => Boolean((value as Tensor).item());

export function less(a: Num, b: Num): boolean {
  if (isTensor(a)) return truth(a.lt(b as number));
  return isTensor(b) ? truth(b.gt(a)) : a < b;
}

export function atMost(a: Num, b: Num): boolean {
  if (isTensor(a)) return truth(a.le(b as number));
  return isTensor(b) ? truth(b.ge(a)) : a <= b;
}

/** Python's min and max, which give the first of equal values. */
export const min = (a: Num, b: Num): Num => (less(b, a) ? b : a);
export const max = (a: Num, b: Num): Num => (less(a, b) ? b : a);

export const toNumber = (a: Num): number => (isTensor(a) ? (a.item() as number) : a);
