/**
 * `leak-audit run --wasm`: loaded into the program before its own code (NODE_OPTIONS). Notes each WebAssembly.Memory with the
 * stack that made it, and its size in rounds. Without the option it is not loaded, and nothing is replaced. It imports no package.
 */
import * as fs from 'node:fs';
import * as v8 from 'node:v8';
import * as vm from 'node:vm';
import { getEnvironmentData, setEnvironmentData, threadId } from 'node:worker_threads';
import { scriptPath } from '../../lib/observe/audit/script-path';
import type { WasmRecord, WasmSettings } from './records';

const VARIABLE = 'LIBTORCH_NODE_WASM';
const FRAMES = 32;
/** Rounds become rarer, so that a long run has some ten thousand. */
const ROUNDS_PER_DOUBLING = 4000;
/** The least time between two forced collections, in ms. One that took t ms is followed by a pause of REST_FACTOR * t. */
const MIN_PAUSE_MS = 500;
const REST_FACTOR = 100;
/** The first collections may take this long in total: a short run needs evidence too. */
const ALLOWANCE_MS = 500;
/** Memories beyond are not recorded. */
const MAX_MEMORIES = 10_000;

interface Memory {
  readonly buffer: ArrayBuffer | SharedArrayBuffer;
  grow(pages: number): number;
}
type Constructor = new (...args: any[]) => object;
interface Wasm {
  Memory: Constructor & { prototype: Memory };
  Instance: Constructor;
  instantiate(...args: unknown[]): Promise<unknown>;
  instantiateStreaming?(...args: unknown[]): Promise<unknown>;
}

