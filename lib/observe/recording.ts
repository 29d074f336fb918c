/**
 * The part of the audit that runs in the program: it starts the recorder on request of `leak-audit`, tags new tensors with
 * their call site, and reports what only the JS thread knows (heap figures, collections). Internal; not exported by index.
 */
import { performance } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';
import type { AuditNative, AuditOptions, HeapFiles } from '../addon/recorder';
import { restoring } from '../errors/restoring';
import { Flag } from '../generated/codes';
import { printable } from '../libtorch/printable';
import { heapFigures } from '../memory/memory-usage';
import { watchCollections } from './audit/collections';
import { inSource } from './audit/compiled';
import { watchGraphs } from './audit/graphs';
import { answerHeap, claimFiles, leaveHeap } from './audit/heap';
import { currentLabel, labelsOf } from './audit/label';
import { captureStack, type Stack } from './audit/stack';
import { followContinuations, waitingNow } from './audit/waiting';
import { isWatched, tagWatched } from './watch';

const VARIABLE = 'LIBTORCH_NODE_AUDIT';
/** `0` disables attaching to the process. Native code decides (native/audit/attach.h). */
const ATTACH_VARIABLE = 'LIBTORCH_NODE_ATTACH';
/** The most existing files per pid that are skipped, since pids are reused. */
const MAX_FILES_PER_PID = 1000;
const DEFAULT_DEPTH = 16;
/** The interval at which the JS thread reports its figures. */
const WATCH_MS = 250;
/** The interval of the graph census. */
const GRAPH_MS = 50;
/** The number of tensors between two checks of a program that blocks its event loop. */
const TENSORS_PER_CHECK = 32;

/** The number of this copy of the library. */
let copy = 0;
/** Site ids of this copy, by the key of the stack. */
const siteIds = new Map<number, number>();

/** A stack, and the labels that were active there. */
export interface Site {
  readonly stack: Stack;
  readonly labelId: number;
}

/** During a recording: does the work of the timers if they are late. */
let checkIfLate: (() => void) | undefined;
let untilCheck = TENSORS_PER_CHECK;
/** Learns of recordings that began; for a program that blocks its event loop, which the notification needs. */
let follow: (() => void) | undefined;

/** The site for tensors that are created on a later turn of the event loop than their call. */
let callSite: Site | undefined;

/** The call site of `below`, if anything observes the tensors that it will make. */
export function siteOfCall(native: AuditNative, below: (...args: never[]) => unknown): Site | undefined {
  const depth = native.auditDepth();
  if (depth === 0 && !isWatched(native) && native.announcer?.on !== true) return undefined;
  const { key, frames } = captureStack(depth || DEFAULT_DEPTH, below);
  const list = frames(); // immediately: call sites must not outlive the capture
  return { stack: { key, frames: () => list }, labelId: currentLabel() };
}

/** The recording's number of the line that called `below`, with `depth` frames; 0 without a recording. */
export function siteNumber(native: AuditNative, depth: number, below: (...args: never[]) => unknown): number {
  if (native.recordingHere !== true || native.auditDepth() === 0) return 0;
  return numberOf(native, captureStack(depth, below));
}

/** The recording's number of a stack. */
export function numberOf(native: AuditNative, { key, frames }: Stack): number {
  let id = siteIds.get(key);
  if (id === undefined) {
    id = native.auditDefineSite(JSON.stringify(frames().map(inSource)));
    siteIds.set(key, id);
  }
  return id;
}

/** Runs `fn`, and attributes its tensors to `site`. */
export function atSite<T>(site: Site | undefined, fn: () => T): T {
  const before = callSite;
  const undo = () => {
    callSite = before;
  };
  return restoring(undo, () => {
    callSite = site;
    return fn();
  });
}

/**
 * Tags the tensors that were just created with the current stack. Call it if `native.flags[Flag.AuditPending] !== 0`. Takes a few
 * microseconds for a known stack.
 */
export function captureSite(native: AuditNative): void {
  const { announcer } = native;
  // A recording alone needs no frames of a stack that it has seen.
  const isAlone = native.recordingHere === true && announcer?.on !== true && !isWatched(native);
  const mayBeKnown = callSite === undefined && isAlone;
  const labelId = callSite === undefined ? currentLabel() : callSite.labelId;
  if (!mayBeKnown || !native.auditTagKnown(labelId, waitingNow(), copy)) {
    const depth = native.auditDepth();
    const stack = callSite?.stack ?? captureStack(depth || DEFAULT_DEPTH, captureSite);
    if (depth > 0) {
      if (native.recordingHere !== true) follow?.();
      const site = numberOf(native, stack);
      native.auditTag(site, labelId);
      const waiting = mayBeKnown ? stack.waiting?.() : undefined;
      if (waiting !== undefined) native.auditKnown(site, waiting);
    }
    tagWatched(native, stack, labelsOf(labelId));
    if (announcer?.on) announcer.announce(stack);
  }
  native.flags[Flag.AuditPending] = 0;
  if (--untilCheck > 0) return;
  untilCheck = TENSORS_PER_CHECK;
  checkIfLate?.();
}

