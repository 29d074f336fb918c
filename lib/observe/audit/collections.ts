/**
 * Evidence from the garbage collector. An undisposed tensor may be unreachable and not collected yet, which looks like a
 * leak until a full collection has run. So the audit counts full collections and, if memory grows without one, forces one:
 * rarely, and never for more than 1% of the time.
 */
import { constants, PerformanceObserver, performance } from 'node:perf_hooks';
import { native } from '../../addon/native';
import { collectAll } from '../../memory/collector';

/** The least time between a full collection and a forced one, in ms. */
const MIN_PAUSE_MS = 500;
/** A forced collection that took t ms is followed by a pause of at least this many times t. */
const REST_FACTOR = 100;
/** The first forced collections may take this long in total: a short run needs evidence too. */
const ALLOWANCE_MS = 300;
/** Smaller growth is ignored. Memory without a tensor may also be held by garbage, such as a token. */
const MIN_BYTES = 64 * 1024;
/** The most forced collections remembered: the observer is called on the event loop, which a program may block. */
const MAX_PENDING = 16;

export interface Collections {
  /**
   * Forces a full collection if there are more tensors than before, or libtorch holds more memory, and V8 ran none for a
   * while. Returns whether it did.
   */
  collectIfDue(liveTensors: number, allocatedBytes: number): boolean;
  /** Stops reporting. */
  stop(): void;
}

/** Reports each full collection of this environment to `onCollection`, with the number of ms since it began. */
export function watchCollections(onCollection: (agoMs: number) => void): Collections {
  let last = performance.now();
  let rest = MIN_PAUSE_MS;
  let floor = Number.POSITIVE_INFINITY;
  let floorBytes = Number.POSITIVE_INFINITY;
  let spent = 0;
  /** Begin and end of forced collections: they are reported immediately, so the observer skips them later. */
  let forced: [from: number, until: number][] = [];

  const report = (agoMs: number) => {
    native.sweepShared(); // tokens that the collection found unreachable
    onCollection(agoMs);
  };
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      const { kind } = (entry as unknown as { detail?: { kind?: number } }).detail ?? {};
      if (kind !== constants.NODE_PERFORMANCE_GC_MAJOR) continue;
      last = Math.max(last, entry.startTime + entry.duration);
      const known = forced.findIndex(([from, until]) => entry.startTime >= from && entry.startTime <= until);
      if (known >= 0) {
        forced = forced.slice(known + 1);
        continue;
      }
      floor = floorBytes = Number.POSITIVE_INFINITY;
      report(performance.now() - entry.startTime);
    }
  });
  observer.observe({ entryTypes: ['gc'] });

  return {
    stop: () => observer.disconnect(),
    collectIfDue(liveTensors, allocatedBytes) {
      floor = Math.min(floor, liveTensors);
      floorBytes = Math.min(floorBytes, allocatedBytes);
      const begun = performance.now();
      if (begun - last < rest) return false;
      if (liveTensors <= floor && allocatedBytes < floorBytes + MIN_BYTES) return false;
      const before = process.cpuUsage();
      const collected = collectAll();
      last = performance.now();
      if (collected) {
        forced = [...forced.slice(-MAX_PENDING), [begun, last]];
        report(last - begun);
      }
      const { user, system } = process.cpuUsage(before);
      // The smaller of wall and CPU time: other processes inflate the first, V8's helper threads the second.
      const cost = Math.min(last - begun, (user + system) / 1000);
      spent += cost;
      rest = spent < ALLOWANCE_MS ? MIN_PAUSE_MS : Math.max(MIN_PAUSE_MS, cost * REST_FACTOR);
      floor = floorBytes = Number.POSITIVE_INFINITY;
      return collected;
    },
  };
}
