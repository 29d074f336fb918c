/** The report: the public JSON, from which the text is printed as well. */
import type { Frame, Mark } from '../capture/records';
import type { SiteKind, SiteVerdict } from '../rules/verdict';
import type { WasmReport } from './wasm-report';

export const REPORT_VERSION = 1;

/** A graph that a value carries from step to step, so that it grows. */
export interface GraphReport {
  /** The name of the value in the source; empty if unknown. */
  variable: string;
  /** The value was made before attaching; the site is the line that allocated most of what its graph holds. */
  isOlder: boolean;
  /** The gradient of the value carries it, not the value itself. */
  onGradient: boolean;
  /** Live tensors of the site that have a graph. */
  tensors: number;
  /** Nodes of the largest such graph, without leaves; with `atLeast`, a lower bound. */
  nodes: number;
  atLeast: boolean;
  /** Nodes added per tensor that the site makes; 0 if it makes none while the graph grows. */
  nodesPerStep: number;
  nodesPerMinute: number;
  /** Bytes of storages that graphs hold and no tensor accounts for, over all lines (`hiddenBytes`). */
  savedBytes: number;
  /** Growth of the process outside tensors that goes with the graph: its nodes. Part of the site's growth. */
  processBytesPerMinute: number;
}

/** A known cause of a leak, as far as the capture proves it. */
export interface Cause {
  kind:
    | 'graph'
    | 'kept-graphs'
    | 'larger-tensors'
    | 'view-pins-base'
    | 'open-scope'
    | 'tokens'
    | 'model-per-call'
    | 'dead-worker'
    | 'slow-consumer';
  text: string;
  remedy: string;
  /** For `open-scope` and `tokens`: where most of the scopes were opened, or of the tokens made, if that was recorded. */
  place?: Frame;
  /** For `tokens`, if the capture counts them: those made of this site's tensors; `waiting` can be taken and never were. */
  tokens?: { made: number; taken: number; waiting: number; waitingBytes: number };
  /** For `open-scope` with `--why`: where the scope was opened, that of most bytes. */
  openedAt?: string;
  /** The worker thread that ended: its number, the file of its program, and when. */
  worker?: { thread: number; file: string; ms: number };
}

/** What grows at a site, from the capture's start to its end at `ms`: values at equal distances. */
export interface History {
  unit: 'bytes' | 'tensors' | 'nodes' | 'bytes outside tensors';
  ms: number;
  values: number[];
}

export interface SiteReport {
  file: string;
  line: number;
  column: number;
  function: string;
  /** Innermost first, through source maps; the stack with most live bytes of all that end at this position. */
  stack: Frame[];
  devices: string[];
  /** Threads and processes that made tensors here. */
  threads: number;
  processes: number;
  liveTensors: number;
  liveBytes: number;
  allocatedTensors: number;
  allocatedBytes: number;
  growthBytesPerMinute: number;
  /** Bounds of the growth, each with 99% confidence; null if there are too few rounds for one. */
  growthLowBytesPerMinute: number | null;
  growthHighBytesPerMinute: number | null;
  growthTensorsPerMinute: number;
  /** The part of the growth that no tensor accounts for and that this site probably causes (a kept autograd graph). */
  hiddenGrowthBytesPerMinute: number;
  /** Bytes allocated here that no live tensor accounts for but that are still held, by a graph or a token. */
  hiddenBytes: number;
  /** The growing graph that a value of this site carries; else null. */
  graph: GraphReport | null;
  /** Age of the oldest live tensor at the end; null if none is live. */
  oldestMs: number | null;
  /** Since when (ms after the start of the capture) it holds tensors that it never released; null if none is live. */
  sinceMs: number | null;
  /** For a site that grows: since when (ms after the start of the capture), if it did not grow before; else null. */
  onsetMs: number | null;
  /**
   * If the site grew while the program was active and was freed only at the end: how many ms before the capture's end. Null
   * if not freed, or if that is not why the site is reported.
   */
  freedMs: number | null;
  verdict: SiteVerdict;
  /** The verdict in more detail: filling or full cache, sawtooth or steady. */
  kind: SiteKind;
  /** For a leak: 1 minus the false discovery rate among the reported leaks; else null. */
  confidence: number | null;
  /** For a leak whose cause the capture proves. */
  cause?: Cause;
  /** For a site that grows. */
  history?: History;
  /** What holds its live tensors (`--why`), most bytes first. */
  heldBy?: { path: string[]; tensors: number; bytes: number; openedAt?: string }[];
  /** If several captures are merged: the processes it is in, as indices in `Report.processes`, most live bytes first. */
  inProcesses?: { process: number; liveTensors: number; liveBytes: number; allocatedTensors: number }[];
  /** If the processes are ranks of a group: the ranks in which it made tensors, that with most growth first. */
  ranks?: SiteOnRank[];
}

