/** Every error of the library has a stable `code`. This module makes the errors raised in JavaScript. */
import { types } from 'node:util';
import { pointAtCaller } from './caller';
import { dataOf, isOfAnotherCopy } from './copies';

export type ErrorCode =
  | 'ERR_TORCH_ARGUMENT'
  | 'ERR_TORCH_OVERLOAD'
  | 'ERR_TORCH_OPERATOR'
  | 'ERR_TORCH_NAME'
  | 'ERR_TORCH_RUNTIME'
  | 'ERR_TORCH_NOT_IMPLEMENTED'
  | 'ERR_TORCH_DISPOSED'
  | 'ERR_TORCH_SCOPE'
  | 'ERR_TORCH_SHARED'
  | 'ERR_TORCH_PENDING'
  | 'ERR_TORCH_TIMEOUT'
  | 'ERR_TORCH_CAPTURE'
  | 'ERR_TORCH_FILE'
  | 'ERR_TORCH_MODEL'
  | 'ERR_TORCH_ASYNC_MODE'
  | 'ERR_TORCH_OUT_OF_MEMORY'
  | 'ERR_TORCH_CUDA'
  | 'ERR_TORCH_MEMORY_LIMIT'
  | 'ERR_TORCH_LOAD'
  | 'ERR_TORCH_LEAK'
  | 'ERR_TORCH_MISSING_PACKAGE'
  | 'ERR_TORCH_STREAM'
  | 'ERR_TORCH_NOT_FINITE'
  | 'ERR_TORCH_DATA'
  | 'ERR_TORCH_INDEX'
  | 'ERR_TORCH_DISTRIBUTED';

/** An error of the library. Native code throws the same shape, with further codes (see docs/errors.md). */
export interface TorchError extends Error {
  code: string;
  /** The op, such as "aten::mm". */
  op?: string;
  /** The name of the wrong argument, if there is one. */
  argument?: string;
  /** Of `torch.utils.assertFinite`: the step whose loss is not finite. */
  step?: number;
  /** Of a DataLoader with workers: the sample that failed. */
  index?: number;
  /** libtorch's original text, if the message rewords it. Not enumerable. */
  libtorchMessage?: string;
  /** With LIBTORCH_NODE_DEBUG=1, for a use after dispose: the stack of the tensor's creation. */
  created?: string;
  /** The stack of its release. */
  disposed?: string;
  /** How it was released. */
  disposedBy?: 'collector' | 'dispose' | 'disposeAll' | 'scope';
}

type ErrorClass = new (message: string) => Error;

export function codedError(type: ErrorClass, code: ErrorCode, message: string): TorchError {
  const error = Object.assign(new type(message), { code });
  pointAtCaller(error, codedError);
  return error;
}

/** Completes each error of native code before it is thrown. `handle`: of the disposed tensor that was used, or 0. */
export function completeNative(error: TorchError, handle: number): void {
  const { message } = error;
  const better = reword.with?.(message, error.code) ?? message;
  if (better !== message) {
    error.message = better;
    Object.defineProperty(error, 'libtorchMessage', { value: message, configurable: true, writable: true });
    // The stack includes the message, and pointAtCaller does not always capture it again.
    Error.captureStackTrace(error, completeNative);
  }
  if (handle !== 0) completeDisposed.with?.(error, handle);
  pointAtCaller(error, completeNative);
}

/** Set by lib/call/libtorch-text.ts. */
export const reword: { with?: (message: string, code: string) => string } = {};

/** Set by lib/observe/debug.ts. */
export const completeDisposed: { with?: (error: TorchError, handle: number) => void } = {};

/** The error for a use after dispose. */
export function disposedError(fn: string, handle: number, argument: string): TorchError {
  const message = `${fn}: argument '${argument}': the tensor was disposed`;
  const error = Object.assign(codedError(Error, 'ERR_TORCH_DISPOSED', message), { op: fn, argument });
  completeDisposed.with?.(error, handle);
  return error;
}

/** The error for a wrong argument of a hand-written function. */
export function argumentError(fn: string, argument: string, expected: string, got: unknown): TorchError {
  const what = describe(got);
  // Such as the AbortSignal of a package that stands in for Node's.
  const whose = what === expected ? ' of another class with this name' : '';
  return refusal(fn, argument, expected, what + whose + (types.isPromise(got) ? promiseHint(expected) : ''));
}

/** `torch.run(work())` has called the function that it should have passed. */
const promiseHint = (expected: string): string =>
  /^a function(?! that)/.test(expected) ? '; pass the function without calling it' : '; did you forget await?';

/** The same with `got` as text. */
export function refusal(fn: string, argument: string, expected: string, got: string): TorchError {
  const message = `${fn}: argument '${argument}': expected ${expected}, got ${got}`;
  return Object.assign(codedError(TypeError, 'ERR_TORCH_ARGUMENT', message), { op: fn, argument });
}

/** Arrays in arrays that a message describes: one may contain itself. */
const MAX_DESCRIBED = 3;

/** A short description of a value, for messages. `depth`: of arrays around it. */
export function describe(value: unknown, depth = 0): string {
  if (value === null) return 'null';
  switch (typeof value) {
    case 'string':
      return `'${value.length > 60 ? `${value.slice(0, 57)}…` : value}'`;
    case 'bigint':
      return `${value}n`;
    case 'function':
      return 'a function';
    case 'symbol':
      return 'a symbol';
    case 'object':
      return describeObject(value, depth) + (isOfAnotherCopy(value) ? ' of another copy of libtorch-node' : '');
    default:
      return String(value);
  }
}

/** Describes an object without running user code, because messages are made in the middle of calls. */
function describeObject(value: object, depth: number): string {
  if (types.isProxy(value)) return 'a Proxy';
  const described = dataOf(value, '_describe');
  if (typeof described === 'function') return described.call(value);
  if (Array.isArray(value)) {
    const { length } = value;
    if (length === 0) return 'an empty array';
    const first = depth < MAX_DESCRIBED ? ` (first: ${describe(dataOf(value, 0), depth + 1)})` : '';
    return `an array of ${length}${first}`;
  }
  // Only data properties: a dictionary from a file may have a key of that name.
  const made = dataOf(value, 'constructor');
  const name = typeof made === 'function' ? dataOf(made, 'name') : undefined;
  if (typeof name !== 'string' || name === '' || name === 'Object') return 'an object';
  return `${/^(?!U[A-Z]|Uint|Uni|User)[AEIOU]/.test(name) ? 'an' : 'a'} ${name}`;
}
