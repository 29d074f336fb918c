/** A capture in memory: what the reader found, before anything is judged. */

export interface Frame {
  file: string;
  line: number;
  column: number;
  function: string;
}

export interface StartInfo {
  pid: number;
  startedAt: number;
  mode: 'counters' | 'sample' | 'full';
  intervalMs: number;
  sampleBytes: number;
  depth: number;
  command: string;
}

export interface EndInfo {
  reason: string;
  ms: number;
  lost: number;
}

export interface Tick {
  /** Since the start of the capture. */
  ms: number;
  tensors: number;
  storages: number;
  bytes: number;
  allocatedBytes: number;
  peakAllocatedBytes: number;
  rss: number;
  heapUsed: number;
  external: number;
  /** Events and packets that were lost until now. */
  lost: number;
  /** Full collections until now. */
  collections: number;
}

/** The counters of one site on one device at the ticks where they changed. */
export interface Series {
  siteId: number;
  device: string;
  /** Indices into `Capture.ticks`, ascending. */
  ticks: number[];
  liveTensors: number[];
  liveBytes: number[];
  allocatedTensors: number[];
  allocatedBytes: number[];
  /** Birth of the oldest living tensor, ms since the capture's start (negative: before it); NaN when none lives. */
  oldestBirthMs: number[];
}

export class Capture {
  start: StartInfo | undefined;
  end: EndInfo | undefined;
  readonly ticks: Tick[] = [];
  readonly stacks = new Map<number, Frame[]>();
  /** The environment (thread) that defined a site. */
  readonly environments = new Map<number, number>();
  /** Environments that ended before the capture, with the last round before each freed what it held. */
  readonly ended = new Map<number, number>();
  readonly series = new Map<string, Series>();
  /** Bytes at the end that are no whole packet (the process was killed while writing), or damage in the middle. */
  tornBytes = 0;

  get lost(): number {
    return Math.max(this.ticks.at(-1)?.lost ?? 0, this.end?.lost ?? 0);
  }

  get durationMs(): number {
    return this.ticks.at(-1)?.ms ?? 0;
  }
}
