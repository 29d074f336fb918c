/** `torch.run` and `torch.async`: ops off the event loop. */
import type { Signal } from '../../types/base';
import { argumentError, type TorchError } from '../errors';
import { isPendingTensor, type PendingTensor, PendingValue } from './pending';
import { Strand } from './strand';

export interface RunOptions {
  /** Rejects with the signal's reason when it is aborted; the op in progress ends on its thread, those after it do not begin. */
  signal?: Signal | undefined;
}

type Pending = PendingTensor | PendingValue;
const isPending = (value: unknown): value is Pending => value instanceof PendingValue || isPendingTensor(value);
const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function';

/** Calls `visit` for each value inside arrays, maps, sets and plain objects; what it returns takes the value's place. */
function replaceAll(root: unknown, visit: (value: Pending) => unknown): unknown {
  if (isPending(root)) return visit(root);
  const seen = new Set<object>();
  const pending: unknown[] = [root];
  while (pending.length > 0) {
    const value = pending.pop();
    if (typeof value !== 'object' || value === null || seen.has(value)) continue;
    seen.add(value);
    const look = (element: unknown, put: (element: unknown) => void) => {
      if (isPending(element)) put(visit(element));
      else pending.push(element);
    };
    if (value instanceof Map) for (const [key, element] of value) look(element, (real) => value.set(key, real));
    else if (value instanceof Set) {
      for (const element of [...value]) {
        look(element, (real) => {
          value.delete(element);
          value.add(real);
        });
      }
    } else if (Array.isArray(value) || isPlain(value)) {
      for (const key of Object.getOwnPropertyNames(value)) {
        if (key !== 'length') look(Reflect.get(value, key), (real) => Reflect.set(value, key, real));
      }
    }
  }
  return root;
}

const isPlain = (value: object) => {
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
};

/** Errors come up on another turn of the event loop: the lines that a program's author wants are those of the call. */
function withStack(error: unknown, site: { stack?: string }): unknown {
  const { op, stack } = error as TorchError;
  if (op === undefined || typeof stack !== 'string') return error;
  const frames = site.stack!.slice(site.stack!.indexOf('\n'));
  (error as TorchError).stack = `${(error as TorchError).name}: ${(error as TorchError).message}${frames}`;
  return error;
}

/** Records what `fn` calls, runs it, and gives `fn`'s result with real tensors in place of pending ones. */
export function start(
  fn: (strand: Strand) => unknown,
  { signal }: RunOptions,
  caller: (...args: never[]) => unknown,
): Promise<unknown> {
  const site: { stack?: string } = {};
  Error.captureStackTrace(site, caller);
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const strand = new Strand(caller);
    const onAbort = () => {
      strand.abort(signal!.reason);
      reject(signal!.reason);
    };
    signal?.addEventListener('abort', onAbort, { once: true });
    const end = (settle: () => void) => {
      signal?.removeEventListener('abort', onAbort);
      try {
        settle();
      } catch (error) {
        reject(withStack(error, site)); // taking a result failed: no room for it, say
      } finally {
        strand.close();
      }
    };
    const fail = (error: unknown) => end(() => reject(withStack(error, site)));
    const finish = (value: unknown) => {
      const wanted: Pending[] = [];
      replaceAll(value, (pending) => {
        wanted.push(pending);
        return pending;
      });
      strand.flush(wanted).then(() => end(() => resolve(replaceAll(value, (pending) => strand.take(pending)))), fail);
    };
    try {
      const value = fn(strand);
      if (isThenable(value) && !isPending(value)) value.then(finish, fail);
      else finish(value);
    } catch (error) {
      fail(error); // a bad argument, or what the function threw
    }
  });
}

function optionsOf(options: unknown): RunOptions {
  if (typeof options !== 'object' || options === null) throw argumentError('run', 'options', 'an object', options);
  const { signal } = options as RunOptions;
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw argumentError('run', 'signal', 'an AbortSignal', signal);
  }
  return { signal };
}

type Space = Record<string, unknown>;
type Call = (...args: unknown[]) => unknown;

const isSpace = (value: unknown): value is Space => typeof value === 'object' && value !== null && isPlain(value);
const isCall = (value: unknown): value is Call =>
  typeof value === 'function' && Object.getOwnPropertyDescriptor(value, 'prototype')?.writable !== false;

/** The module, its functions called by `call`. */
function mirror(space: Space, call: (fn: Call, args: unknown[], caller: Call) => unknown): Space {
  const made = new Map<PropertyKey, unknown>();
  return new Proxy(space, {
    get(target, name) {
      const value = Reflect.get(target, name);
      if (!isCall(value) && !isSpace(value)) return value;
      if (!made.has(name)) {
        const caller: Call = (...args) => call(value as Call, args, caller);
        made.set(name, isCall(value) ? caller : mirror(value, call));
      }
      return made.get(name);
    },
    set: () => false,
  });
}

/** torch.run over the functions of `torch`. */
export function makeRun(torch: Space): Call {
  return function run(fn: unknown, options: unknown = {}): Promise<unknown> {
    if (typeof fn !== 'function') throw argumentError('run', 'fn', 'a function', fn);
    const recorded = (strand: Strand) => fn(mirror(torch, (call, args) => strand.record(() => call(...args))));
    return start(recorded, optionsOf(options), run);
  };
}

/** An options object at the end may have a `signal`, which is not the op's. */
function takeSignal(args: unknown[]): RunOptions {
  const last = args[args.length - 1];
  if (typeof last !== 'object' || last === null || !isPlain(last) || !Object.hasOwn(last, 'signal')) return {};
  const { signal, ...rest } = last as Record<string, unknown>;
  args.pop();
  if (Object.keys(rest).length > 0) args.push(rest);
  return optionsOf({ signal });
}

/** torch.async over the ops of `torch`: each call is a `run` of its own. */
export function makeAsync(ops: Space): Space {
  return mirror(ops, (fn, args, caller) => {
    const options = takeSignal(args);
    return start((strand) => strand.record(() => fn(...args)), options, caller);
  });
}
