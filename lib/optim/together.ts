/**
 * Ops on lists of tensors, for many small parameters: on the CPU libtorch runs the op of each tensor, so the values are the
 * same, with one call from JavaScript for all of them.
 */
import { ops } from '../call/raw';
import type { Tensor } from '../tensor/tensor';

type Tensors = readonly Tensor[];
type Op = (...args: unknown[]) => unknown;

const op = (name: string, overload: string) => ops.aten![`_foreach_${name}`]![overload] as unknown as Op;

const mulScalar = op('mul_', 'Scalar');
const addScalar = op('add_', 'Scalar');
const addList = op('add', 'List');
const addListInPlace = op('add_', 'List');
const addcmulScalar = op('addcmul_', 'Scalar');
const addcdivList = op('addcdiv_', 'ScalarList');
const divList = op('div_', 'ScalarList');
const squareRoots = op('sqrt', 'default');
const negatives = op('neg', 'default');

export const mul_ = (all: Tensors, by: number): unknown => mulScalar(all, by);
export const add_ = (all: Tensors, value: number): unknown => addScalar(all, value);
export const addEach_ = (all: Tensors, others: Tensors, alpha: number): unknown =>
  addListInPlace(all, others, { alpha });
export const addEach = (all: Tensors, others: Tensors, alpha: number): Tensor[] =>
  addList(all, others, { alpha }) as Tensor[];
export const addcmul_ = (all: Tensors, a: Tensors, b: Tensors, value: number): unknown =>
  addcmulScalar(all, a, b, value);
export const addcdiv_ = (all: Tensors, a: Tensors, b: Tensors, values: readonly number[]): unknown =>
  addcdivList(all, a, b, values);
export const div_ = (all: Tensors, by: readonly number[]): unknown => divList(all, by);
export const sqrt = (all: Tensors): Tensor[] => squareRoots(all) as Tensor[];
export const neg = (all: Tensors): Tensor[] => negatives(all) as Tensor[];
/** From libtorch 2 on. */
export const lerp_ = (all: Tensors, ends: Tensors, weight: number): unknown => op('lerp_', 'Scalar')(all, ends, weight);

/** Larger parameters take longer than the call, and their temporaries should not live longer than needed. */
const MAX_ELEMENTS = 1 << 14;
const MAX_TOGETHER = 1 << 15;

const fits = (parameter: Tensor): boolean =>
  parameter.numel <= MAX_ELEMENTS && parameter.device === 'cpu' && /^b?float/.test(parameter.dtype);

/** Splits what is due into lists of small parameters, and those to do alone. */
export function lists<T extends { readonly parameter: Tensor }>(due: readonly T[]): T[][] {
  // A parameter that is there twice takes its second step from the result of the first.
  if (new Set(due.map(({ parameter }) => parameter)).size < due.length) return due.map((one) => [one]);
  const all: T[][] = [];
  let open: T[] = [];
  let elements = 0;
  for (const one of due) {
    if (!fits(one.parameter)) {
      all.push([one]);
      continue;
    }
    elements += one.parameter.numel;
    if (elements > MAX_TOGETHER && open.length > 0) {
      all.push(open);
      open = [];
      elements = one.parameter.numel;
    }
    open.push(one);
  }
  if (open.length > 0) all.push(open);
  return all;
}
