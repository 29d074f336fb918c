/** Arguments of torch.autograd's functions: a single tensor counts as a list of one. Lists are read completely first. */
import { isOptions, ownOptions } from '../addon/options';
import { argumentError, refusal } from '../errors/errors';
import { requireComputed } from '../tensor/pending';
import { isTensor, type Tensor } from '../tensor/tensor';

/** One tensor, or any iterable of them. */
export type Tensors = Tensor | Iterable<Tensor>;

const isIterable = (value: unknown): value is Iterable<unknown> =>
  typeof value === 'object' && value !== null && typeof (value as Iterable<unknown>)[Symbol.iterator] === 'function';

/** These functions run the engine at once. What torch.run can record is `backward()` of a tensor. */
const INSTEAD = 'await it first, or call backward() of the tensor';

function elementsOf<T>(
  fn: string,
  argument: string,
  value: unknown,
  expected: string,
  is: (element: unknown) => boolean,
) {
  if (isTensor(value)) {
    requireComputed(fn, argument, value, INSTEAD);
    return [value as T];
  }
  if (!isIterable(value)) throw argumentError(fn, argument, `a Tensor or a list of ${expected}`, value);
  const elements: T[] = [];
  for (const element of value) {
    if (!is(element)) throw argumentError(fn, `${argument}[${elements.length}]`, expected, element);
    requireComputed(fn, `${argument}[${elements.length}]`, element, INSTEAD);
    elements.push((element ?? null) as T);
  }
  return elements;
}

export const tensorsOf = (fn: string, argument: string, value: unknown): Tensor[] =>
  elementsOf<Tensor>(fn, argument, value, 'Tensors', isTensor);

/** The same with nulls allowed. An omitted list is empty. */
export const optionalTensorsOf = (fn: string, argument: string, value: unknown): (Tensor | null)[] =>
  value === null || value === undefined
    ? []
    : elementsOf<Tensor | null>(
        fn,
        argument,
        value,
        'Tensors and nulls',
        (element) => element === null || element === undefined || isTensor(element),
      );

/** Handles for native code, which takes 0 for none. */
export const handlesOf = (tensors: readonly (Tensor | null)[]): number[] =>
  tensors.map((tensor) => (tensor === null ? 0 : tensor._handle));

/**
 * The arguments after the tensors, by position in Python's order, by name in one object at the end, or both. As many as the
 * orders of Python and of the options agree on may be positional.
 */
export function furtherOptions<T extends object>(
  fn: string,
  positional: readonly (keyof T & string)[],
  known: readonly (keyof T & string)[],
  passed: readonly unknown[],
): T {
  const last = passed.filter((value) => value !== undefined).at(-1);
  const hasOptions = isOptions(last) && !(Symbol.iterator in last);
  const values = passed.slice(0, hasOptions ? passed.lastIndexOf(last) : passed.length);
  const given = ownOptions(fn, (hasOptions ? last : {}) as T, known);
  for (const [i, value] of values.entries()) {
    if (value === undefined) continue;
    const name = positional[i];
    if (name === undefined) throw argumentError(fn, 'options', 'an object', value);
    if (given[name] !== undefined) throw refusal(fn, name, 'a value by position or by name', 'both');
    given[name] = value as T[typeof name];
  }
  return given;
}
