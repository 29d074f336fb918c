/**
 * Calls of `torch.async` that take less time than a trip to another thread: they run where they are called, as synchronous
 * calls do. Their results come in the next turn of the event loop, as if they came from the pool, since a loop that awaits
 * them must not delay timers and sockets. native/async/short_batch.h says which calls are short.
 */
import { setImmediate } from 'node:timers';
import { native } from '../addon/native';
import { Flag, RecordingMode } from '../generated/codes';
import { enter, nearestOpen, now, type ScopeNode } from '../lifetimes/context';
import { isGenuine, type Tensor } from '../tensor/tensor';

type Call = (...args: unknown[]) => unknown;

const { flags } = native;

/** Elements of the calls in one turn of the event loop, at most: a fraction of a millisecond for the slowest op. */
const MAX_ELEMENTS = 16_384;
/** What a call costs beside its elements. */
const CALL_ELEMENTS = 64;
let elements = 0;

/** The short ops, and whether their result is one number for a whole tensor. */
export type ShortOps = ReadonlyMap<Call, boolean>;

export function shortOpsOf(ops: Record<string, unknown>, nameOf: (name: string) => string): ShortOps {
  const found = new Map<Call, boolean>();
  for (const whole of [false, true]) {
    for (const name of native.shortOps(whole)) {
      const op = ops[nameOf(name)];
      if (typeof op === 'function') found.set(op as Call, whole); // some are in torch.nn.functional only
    }
  }
  return found;
}

/** The tensors of a call that has only those and numbers; null for any other call. */
function handlesOf(args: readonly unknown[]): number[] | null {
  if (args.length > 3) return null;
  const handles: number[] = [];
  for (const value of args) {
    if (isGenuine(value)) handles.push(value._handle);
    else if (typeof value !== 'number') return null;
  }
  return handles;
}

/** Whether the call may run now; counts what it costs. */
function isShort(whole: boolean, args: readonly unknown[]): boolean {
  if (elements > MAX_ELEMENTS || flags[Flag.Recording] !== RecordingMode.Off) return false;
  const handles = handlesOf(args);
  if (handles === null || handles.length === 0 || (whole && args.length > 1)) return false;
  const count = native.shortCall(whole, ...handles);
  if (count === 0) return false;
  elements += count + CALL_ELEMENTS;
  return true;
}

/** A result for the next turn. Until then it belongs to no scope: the one of the call may end before. */
interface Arrival {
  readonly tensor: Tensor;
  readonly scope: ScopeNode | null;
  readonly resolve: (tensor: Tensor) => void;
}
let arrivals: Arrival[] = [];

function deliver(): void {
  elements = 0;
  const arrived = arrivals;
  arrivals = [];
  for (const { tensor, scope, resolve } of arrived) {
    const open = nearestOpen(scope);
    if (open !== null) native.scopeMove(tensor._handle, open._id);
    resolve(tensor);
  }
}

/** The promise of a short call, which has run; null for any other call. It rejects with what `fn` throws. */
export function callNow(short: ShortOps, fn: Call, args: unknown[]): Promise<unknown> | null {
  const whole = short.get(fn);
  if (whole === undefined || !isShort(whole, args)) return null;
  const scope = now.current;
  if (scope !== null) enter(null);
  try {
    const tensor = fn(...args) as Tensor;
    if (arrivals.length === 0) setImmediate(deliver);
    return new Promise((resolve) => arrivals.push({ tensor, scope, resolve }));
  } catch (error) {
    return Promise.reject(error);
  } finally {
    if (scope !== null) enter(scope);
  }
}
