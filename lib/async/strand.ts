/**
 * Ops that are recorded on the JS thread and run sequentially on a pool thread. The arguments are converted when an op is
 * recorded, so tensors may be disposed meanwhile; results belong to the scope in which the strand began.
 */
import { isMainThread } from 'node:worker_threads';
import { native } from '../addon/native';
import { results } from '../call/runtime';
import { signature } from '../call/signature';
import { codedError, type TorchError } from '../errors/errors';
import { restoring } from '../errors/restoring';
import { Flag, Kind, RecordingMode } from '../generated/codes';
import { enter, now, type ScopeNode } from '../lifetimes/context';
import { collectAll } from '../memory/collector';
import { atSite, siteOfCall } from '../observe/recording';
import {
  isPendingValue,
  noteRecorder,
  type PendingTensor,
  type PendingValue,
  READ,
  type Recorder,
  recordInto,
} from '../tensor/pending';
import { type Tensor, wrap, wrapElement } from '../tensor/tensor';
import { replaceLater } from './pool';

const { flags } = native;

/** What strandSubmit says of a batch, as bits: see native/exports/async.cpp. */
const Submitted = { Writes: 1, HasRun: 2 } as const;

/** Codes of results: see native/async/strand.h. */
const PENDING = 2 ** 32;
const STRAND = 2 ** 20;
const CELLS = 16;

const stepOf = (code: number): number => Math.floor(((-code - PENDING) % STRAND) / CELLS);
const cellOf = (code: number): number => (-code - PENDING) % CELLS;

const outOfMemory = new Set(['ERR_TORCH_OUT_OF_MEMORY', 'ERR_TORCH_MEMORY_LIMIT']);

declare module '../addon/interface' {
  interface Native {
    /** Strands, shared by all copies of the library that use one addon. */
    asyncNow?: AsyncNow;
  }
}

/** State shared by all copies of the library that use one addon (Jest loads one per test file). */
export interface AsyncNow {
  /** Strands with a running batch. */
  readonly running: Map<number, { batchEnded(): void }>;
  /** The strand that native code records into. */
  entered: number;
  /** Whether the environment has a mailbox. */
  hasMailbox: boolean;
}

native.asyncNow ??= { running: new Map(), entered: 0, hasMailbox: false };
const shared = native.asyncNow;
const { running } = shared;

/**
 * The newest copy's function receives the mail for all copies: an older copy's globals may be gone, and native code would keep
 * them alive.
 */
if (shared.hasMailbox) native.strandMailbox(onMail);

function openMailbox(): void {
  if (shared.hasMailbox) return;
  // The mailbox belongs to no scope.
  const { current } = now;
  const undo = () => enter(current);
  restoring(undo, () => {
    enter(null);
    native.strandMailbox(onMail);
  });
  // Before C++ static destruction, while ops still have everything that they use. The listener is native: a function of this
  // copy would keep the copy alive after the program drops it.
  if (isMainThread) process.once('exit', native.poolStop);
  shared.hasMailbox = true; // last: if the above overflowed the stack, the next call retries
}

function onMail(): void {
  const failures: unknown[] = [];
  for (const id of native.strandMail()) {
    const strand = running.get(id);
    running.delete(id);
    try {
      strand?.batchEnded();
    } catch (error) {
      failures.push(error); // such as a stack overflow; the other mail is still delivered
    }
  }
  if (failures.length > 0) throw failures[0];
}

/** A request for results of a batch: they are taken when it has ended, before the strand's next batch begins. */
interface Request {
  readonly wanted: readonly (PendingTensor | PendingValue)[];
  /** The final request: everything recorded has run by then. */
  readonly last: boolean;
  resolve(): void;
  reject(error: unknown): void;
}

const VALUE_KINDS: ReadonlySet<Kind> = new Set([Kind.Scalar, Kind.Bool, Kind.Int, Kind.Float]);

/** Whether the result is a bool or a number, which a program may use in a condition. */
function isCondition(row: number): boolean {
  if (row < 0) return true;
  return signature(row).results.every(({ type }) => !type.list && VALUE_KINDS.has(type.base));
}

function readOnce({ read }: PendingValue, tensor: Tensor): unknown {
  try {
    return read(tensor);
  } finally {
    tensor.dispose();
  }
}

/** Closes strands that became unreachable. */
const unreachable = new FinalizationRegistry<number>((id) => native.strandClose(id));

