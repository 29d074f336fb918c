/** Errors of a worker as messages. A clone of an error loses its code and its cause, which tell a program what went wrong. */
import { types } from 'node:util';

export interface PostedError {
  /** What was thrown. */
  readonly error: unknown;
  /** The strings, numbers and booleans that the error has beside its message and stack, such as `code`. */
  readonly facts: Readonly<Record<string, unknown>>;
  readonly cause: PostedError | null;
}

/** How many causes behind each other a message has: a cause may be its own cause. */
const MAX_CAUSES = 8;

/** A clone of an error has one of these names. */
const CLONED_NAMES = new Set([
  'Error',
  'EvalError',
  'RangeError',
  'ReferenceError',
  'SyntaxError',
  'TypeError',
  'URIError',
]);

const isError = (value: unknown): value is Error => value instanceof Error || types.isNativeError(value);

/** `as`: what is posted of an error itself. */
export function posted(error: unknown, as: (error: unknown) => unknown = clonable, causes = MAX_CAUSES): PostedError {
  if (!isError(error)) return { error: as(error), facts: {}, cause: null };
  const { cause, name } = error;
  const { code } = error as { code?: unknown };
  const facts = Object.entries({ ...error, code, ...(CLONED_NAMES.has(name) ? {} : { name }) }).filter(isFact);
  return {
    error: as(error),
    facts: Object.fromEntries(facts),
    cause: cause === undefined || causes === 0 ? null : posted(cause, as, causes - 1),
  };
}

const isFact = ([, value]: [string, unknown]): boolean => ['string', 'number', 'boolean'].includes(typeof value);

/** A clone of a DOMException has no message. */
const clonable = (error: unknown): unknown => (isError(error) && !types.isNativeError(error) ? copyOf(error) : error);

/** An error that can be cloned, of one that cannot. */
export function copyOf(error: unknown): Error {
  const { message, stack, name } = Object(error) as Error;
  const copy = Object.assign(new Error(message ?? String(error)), { name: name ?? 'Error' });
  copy.stack = stack ?? String(error);
  return copy;
}

/** The error of a message. */
export function received({ error, facts, cause }: PostedError): unknown {
  if (!isError(error)) return error;
  Object.assign(error, facts);
  if (cause !== null) {
    Object.defineProperty(error, 'cause', { value: received(cause), configurable: true, writable: true });
  }
  return error;
}
