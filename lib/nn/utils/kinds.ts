/** Kinds of arguments of the functions in torch.nn.utils. */
import { bare } from '../../tensor/second-name';
import { isTensor, type Tensor } from '../../tensor/tensor';
import { type Kind, kind } from '../arguments';
import { Module } from '../module';

const noText = () => '';

export const aTensor: Kind<Tensor> = kind<Tensor>(
  'a Tensor',
  undefined,
  (value) => (isTensor(value) ? bare(value) : undefined),
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

/** A list of tensors, or a tensor for those of its first dimension: see `listOf`. */
export const tensorsOf: Kind<Tensor | Tensor[]> = kind<Tensor | Tensor[]>(
  'a Tensor or a list of Tensors',
  undefined,
  (value) => {
    if (isTensor(value)) return value.ndim === 0 ? undefined : bare(value);
    if (typeof (value as Iterable<unknown> | null)?.[Symbol.iterator] !== 'function') return undefined;
    const list = [...(value as Iterable<unknown>)].map((one) => bare(one));
    return list.length > 0 && list.every(isTensor) ? list : undefined;
  },
  noText,
);

export const listOf = (given: Tensor | Tensor[]): Tensor[] => (isTensor(given) ? (given.unbind(0) as Tensor[]) : given);

/** Lengths of sequences. */
export const lengthsOf: Kind<Tensor | readonly number[]> = kind<Tensor | readonly number[]>(
  'a Tensor or a list of integers',
  undefined,
  (value) => {
    if (isTensor(value)) return bare(value);
    const list = Array.isArray(value) ? [...(value as unknown[])] : [];
    return Array.isArray(value) && list.every(Number.isInteger) ? (list as number[]) : undefined;
  },
  noText,
);
