/** What a capture consists of, once it is read. */

export interface Frame {
  file: string;
  line: number;
  column: number;
  function: string;
}

export interface StartInfo {
  pid: number;
  startedAt: number;
  /** The start on the machine's monotonic clock, ms, by which joined processes are aligned. */
  clockMs?: number;
  mode: 'counters' | 'sample' | 'full';
  intervalMs: number;
  sampleBytes: number;
  depth: number;
  command: string;
  /** `--max-size`; 0 or missing for no limit. */
  maxBytes?: number;
  /** The memory limit of the process when it was recorded. Missing in older captures. */
  memoryLimit?: { bytes: number; from: 'cgroup' | 'machine' };
  /** The names of libtorch's dtypes by number. Missing in older captures. */
  dtypes?: readonly string[];
  /** Recorded by `leak-audit attach`, not from the process's start. */
  attached?: boolean;
  /** The rank of the process in a group (of its launcher, else of the group that it joined), and the number of processes. Missing outside groups. */
  rank?: number;
  worldSize?: number;
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
  /** Events and packets lost so far. */
  lost: number;
  /** Full collections so far. */
  collections: number;
  /**
   * Live tensors that were born before this time were reached by a full collection that began since. 0 without such a
   * collection, and in older captures.
   */
  collectedMs?: number;
  /** Processor time of the process so far, of all threads. Missing in older captures. */
  cpuMs?: number;
  /** In `sample` mode: storages made so far, with those that were not sampled. Missing in older captures. */
  made?: number;
  /** In `sample` mode: mean bytes between samples at this time; 1 if all are recorded. Missing in older captures. */
  distance?: number;
}

/** A named point in time. */
export interface Mark {
  /** Since the start of the capture. */
  ms: number;
  name: string;
}

/** The counters of one site on one device with one label, at the ticks where they changed. */
export interface Series {
  siteId: number;
  device: string;
  /** Key in `Capture.labels`; 0 for no label. A site has a series per label. */
  labelId: number;
  /** Indices into `Capture.ticks`, ascending. */
  ticks: number[];
  liveTensors: number[];
  liveBytes: number[];
  allocatedTensors: number[];
  allocatedBytes: number[];
  /** Birth of the oldest live tensor, ms since the capture's start (negative: before it); NaN if there is none. */
  oldestBirthMs: number[];
}

/** The autograd graphs of one site, at the ticks where they were counted. */
export interface GraphSeries {
  siteId: number;
  /** Indices into `Capture.ticks`, ascending. */
  ticks: number[];
  /** Live tensors that have a graph. */
  tensors: number[];
  /** Nodes of the largest such graph. */
  nodes: number[];
  /** Storages allocated there that no live tensor accounts for but that are still held, and their bytes. */
  hiddenStorages: number[];
  hiddenBytes: number[];
  /** Bits of `GraphFlag`. */
  flags: number[];
}

/** At the end: the tokens of `share()` that one site made of tensors of another. */
export interface TokenTotals {
  siteId: number;
  /** The site that made the tensors; 0 if unknown. */
  origin: number;
  made: number;
  /** At least once. */
  taken: number;
  /** Can still be taken, and never were. */
  waiting: number;
  /** Of their storages, counted once per token. */
  waitingBytes: number;
}

/** Labels of `torch.audit.label`: names to values. */
export type Labels = Readonly<Record<string, string>>;

/** A tensor that was live at the end of the capture (or of its process, if several are joined). */
export interface LiveTensor {
  siteId: number;
  labelId: number;
  device: string;
  dtype: string;
  /** Undefined if unknown. */
  shape: readonly number[] | undefined;
  /** ms since the capture's start; negative if older. */
  birthMs: number;
  /** Bytes of its storage at its birth. Tensors with the same `storage` share them. */
  bytes: number;
  storage: number;
  /** Whether another tensor had the storage before. */
  isView: boolean;
  /** Whether it had an autograd graph at its birth. */
  hasGraph: boolean;
  /** How many tensors it represents: 1 except in `sample` mode. Its bytes count as many times. */
  weight: number;
  /** The environment (thread), as in `Capture.environments`. */
  environment: number;
  /** Index in `Capture.processes`. */
  process: number;
  /** What frees it: the collector, since birth or since it left its scope (`kept`), or a scope. */
  owner: 'unknown' | 'collector' | 'kept' | 'scope';
  /** Number of the scope; 0 for none or unknown. */
  scope: number;
}

/** One process of the capture. `run` started the first; the others come with `--follow-children`. */
export interface ProcessInfo {
  pid: number;
  command: string;
  /** ms since the capture's start. */
  startMs: number;
  endMs: number;
  /** 'exit', 'detached', 'abandoned' (leak-audit was killed), or 'killed' if its last packet is missing. */
  ended: string;
  lost: number;
  /** If the process is a rank of a group. */
  rank?: RankMemory;
}

/** What a rank holds at the end of its capture. */
export interface RankMemory {
  rank: number;
  /** Missing if unknown. */
  worldSize?: number;
  liveTensors: number;
  liveBytes: number;
  peakLiveBytes: number;
  allocatedBytes: number;
  rss: number;
  /** Live bytes at equal distances, from the start of its capture to the end. */
  history: number[];
}
