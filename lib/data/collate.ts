/** From samples to a batch. */
import { entriesOf, isMap } from '../addon/collections';
import { isPlainObject } from '../addon/options';
import { ops } from '../autograd/tuples';
import { warn } from '../call/warnings';
import { fromTypedArray, type TensorData, tensor } from '../elements/create';
import { argumentError, codedError, describe } from '../errors/errors';
import { ownScope } from '../lifetimes/scope';
import { bare } from '../tensor/second-name';
import { isTensor, type Tensor } from '../tensor/tensor';
import { type Around, define, within } from './arguments';
import type { Collated, Converted } from './batch-types';
import { noteFailedPlace } from './failed-place';

const FN = 'utils.data.defaultCollate';
const A_SAMPLE = 'tensors, typed arrays, numbers, bigints, booleans, strings, and arrays, objects and Maps of them';

const isTypedArray = (value: unknown): value is ArrayBufferView & ArrayLike<number> =>
  ArrayBuffer.isView(value) && !(value instanceof DataView);

/** A copy of what a sample contains, so that no code of the program runs once the first tensor is made. */
function readSample(value: unknown, around: Around | null): unknown {
  if (isTensor(value)) return bare(value);
  if (typeof value !== 'object' || value === null || isTypedArray(value)) return value;
  const isList = Array.isArray(value);
  if (!isList && !isMap(value) && !isPlainObject(value)) return value;
  const here = within(FN, 'samples', value, around);
  if (isList) return Array.from(value, (inner) => readSample(inner, here));
  if (isMap(value)) return new Map(entriesOf(value).map(([key, inner]) => [key, readSample(inner, here)]));
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(value)) define(copy, key, readSample((value as Record<string, unknown>)[key], here));
  return copy;
}

function wrong(place: number, at: string, expected: string, got: unknown): Error {
  const error = argumentError(FN, `samples[${place}]${at}`, expected, got);
  noteFailedPlace(error, place);
  return error;
}

/** All values as those of the first sample; the place of another one is in the error. */
function demandAll(values: readonly unknown[], at: string, expected: string, is: (value: unknown) => boolean): void {
  values.forEach((value, i) => {
    if (!is(value)) throw wrong(i, at, expected, value);
  });
}

function stacked(values: readonly Tensor[], at: string): Tensor {
  const [first] = values as [Tensor];
  const shape = first.shape.join();
  demandAll(
    values,
    at,
    `a Tensor ${first.dtype}[${first.shape.join(', ')}], as in the first sample`,
    (value) => isTensor(value) && value.shape.join() === shape,
  );
  return ops().stack!(values);
}

/** An integer that a float32 does not hold exactly, as many above 2^24. */
const isRounded = (value: unknown): boolean => Number.isSafeInteger(value) && Math.fround(value as number) !== value;

/** Ids and times in ms would be rounded in silence. */
function warnOfRounding(at: string): void {
  const where = at === '' ? 'the samples' : `${at} of the samples`;
  const instead = 'pass bigints, which become an int64, or a collateFn that calls torch.tensor(values, { dtype })';
  warn(`${FN}: numbers become a float32, which rounds integers above 2^24: ${where} have such; ${instead}`);
}

/** `values`: one of each sample. `at`: where they are in it. */
function collated(values: readonly unknown[], at: string): unknown {
  const [first] = values;
  if (isTensor(first)) return stacked(values as Tensor[], at);
  const kind = typeof first;
  if (kind === 'number' || kind === 'bigint' || kind === 'boolean') {
    demandAll(values, at, `a ${kind}, as in the first sample`, (value) => typeof value === kind);
    const made = tensor(values as TensorData);
    if (made.dtype === 'float32' && values.some(isRounded)) warnOfRounding(at);
    return made;
  }
  if (kind === 'string') return [...values];
  if (isTypedArray(first)) {
    demandAll(values, at, 'a typed array, as in the first sample', isTypedArray);
    return stacked(
      (values as never[]).map((array) => fromTypedArray(array) as Tensor),
      at,
    );
  }
  if (Array.isArray(first)) {
    const { length } = first;
    demandAll(
      values,
      at,
      `an array of ${length}, as in the first sample`,
      (value) => Array.isArray(value) && value.length === length,
    );
    return first.map((_, k) =>
      collated(
        values.map((value) => (value as unknown[])[k]),
        `${at}[${k}]`,
      ),
    );
  }
  if (isMap(first)) {
    demandAll(values, at, 'a Map, as in the first sample', isMap);
    return new Map(
      [...first.keys()].map((key) => [key, collated(ofKey(values, at, key), `${at}.get(${describe(key)})`)]),
    );
  }
  if (!isPlainObject(first)) throw wrong(0, at, A_SAMPLE, first);
  const batch: Record<string, unknown> = {};
  for (const key of Object.keys(first)) {
    demandAll(
      values,
      at,
      `an object with '${key}', as in the first sample`,
      (value) => isPlainObject(value) && Object.hasOwn(value, key),
    );
    const inner = values.map((value) => (value as Record<string, unknown>)[key]);
    define(batch, key, collated(inner, `${at}.${key}`));
  }
  return batch;
}

function ofKey(values: readonly unknown[], at: string, key: unknown): unknown[] {
  demandAll(
    values,
    at,
    `a Map with ${describe(key)}, as in the first sample`,
    (value) => isMap(value) && value.has(key),
  );
  return values.map((value) => (value as Map<unknown, unknown>).get(key));
}

/**
 * One batch from a list of samples: tensors and typed arrays are stacked, numbers become a tensor by the rules of
 * `torch.tensor`, strings stay a list; arrays, objects and Maps keep their form.
 */
export function defaultCollate<S>(samples: Iterable<S>): Collated<S> {
  if (typeof (samples as Iterable<unknown> | undefined)?.[Symbol.iterator] !== 'function') {
    throw argumentError(FN, 'samples', 'a list of samples', samples);
  }
  const all = Array.from(samples, (sample) => readSample(sample, null));
  if (all.length === 0)
    throw codedError(TypeError, 'ERR_TORCH_ARGUMENT', `${FN}: expected one sample or more, got none`);
  return ownScope(() => collated(all, '')) as Collated<S>;
}

/** One sample without a batch: typed arrays become tensors. */
export const defaultConvert = <S>(sample: S): Converted<S> => converted(sample, null) as Converted<S>;

function converted(sample: unknown, around: Around | null): unknown {
  if (isTensor(sample)) return sample;
  if (isTypedArray(sample)) {
    const shared = fromTypedArray(sample as never) as Tensor;
    try {
      return shared.clone();
    } finally {
      shared.dispose();
    }
  }
  const isList = Array.isArray(sample);
  if (!isList && !isMap(sample) && !isPlainObject(sample)) return sample;
  const here = within('utils.data.defaultConvert', 'sample', sample, around);
  if (isList) return sample.map((inner) => converted(inner, here));
  if (isMap(sample)) return new Map(entriesOf(sample).map(([key, inner]) => [key, converted(inner, here)]));
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(sample)) define(copy, key, converted(sample[key], here));
  return copy;
}