/** What a site holds in one rank. */
export interface SiteOnRank {
  rank: number;
  liveTensors: number;
  liveBytes: number;
  /** At the end, minus those after the first quarter of the capture. */
  grownTensors: number;
  grownBytes: number;
}

/** What a rank of a group holds at the end: its last process, if it was started again. */
export interface RankReport {
  rank: number;
  pid: number;
  liveTensors: number;
  liveBytes: number;
  peakLiveBytes: number;
  /** Held by libtorch. */
  allocatedBytes: number;
  rss: number;
  /** `liveBytes` minus the median of the ranks. */
  skewBytes: number;
  /** Live bytes at equal distances, from the start of its capture to the end. */
  history: number[];
}

/** One process of a report on several captures. Times are ms since the first of them began. */
export interface MergedProcess {
  /** The capture, as given. */
  file: string;
  pid: number;
  command: string;
  startMs: number;
  endMs: number;
  ended: string;
  /** If it is a rank of a group. */
  rank?: number;
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
 * Why a report without a leak is not `clean`: the program never loaded the library; too few rounds after the warm-up; a
 * growing site has too few rounds of its own; a site grew until the program's end, and may have been used and freed there;
 * only totals were recorded; too few storages of what grows were sampled.
 */
export type Shortfall = 'not-loaded' | 'few-rounds' | 'young-sites' | 'grew-to-the-end' | 'counters' | 'few-samples';

export interface Summary {
  command: string;
  pid: number | null;
  /** Whose figures these are: more than one with `--follow-children`, or if several captures are merged. */
  processes: number;
  mode: 'counters' | 'sample' | 'full' | null;
  startedAt: number | null;
  durationMs: number;
  rounds: number;
  /** How the capture ended: 'exit', 'detached', 'abandoned', or 'killed' if the last packet is missing. */
  ended: string;
  liveTensors: number;
  liveStorages: number;
  liveBytes: number;
  peakLiveBytes: number;
  allocatedBytes: number;
  peakAllocatedBytes: number;
  /** Held by libtorch but not by JS tensors: allocatedBytes - liveBytes. */
  unexplainedBytes: number;
  /** Its growth if that is judged a leak, else 0. */
  unexplainedGrowthBytesPerMinute: number;
  rss: number;
  peakRss: number;
  /** Growth of the process if that is judged a leak, else 0. */
  rssGrowthBytesPerMinute: number;
  /** The same for memory outside tensors, V8 and growing graphs: retained by allocators, or used by other libraries. */
  retainedGrowthBytesPerMinute: number;
  collections: number;
  lostEvents: number;
  /** A write failed, because the disk was full or the file was not allowed to grow: the capture may lack the end of the program. */
  wasFull: boolean;
  tornBytes: number;
  /** Of all sites, including those that `minAgeMs` hides. */
  leaks: number;
  leakBytesPerMinute: number;
  /** Why the verdict is `insufficient`; else null. */
  insufficient: Shortfall | null;
  /** For `few-samples`: the distance between samples (`--sample-bytes`) that would suffice; else null. */
  sufficientSampleBytes: number | null;
  /** The only device of the report (`report --device`); null for all. */
  device: string | null;
  /** Sites whose oldest live tensor is younger are hidden (`report --min-age`); null for none. */
  minAgeMs: number | null;
  /** The memory available to the process: the limit of its control group, or the machine's memory. */
  memoryLimitBytes: number;
  memoryLimitFrom: 'cgroup' | 'machine';
  /**
   * Time from the capture's end until the limit is reached at the larger of the rate of the leaks and the steady growth of
   * the process; null without a leak.
   */
  msToMemoryLimit: number | null;
  /** The same for the upper and the lower bound of that rate; null if there is no such bound. */
  earliestMsToMemoryLimit: number | null;
  latestMsToMemoryLimit: number | null;
  /** Recorded by `leak-audit attach`, not from the program's start. */
  attached: boolean;
  /** For the verdict `insufficient`: the duration of a capture that would suffice; null if that is not what is missing. */
  sufficientMs: number | null;
}

export interface Report {
  version: number;
  verdict: 'clean' | 'leak' | 'insufficient';
  summary: Summary;
  sites: SiteReport[];
  timeline: TimelinePoint[];
  /** Named points in time: `leak-audit mark`, `torch.audit.mark`. */
  marks: Mark[];
  /** If several captures are merged (`report A B …`). */
  processes?: MergedProcess[];
  /** If processes are ranks of a group, in order. */
  ranks?: RankReport[];
  /** The ranks of the group of which there is no capture; with `ranks`, if the size of the group is known. */
  missingRanks?: number[];
  /** With `run --wasm`. */
  wasm?: WasmReport;
}
