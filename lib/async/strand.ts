/**
 * Ops that are recorded on the JS thread and run, one after the other, on a thread of the pool. The arguments are converted
 * when an op is recorded, so tensors may be disposed meanwhile; results belong to the scope in which the strand began.
 */
import { isMainThread } from 'node:worker_threads';
import { atSite, siteToBe } from '../audit';
import { collectAll } from '../collector';
import { codedError, type TorchError } from '../errors';
import { native } from '../native';
import { results } from '../runtime';
import { enter, now, type ScopeNode } from '../scopes/context';
import { signature } from '../signature';
import { type Tensor, wrap, wrapElement } from '../tensor';
import { restoring } from '../turn';
import { noteRecorder, OFF, type PendingTensor, PendingValue, READ, type Recorder, recordInto } from './pending';

const { flags } = native;

/** Codes of results: see native/async/strand.h. */
const PENDING = 2 ** 32;
const STRAND = 2 ** 20;
const CELLS = 16;

const stepOf = (code: number): number => Math.floor(((-code - PENDING) % STRAND) / CELLS);
const cellOf = (code: number): number => (-code - PENDING) % CELLS;

const outOfMemory = new Set(['ERR_TORCH_OUT_OF_MEMORY', 'ERR_TORCH_MEMORY_LIMIT']);

/** What all copies of the library over one addon share (Jest loads one per test file). */
export interface AsyncNow {
  /** Strands whose batches are under way. */
  readonly underWay: Map<number, { landed(): void }>;
  /** The strand that native code records into. */
  entered: number;
}

native.asyncNow ??= { underWay: new Map(), entered: 0 };
const shared = native.asyncNow;
const { underWay } = shared;
let mailbox = false;

/** The newest copy's function gets the mail for all: an older copy's globals may be gone. */
function openMailbox(): void {
  if (mailbox) return;
  // Whatever scope is current: the mailbox is no scope's.
  const { current } = now;
  const undo = () => enter(current);
  restoring(undo, () => {
    enter(null);
    native.strandMailbox(onMail);
  });
  // Before C++ ends, while ops still have everything that they use.
  if (isMainThread) process.once('exit', () => native.poolStop());
  mailbox = true; // last: where there is no stack left for the above, the next call does it
}

function onMail(): void {
  const failures: unknown[] = [];
  for (const id of native.strandMail()) {
    const strand = underWay.get(id);
    underWay.delete(id);
    try {
      strand?.landed();
    } catch (error) {
      failures.push(error); // no stack left, say; the others' mail is delivered all the same
    }
  }
  if (failures.length > 0) throw failures[0];
}

/** Who waits for a batch: its results are taken when it has ended, before anything else of the strand can begin. */
interface Waiting {
  readonly wanted: readonly (PendingTensor | PendingValue)[];
  /** It is the end: all that was recorded has run by then. */
  readonly last: boolean;
  resolve(): void;
  reject(error: unknown): void;
}

/** A bool or a number: a program may decide by it. */
function isLookedAt(row: number): boolean {
  if (row < 0) return true;
  return signature(row).results.every(({ type }) => !type.list && 'SBIF'.includes(type.base));
}

function readOnce({ read }: PendingValue, tensor: Tensor): unknown {
  try {
    return read(tensor);
  } finally {
    tensor.dispose();
  }
}

/** Strands that nobody can end any more. */
const unreachable = new FinalizationRegistry<number>((id) => native.strandClose(id));

/** Lifetime: from its first op to close(); the native one, with all results that nobody took, goes then. */
export class Strand implements Recorder {
  readonly id: number;
  /** Results are its, or the nearest open one's around it. */
  private readonly scope: ScopeNode | null = now.current;
  private readonly site;
  private readonly taken = new Map<number, unknown>();
  /** Whether the function of torch.run has still to end. After an abort, say, what it calls is refused. */
  goesOn = true;
  /** What is a promise until it is there. */
  private readonly values: PendingValue[] = [];
  /** Who waits for the batch under way, and for the next one. */
  private aboard: Waiting[] = [];
  private waiting: Waiting[] = [];
  private flying = false;
  /** What flies writes to tensors: the program may see them. */
  private writes = false;
  /** Called when what flies has landed after stop(). */
  private stopped: (() => void)[] = [];
  private retried = false;
  private closed = false;
  /** Ops recorded since the last batch, or none. */
  private recorded = false;
  private failure: { error: unknown } | null = null;

  /** `caller`: the public function, whose caller's line is where the results were made. `stack`: of the call. */
  constructor(
    caller: (...args: never[]) => unknown,
    private readonly call: { stack?: unknown },
  ) {
    openMailbox();
    noteRecorder(this);
    this.site = siteToBe(native, caller);
    this.id = native.strandOpen();
    try {
      unreachable.register(this, this.id, this);
    } catch (error) {
      native.strandClose(this.id); // no stack left: nobody else would
      throw error;
    }
  }

