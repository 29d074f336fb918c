/** How old the living bytes are: exactly where the capture holds each tensor, else within what its counters prove. */
import type { Capture } from '../capture/capture';

export interface AgeBin {
  fromMs: number;
  /** Null: without end. */
  toMs: number | null;
  bytes: number;
  /** At least so many of them, whatever died in between. */
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

/** Each storage counts once, at the birth of the oldest tensor that lives on it. */
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
 * What counters prove. Of the bytes that live at the end, no more are older than T than the least that lived at any
 * time since; and no fewer than what lived at T less what could have been replaced since. The first bound is shown:
 * it is right where the youngest die first, as in scopes; the second is told with it.
 */
export class BoundedAges {
  readonly ages: Ages;
  /** The last round that is at least as old as each bin begins; -1 where there is none. */
  private readonly rounds: number[];

  constructor({ ticks, durationMs }: Capture) {
    this.ages = { exact: false, bins: emptyBins(durationMs) };
    this.rounds = this.ages.bins.map(({ fromMs }) => {
      let i = ticks.length - 1;
      while (i >= 0 && fromMs > 0 && ticks[i]!.ms > durationMs - fromMs) i--;
      return i;
    });
  }

  /** Of one site: what lived and what had been allocated, at each round. */
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
