/** `torch.run` and `torch.async`: ops off the event loop. */
import { types } from 'node:util';
import type { Signal } from '../../types/base';
import { ownOptions, timeoutOf } from '../addon/options';
import { reportsMissingNames } from '../call/misses';
import { camelCase } from '../call/signature';
import { requireAtMost } from '../errors/arity';
import { argumentError, codedError, type TorchError } from '../errors/errors';
import { bodyNow, isPendingValue, recordBody } from '../tensor/pending';
import { findPending, isPending, isPlain } from '../tensor/places';
import { readArguments } from '../tensor/reading';
import { followed } from './continuations';
import { inCurrentModes, whenResolved } from './promised';
import { callNow, shortOpsOf } from './short';
import { onAbort } from './signals';
import { Strand } from './strand';

export interface RunOptions {
  /**
   * Aborting it rejects with the signal's reason. The op in progress finishes on its thread; later ops do not begin. If the
   * ops write to existing tensors, the promise rejects after that op has finished.
   */
  signal?: Signal | undefined;
  /**
   * Milliseconds after which the promise rejects with `ERR_TORCH_TIMEOUT`, whether the op in progress can be stopped or not. That
   * op goes on in a thread of its own, keeps its inputs, and its results are freed when it ends; until then the tensors that it
   * writes to may change. Later ops do not begin.
   */
  timeoutMs?: number | undefined;
}

const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function';

/** At once: a rejection would be unhandled, because the program drops the promises of a function that is only recorded. */
function refuseInCapture(): void {
  bodyNow()?.refuse?.('it calls torch.run or torch.async');
}

/** Records what `fn` calls, runs it, and resolves with `fn`'s result, real tensors replacing pending ones. */
export function start(
  fn: (strand: Strand) => unknown,
  { signal, timeoutMs }: RunOptions,
  caller: (...args: never[]) => unknown,
): Promise<unknown> {
  const site: { stack?: unknown } = {};
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const strand = new Strand(caller, site);
    /** Ops that write to existing tensors finish before the promise rejects. */
    const fail = (error: unknown) => strand.stop(error, () => end(() => reject(error)));
    const forget = signal === undefined ? undefined : onAbort(signal, () => fail(signal.reason));
    const timer = timeoutMs === undefined ? undefined : setTimeout(() => late(timeoutMs), timeoutMs);
    const late = (ms: number) => {
      const error = timeoutError(ms, site);
      strand.abandon(error, () => end(() => reject(error)));
    };
    const end = (settle: () => void) => {
      forget?.();
      clearTimeout(timer);
      try {
        settle();
      } catch (error) {
        reject(strand.located(error)); // taking a result failed, for example out of memory
      } finally {
        strand.close();
      }
    };
    const threw = (error: unknown) => {
      strand.isActive = false;
      fail(error);
    };
    const finish = (value: unknown) => {
      strand.isActive = false;
      try {
        const found = findPending(value);
        for (const pending of found.wanted) if (isPendingValue(pending)) pending.awaited = true;
        strand.requireAwaited();
        const fill = () => end(() => resolve(found.fill((pending) => strand.take(pending))));
        strand.flush(found.wanted).then(fill, fail);
      } catch (error) {
        fail(error); // a getter of the result threw, or it is frozen
      }
    };
    try {
      const value = fn(strand);
      if (isThenable(value) && !isPending(value)) Promise.resolve(value).then(finish, threw);
      else finish(value);
    } catch (error) {
      threw(error); // a bad argument, or what the function threw
    }
    // For errors of later turns. Capturing takes as long as several small ops, so it is left out if all ops have run.
    if (!strand.hasRun || timeoutMs !== undefined) Error.captureStackTrace(site, caller);
  });
}

/** With the stack of the call. */
function timeoutError(ms: number, { stack }: { stack?: unknown }): TorchError {
  const message = `expected the result within ${ms} ms (timeoutMs); an op in progress goes on, and its result will be freed`;
  const error = codedError(Error, 'ERR_TORCH_TIMEOUT', message);
  if (typeof stack === 'string') error.stack = `${error.name}: ${message}${stack.slice(stack.indexOf('\n'))}`;
  return error;
}

const NO_OPTIONS: RunOptions = {};

function optionsOf(fn: string, options: RunOptions): RunOptions {
  if (options === NO_OPTIONS) return options;
  const { signal, timeoutMs } = ownOptions(fn, options, ['signal', 'timeoutMs']);
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw argumentError(fn, 'signal', 'an AbortSignal', signal);
  }
  return { signal, timeoutMs: timeoutOf(fn, timeoutMs) };
}

type Space = Record<string, unknown>;
type Call = (...args: unknown[]) => unknown;