  record(fn: () => unknown, op?: string): unknown {
    if (this.failure !== null) throw this.failure.error;
    if (this.closed) throw codedError(Error, 'ERR_TORCH_PENDING', 'torch.run has ended: its pending results are gone');
    const { entered } = shared;
    const inside = flags[5] !== OFF;
    if (!inside || entered !== this.id) this.enter();
    this.recorded = true;
    try {
      return recordInto(this, fn, op);
    } finally {
      // Where this was called from within what another strand records, that one goes on.
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

  gave(value: PendingValue): void {
    this.values.push(value);
  }

  /** Code that went on with a promise in place of its value took a way that nobody meant: `if (a.equal(b))`. */
  requireHeard(): void {
    const value = this.values.find(({ heard, row }) => !heard && isLookedAt(row));
    if (value === undefined) return;
    const op = value.op ?? 'an op';
    throw codedError(
      Error,
      'ERR_TORCH_PENDING',
      `run: expected \`await\` before each value, got a function that never awaited what ${op}() gives: it is a promise there, ` +
        `so write \`await …${op}(…)\` in an async function`,
    );
  }

  /** The real thing for a pending result, once it is there. */
  async valueOf(pending: PendingTensor | PendingValue): Promise<unknown> {
    await this.request([pending], null);
    return this.take(pending);
  }

  /** Runs what was recorded; afterwards only the results in `wanted` are there. Null: all, and more may be recorded. */
  flush(wanted: readonly (PendingTensor | PendingValue)[] | null): Promise<void> {
    return this.request(wanted ?? [], wanted);
  }

  private request(wanted: Waiting['wanted'], only: Waiting['wanted'] | null): Promise<void> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ wanted, last: only !== null, resolve, reject });
      if (!this.flying) this.send(only);
    });
  }

  private send(wanted: readonly (PendingTensor | PendingValue)[] | null): void {
    try {
      if (this.failure !== null) throw this.failure.error;
      if (this.closed) throw codedError(Error, 'ERR_TORCH_PENDING', 'torch.run has ended');
      this.recorded = false;
      this.aboard = this.waiting;
      this.waiting = [];
      this.fly(wanted === null ? null : wanted.map((pending) => stepOf(this.codeOf(pending))));
    } catch (error) {
      this.fail(error); // nothing is under way
    }
  }

  private fly(wanted: readonly number[] | null | false): void {
    this.writes = native.strandSubmit(this.id, wanted);
    this.flying = true;
    underWay.set(this.id, this);
  }

  /** The batch has ended. */
  landed(): void {
    this.flying = false;
    if (this.closed || this.failure !== null) {
      this.landedInVain();
      return;
    }
    try {
      if (!native.strandSettle(this.id)) {
        const error = native.strandError(this.id) as TorchError;
        if (this.tryAgain(error)) return;
        throw this.located(error);
      }
    } catch (error) {
      this.fail(error); // the op's, or of what it left behind: whoever waits gets it
      return;
    }
    this.retried = false;
    const all = [...this.aboard, ...this.waiting];
    // Others were recorded meanwhile: who came for those waits on, and who waits for everything.
    const arrived = this.recorded ? this.aboard.filter(({ last }) => !last) : all;
    this.aboard = [];
    this.waiting = all.filter((passenger) => !arrived.includes(passenger));
    for (const passenger of arrived) this.arrive(passenger);
    if (this.waiting.length > 0) this.send(null);
  }

  /** Nothing flies: a step that runs may be changing what it gives. */
  private arrive({ wanted, resolve, reject }: Waiting): void {
    try {
      for (const pending of wanted) this.take(pending);
      resolve();
    } catch (error) {
      reject(this.located(error)); // no room for a result, say
    }
  }

  /** Nobody waits for the results, but what the ops wrote to is there. */
  private landedInVain(): void {
    try {
      native.strandSettle(this.id);
    } catch {
      // The call has its error already.
    } finally {
      if (this.closed) native.strandClose(this.id);
    }
    this.fail(this.failure?.error);
    const { stopped } = this;
    this.stopped = [];
    for (const then of stopped) then();
  }

  /** The pool's threads cannot collect. */
  private tryAgain(error: TorchError): boolean {
    if (this.retried || !outOfMemory.has(error.code) || !native.strandCanRepeat(this.id)) return false;
    this.retried = true;
    collectAll();
    native.sweepShared();
    this.fly(false);
    return true;
  }

  private fail(error: unknown): void {
    this.failure ??= { error };
    const waiting = [...this.aboard, ...this.waiting];
    this.aboard = [];
    this.waiting = [];
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
    return Array.isArray(value) && !(pending instanceof PendingValue) ? value[cellOf(code)] : value;
  }

  private convert(pending: PendingTensor | PendingValue, raw: unknown): unknown {
    if (pending instanceof PendingValue) {
      if (pending.row === READ) return readOnce(pending, wrap(raw)!);
      return pending.row < 0 ? pending.read(raw) : results(pending.row, raw, pending.given);
    }
    return Array.isArray(raw) ? raw.map(wrapElement) : wrap(raw);
  }

  private codeOf(pending: PendingTensor | PendingValue): number {
    // The number of its step means something else here.
    if (pending.recorder !== this) {
      throw codedError(Error, 'ERR_TORCH_PENDING', 'the result of a torch.run holds a pending tensor of another one');
    }
    return pending instanceof PendingValue ? pending.code : pending._handle;
  }

  /** An error that comes up on another turn of the event loop: the lines that a program's author wants are the call's. */
  located(error: unknown): unknown {
    const { op, name, message } = Object(error) as TorchError;
    const { stack } = this.call;
    if (op === undefined || typeof stack !== 'string') return error;
    // One that is frozen stays as it is.
    Reflect.set(error as object, 'stack', `${name}: ${message}${stack.slice(stack.indexOf('\n'))}`);
    return error;
  }

  /**
   * Rejects who waits, and stops before the next op. `then` is called when that is done: at once, or when the op in
   * progress has ended, where it may be writing to tensors that the program sees.
   */
  stop(reason: unknown, then: () => void): void {
    if (this.closed) {
      then();
      return;
    }
    this.failure ??= { error: reason };
    if (this.flying) native.strandCancel(this.id);
    if (this.flying && this.writes) {
      this.stopped.push(then);
      return;
    }
    this.fail(reason);
    then();
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    unreachable.unregister(this);
    this.taken.clear();
    if (!this.flying) native.strandClose(this.id);
  }
}
