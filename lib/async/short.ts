/**
 * Calls of `torch.async` that take less time than a trip to another thread: they run where they are called, as synchronous
 * calls do. Their results come in the next turn of the event loop, as if they came from the pool, since a loop that awaits
 * them must not delay timers and sockets. native/async/short_batch.h says which calls are short.
 */
import * as timers from 'node:timers';
import { native } from '../addon/native';
import { restoring } from '../errors/restoring';
import { Flag, RecordingMode } from '../generated/codes';
import { enter, nearestOpen, now, type ScopeNode } from '../lifetimes/context';
import { isGenuine, type Tensor } from '../tensor/tensor';

type Call = (...args: unknown[]) => unknown;

const { flags } = native;
/** The one that was there when the library was loaded: fake timers of a test must not hold results back. */
const { setImmediate } = timers;

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

/** What the call costs, in elements, if it may run now; else 0. */
function costOf(whole: boolean, args: readonly unknown[]): number {
  if (elements > MAX_ELEMENTS || flags[Flag.Recording] !== RecordingMode.Off) return 0;
  const handles = handlesOf(args);
  if (handles === null || handles.length === 0 || (whole && args.length > 1)) return 0;
  const count = native.shortCall(whole, ...handles);
  return count === 0 ? 0 : count + CALL_ELEMENTS;
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
  const cost = whole === undefined ? 0 : costOf(whole, args);
  if (cost === 0) return null;
  const scope = now.current;
  const run = () => {
    if (scope !== null) enter(null);
    const tensor = fn(...args) as Tensor;
    if (arrivals.length === 0) setImmediate(deliver);
    elements += cost; // not of a call that fails: no turn would come that resets it
    return new Promise((resolve) => arrivals.push({ tensor, scope, resolve }));
  };
  try {
    return scope === null ? run() : restoring(() => enter(scope), run);
  } catch (error) {
    return Promise.reject(error);
  }
}
