/** The ages of live bytes: exact if the capture has each tensor, else bounded by its counters. */
import type { Capture } from '../capture/capture';

export interface AgeBin {
  fromMs: number;
  /** Null for unbounded. */
  toMs: number | null;
  bytes: number;
  /** A lower bound on `bytes`. */
  sureBytes: number;
}

export interface Ages {
  exact: boolean;
  bins: AgeBin[];
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const EDGES = [
  ...[SECOND / 10, SECOND, 10 * SECOND],
  ...[MINUTE, 10 * MINUTE, HOUR, 6 * HOUR, 24 * HOUR, 7 * 24 * HOUR],
];

function emptyBins(durationMs: number): AgeBin[] {
  const edges = [0, ...EDGES.filter((edge) => edge < durationMs)];
  return edges.map((fromMs, i) => ({ fromMs, toMs: edges[i + 1] ?? null, bytes: 0, sureBytes: 0 }));
}

/** Each storage counts once, at the birth of its oldest live tensor. */
export function exactAges(capture: Capture, wanted: (device: string) => boolean): Ages {
  const bins = emptyBins(capture.durationMs);
  capture.eachStorage(wanted, (birthMs, bytes) => {
    const age = Math.max(0, capture.durationMs - birthMs);
    let i = bins.length - 1;
    while (bins[i]!.fromMs > age) i--;
    bins[i]!.bytes += bytes;
    bins[i]!.sureBytes += bytes;
  });
  return { exact: true, bins };
}

/**
 * Bounds from counters. Of the bytes that are live at the end, those older than T are at most the minimum that was live at
 * any time since, and at least what was live at T minus what may have been replaced since. The first bound is shown; it is
 * exact if the youngest tensors die first, as in scopes. The second is shown with it.
 */
export class BoundedAges {
  readonly ages: Ages;
  /** For each bin, the last round at least as old as its lower edge; -1 if there is none. */
  private readonly rounds: number[];

  constructor({ ticks, durationMs }: Capture) {
    this.ages = { exact: false, bins: emptyBins(durationMs) };
    this.rounds = this.ages.bins.map(({ fromMs }) => {
      let i = ticks.length - 1;
      while (i >= 0 && fromMs > 0 && ticks[i]!.ms > durationMs - fromMs) i--;
      return i;
    });
  }

  /** Adds one site with its live and allocated bytes at each round. */
  add(live: number[], allocated: number[]): void {
    const end = live.length - 1;
    const older = this.rounds.map((round) => {
      if (round < 0) return { most: 0, least: 0 };
      let most = live[end]!;
      for (let i = round; i < end; i++) most = Math.min(most, live[i]!);
      return { most, least: Math.min(most, Math.max(0, live[end]! - (allocated[end]! - allocated[round]!))) };
    });
    for (const [i, bin] of this.ages.bins.entries()) {
      const beyond = older[i + 1]?.most ?? 0;
      bin.bytes += older[i]!.most - beyond;
      bin.sureBytes += Math.max(0, older[i]!.least - beyond);
    }
  }
}
