/** Arguments of torch.distributed's functions. */
import type { Signal } from '../../types/base';
import { ownOptions } from '../addon/options';
import { argumentError } from '../errors/errors';
import { requireComputed } from '../tensor/pending';
import { isTensor, type Tensor } from '../tensor/tensor';

export function integerOf(fn: string, name: string, value: unknown, least: number, most = Number.MAX_SAFE_INTEGER) {
  if (Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most) return value as number;
  const range = most === Number.MAX_SAFE_INTEGER ? `of ${least} or more` : `from ${least} to ${most}`;
  throw argumentError(fn, name, `an integer ${range}`, value);
}

export function textOf(fn: string, name: string, value: unknown): string {
  if (typeof value !== 'string' || value === '') throw argumentError(fn, name, 'a string that is not empty', value);
  return value;
}

export { flagOf } from '../addon/options';

export function signalOf(fn: string, value: unknown): Signal | undefined {
  if (value !== undefined && !(value instanceof AbortSignal))
    throw argumentError(fn, 'signal', 'an AbortSignal', value);
  return value;
}

/** The default of c10d: 30 minutes. */
export const DEFAULT_TIMEOUT_MS = 30 * 60 * 1000;

export const timeoutOf = (fn: string, value: unknown, usual: number): number =>
  value === undefined ? usual : integerOf(fn, 'timeoutMs', value, 1, 2 ** 31 - 1);

export function tensorOf(fn: string, name: string, value: unknown): Tensor {
  requireComputed(fn, name, value, 'call it with the result of torch.run, after its await');
  if (!isTensor(value)) throw argumentError(fn, name, 'a Tensor', value);
  return value;
}

export function tensorListOf(fn: string, name: string, value: unknown): Tensor[] {
  if (!Array.isArray(value)) throw argumentError(fn, name, 'an array of Tensors', value);
  return value.map((element, i) => tensorOf(fn, `${name}[${i}]`, element));
}

/** The options of a call that are allowed for it. */
export const optionsOf = <K extends string>(
  fn: string,
  value: unknown,
  names: readonly K[],
): Partial<Record<K, unknown>> => ownOptions(fn, (value ?? {}) as Record<string, unknown>, names) as never;
