/**
 * The audit's part inside the program: it starts the recorder when `leak-audit` asked for it, gives new tensors their
 * call site, and reports what only the JS thread knows (heap figures, collections). Internal; not exported by index.
 */
import { performance } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';
import type { Announcer } from './allocations';
import { watchCollections } from './audit/collections';
import { watchGraphs } from './audit/graphs';
import { answerHeap, type HeapFiles, type HeapNative, leaveHeap } from './audit/heap';
import { currentLabel } from './audit/label';
import { captureStack, type Stack } from './audit/stack';
import { printable } from './printable';
import { restoring } from './turn';
import { isWatched, tagWatched, type WatchNative } from './watch';

/** What the addon offers (native/audit/js_api.cpp). One per environment. */
export interface AuditNative extends WatchNative, HeapNative {
  /** Whether a recording runs, for code that cannot afford to ask native code. */
  recordingHere?: boolean;
  /** `flags[0]` is non-zero while new handles of this environment wait for their site. Memory of the addon. */
  readonly flags: Uint32Array;
  /** The reason why it did not start ('': the capture has an owner, or is running here), or undefined. */
  auditStart(options: AuditOptions): string | undefined;
  auditStop(reason: string): void;
  /** Frames that stacks should have; 0 while nothing is recorded. */
  auditOn(): number;
  /**
   * Opens the socket that `leak-audit attach` asks for, once for the process; the reason why it could not. `variable`:
   * what LIBTORCH_NODE_ATTACH is in this environment.
   */
  auditListen(variable: string | undefined, isMainThread: boolean): string | undefined;
  /** `callback` hears of each begin and end of a recording, in place of the one before. */
  auditFollow(callback: () => void): void;
  /** Tells a recording that began what this environment holds. */
  auditTellCapture(): void;
  /** Tells a recording what autograd graphs hold. `collected`: right after a full collection. */
  auditCensus(collected: boolean): void;
  auditMark(name: string): boolean;
  auditTag(siteId: number, labelId: number): void;
  auditDefineSite(json: string): number;
  /** 0, which is no label, when there are too many. */
  auditDefineLabel(json: string): number;
  /** Says in the capture of another process that this one's events are missing. */
  auditFlagLoss(file: string): void;
  auditHeap(heapUsed: number, external: number): void;
  /** A full collection of this environment ended, which began so many ms ago. */
  auditCollection(agoMs: number): void;
  /** Living tensors that are recorded. */
  auditLive(): number;
  /** What libtorch holds, whether a tensor shows it or not. */
  allocatedBytes(): number;
  /** Tells subscribers of large allocations. */
  announcer?: Announcer;
}

/** The content of the variable LIBTORCH_NODE_AUDIT. */
export interface AuditOptions {
  file: string;
  mode?: 'counters' | 'sample' | 'full';
  intervalMs?: number;
  depth?: number;
  sampleBytes?: number;
  maxBytes?: number;
  followChildren?: boolean;
  /** `--why`: who holds the tensors when the program ends. */
  why?: HeapFiles;
  command?: string;
}

const VARIABLE = 'LIBTORCH_NODE_AUDIT';
/** `0`: the process is not to be attached to. Native code decides (native/audit/attach.h). */
const ATTACH_VARIABLE = 'LIBTORCH_NODE_ATTACH';
/** A pid is used again: so many files of one are looked past. */
const MAX_OF_ONE_PID = 1000;
const DEFAULT_DEPTH = 16;
/** How often the JS thread is asked for its figures. */
const WATCH_MS = 250;
/** How often it is asked what graphs hold; a round has one answer. */
const GRAPH_MS = 50;
/** A program that never comes to its event loop is looked at between its tensors: the time after each so many. */
const TENSORS_PER_LOOK = 32;

/** Sites of this environment: a stack's key to its site id. */
const siteIds = new Map<number, number>();

/** A stack, and the labels that were in force there. */
export interface Site {
  readonly stack: Stack;
  readonly labelId: number;
}

/** While something is recorded: looks at this environment where its timers have not for long. */
let lookIfLate: (() => void) | undefined;
let untilLook = TENSORS_PER_LOOK;

/** What to give to tensors that come up on another turn of the event loop than their call. */
let begun: Site | undefined;

/** Where `below` was called, if somebody looks at the tensors that it will make. */
export function siteToBe(native: AuditNative, below: (...args: never[]) => unknown): Site | undefined {
  const depth = native.auditOn();
  if (depth === 0 && !isWatched(native) && native.announcer?.on !== true) return undefined;
  const { key, frames } = captureStack(depth || DEFAULT_DEPTH, below);
  const list = frames(); // now: call sites must not outlive the capture
  return { stack: { key, frames: () => list }, labelId: currentLabel() };
}

/** Runs `fn`, whose tensors were made where `site` is. */
export function atSite<T>(site: Site | undefined, fn: () => T): T {
  const before = begun;
  const undo = () => {
    begun = before;
  };
  return restoring(undo, () => {
    begun = site;
    return fn();
  });
}

/**
 * Gives the tensors that were just created the stack of their creation. Call it where `native.flags[0] !== 0`.
 * Costs a few microseconds for a stack seen before.
 */
