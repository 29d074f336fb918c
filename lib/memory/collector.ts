/**
 * Limits garbage. V8 schedules collections by the external bytes reported to it, but late, and thousands of tiny tensors hold
 * more in C++ objects (about 0.8 kB each) than in reported bytes. So this module counts new tensors and all new bytes of
 * libtorch, including those without a JavaScript tensor.
 */
import { readFileSync } from 'node:fs';
import * as v8 from 'node:v8';
import * as vm from 'node:vm';
import { native } from '../addon/native';
import { Collect, Flag } from '../generated/codes';
import { MIN_YOUNG_BYTES, YoungBytes } from './young';

const { flags } = native;

type Gc = (options?: { type: 'minor' }) => void;

/** The process's command line: `process.execArgv` of a worker may be another one. */
function commandLine(): string[] {
  const known = [...process.execArgv, ...(process.env.NODE_OPTIONS ?? '').split(' ')];
  try {
    return [...known, ...readFileSync('/proc/self/cmdline', 'utf8').split('\0')];
  } catch {
    return known; // no /proc, or no permission to read it
  }
}

/**
 * Flags of V8 by which isolates share what native/v8/scavenges.h hides, so that another thread might read it meanwhile, and the one
 * by which V8 ends a process that sets flags.
 */
const SHARING = /^--((shared|harmony)[-_]|freeze[-_]flags)/;
/** Flags with which the program wants V8's line about each scavenge. */
const TRACING = /^--trace[-_](gc|event)/;

const given = commandLine();
/** Off with LIBTORCH_NODE_SHORT_SCAVENGES=0, and once the objects were not found. */
let isShort = process.env.LIBTORCH_NODE_SHORT_SCAVENGES !== '0' && !given.some((flag) => SHARING.test(flag));
const isTraced = given.some((flag) => TRACING.test(flag));

let exposed: Gc | undefined;

/**
 * V8's gc(): the global one with --expose-gc, else one from a new context, so that the program's globals stay unchanged. The
 * flag is process-wide: if another thread switches it off between the two lines, the next call tries again. An embedder that
 * forbids V8 flags has only V8's own collections.
 */
function find(): Gc | undefined {
  if (typeof globalThis.gc === 'function') return globalThis.gc as Gc;
  const isExposed = isShort && native.exposeGc(true);
  try {
    if (!isExposed) v8.setFlagsFromString('--expose-gc');
    return vm.runInNewContext('gc') as Gc;
  } catch {
    return undefined; // no gc in the new context, or no flags: see above
  } finally {
    if (!isExposed || !native.exposeGc(false)) v8.setFlagsFromString('--no-expose-gc');
  }
}

function gc(options?: { type: 'minor' }): void {
  exposed ??= find();
  // With any argument, even { type: 'major' }, Node 20's V8 runs only a scavenge.
  if (options === undefined) exposed?.();
  else exposed?.(options);
}

/** Collects everything unreachable. Takes milliseconds, more with a large heap. False if gc() is not available. */
export const collectAll = (): boolean => {
  native.deleteReleased();
  gc();
  return exposed !== undefined;
};

const FINISH = '%FinalizeOptimization()';

const canCompile = (source: string): boolean => {
  try {
    new vm.Script(source);
    return true;
  } catch {
    return false; // V8's own functions are not in the syntax, unless the program asked for them
  }
};

/** Whether the program was started with --allow-natives-syntax. */
let hasNatives: boolean | undefined;

/**
 * Waits for V8's optimizing compilers, which work on other threads: a function under compilation keeps the values that it
 * saw alive, so that no collection frees them. Takes milliseconds. Without V8 flags (see find()) it does nothing.
 */
export function finishCompilations(): void {
  hasNatives ??= canCompile(FINISH);
  try {
    if (!hasNatives) v8.setFlagsFromString('--allow-natives-syntax');
    // Compiled each time: V8 drops the bytecode of functions, and could not compile this one without the flag.
    new vm.Script(FINISH).runInThisContext();
  } catch {
    // No such function in this V8, or no flags: the collection frees what it can.
  } finally {
    if (!hasNatives) v8.setFlagsFromString('--no-allow-natives-syntax');
  }
}

/** One object for all calls: in Node 26 a new one for each makes a scavenge take half as long again. */
const MINOR = { type: 'minor' } as const;

/** So soon after the last collection, few objects of JavaScript are young. */
const SOON_MS = 10;

/** Collects young objects. `elapsedMs`: since the last collection, if it is known. */
export function scavenge(elapsedMs = Number.POSITIVE_INFINITY): void {
  native.deleteReleased();
  exposed ??= find();
  if (isShort && exposed !== undefined) {
    isShort = native.scavengeShort(exposed as (minor: object) => void, MINOR, elapsedMs < SOON_MS, isTraced) > 0;
  } else {
    gc(MINOR);
  }
}

native.setCollectors(collectAll, scavengeBeforeOp);

