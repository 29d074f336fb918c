/**
 * Keeps garbage small. V8 starts a collection by the bytes it knows of; thousands of tiny tensors hold more in C++ objects
 * (about 0.8 kB each) than in bytes that V8 hears of, so their number counts as well.
 */
import * as v8 from 'node:v8';
import * as vm from 'node:vm';
import { native } from './native';

/** V8's own gc(): a scavenge of the young objects, or everything. */
export type Collect = (options?: { type: 'minor' | 'major' }) => void;

let exposed: Collect | undefined;

/** The collector, from a context of its own: the program's globals stay as they are. Does nothing where V8 has none. */
export function collector(): Collect {
  if (exposed === undefined) {
    exposed = () => {};
    try {
      v8.setFlagsFromString('--expose-gc');
      const collect: unknown = vm.runInNewContext('gc');
      v8.setFlagsFromString('--no-expose-gc');
      if (typeof collect === 'function') exposed = collect as Collect;
    } catch {
      // An embedder that forbids V8 flags: its own collections have to do.
    }
  }
  return exposed;
}

/** New tensors between two scavenges: about 25 MB of C++ objects. */
const YOUNG = 32_768;
/** Guarded tensors that may be alive before a full collection looks among the old ones. */
const LEAST_OLD = 131_072;

let untilScavenge = YOUNG;
let untilFull = LEAST_OLD;

/** Call it for each tensor that the garbage collector owns. */
export function countGuarded(): void {
  if (--untilScavenge > 0) return;
  untilScavenge = YOUNG;
  collector()({ type: 'minor' });
  const alive = native.guards();
  if (alive < untilFull) return;
  collector()({ type: 'major' });
  // Twice what is in use, so that a program that keeps many tensors is not collected for each of them.
  untilFull = Math.max(LEAST_OLD, 2 * native.guards());
}
