/** Arguments of torch.autograd's functions: a single tensor counts as a list of one. Lists are read completely first. */
import { argumentError } from '../errors/errors';
import { isTensor, type Tensor } from '../tensor/tensor';

/** One tensor, or any iterable of them. */
export type Tensors = Tensor | Iterable<Tensor>;

const isIterable = (value: unknown): value is Iterable<unknown> =>
  typeof value === 'object' && value !== null && typeof (value as Iterable<unknown>)[Symbol.iterator] === 'function';

function elementsOf<T>(
  fn: string,
  argument: string,
  value: unknown,
  expected: string,
  is: (element: unknown) => boolean,
) {
  if (isTensor(value)) return [value as T];
  if (!isIterable(value)) throw argumentError(fn, argument, `a Tensor or a list of ${expected}`, value);
  const elements: T[] = [];
  for (const element of value) {
    if (!is(element)) throw argumentError(fn, `${argument}[${elements.length}]`, expected, element);
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
