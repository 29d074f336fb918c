/** A capture in memory, as read from a file. */
import { deviceName, dtypeName } from './format';
import { IdMap } from './id-map';
import type { Kind } from './kinds';
import type { LivingTensors } from './living';
import type { Survivors } from './survivors';

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
  /** Recorded by `leak-audit attach`, not from the process's start. */
  attached?: boolean;
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
  /** Birth of the oldest living tensor, ms since the capture's start (negative: before it); NaN when none lives. */
  oldestBirthMs: number[];
}

/** The autograd graphs of one site, at the ticks where they were counted. */
export interface GraphSeries {
  siteId: number;
  /** Indices into `Capture.ticks`, ascending. */
  ticks: number[];
  /** Living tensors that have a graph. */
  tensors: number[];
  /** Nodes of the largest such graph. */
  nodes: number[];
  /** Storages allocated there that no live tensor accounts for but that are still held, and their bytes. */
  hiddenStorages: number[];
  hiddenBytes: number[];
  /** Bits of `GraphFlag`. */
  flags: number[];
}

/** Labels of `torch.audit.label`: names to values. */
export type Labels = Readonly<Record<string, string>>;

/** A tensor that was live at the end of the capture (or of its process, if several are joined). */
export interface LivingTensor {
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
}

/** The live tensors of one process, with the mapping of their ids. */
export interface Detail {
  living: LivingTensors;
  shapes: IdMap<readonly number[]>;
  /** For tensors that died. */
  survivors: Survivors;
  siteId(id: number): number;
  labelId(id: number): number;
  environment(id: number): number;
  startMs: number;
}

/**
 * Rows, ticks and peaks cover all processes. If several are joined, ids of sites, labels and environments are reassigned,
 * and the environments of a process that ended are in `ended`.
 */
export class Capture {
  start: StartInfo | undefined;
  end: EndInfo | undefined;
  ticks: Tick[] = [];
  /** In order of time. */
  marks: Mark[] = [];
  readonly stacks = new IdMap<Frame[]>();
  /** The environment (thread) that defined a site. */
  readonly environments = new IdMap<number>();
  /** Environments that ended before the capture, with the last round before each freed its tensors. */
  readonly ended = new IdMap<number>();
  readonly series = new Map<string, Series>();
  /** By site. */
  readonly graphs = new IdMap<GraphSeries>();
  /** Bytes of an incomplete packet at the end: the process was killed while writing. */
  tornBytes = 0;
  /** Packets with a wrong checksum, which `lost` counts. */
  damagedPackets = 0;
  /** Labels by id, without 0. */
  readonly labels = new IdMap<Labels>();
  readonly processes: ProcessInfo[] = [];
  /** Live tensors whose detail `--max-size` dropped: an upper bound on those missing in `livingTensors`. */
  droppedDetail = 0;
  /** `--max-size` was reached: rounds were thinned out. */
  capped = false;
  /** The header's flag for missing events: the file could not be written. */
  lostFlag = false;
  readonly details: Detail[] = [];

  /** Missing events, rounds and packets. 0 for a complete capture. */
  get lost(): number {
    const counted = Math.max(this.ticks.at(-1)?.lost ?? 0, this.end?.lost ?? 0) + this.damagedPackets;
    return counted === 0 && this.lostFlag ? 1 : counted;
  }

  get durationMs(): number {
    return this.ticks.at(-1)?.ms ?? 0;
  }

  /** The tensors that were live at the end. A generator, because there may be millions. Empty in `counters` mode. */
  *livingTensors(): Generator<LivingTensor> {
    for (const process of this.details.keys()) {
      for (let row = 0; row < this.details[process]!.living.size; row++) yield this.livingTensor(process, row);
    }
  }

  /** The oldest tensors, oldest first. */
  oldestTensors(most: number, wanted: (device: string) => boolean): LivingTensor[] {
    return this.details
      .flatMap(({ living }, process) =>
        living.oldest(most, (kind) => wanted(deviceOf(kind))).map((row) => this.livingTensor(process, row)),
      )
      .sort((a, b) => a.birthMs - b.birthMs)
      .slice(0, most);
  }

  /** Visits each storage that was live at the end, with the birth of its oldest live tensor. */
  eachStorage(wanted: (device: string) => boolean, visit: (birthMs: number, bytes: number) => void): void {
    for (const { living, startMs } of this.details) {
      living.eachStorage(
        (kind) => wanted(deviceOf(kind)),
        (birthMs, bytes) => visit(startMs + birthMs, bytes),
      );
    }
  }

  private livingTensor(process: number, row: number): LivingTensor {
    const detail = this.details[process]!;
    const birth = detail.living.at(row);
    return {
      siteId: detail.siteId(birth.siteId),
      labelId: detail.labelId(birth.labelId),
      device: deviceOf(birth),
      dtype: dtypeName(birth.dtype),
      shape: detail.shapes.get(birth.shapeId),
      birthMs: detail.startMs + birth.birthMs,
      bytes: birth.bytes,
      storage: birth.storage,
      isView: birth.isView,
      hasGraph: birth.hasGraph,
      weight: birth.weight,
      environment: detail.environment(birth.environment),
      process,
      owner: birth.owner,
      scope: birth.scope,
    };
  }
}

const deviceOf = ({ deviceType, deviceIndex }: Kind) => deviceName(deviceType, deviceIndex);
