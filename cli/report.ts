/** The report: the JSON of the public contract, which the text reporter prints from too. */
import type { Frame, Mark } from './capture/capture';
import type { SiteKind, SiteVerdict } from './rules/verdict';

export const REPORT_VERSION = 1;

/** A graph that grows from step to step, since a value carries it along. */
export interface GraphReport {
  /** What the source calls the value; empty where that is not known. */
  variable: string;
  /** Living tensors of the site that have a graph. */
  tensors: number;
  /** Nodes of the largest such graph, without leaves; with `atLeast`, more than so many. */
  nodes: number;
  atLeast: boolean;
  /** How many are added with each tensor that the site makes. */
  nodesPerStep: number;
}

export interface SiteReport {
  file: string;
  line: number;
  column: number;
  function: string;
  /** Innermost first, through source maps; of all stacks that end at this position, the one that holds most. */
  stack: Frame[];
  devices: string[];
  liveTensors: number;
  liveBytes: number;
  allocatedTensors: number;
  allocatedBytes: number;
  growthBytesPerMinute: number;
  /** Bounds of it, each with 99% confidence; null where the rounds are too few for one. */
  growthLowBytesPerMinute: number | null;
  growthHighBytesPerMinute: number | null;
  growthTensorsPerMinute: number;
  /** The part of the growth that no tensor shows: this site is the likely root of it (a kept autograd graph). */
  hiddenGrowthBytesPerMinute: number;
  /** Bytes made here that no tensor shows any more, and that something holds: a graph, a token. */
  hiddenBytes: number;
  /** The graph that a value of this site carries along, where that grows; else null. */
  graph: GraphReport | null;
  /** Age of the oldest living tensor at the end; null when none lives. */
  oldestMs: number | null;
  /** Since when (ms after the start of the capture) it holds what it never gave back; null when none lives. */
  sinceMs: number | null;
  /**
   * It grew as long as the program worked, and was freed only so many ms before the capture's end; null where it was not, or
   * where that is not why it is reported.
   */
  freedMs: number | null;
  verdict: SiteVerdict;
  /** The verdict, finer: filling or full cache, sawtooth or steady. */
  kind: SiteKind;
  /** Of a leak: 1 less the share of false ones that is to be expected among the leaks so called; else null. */
  confidence: number | null;
  /** Who holds its living tensors (`--why`), those with most bytes first. */
  heldBy?: { path: string[]; tensors: number; bytes: number }[];
}

export interface TimelinePoint {
  ms: number;
  liveTensors: number;
  liveStorages: number;
  liveBytes: number;
  allocatedBytes: number;
  heapUsed: number;
  external: number;
  rss: number;
}

/**
 * Why a report without a leak is no "clean" either: the program never loaded the library; too few rounds after the
 * warm-up; a site that grows has too few of its own; a site grew until the program's end, and may have been used and freed
 * there; only totals were recorded.
 */
export type Shortfall = 'not-loaded' | 'few-rounds' | 'young-sites' | 'grew-to-the-end' | 'counters';

export interface Summary {
  command: string;
  pid: number | null;
  mode: 'counters' | 'sample' | 'full' | null;
  startedAt: number | null;
  durationMs: number;
  rounds: number;
  /** How the capture ended: 'exit', 'detached', 'abandoned', or 'killed' when the last packet is missing. */
  ended: string;
  liveTensors: number;
  liveStorages: number;
  liveBytes: number;
  peakLiveBytes: number;
  allocatedBytes: number;
  peakAllocatedBytes: number;
  /** Held by libtorch, seen by no JS handle: allocatedBytes - liveBytes. */
  unexplainedBytes: number;
  /** Its growth where that passes for a leak, else 0. */
  unexplainedGrowthBytesPerMinute: number;
  rss: number;
  peakRss: number;
  /** Growth of the process where that passes for a leak, else 0. */
  rssGrowthBytesPerMinute: number;
  /** The same for what neither tensors nor V8 explain: what allocators keep, or memory of other libraries. */
  retainedGrowthBytesPerMinute: number;
  collections: number;
  lostEvents: number;
  tornBytes: number;
  /** Of all sites, also of those that `minAgeMs` leaves out of the report. */
  leaks: number;
  leakBytesPerMinute: number;
  /** Why the verdict is `insufficient`; else null. */
  insufficient: Shortfall | null;
  /** The report is of this device alone (`report --device`); null: of all. */
  device: string | null;
  /** Sites whose oldest living tensor is younger are left out (`report --min-age`); null: none. */
  minAgeMs: number | null;
  /** What the process might use where it ran: the limit of its control group, or the machine's memory. */
  memoryLimitBytes: number;
  memoryLimitFrom: 'cgroup' | 'machine';
  /** When leaks at this rate come to the limit, after the capture's end; null without a leak. */
  msToMemoryLimit: number | null;
}

export interface Report {
  version: number;
  verdict: 'clean' | 'leak' | 'insufficient';
  summary: Summary;
  sites: SiteReport[];
  timeline: TimelinePoint[];
  /** Named points in time: `leak-audit mark`, `torch.audit.mark`. */
  marks: Mark[];
}
