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
import { wrap } from '../tensor';
import { OFF, type PendingTensor, PendingValue, type Recorder, recordInto } from './pending';

const { flags } = native;

/** Codes of results: see native/async/strand.h. */
const PENDING = 2 ** 32;
const STRAND = 2 ** 20;
const CELLS = 16;

const codeOf = (pending: PendingTensor | PendingValue): number =>
  pending instanceof PendingValue ? pending.code : pending._handle;
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
  mailbox = true;
  // Before C++ ends, while ops still have everything that they use.
  if (isMainThread) process.once('exit', () => native.poolStop());
  // Whatever scope is current: the mailbox is no scope's.
  const { current } = now;
  enter(null);
  try {
    native.strandMailbox(onMail);
  } finally {
    enter(current);
  }
}

function onMail(): void {
  for (const id of native.strandMail()) {
    const strand = underWay.get(id);
    underWay.delete(id);
    strand?.landed();
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
  private waiting: { resolve(): void; reject(error: unknown): void }[] = [];
  private flying = false;
  private retried = false;
  private closed = false;
  /** Ops recorded since the last batch, or none. */
  private recorded = false;
  private failure: { error: unknown } | null = null;

  /** `caller`: the public function, whose caller's line is where the results were made. */
  constructor(caller: (...args: never[]) => unknown) {
    openMailbox();
    this.site = siteToBe(native, caller);
    this.id = native.strandOpen();
    unreachable.register(this, this.id, this);
  }

  record(fn: () => unknown): unknown {
    if (this.closed) throw codedError(Error, 'ERR_TORCH_PENDING', 'torch.run has ended: its pending results are gone');
    if (this.failure !== null) throw this.failure.error;
    if (flags[5] === OFF || shared.entered !== this.id) {
      shared.entered = this.id;
      native.strandEnter(this.id);
    }
    this.recorded = true;
    return recordInto(this, fn);
  }

  /** The real thing for a pending result, once it is there. */
  async valueOf(pending: PendingTensor | PendingValue): Promise<unknown> {
    await this.flush(null);
    return this.take(pending);
  }

  /** Runs what was recorded; afterwards only the results in `wanted` are there. Null: all, and more may be recorded. */
  flush(wanted: readonly (PendingTensor | PendingValue)[] | null): Promise<void> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ resolve, reject });
      if (!this.flying) this.send(wanted);
    });
  }

  private send(wanted: readonly (PendingTensor | PendingValue)[] | null): void {
    try {
      if (this.failure !== null) throw this.failure.error;
      if (this.closed) throw codedError(Error, 'ERR_TORCH_PENDING', 'torch.run has ended');
      this.recorded = false;
      native.strandSubmit(this.id, wanted === null ? null : wanted.map((pending) => stepOf(codeOf(pending))));
      this.flying = true;
      underWay.set(this.id, this);
    } catch (error) {
      this.fail(error); // nothing is under way
    }
  }

  /** The batch has ended. */
  landed(): void {
    this.flying = false;
    if (this.closed) {
      native.strandClose(this.id);
      return;
    }
    try {
      if (!native.strandSettle(this.id)) {
        const error = native.strandError(this.id) as TorchError;
        if (this.tryAgain(error)) return;
        throw error;
      }
    } catch (error) {
      this.fail(error); // the op's, or of what it left behind: whoever waits gets it
      return;
    }
    this.retried = false;
    const { waiting } = this;
    this.waiting = [];
    if (!this.recorded) for (const { resolve } of waiting) resolve();
    else {
      // Others were recorded meanwhile, and somebody may wait for them.
      this.waiting = waiting;
      this.send(null);
    }
  }

  /** The pool's threads cannot collect. */
  private tryAgain(error: TorchError): boolean {
    if (this.retried || !outOfMemory.has(error.code) || !native.strandCanRepeat(this.id)) return false;
    this.retried = true;
    collectAll();
    native.sweepShared();
    native.strandSubmit(this.id, false);
    this.flying = true;
    underWay.set(this.id, this);
    return true;
  }

  private fail(error: unknown): void {
    this.failure = { error };
    const { waiting } = this;
    this.waiting = [];
    for (const { reject } of waiting) reject(error);
  }

  /** The real result; its tensors join the strand's scope. */
  take(pending: PendingTensor | PendingValue): unknown {
    const code = codeOf(pending);
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
    if (pending instanceof PendingValue)
      return pending.row < 0 ? pending.read(raw) : results(pending.row, raw, pending.given);
    return Array.isArray(raw) ? raw.map((handle) => wrap(handle as number)) : wrap(raw);
  }

  /** Stops before the next op, and rejects who waits. */
  abort(reason: unknown): void {
    if (this.closed) return;
    native.strandCancel(this.id);
    this.fail(reason);
    this.close();
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    unreachable.unregister(this);
    if (!this.flying) native.strandClose(this.id);
  }
}