/**
 * Called once per environment, when the library is loaded: starts a requested recording, and listens for `leak-audit attach`.
 * `warn` is passed in because warnings.ts depends on tensors, and tensors on this module.
 */
export function startAudit(native: AuditNative, warn: (text: string, code: string) => void): void {
  copy = native.copies = (native.copies ?? 0) + 1;
  const text = process.env[VARIABLE];
  const options = text === undefined ? undefined : parseOptions(text);
  // Deleted before user code runs, so that neither the program nor its children see it, unless children are followed.
  if (text !== undefined && options?.followChildren !== true) delete process.env[VARIABLE];
  const isFirst = options !== undefined && native.auditDepth() === 0 && begin(native, options);
  const leavesHeap = isMainThread && options !== undefined && native.auditDepth() > 0;
  const watcher = new Watcher(native, leavesHeap ? heapFilesOf(options, isFirst) : undefined);
  follow = () => watcher.update();
  native.auditFollow(() => {
    watcher.update();
    answerHeap(native, warn);
  });
  watcher.update();
  // Without the socket, everything else still works.
  const whyNot = native.auditListen(process.env[ATTACH_VARIABLE], isMainThread);
  if (whyNot !== undefined) warn(`leak-audit attach cannot reach this process: ${whyNot}`, 'ERR_TORCH_ATTACH');
}

/** Where a process leaves its heap, by the number of its live tensors; undefined: nowhere. */
type FilesOf = (live: number) => HeapFiles | undefined;

/** `--why`: where this process leaves its heap when it ends, if it does. A child process learns that at its end. */
function heapFilesOf({ why, whyChildren }: AuditOptions, isFirst: boolean): FilesOf | undefined {
  if (isFirst) return why && (() => why);
  return whyChildren && ((live) => (live > 0 ? claimFiles(whyChildren) : undefined));
}

/** During a recording: reports what only this environment's JS thread knows. */
class Watcher {
  private end: (() => void) | undefined;

  constructor(
    private readonly native: AuditNative,
    private readonly why: FilesOf | undefined,
  ) {}

  update(): void {
    const on = this.native.auditDepth() > 0;
    if (on && this.end !== undefined) this.stop(); // a recording ended and another one began
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
    const unfollow = native.auditRecordsAll() ? followContinuations() : undefined;
    let looked = performance.now();
    const watch = (mayCollect = true) => {
      if (native.auditDepth() === 0) return this.stop(); // the end was reported to another copy of the library
      looked = performance.now();
      if (isMainThread) {
        const { heapUsed, external } = heapFigures();
        native.auditHeap(heapUsed, external);
      }
      graphs.look(mayCollect && collections.collectIfDue(native.auditLive(), native.allocatedBytes()));
    };
    let turned = looked;
    const timer = setInterval(() => {
      // Where the program did not let go of the thread for long, it may just have ended. A collection would free what its
      // variables held until then, as if it had not leaked.
      const wasBlocked = performance.now() - turned > 2 * WATCH_MS;
      turned = performance.now();
      watch(!wasBlocked);
    }, WATCH_MS).unref();
    let counted = looked;
    const count = () => {
      counted = performance.now();
      graphs.look(false);
    };
    const census = setInterval(count, GRAPH_MS).unref();
    checkIfLate = () => {
      const now = performance.now();
      if (now - looked > 2 * WATCH_MS) watch();
      else if (now - counted > 2 * GRAPH_MS) count();
    };
    // The first exit handler, before handlers of the program free tensors, so that the capture shows what lived at the end.
    // It also runs before environment teardown, which frees everything. Worker threads do not end the capture.
    const stop = () => native.auditStop('exit');
    const { why } = this;
    const atExit = why === undefined ? stop : () => leaveHeap(native, why, stop);
    if (isMainThread) process.prependListener('exit', atExit);
    this.end = () => {
      clearInterval(timer);
      clearInterval(census);
      checkIfLate = undefined;
      collections.stop();
      unfollow?.();
      process.off('exit', atExit);
    };
    watch();
  }
}

/**
 * Starts the recording. If another process of the same command owns the capture, this one records as a child or not at all.
 * Returns whether this process owns it.
 */
function begin(native: AuditNative, options: AuditOptions): boolean {
  let refusal = native.auditStart(options);
  const isFirst = refusal === undefined;
  if (refusal === '' && options.followChildren === true) {
    const command = [process.argv0, ...process.argv.slice(1)].join(' ');
    for (let n = 0; refusal === '' && n < MAX_FILES_PER_PID && native.auditDepth() === 0; n++) {
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
    return undefined; // not JSON: leak-audit did not set it, so nothing is recorded
  }
}