const isSpace = (value: unknown): value is Space =>
  typeof value === 'object' && value !== null && (isPlain(value) || reportsMissingNames(value));
const isCall = (value: unknown): value is Call =>
  typeof value === 'function' && Object.getOwnPropertyDescriptor(value, 'prototype')?.writable !== false;

/** Library functions that take a callback: what it calls is recorded only if they do so themselves. */
const unrecorded = new WeakSet<object>();
/** Library functions with their own argument handling. Arguments of all others are read before anything is recorded. */
const handWritten = new WeakSet<object>();

/** Called once, by the module that defines them. */
export function registerKinds(kinds: { unrecorded: readonly object[]; handWritten: readonly object[] }): void {
  for (const fn of kinds.unrecorded) unrecorded.add(fn);
  for (const fn of kinds.handWritten) handWritten.add(fn);
}

/** A mirror of the module whose functions go through `call`. */
function mirror(space: Space, call: (fn: Call, args: unknown[], caller: Call) => unknown): Space {
  const made = new Map<PropertyKey, unknown>();
  return new Proxy(space, {
    get(target, name) {
      const value = Reflect.get(target, name);
      if (!isCall(value) && !isSpace(value)) return value;
      // What every object has is not an op: `String(torch.async)` calls toString, and nobody would await its promise.
      if (value === Object.prototype[name as keyof object]) return value;
      if (!made.has(name)) {
        const caller: Call = (...args) => call(value as Call, args, caller);
        made.set(name, isCall(value) ? caller : mirror(value, call));
      }
      return made.get(name);
    },
    set: refuseChange,
    defineProperty: refuseChange,
    deleteProperty: refuseChange,
    preventExtensions: refuseChange,
    setPrototypeOf: refuseChange,
  });
}

function refuseChange(): never {
  throw codedError(TypeError, 'ERR_TORCH_ARGUMENT', 'torch.async and the module that torch.run passes are read-only');
}

/** `torch`, recorded in a strand. A separate function, so that what the program keeps of it does not keep its own function. */
const recordingOf = (torch: Space, strand: Strand): Space =>
  mirror(torch, (call, args) => {
    if (unrecorded.has(call)) return call(...args);
    const given = handWritten.has(call) ? args : readArguments(args);
    return strand.record(() => call(...given), call.name);
  });

/** torch.run over the functions of `torch`. */
export function makeRun(torch: Space): Call {
  return function run(fn: unknown, options: unknown = NO_OPTIONS, ...more: unknown[]): Promise<unknown> {
    if (more.length > 0) requireAtMost('run', 2, [fn, options, ...more]);
    if (typeof fn !== 'function') throw argumentError('run', 'fn', 'a function', fn);
    refuseInCapture();
    const recorded = (strand: Strand) => {
      const recording = recordingOf(torch, strand);
      const body = () => recordBody(strand, () => fn(recording));
      return types.isAsyncFunction(fn) ? followed(body as () => Promise<unknown>) : body();
    };
    return start(recorded, optionsOf('run', options as RunOptions), run);
  };
}

/** Removes `signal` and `timeoutMs` from a trailing options object: they are not options of the op. */
function takeOptions(args: unknown[]): RunOptions {
  const last = args[args.length - 1];
  if (typeof last !== 'object' || last === null || !isPlain(last)) return {};
  if (!Object.hasOwn(last, 'signal') && !Object.hasOwn(last, 'timeoutMs')) return {};
  const { signal, timeoutMs, ...rest } = last as Record<string, unknown>;
  args.pop();
  if (Object.keys(rest).length > 0) args.push(rest);
  return optionsOf('async', { signal, timeoutMs } as RunOptions);
}

/** Whether nothing may end the call before its result is there. */
const isFree = ({ signal, timeoutMs }: RunOptions): boolean => signal === undefined && timeoutMs === undefined;

/** torch.async over the ops of `torch`: each call is a `run` of its own. */
export function makeAsync(ops: Space): Space {
  const short = shortOpsOf(ops, camelCase);
  return mirror(ops, (fn, passed, caller) => {
    refuseInCapture();
    let options: RunOptions;
    let args: unknown[];
    try {
      args = readArguments(passed);
      options = takeOptions(args);
    } catch (error) {
      return Promise.reject(error);
    }
    const resolved = whenResolved(args);
    if (resolved === null) {
      const early = isFree(options) ? callNow(short, fn, args) : null;
      return early ?? start((strand) => strand.record(() => fn(...args)), options, caller);
    }
    const inModes = inCurrentModes();
    const later = async (strand: Strand) => {
      const real = readArguments(await resolved);
      try {
        return strand.record(() => inModes(() => fn(...real)));
      } catch (error) {
        throw strand.located(error);
      }
    };
    return start(later, options, caller);
  });
}
