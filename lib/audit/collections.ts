/**
 * Evidence from the garbage collector. A tensor that nobody disposed of may be unreachable and merely not collected yet,
 * which looks like a leak until a full collection has passed. So the audit counts full collections and, where memory
 * grows and V8 sees no reason for one, causes one: rarely, and never for more than a hundredth of the time.
 */
import { constants, PerformanceObserver, performance } from 'node:perf_hooks';
import { collectAll } from '../collector';

/** No forced collection sooner than this after the last full one, in ms. */
const MIN_PAUSE_MS = 500;
/** A forced collection that took t ms is followed by at least this many times t without another. */
const REST_FACTOR = 100;
/** But for the first ones, which may take this long in all: a short run needs evidence too. */
const ALLOWANCE_MS = 300;
/** Less is a trifle: what no tensor shows may be held by garbage all the same, such as a token. */
const MIN_BYTES = 64 * 1024;
/** The observer hears on the event loop, to which a program may not come. */
const MAX_UNHEARD = 16;

export interface Collections {
  /**
   * Causes a full collection when there are more tensors than before, or libtorch holds more, and none came by itself for a
   * while. True where it did.
   */
  collectIfDue(liveTensors: number, allocatedBytes: number): boolean;
  /** Reports no more. */
  stop(): void;
}

/** Reports each full collection of this environment to `onCollection`, with how many ms ago it began. */
export function watchCollections(onCollection: (agoMs: number) => void): Collections {
  let last = performance.now();
  let rest = MIN_PAUSE_MS;
  let floor = Number.POSITIVE_INFINITY;
  let floorBytes = Number.POSITIVE_INFINITY;
  let spent = 0;
  /** Those that were caused here, from and until when: they are told at once, and the observer hears of them later. */
  let caused: [from: number, until: number][] = [];

  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      const { kind } = (entry as unknown as { detail?: { kind?: number } }).detail ?? {};
      if (kind !== constants.NODE_PERFORMANCE_GC_MAJOR) continue;
      last = Math.max(last, entry.startTime + entry.duration);
      const known = caused.findIndex(([from, until]) => entry.startTime >= from && entry.startTime <= until);
      if (known >= 0) {
        caused = caused.slice(known + 1);
        continue;
      }
      floor = floorBytes = Number.POSITIVE_INFINITY;
      onCollection(performance.now() - entry.startTime);
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
        caused = [...caused.slice(-MAX_UNHEARD), [begun, last]];
        onCollection(last - begun);
      }
      const { user, system } = process.cpuUsage(before);
      // The lesser: beside other programs the clock tells how busy the machine is, beside V8's helpers the processors do.
      const cost = Math.min(last - begun, (user + system) / 1000);
      spent += cost;
      rest = spent < ALLOWANCE_MS ? MIN_PAUSE_MS : Math.max(MIN_PAUSE_MS, cost * REST_FACTOR);
      floor = floorBytes = Number.POSITIVE_INFINITY;
      return collected;
    },
  };
}