/** Lifetime: from its first op to close(), which also frees the native strand and all results that were not taken. */
export class Strand implements Recorder {
  readonly id: number;
  /** The scope that owns the results, or else the nearest open one around it. */
  private readonly scope: ScopeNode | null = now.current;
  private readonly site;
  private readonly taken = new Map<number, unknown>();
  /** Whether the function of torch.run is still in progress. It may be after an abort, when its calls are refused. */
  isActive = true;
  /** Results that are not tensors. */
  private readonly values: PendingValue[] = [];
  /** Requests for the running batch, and for the next one. */
  private current: Request[] = [];
  private queued: Request[] = [];
  private isRunning = false;
  /** All recorded ops have run, and none failed: the last batch was short. */
  hasRun = false;
  /** Whether the running batch writes to tensors that the program may see. */
  private writes = false;
  /** Callbacks of stop(), called when the running batch has ended. */
  private stopped: (() => void)[] = [];
  private retried = false;
  private closed = false;
  /** Whether ops were recorded since the last batch. */
  private recorded = false;
  private failure: { error: unknown } | null = null;

  /** `caller`: the public function; the results are attributed to the line that called it. `stack`: of that call. */
  constructor(
    caller: (...args: never[]) => unknown,
    private call: { stack?: unknown },
    open: () => number = () => native.strandOpen(),
  ) {
    openMailbox();
    noteRecorder(this);
    this.site = siteOfCall(native, caller);
    this.id = open();
    try {
      unreachable.register(this, this.id, this);
    } catch (error) {
      native.strandClose(this.id); // such as a stack overflow: nothing else would close it
      throw error;
    }
  }

  /** What an op says that comes too late. */
  protected get endedText(): string {
    return 'torch.run: expected its pending results to be used before it ends, got an op afterwards: return them from the function';
  }

  record(fn: () => unknown, op?: string): unknown {
    if (this.failure !== null) throw this.failure.error;
    if (this.closed) throw codedError(Error, 'ERR_TORCH_PENDING', this.endedText);
    const { entered } = shared;
    const inside = flags[Flag.Recording] !== RecordingMode.Off;
    if (!inside || entered !== this.id) this.enter();
    this.recorded = true;
    try {
      return recordInto(this, fn, op);
    } finally {
      // If another strand was recording, resume it.
      if (inside && shared.entered !== entered) {
        shared.entered = entered;
        native.strandEnter(entered);
      }
    }
  }

  enter(): void {
    shared.entered = this.id;
    native.strandEnter(this.id);
  }

  onValue(value: PendingValue): void {
    this.values.push(value);
  }

  /** Refuses conditions that were never awaited: `if (a.equal(b))` tests a promise, which is always true. */
  requireAwaited(): void {
    const value = this.values.find(({ awaited, row }) => !awaited && isCondition(row));
    if (value === undefined) return;
    const op = value.op ?? 'an op';
    throw codedError(
      Error,
      'ERR_TORCH_PENDING',
      `run: expected \`await\` before each value, got a function that never awaited the result of ${op}(): it is a promise there, ` +
        `so write \`await …${op}(…)\` in an async function`,
    );
  }

  /** The real result, once its op has run. */
  async valueOf(pending: PendingTensor | PendingValue): Promise<unknown> {
    await this.request([pending], null);
    return this.take(pending);
  }

  /** Runs the recorded ops, keeping only the results in `wanted`. Null: keep all, and more may be recorded. */
  flush(wanted: readonly (PendingTensor | PendingValue)[] | null): Promise<void> {
    return this.request(wanted ?? [], wanted);
  }

  private request(wanted: Request['wanted'], only: Request['wanted'] | null): Promise<void> {
    return new Promise((resolve, reject) => {
      this.queued.push({ wanted, last: only !== null, resolve, reject });
      if (!this.isRunning) this.send(only);
    });
  }

  private send(wanted: readonly (PendingTensor | PendingValue)[] | null): void {
    try {
      if (this.failure !== null) throw this.failure.error;
      if (this.closed)
        throw codedError(Error, 'ERR_TORCH_PENDING', 'torch.run: expected a run in progress, got one that has ended');
      this.recorded = false;
      this.current = this.queued;
      this.queued = [];
      const hasRun = this.submit(wanted === null ? null : wanted.map((pending) => stepOf(this.codeOf(pending))));
      this.hasRun = hasRun && wanted !== null;
    } catch (error) {
      this.fail(error); // no batch is running
    }
  }

  /** Returns whether the ops have run. */
  private submit(wanted: readonly number[] | null | false): boolean {
    const state = native.strandSubmit(this.id, wanted);
    this.writes = (state & Submitted.Writes) !== 0;
    this.isRunning = true;
    running.set(this.id, this);
    return (state & Submitted.HasRun) !== 0;
  }

