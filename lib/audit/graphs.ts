/** When the audit looks at what autograd graphs hold: often while that is cheap, and never for more than a hundredth of the time. */
import { performance } from 'node:perf_hooks';

/** What a look costs is followed by at least so many times that without another. */
const REST_FACTOR = 100;

export interface Graphs {
  /** `collected`: right after a full collection, when what lives is held. Such a look is always taken. */
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
