/** Starts collectives: what all of them have in common. */
import type { Signal } from '../../types/base';
import { native } from '../addon/native';
import { onAbort } from '../async/signals';
import { noGrad } from '../autograd/backward';
import { handlesOf } from '../autograd/lists';
import { argumentError, refusal } from '../errors/errors';
import { keep } from '../lifetimes/movable';
import { ownScope } from '../lifetimes/scope';
import type { Tensor } from '../tensor/tensor';
import { agree } from './agreement';
import { signalOf } from './arguments';
import { requireFit } from './fit';
import { memberOf, type ProcessGroup } from './group';
import { type Call, Kind, ReduceOp, type ReduceOpName, reduceOps, type Work } from './kinds';
import { runJob } from './library';

export { type Call, Kind, ReduceOp, type ReduceOpName, type Work };

export interface CollectiveOptions {
  /** The ranks that take part. Default: the default group. */
  group?: ProcessGroup | null | undefined;
  /**
   * Aborting it rejects with the signal's reason. The other ranks are not told: a `send` or `recv` is withdrawn, every other
   * collective goes on in the background, and what it writes is not to be relied on.
   */
  signal?: Signal | undefined;
}

export interface ReduceOptions extends CollectiveOptions {
  /** Default: 'sum'. */
  op?: ReduceOpName | undefined;
}

export function callOf(name: string, { group, signal }: { group?: unknown; signal?: unknown }): Call {
  const fn = `distributed.${name}`;
  return { fn, signal: signalOf(fn, signal), group: memberOf(fn, group) };
}

export function opOf(fn: string, value: unknown, tensor: Tensor): number {
  const place = value === undefined ? 0 : reduceOps.indexOf(value as ReduceOpName);
  if (place < 0) throw argumentError(fn, 'op', `one of ${reduceOps.join(', ')}`, value);
  if (value === 'avg' && !/float|complex/.test(tensor.dtype)) {
    throw refusal(fn, 'op', `an op for integers, such as 'sum', as the tensor is ${tensor.dtype}`, "'avg'");
  }
  return place;
}

/** Another handle for the memory of a tensor, which no scope owns. */
const alias = (tensor: Tensor): Tensor => keep(tensor.detach() as Tensor);

/** Starts a collective at once. */
function start<T>({ fn, group, signal }: Call, work: Work): Promise<T> {
  const { op = 0, root = -1, tag = 0, allRanks = false, timeoutMs = group.timeoutMs } = work;
  const inputs = handlesOf(work.inputs ?? []);
  const outputs = handlesOf(work.outputs ?? []);
  const { _native } = memberOf(fn, group);
  return runJob<T>(
    fn,
    () =>
      native.distributedStart(
        _native,
        work.kind,
        inputs,
        outputs,
        [op, root, tag, Number(allRanks), timeoutMs],
        work.inputSplits ?? [],
        work.outputSplits ?? [],
      ),
    {
      signal,
      explain: (failure, timedOut) => {
        if (group.destroyed) {
          return { text: 'the process group was destroyed before the collective ended', code: 'ERR_TORCH_DISTRIBUTED' };
        }
        const text = `rank ${group.rank} of ${group.size}: ${failure}`;
        return { text, code: timedOut ? 'ERR_TORCH_TIMEOUT' : 'ERR_TORCH_DISTRIBUTED' };
      },
    },
  );
}

/** Starts a collective: at once, unless a call of several steps is in progress on the group. */
export function run<T>(call: Call, work: Work): Promise<T> {
  if (call.signal?.aborted) return Promise.reject(call.signal.reason); // before anything is sent
  requireFit(call, work);
  if (call.isStep) return start(call, work);
  const isPoint = work.kind === Kind.Send || work.kind === Kind.Recv;
  if (isPoint) return start(call, work);
  // A monitored barrier must name the ranks that do not come: it cannot wait for them before.
  const compares = call.group.checks && work.kind !== Kind.MonitoredBarrier;
  return compares || call.group.busy !== null ? inOrder(call, work, compares) : start(call, work);
}

/** The same work on handles of its own, as the program may dispose its tensors before the work starts. */
function keeping(work: Work): { kept: Work; give: () => void; free: () => void } {
  const [inputs = [], outputs = []] = [work.inputs, work.outputs].map((list) => list?.map(alias));
  const kept = [...inputs, ...outputs];
  // A sparse alias has indices and values of its own, which the work replaces.
  const give = () => {
    const own = [...(work.inputs ?? []), ...(work.outputs ?? [])];
    const sparse = own.flatMap((tensor, i) =>
      kept[i]!.layout === 'strided' || tensor.disposed ? [] : [[tensor, kept[i]!] as const],
    );
    noGrad(() => ownScope(() => sparse.forEach(([tensor, result]) => void tensor.copy_(result))));
  };
  const free = () => {
    for (const tensor of kept) tensor.dispose();
  };
  return { kept: { ...work, inputs, outputs }, give, free };
}

/** The same result, after `give`. */
const given = <T>(result: Promise<T>, give: () => void): Promise<T> =>
  result.then((value) => {
    give();
    return value;
  });

/** The call when its turn has come: the group may have been destroyed meanwhile. The other ranks rely on it, so no signal ends it. */
const again = ({ fn, group }: Call): Call => callOf(fn.slice('distributed.'.length), { group });

/** What the caller gets: the result, or at once the reason of its signal, while the call goes on. */
export function abortable<T>({ signal }: Call, result: Promise<T>): Promise<T> {
  if (signal === undefined) return result;
  return new Promise<T>((resolve, reject) => {
    const forget = onAbort(signal, () => reject(signal.reason));
    result.finally(forget).then(resolve, reject);
  });
}

/**
 * Starts the collective behind those in progress, as every rank does, and with `compares` once the ranks have compared it. What the
 * program disposes meanwhile is kept.
 */
function inOrder<T>(call: Call, work: Work, compares: boolean): Promise<T> {
  const { kept, give, free } = keeping(work);
  const steps = async (step: Call): Promise<{ ended: Promise<T> }> => {
    if (compares) await agree(step, kept, (exchange) => start(step, exchange));
    return { ended: start(step, kept) };
  };
  const result = queued({ ...call, signal: undefined }, steps).then(({ ended }) => ended);
  return abortable(call, given(result, give).finally(free));
}

/** Runs a call of several collectives, once the ranks agree on it. `root`: the rank that all of them must name. */
export function inSteps<T>(call: Call, root: number, steps: (call: Call) => Promise<T>): Promise<T> {
  return queued(call, async (step) => {
    if (step.group.checks) await agree(step, { kind: null, root }, (exchange) => start(step, exchange));
    return steps(step);
  });
}

/** Runs collectives in several turns of the event loop. Their order among those of the group must be the same on all ranks. */
function queued<T>(call: Call, steps: (call: Call) => Promise<T>): Promise<T> {
  const { group, signal } = call;
  if (signal?.aborted) return Promise.reject(signal.reason); // before anything is sent
  const before = group.busy ?? Promise.resolve();
  const result = before.then(() => steps({ ...again(call), isStep: true }));
  const busy: Promise<unknown> = result
    .catch(() => {}) // reported by `result`
    .finally(() => {
      if (group.busy === busy) group.busy = null;
    });
  group.busy = busy;
  return abortable(call, result);
}
