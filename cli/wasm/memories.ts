/** The WebAssembly memories of one thread: writes each new one with its stack, and the sizes that changed, in rounds. */
import * as fs from 'node:fs';
import * as v8 from 'node:v8';
import * as vm from 'node:vm';
import { threadId } from 'node:worker_threads';
import type { Frame } from '../capture/records';
import type { WasmRecord, WasmSettings } from './records';

/** Rounds become rarer, so that a long run has some ten thousand. */
const ROUNDS_PER_DOUBLING = 4000;
/** The least time between two forced collections, in ms. One that took t ms is followed by a pause of REST_FACTOR * t. */
const MIN_PAUSE_MS = 500;
const REST_FACTOR = 100;
/** The first collections may take this long in total: a short run needs evidence too. */
const ALLOWANCE_MS = 500;
/** Memories beyond are not recorded. */
const MAX_MEMORIES = 10_000;

/** What a WebAssembly.Memory has. */
export interface Memory {
  readonly buffer: ArrayBuffer | SharedArrayBuffer;
  grow(pages: number): number;
}

// The program may replace these.
const { appendFileSync } = fs;
const { hrtime } = process;

/** The monotonic clock is the same in all processes of the machine. */
const now = () => Number(hrtime.bigint() / 1_000_000n);

/** Lifetime: until the thread ends. It does not keep the memories alive. */
export class Memories {
  private readonly known = new WeakSet<object>();
  private readonly live = new Map<number, { memory: WeakRef<Memory>; bytes: number }>();
  private made = 0;
  private writing = true;
  private readonly begunMs = now();
  private lastMs = 0;
  private collectedMs = 0;
  private rest = MIN_PAUSE_MS;
  private spentMs = 0;
  /** The number of memories after the last collection. */
  private fewest = 1;

  constructor(private readonly settings: WasmSettings) {}

  /** Writes the rounds, until the thread ends. */
  start(): void {
    this.schedule();
    this.round();
    process.on('exit', () => {
      // Without a collection: at the exit, the variables of modules may be garbage already.
      this.round();
      this.write({ type: 'exit', ...this.origin() });
    });
  }

  /** A memory that is not to be noted: it was made elsewhere. */
  ignore(memory: object): void {
    this.known.add(memory);
  }

  note(memory: Memory, stack: Frame[]): void {
    if (this.known.has(memory) || this.live.size >= MAX_MEMORIES) return;
    this.known.add(memory);
    const { buffer } = memory;
    const id = ++this.made;
    this.live.set(id, { memory: new WeakRef(memory), bytes: buffer.byteLength });
    const shared = !(buffer instanceof ArrayBuffer);
    this.write({ type: 'memory', ...this.origin(), id, bytes: buffer.byteLength, shared, stack });
    this.roundIfLate();
  }

  /** A round now, if the event loop is too busy for one in time. */
  roundIfLate(): void {
    if (now() - this.lastMs > 2 * this.settings.intervalMs) this.round();
  }

  private origin(): { pid: number; thread: number; ms: number } {
    return { pid: process.pid, thread: threadId, ms: now() };
  }

  private schedule(): void {
    const pause = Math.max(this.settings.intervalMs, (now() - this.begunMs) / ROUNDS_PER_DOUBLING);
    setTimeout(() => {
      this.round(this.collectIfDue());
      this.schedule();
    }, pause).unref();
  }

  /** The sizes that changed since the last round. */
  private round(collected = false): void {
    const origin = this.origin();
    this.lastMs = origin.ms;
    const sizes: [id: number, bytes: number][] = [];
    for (const [id, entry] of this.live) {
      const memory = entry.memory.deref();
      const bytes = memory === undefined ? -1 : memory.buffer.byteLength;
      if (memory === undefined) this.live.delete(id);
      if (bytes !== entry.bytes) sizes.push([id, bytes]);
      entry.bytes = bytes;
    }
    const record = { type: 'round' as const, ...origin, sizes };
    this.write(collected ? { ...record, collected } : record);
  }

  /** Memories that only garbage holds are not held. V8 may be in no hurry to collect them: their JavaScript objects are small. */
  private collectIfDue(): boolean {
    if (this.live.size <= this.fewest || now() - this.collectedMs < this.rest) return false;
    const begun = now();
    collect();
    this.collectedMs = now();
    const taken = this.collectedMs - begun;
    this.spentMs += taken;
    this.rest = this.spentMs < ALLOWANCE_MS ? MIN_PAUSE_MS : Math.max(MIN_PAUSE_MS, REST_FACTOR * taken);
    this.fewest = [...this.live.values()].filter(({ memory }) => memory.deref() !== undefined).length;
    return true;
  }

  private write(record: WasmRecord): void {
    if (!this.writing) return;
    try {
      appendFileSync(this.settings.file, `${JSON.stringify(record)}\n`);
    } catch {
      this.writing = false; // such as a full disk, or leak-audit has ended: the program goes on
    }
  }
}

function collect(): void {
  try {
    v8.setFlagsFromString('--expose-gc');
    (vm.runInNewContext('gc') as () => void)();
  } catch {
    // A V8 without it: garbage counts as held.
  } finally {
    v8.setFlagsFromString('--no-expose-gc');
  }
}