function start({ file, intervalMs }: WasmSettings): void {
  // The program may replace these.
  const { appendFileSync } = fs;
  const { hrtime } = process;
  const wasm = (globalThis as unknown as { WebAssembly: Wasm }).WebAssembly;
  const { Memory, Instance, instantiate, instantiateStreaming } = wasm;
  const known = new WeakSet<object>();
  const live = new Map<number, { memory: WeakRef<Memory>; bytes: number }>();
  let made = 0;
  let writing = true;
  let lastMs = 0;
  let collectedMs = 0;
  let rest = MIN_PAUSE_MS;
  let spentMs = 0;
  /** The number of memories after the last collection. */
  let fewest = 1;

  // The monotonic clock is the same in all processes of the machine.
  const now = () => Number(hrtime.bigint() / 1_000_000n);
  const begunMs = now();

  function write(record: WasmRecord): void {
    if (!writing) return;
    try {
      appendFileSync(file, `${JSON.stringify(record)}\n`);
    } catch {
      writing = false; // such as a full disk, or leak-audit has ended: the program goes on
    }
  }

  /** The sizes that changed since the last round. */
  function round(collected = false): void {
    lastMs = now();
    const sizes: [id: number, bytes: number][] = [];
    for (const [id, entry] of live) {
      const memory = entry.memory.deref();
      const bytes = memory === undefined ? -1 : memory.buffer.byteLength;
      if (memory === undefined) live.delete(id);
      if (bytes !== entry.bytes) sizes.push([id, bytes]);
      entry.bytes = bytes;
    }
    const record = { type: 'round' as const, pid: process.pid, thread: threadId, ms: lastMs, sizes };
    write(collected ? { ...record, collected } : record);
  }

  /** Memories that only garbage holds are not held. V8 may be in no hurry to collect them: their JavaScript objects are small. */
  function collectIfDue(): boolean {
    if (live.size <= fewest || now() - collectedMs < rest) return false;
    const begun = now();
    collect();
    collectedMs = now();
    spentMs += collectedMs - begun;
    rest = spentMs < ALLOWANCE_MS ? MIN_PAUSE_MS : Math.max(MIN_PAUSE_MS, REST_FACTOR * (collectedMs - begun));
    fewest = [...live.values()].filter(({ memory }) => memory.deref() !== undefined).length;
    return true;
  }

  const roundIfLate = () => {
    if (now() - lastMs > 2 * intervalMs) round();
  };

  function note(memory: unknown, stack: WasmRecord & { type: 'memory' }): void {
    if (!(memory instanceof Memory) || known.has(memory) || live.size >= MAX_MEMORIES) return;
    known.add(memory);
    const { buffer } = memory as Memory;
    live.set(++made, { memory: new WeakRef(memory as Memory), bytes: buffer.byteLength });
    const shared = !(buffer instanceof ArrayBuffer);
    write({ ...stack, id: made, bytes: buffer.byteLength, shared });
    roundIfLate();
  }

  /** The record of a memory that is made now; the stack is that of the caller of `below`. */
  function recordFor(below: (...args: never[]) => unknown): WasmRecord & { type: 'memory' } {
    const stack = captureStack(below);
    return { type: 'memory', pid: process.pid, thread: threadId, ms: now(), id: 0, bytes: 0, shared: false, stack };
  }

  function noteInstance(instance: unknown, imports: unknown, record: WasmRecord & { type: 'memory' }): void {
    if (!(instance instanceof Instance)) return;
    // A memory that was imported was made elsewhere: by `new Memory`, or in another thread.
    try {
      for (const group of Object.values((imports ?? {}) as Record<string, unknown>)) {
        for (const value of Object.values((group ?? {}) as Record<string, unknown>)) {
          if (value instanceof Memory) known.add(value);
        }
      }
    } catch {
      // A getter of the program that throws must not fail an instance that was made.
    }
    for (const value of Object.values((instance as unknown as { exports: object }).exports)) note(value, record);
  }

  const replacedMemory: Constructor = new Proxy(Memory, {
    construct(target, args, newTarget) {
      const memory = Reflect.construct(target, args, newTarget === replacedMemory ? target : newTarget) as object;
      note(memory, recordFor(replacedMemory as never));
      return memory;
    },
  });
  const replacedInstance: Constructor = new Proxy(Instance, {
    construct(target, args, newTarget) {
      const instance = Reflect.construct(target, args, newTarget === replacedInstance ? target : newTarget) as object;
      noteInstance(instance, args[1], recordFor(replacedInstance as never));
      return instance;
    },
  });
  const { grow } = Memory.prototype;
  Memory.prototype.grow = function (this: Memory, pages: number) {
    const before = grow.call(this, pages);
    roundIfLate();
    return before;
  };
  wasm.Memory = replacedMemory as Wasm['Memory'];
  wasm.Instance = replacedInstance;
  Memory.prototype.constructor = replacedMemory;
  Instance.prototype.constructor = replacedInstance;

  const noted = (call: (...args: unknown[]) => Promise<unknown>) => {
    const replaced = (...args: unknown[]): Promise<unknown> => {
      const record = recordFor(replaced);
      return call.apply(wasm, args).then((result) => {
        noteInstance((result as { instance?: unknown }).instance ?? result, args[1], record);
        return result;
      });
    };
    return replaced;
  };
  wasm.instantiate = noted(instantiate);
  if (instantiateStreaming !== undefined) wasm.instantiateStreaming = noted(instantiateStreaming);

  const again = () => {
    const pause = Math.max(intervalMs, (now() - begunMs) / ROUNDS_PER_DOUBLING);
    setTimeout(() => {
      round(collectIfDue());
      again();
    }, pause).unref();
  };
  again();
  round();
  process.on('exit', () => {
    // Without a collection: at the exit, the variables of modules may be garbage already.
    round();
    write({ type: 'exit', pid: process.pid, thread: threadId, ms: now() });
  });
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

function captureStack(below: (...args: never[]) => unknown): (WasmRecord & { type: 'memory' })['stack'] {
  const holder: { stack?: NodeJS.CallSite[] } = {};
  const { prepareStackTrace, stackTraceLimit } = Error;
  try {
    Error.stackTraceLimit = FRAMES;
    Error.prepareStackTrace = (_error, sites) => sites;
    Error.captureStackTrace(holder, below);
    const sites = holder.stack;
    if (!Array.isArray(sites)) return [];
    return sites
      .map((site) => ({
        file: scriptPath(site.getFileName() ?? ''),
        line: site.getLineNumber() ?? 0,
        column: site.getColumnNumber() ?? 0,
        function: site.getFunctionName() ?? '',
      }))
      .filter(({ file }) => file !== '' && file !== __filename && !file.startsWith('node:'));
  } catch {
    return []; // a frozen Error: continue without a stack
  } finally {
    Error.prepareStackTrace = prepareStackTrace;
    Error.stackTraceLimit = stackTraceLimit;
  }
}

const text = (process.env[VARIABLE] ?? getEnvironmentData(VARIABLE)) as string | undefined;
if (text !== undefined && typeof WebAssembly === 'object') {
  setEnvironmentData(VARIABLE, text); // for worker threads with an environment of their own
  start(JSON.parse(text) as WasmSettings);
}

/** Node has it; its types are in the library of the DOM. */
declare const WebAssembly: unknown;
