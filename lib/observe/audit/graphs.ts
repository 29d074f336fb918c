/** Schedules the census of autograd graphs: often while it is cheap, never for more than 1% of the time. */
import { performance } from 'node:perf_hooks';

/** A census that took t ms is followed by a pause of at least this many times t. */
const REST_FACTOR = 100;

export interface Graphs {
  /** `collected`: right after a full collection, when all live tensors are reachable. Such a census always runs. */
  look(collected: boolean): void;
}

export function watchGraphs(census: (collected: boolean) => void): Graphs {
  let rest = 0;
  return {
    look(collected) {
      const begun = performance.now();
      if (!collected && begun < rest) return;
      census(collected);
      const ended = performance.now();
      rest = ended + REST_FACTOR * (ended - begun);
    },
  };
}