/** New bytes at which native code sets the flag (native/env/env_state.cpp). */
const REQUEST_BYTES = MIN_YOUNG_BYTES;
/** New tensors between two scavenges: about 1.5 MB of C++ objects, which mostly fit in a core's cache. */
const YOUNG = 2_048;
/** Guarded tensors, and bytes of libtorch, from which a full collection runs for the old objects. */
const MIN_OLD = 131_072;
const MIN_OLD_BYTES = 256 * 1024 * 1024;

/** Bound here, because tests of programs replace clocks. */
const now = performance.now.bind(performance);
const young = new YoungBytes();
/** When the last collection of this module ended. */
let endedAt = Number.NEGATIVE_INFINITY;
let requests = 0;
let bytesThen = 0;
let reportedThen = 0;

/** Whether the requests of native code are enough. Growth is counted too: one tensor may be larger than all of it. */
function isDue(): boolean {
  if (++requests * REQUEST_BYTES >= young.bytes) return true;
  const grown = Math.max(native.allocatedBytes() - bytesThen, native.reportedBytes() - reportedThen);
  return grown >= young.bytes;
}

/**
 * Where a program allocates less than 1,000 bytes of JavaScript per ms, V8 makes its young generation smaller after each scavenge,
 * and larger again in the next: six calls of mprotect and page faults, which cost more than the scavenge. So a few bytes are
 * allocated for a program whose ops take that long, but not for one that hardly makes tensors.
 */
const WORDS_PER_MS = 250;
const MAX_MS = 20;
/** Here, so that V8's compiler does not leave the allocation out. */
const spare: { words: unknown } = { words: undefined };

function keepYoungSpace(elapsedMs: number): void {
  if (elapsedMs > MAX_MS) return;
  spare.words = new Array(Math.ceil(WORDS_PER_MS * elapsedMs) + 1);
  spare.words = undefined;
}

/** A scavenge of the young objects, and what it says about the next one. */
function scavengeMeasured(isInOp: boolean): void {
  const from = now();
  const before = native.allocatedBytes();
  keepYoungSpace(from - endedAt);
  scavenge(from - endedAt);
  if (isInOp) native.freeQueued();
  native.sweepShared();
  const after = native.allocatedBytes();
  young.add({ elapsed: from - endedAt, cost: now() - from, grown: before - bytesThen, freed: before - after });
  beginYoung();
}

/** After a collection: nothing is new. */
function beginYoung(): void {
  endedAt = now();
  requests = 0;
  bytesThen = native.allocatedBytes();
  reportedThen = native.reportedBytes();
}

/** Whether the scavenge that is due waits for the next op, and how many are not to wait. */
let waits = false;
let untilWait = 0;
/** So many do not wait after one for which no op came: the program makes its tensors from files, arrays, models, … */
const WITHOUT_OPS = 15;

/**
 * Whether the scavenge that is due may wait for the next op. There the last result is mostly garbage, so that the op's result can
 * have its memory, as with reference counts. After an op its result is live, and the one before often is in a variable.
 */
function mayWait(): boolean {
  if (waits) {
    waits = false;
    untilWait = WITHOUT_OPS;
    return false;
  }
  if (untilWait > 0) {
    untilWait--;
    return false;
  }
  waits = true;
  return true;
}

/** Native code calls it in an op, with its arguments converted and nothing allocated. */
function scavengeBeforeOp(): void {
  waits = false;
  untilScavenge = YOUNG;
  flags[Flag.Collect] = Collect.None;
  scavengeMeasured(true);
  if (isOldDue()) flags[Flag.Collect] = Collect.All; // after this op
}

let untilScavenge = YOUNG;
let untilFull = MIN_OLD;
let untilFullBytes = MIN_OLD_BYTES;

const isOldDue = (): boolean => native.guards() >= untilFull || native.allocatedBytes() >= untilFullBytes;

/** Call it for each tensor that the garbage collector owns. */
export function countGuarded(): void {
  if (--untilScavenge > 0 && flags[Flag.Collect] === Collect.None) return;
  const full = flags[Flag.Collect] === Collect.All;
  if (untilScavenge > 0 && !full && !waits && !isDue()) {
    flags[Flag.Collect] = Collect.None;
    return;
  }
  if (untilScavenge > 0 && !full && mayWait()) {
    flags[Flag.Collect] = Collect.BeforeOp;
    return;
  }
  waits = false;
  untilScavenge = YOUNG;
  flags[Flag.Collect] = Collect.None;
  if (!full) {
    scavengeMeasured(false);
    if (!isOldDue()) return;
  }
  collectAll();
  beginYoung();
  // Twice the current use, so that a program that keeps many tensors is not collected for each new one.
  untilFull = Math.max(MIN_OLD, 2 * native.guards());
  untilFullBytes = Math.max(MIN_OLD_BYTES, 2 * native.allocatedBytes());
}
