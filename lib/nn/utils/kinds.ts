/** Kinds of arguments of the functions in torch.nn.utils. */
import { isTensor, type Tensor } from '../../tensor/tensor';
import { type Kind, kind } from '../arguments';
import { Module } from '../module';

const noText = () => '';

export const aTensor: Kind<Tensor> = kind<Tensor>(
  'a Tensor',
  undefined,
  (value) => (isTensor(value) ? value : undefined),
  noText,
);

export const aModule: Kind<Module> = kind<Module>(
  'a Module',
  undefined,
  (value) => (value instanceof Module ? value : undefined),
  noText,
);

/** An instance of a class. */
export const a = <T>(expected: string, cls: abstract new (...args: any[]) => T): Kind<T> =>
  kind<T>(expected, undefined, (value) => (value instanceof cls ? value : undefined), noText);

/** A list of tensors; the tensors of a dimension for one tensor. */
export const tensorsOf: Kind<Tensor[]> = kind<Tensor[]>(
  'a Tensor or a list of Tensors',
  undefined,
  (value) => {
    if (isTensor(value)) return value.ndim === 0 ? undefined : (value.unbind(0) as Tensor[]);
    if (typeof (value as Iterable<unknown> | null)?.[Symbol.iterator] !== 'function') return undefined;
    const list = [...(value as Iterable<unknown>)];
    return list.length > 0 && list.every(isTensor) ? list : undefined;
  },
  noText,
);

/** Lengths of sequences. */
export const lengthsOf: Kind<Tensor | readonly number[]> = kind<Tensor | readonly number[]>(
  'a Tensor or a list of integers',
  undefined,
  (value) => {
    if (isTensor(value)) return value;
    return Array.isArray(value) && value.every(Number.isInteger) ? value : undefined;
  },
  noText,
);
