/**
 * Evidence from the garbage collector. A tensor that nobody disposed of may be unreachable and merely not collected yet,
 * which looks like a leak until a full collection has passed. So the audit counts full collections and, where memory
 * grows and V8 sees no reason for one, causes one: rarely, and never for more than a hundredth of the time.
 */
import { constants, PerformanceObserver, performance } from 'node:perf_hooks';
import { collectAll } from '../collector';

/** No forced collection sooner than this after the last full one, in ms. */
const LEAST_PAUSE_MS = 500;
/** A forced collection that took t ms is followed by at least this many times t without another. */
const REST_FACTOR = 100;
/** But for the first ones, which may take this long in all: a short run needs evidence too. */
const ALLOWANCE_MS = 300;

export interface Collections {
  /** Causes a full collection when there are more tensors than before and none came by itself for a while. */
  collectIfDue(liveTensors: number): void;
  /** Reports no more. */
  stop(): void;
}

/** Reports each full collection of this environment to `onCollection`, with how many ms ago it began. */
export function watchCollections(onCollection: (agoMs: number) => void): Collections {
  let last = performance.now();
  let rest = LEAST_PAUSE_MS;
  let floor = Number.POSITIVE_INFINITY;
  let spent = 0;

  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      const { kind } = (entry as unknown as { detail?: { kind?: number } }).detail ?? {};
      if (kind !== constants.NODE_PERFORMANCE_GC_MAJOR) continue;
      last = Math.max(last, entry.startTime + entry.duration);
      floor = Number.POSITIVE_INFINITY;
      onCollection(performance.now() - entry.startTime);
    }
  });
  observer.observe({ entryTypes: ['gc'] });

  return {
    stop: () => observer.disconnect(),
    collectIfDue(liveTensors) {
      floor = Math.min(floor, liveTensors);
      const begun = performance.now();
      if (begun - last < rest || liveTensors <= floor) return;
      const before = process.cpuUsage();
      collectAll();
      last = performance.now();
      const { user, system } = process.cpuUsage(before);
      // The lesser: beside other programs the clock tells how busy the machine is, beside V8's helpers the processors do.
      const cost = Math.min(last - begun, (user + system) / 1000);
      spent += cost;
      rest = spent < ALLOWANCE_MS ? LEAST_PAUSE_MS : Math.max(LEAST_PAUSE_MS, cost * REST_FACTOR);
      floor = Number.POSITIVE_INFINITY;
    },
  };
}