  /** Called when the batch has ended. */
  batchEnded(): void {
    this.isRunning = false;
    if (this.closed || this.failure !== null) {
      this.settleAfterFailure();
      return;
    }
    try {
      if (!native.strandSettle(this.id)) {
        const error = native.strandError(this.id) as TorchError;
        if (this.tryAgain(error)) return;
        throw this.located(error);
      }
    } catch (error) {
      this.fail(error); // an op failed, or settling did: reject all requests
      return;
    }
    this.retried = false;
    const all = [...this.current, ...this.queued];
    // If more ops were recorded meanwhile, requests for those and the final request keep waiting.
    const done = this.recorded ? this.current.filter(({ last }) => !last) : all;
    this.current = [];
    this.queued = all.filter((request) => !done.includes(request));
    for (const request of done) this.deliver(request);
    if (this.queued.length > 0) this.send(null);
  }

  /** Called while no batch runs: a running step could modify the results. */
  private deliver({ wanted, resolve, reject }: Request): void {
    try {
      for (const pending of wanted) this.take(pending);
      resolve();
    } catch (error) {
      reject(this.located(error)); // such as out of memory
    }
  }

  /** No one waits for the results any more, but tensors that the ops wrote to must be updated. */
  private settleAfterFailure(): void {
    try {
      native.strandSettle(this.id);
    } catch {
      // The call already failed with another error.
    } finally {
      if (this.closed) native.strandClose(this.id);
    }
    this.fail(this.failure?.error);
    const { stopped } = this;
    this.stopped = [];
    for (const then of stopped) then();
  }

  /** Collects garbage and retries after out of memory: pool threads cannot collect. */
  private tryAgain(error: TorchError): boolean {
    if (this.retried || !outOfMemory.has(error.code) || !native.strandCanRepeat(this.id)) return false;
    this.retried = true;
    collectAll();
    native.sweepShared();
    this.submit(false);
    return true;
  }

  private fail(error: unknown): void {
    this.failure ??= { error };
    const waiting = [...this.current, ...this.queued];
    this.current = [];
    this.queued = [];
    for (const { reject } of waiting) reject(error);
  }

  /** The real result; its tensors join the strand's scope. */
  take(pending: PendingTensor | PendingValue): unknown {
    const code = this.codeOf(pending);
    const step = stepOf(code);
    if (!this.taken.has(step)) {
      const { current } = now;
      enter(this.scope);
      try {
        const raw = native.strandTake(this.id, step);
        this.taken.set(
          step,
          atSite(this.site, () => this.convert(pending, raw)),
        );
      } finally {
        enter(current);
      }
    }
    const value = this.taken.get(step);
    return Array.isArray(value) && !isPendingValue(pending) ? value[cellOf(code)] : value;
  }

  private convert(pending: PendingTensor | PendingValue, raw: unknown): unknown {
    if (isPendingValue(pending)) {
      if (pending.row === READ) return readOnce(pending, wrap(raw)!);
      return pending.row < 0 ? pending.read(raw) : results(pending.row, raw, pending.given);
    }
    return Array.isArray(raw) ? raw.map(wrapElement) : wrap(raw);
  }

  private codeOf(pending: PendingTensor | PendingValue): number {
    // Step numbers belong to one strand.
    if (pending.recorder !== this) {
      const message =
        'torch.run: expected pending tensors of this run in its result, got one of another run: await that run first';
      throw codedError(Error, 'ERR_TORCH_PENDING', message);
    }
    return isPendingValue(pending) ? pending.code : pending._handle;
  }

  /** Replaces the stack of an error from a later turn of the event loop with that of the call. */
  located(error: unknown): unknown {
    const { op, name, message } = Object(error) as TorchError;
    const { stack } = this.call;
    if (op === undefined || typeof stack !== 'string') return error;
    // A frozen error stays unchanged.
    Reflect.set(error as object, 'stack', `${name}: ${message}${stack.slice(stack.indexOf('\n'))}`);
    return error;
  }

  /**
   * Rejects all requests and stops before the next op. Calls `then` immediately, or after the op in progress if the batch
   * writes to tensors that the program sees.
   */
  stop(reason: unknown, then: () => void): void {
    if (this.closed) {
      then();
      return;
    }
    this.failure ??= { error: reason };
    if (this.isRunning) native.strandCancel(this.id);
    if (this.isRunning && this.writes) {
      this.stopped.push(then);
      return;
    }
    this.fail(reason);
    then();
  }

  /**
   * The same, but calls `then` at once in any case: no one waits for the op in progress, which may never end. The strand keeps
   * its inputs and frees its results when it ends.
   */
  abandon(reason: unknown, then: () => void): void {
    if (!this.closed && this.isRunning) {
      native.strandAbandon(this.id);
      replaceLater();
    }
    this.writes = false;
    this.stop(reason, then);
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    unreachable.unregister(this);
    this.taken.clear();
    // What a program keeps of the run, such as a timer that its function started, refers to the strand.
    this.values.length = 0;
    this.call = {}; // a stack holds the receivers of its frames
    if (!this.isRunning) native.strandClose(this.id);
  }
}