export function captureSite(native: AuditNative): void {
  const depth = native.auditOn();
  const stack = begun?.stack ?? captureStack(depth || DEFAULT_DEPTH, captureSite);
  if (depth > 0) {
    const { key, frames } = stack;
    let id = siteIds.get(key);
    if (id === undefined) {
      id = native.auditDefineSite(JSON.stringify(frames()));
      siteIds.set(key, id);
    }
    native.auditTag(id, begun === undefined ? currentLabel() : begun.labelId);
  }
  tagWatched(native, stack);
  native.flags[0] = 0;
  const { announcer } = native;
  if (announcer?.on) announcer.announce(stack);
  if (--untilLook > 0) return;
  untilLook = TENSORS_PER_LOOK;
  lookIfLate?.();
}

/**
 * Called once per environment, when the library is loaded: records if it was told to, and listens to `leak-audit attach`.
 * `warn` tells the program that it cannot; tensors need this module, and warnings need tensors.
 */
export function startAudit(native: AuditNative, warn: (text: string, code: string) => void): void {
  const text = process.env[VARIABLE];
  const options = text === undefined ? undefined : parseOptions(text);
  // Gone before any code of the program runs: neither it nor its children see that they are watched, unless they are to
  // be followed.
  if (text !== undefined && options?.followChildren !== true) delete process.env[VARIABLE];
  const isFirst = options !== undefined && native.auditOn() === 0 && begin(native, options);
  const watcher = new Watcher(native, isFirst && isMainThread ? options.why : undefined);
  native.auditFollow(() => {
    watcher.update();
    answerHeap(native, warn);
  });
  watcher.update();
  // Where it cannot listen, all else works.
  const whyNot = native.auditListen(process.env[ATTACH_VARIABLE], isMainThread);
  if (whyNot !== undefined) warn(`leak-audit attach cannot reach this process: ${whyNot}`, 'ERR_TORCH_ATTACH');
}

/** While something is recorded: what only this environment's JavaScript can tell. */
class Watcher {
  private end: (() => void) | undefined;

  constructor(
    private readonly native: AuditNative,
    private readonly why: HeapFiles | undefined,
  ) {}

  update(): void {
    const on = this.native.auditOn() > 0;
    if (on && this.end !== undefined) this.stop(); // one recording ended and another began meanwhile
    if (on) this.start();
    else this.stop();
  }

  private stop(): void {
    this.native.recordingHere = false;
    this.end?.();
    this.end = undefined;
  }

  private start(): void {
    const { native } = this;
    native.recordingHere = true;
    native.auditTellCapture();
    const collections = watchCollections((agoMs) => native.auditCollection(agoMs));
    const graphs = watchGraphs((collected) => native.auditCensus(collected));
    let looked = performance.now();
    const watch = () => {
      if (native.auditOn() === 0) return this.stop(); // another copy of the library was told of its end
      looked = performance.now();
      if (isMainThread) {
        const { heapUsed, external } = process.memoryUsage();
        native.auditHeap(heapUsed, external);
      }
      graphs.look(collections.collectIfDue(native.auditLive(), native.allocatedBytes()));
    };
    const timer = setInterval(watch, WATCH_MS).unref();
    let counted = looked;
    const count = () => {
      counted = performance.now();
      graphs.look(false);
    };
    const census = setInterval(count, GRAPH_MS).unref();
    lookIfLate = () => {
      const now = performance.now();
      if (now - looked > 2 * WATCH_MS) watch();
      else if (now - counted > 2 * GRAPH_MS) count();
    };
    // First in the queue, before handlers of the program free things: the capture shows what lived at the end. It also
    // comes before the environment is torn down, which frees all. The capture goes on when a worker thread ends.
    const stop = () => native.auditStop('exit');
    const { why } = this;
    const atExit = why === undefined ? stop : () => leaveHeap(native, why, stop);
    if (isMainThread) process.prependListener('exit', atExit);
    this.end = () => {
      clearInterval(timer);
      clearInterval(census);
      lookIfLate = undefined;
      collections.stop();
      process.off('exit', atExit);
    };
    watch();
  }
}

/**
 * Another process of the same command line may have claimed the capture: then this one is a child, or not audited. Whether it is
 * the one that claimed it.
 */
function begin(native: AuditNative, options: AuditOptions): boolean {
  let refusal = native.auditStart(options);
  const isFirst = refusal === undefined;
  if (refusal === '' && options.followChildren === true) {
    const command = [process.argv0, ...process.argv.slice(1)].join(' ');
    for (let n = 0; refusal === '' && n < MAX_OF_ONE_PID && native.auditOn() === 0; n++) {
      const file = `${options.file}.${process.pid}${n === 0 ? '' : `-${n}`}.child`;
      refusal = native.auditStart({ ...options, file, command });
    }
  }
  if (!refusal) return isFirst;
  native.auditFlagLoss(options.file);
  process.stderr.write(`leak-audit: this process is not recorded: ${printable(refusal)}\n`);
  return false;
}

function parseOptions(text: string): AuditOptions | undefined {
  try {
    const options = JSON.parse(text) as AuditOptions;
    return typeof options.file === 'string' ? options : undefined;
  } catch {
    return undefined;
  }
}
