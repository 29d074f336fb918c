/**
 * Keeps garbage small. V8 starts a collection by the bytes it knows of, but late, and thousands of tiny tensors hold more
 * in C++ objects (about 0.8 kB each) than in bytes that V8 hears of: so new bytes (all of libtorch's, also those that no
 * tensor of JavaScript shows) and the number of new tensors count here.
 */
import * as v8 from 'node:v8';
import * as vm from 'node:vm';
import { native } from './native';

const { flags } = native;

type Gc = (options?: { type: 'minor' }) => void;

let exposed: Gc | undefined;

/**
 * V8's gc(): the program's own with --expose-gc, else one from a context of its own, so that the program's globals stay as
 * they are. The flag is the process's: another thread may switch it off between the two lines, then the next call tries
 * again. An embedder that forbids V8 flags has only its own collections.
 */
function find(): Gc | undefined {
  if (typeof globalThis.gc === 'function') return globalThis.gc as Gc;
  try {
    v8.setFlagsFromString('--expose-gc');
    return vm.runInNewContext('gc') as Gc;
  } catch {
    return undefined; // no gc in the new context, or no flags: see above
  } finally {
    v8.setFlagsFromString('--no-expose-gc');
  }
}

function gc(options?: { type: 'minor' }): void {
  exposed ??= find();
  // Any argument but none at all, { type: 'major' } too, is a scavenge to Node 20's V8.
  if (options === undefined) exposed?.();
  else exposed?.(options);
}

/** Collects everything that is unreachable. Takes milliseconds, more with a large heap. False where V8 offers no way to. */
export const collectAll = (): boolean => {
  gc();
  return exposed !== undefined;
};

/** Collects among the young objects. */
export const scavenge = (): void => gc({ type: 'minor' });

native.setCollector(collectAll);

/** New tensors between two scavenges: about 1.5 MB of C++ objects, most of which a processor core caches. */
const YOUNG = 2_048;
/** Guarded tensors, and bytes of libtorch's, that may be there before a full collection looks among the old objects. */
const MIN_OLD = 131_072;
const MIN_OLD_BYTES = 256 * 1024 * 1024;

/** Values of `flags[4]`. */
const COLLECT_ALL = 2;

let untilScavenge = YOUNG;
let untilFull = MIN_OLD;
let untilFullBytes = MIN_OLD_BYTES;

/** Call it for each tensor that the garbage collector owns. */
export function countGuarded(): void {
  if (--untilScavenge > 0 && flags[4] === 0) return;
  const full = flags[4] === COLLECT_ALL;
  untilScavenge = YOUNG;
  flags[4] = 0;
  if (!full) {
    scavenge();
    native.sweepShared();
    if (native.guards() < untilFull && native.allocatedBytes() < untilFullBytes) return;
  }
  collectAll();
  // Twice what is in use, so that a program that keeps many tensors is not collected for each of them.
  untilFull = Math.max(MIN_OLD, 2 * native.guards());
  untilFullBytes = Math.max(MIN_OLD_BYTES, 2 * native.allocatedBytes());
}
