/**
 * The audit's part inside the program: it starts the recorder when `leak-audit` asked for it, gives new tensors their
 * call site, and reports what only the JS thread knows (heap figures, collections). Internal; not exported by index.
 */
import { isMainThread } from 'node:worker_threads';
import { watchCollections } from './audit/collections';
import { captureStack, type Stack } from './audit/stack';
import { isWatched, tagWatched, type WatchNative } from './watch';

/** What the addon offers (native/audit/js_api.cpp). One per environment. */
export interface AuditNative extends WatchNative {
  /** `flags[0]` is non-zero while new handles of this environment wait for their site. Memory of the addon. */
  readonly flags: Uint32Array;
  /** The reason why it did not start, or undefined. */
  auditStart(options: AuditOptions): string | undefined;
  auditStop(reason: string): void;
  auditOn(): boolean;
  auditTag(siteId: number): void;
  auditDefineSite(json: string): number;
  auditHeap(heapUsed: number, external: number): void;
  auditCollection(): void;
  /** Living tensors that are recorded. */
  auditLive(): number;
}

/** The content of the variable LIBTORCH_NODE_AUDIT. */
export interface AuditOptions {
  file: string;
  mode?: 'counters' | 'sample' | 'full';
  intervalMs?: number;
  depth?: number;
  sampleBytes?: number;
  command?: string;
}

const VARIABLE = 'LIBTORCH_NODE_AUDIT';
const DEFAULT_DEPTH = 16;
/** How often the JS thread is asked for its figures. */
const WATCH_MS = 250;

/** Sites of this environment: a stack's key to its site id. */
const siteIds = new Map<number, number>();
let depth = DEFAULT_DEPTH;

/** The stack to give to tensors that come up on another turn of the event loop than their call. */
let begun: Stack | undefined;

/** Where `below` was called, if somebody looks at the tensors that it will make. */
export function siteToBe(native: AuditNative, below: (...args: never[]) => unknown): Stack | undefined {
  if (!native.auditOn() && !isWatched(native)) return undefined;
  const { key, frames } = captureStack(depth, below);
  const list = frames(); // now: call sites must not outlive the capture
  return { key, frames: () => list };
}

/** Runs `fn`, whose tensors were made where `site` is. */
export function atSite<T>(site: Stack | undefined, fn: () => T): T {
  const before = begun;
  begun = site;
  try {
    return fn();
  } finally {
    begun = before;
  }
}

/**
 * Gives the tensors that were just created the stack of their creation. Call it where `native.flags[0] !== 0`.
 * Costs a few microseconds for a stack seen before.
 */
export function captureSite(native: AuditNative): void {
  const stack = begun ?? captureStack(depth, captureSite);
  if (native.auditOn()) {
    const { key, frames } = stack;
    let id = siteIds.get(key);
    if (id === undefined) {
      id = native.auditDefineSite(JSON.stringify(frames()));
      siteIds.set(key, id);
    }
    native.auditTag(id);
  }
  tagWatched(native, stack);
  native.flags[0] = 0;
}

/** Called once per environment, when the library is loaded. Does nothing in a program that is not audited. */
export function startAudit(native: AuditNative): void {
  const text = process.env[VARIABLE];
  if (text !== undefined) {
    // Gone before any code of the program runs: neither it nor its children see that they are watched.
    delete process.env[VARIABLE];
    const options = parseOptions(text);
    // A refusal means that another process of the same command line claimed the capture: this one is not audited.
    if (options !== undefined && native.auditStart(options) === undefined) depth = options.depth ?? DEFAULT_DEPTH;
  }
  if (!native.auditOn()) return;
  const collections = watchCollections(() => native.auditCollection());
  const watch = () => {
    if (isMainThread) {
      const { heapUsed, external } = process.memoryUsage();
      native.auditHeap(heapUsed, external);
    }
    collections.collectIfDue(native.auditLive());
  };
  watch();
  setInterval(watch, WATCH_MS).unref();
  if (!isMainThread) return; // the capture goes on when a worker thread ends
  // First in the queue, before handlers of the program free things: the capture shows what lived at the end. It also
  // comes before the environment is torn down, which frees all.
  process.prependListener('exit', () => native.auditStop('exit'));
}

function parseOptions(text: string): AuditOptions | undefined {
  try {
    const options = JSON.parse(text) as AuditOptions;
    return typeof options.file === 'string' ? options : undefined;
  } catch {
    return undefined;
  }
}
