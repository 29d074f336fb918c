/** Iterators of the program: what breaks the protocol is an error that names the argument which gave the iterator. */
import { argumentError } from '../errors/errors';

type AnyIterator = Iterator<unknown> | AsyncIterator<unknown>;

/** Throws unless the value has `next()`. */
export function demandIterator(fn: string, name: string, value: unknown): AnyIterator {
  if (typeof (value as Partial<AnyIterator> | null | undefined)?.next === 'function') return value as AnyIterator;
  throw argumentError(fn, name, 'an iterable that gives an iterator with next()', value);
}

/** Throws unless the value is a result of `next()`. */
export function demandStep(fn: string, name: string, step: unknown): IteratorResult<unknown> {
  if (typeof step === 'object' && step !== null) return step as IteratorResult<unknown>;
  throw argumentError(fn, name, 'an iterator whose next() gives { value, done }', step);
}

/** Ends an iterator before its end. @returns what its `return()` gives, which may be a promise */
export function closeIterator(fn: string, name: string, iterator: AnyIterator): unknown {
  const close: unknown = iterator.return;
  if (close === undefined || close === null) return undefined;
  if (typeof close !== 'function') {
    throw argumentError(fn, name, 'an iterator whose return, if it has one, is a function', close);
  }
  return close.call(iterator);
}

/** The values of an iterable, as `for … of` reads them. */
export function* valuesOf<T>(fn: string, name: string, iterable: Iterable<T>): Generator<T, void, undefined> {
  const iterator = demandIterator(fn, name, iterable[Symbol.iterator]()) as Iterator<T>;
  let isOpen = false; // an iterator that has ended or thrown is not closed
  try {
    for (;;) {
      const step = demandStep(fn, name, iterator.next()) as IteratorResult<T>;
      if (step.done) return;
      const { value } = step;
      isOpen = true;
      yield value;
      isOpen = false;
    }
  } finally {
    if (isOpen) closeIterator(fn, name, iterator);
  }
}
