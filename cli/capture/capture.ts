/** A capture in memory: what the reader found, before anything is judged. */
import { deviceName, dtypeName } from './format';
import { IdMap } from './id_map';
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
  /** The start on a clock of the machine that never jumps, ms: what joined processes are lined up by. */
  clockMs?: number;
  mode: 'counters' | 'sample' | 'full';
  intervalMs: number;
  sampleBytes: number;
  depth: number;
  command: string;
  /** `--max-size`; 0 or missing: no cap. */
  maxBytes?: number;
  /** What the process might use when it was recorded. Missing in captures from before it was told. */
  memoryLimit?: { bytes: number; from: 'cgroup' | 'machine' };
  /** Recorded by `leak-audit attach`: not from the process's start. */
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
  /** Events and packets that were lost until now. */
  lost: number;
  /** Full collections until now. */
  collections: number;
  /**
   * What was born before this and still lived was reached by a full collection that began since. 0 for nothing, and in older
   * captures.
   */
  collectedMs?: number;
}

/** A named point in time. */
export interface Mark {
  /** Since the start of the capture. */
  ms: number;
  name: string;
}

/** The counters of one site, on one device, under one label, at the ticks where they changed. */
export interface Series {
  siteId: number;
  device: string;
  /** Into `Capture.labels`; 0: made outside every label. Several series of a site differ in it. */
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

/** What autograd graphs hold by way of one site, at the ticks where somebody looked. */
export interface GraphSeries {
  siteId: number;
  /** Indices into `Capture.ticks`, ascending. */
  ticks: number[];
  /** Living tensors that have a graph. */
  tensors: number[];
  /** Of the largest such graph. */
  nodes: number[];
  /** Storages made there that no tensor shows any more and that are still held, and their bytes. */
  hiddenStorages: number[];
  hiddenBytes: number[];
  /** Of `GraphFlag`. */
  flags: number[];
}

/** What `torch.audit.label` said: names to values. */
export type Labels = Readonly<Record<string, string>>;

/** A tensor that was alive at the end of the capture (of its process, where several are joined). */
export interface LivingTensor {
  siteId: number;
  labelId: number;
  device: string;
  dtype: string;
  /** Undefined where it is not known. */
  shape: readonly number[] | undefined;
  /** ms since the capture's start; negative when it is older. */
  birthMs: number;
  /** Bytes of its storage when it was made. Tensors with an equal `storage` share them. */
  bytes: number;
  storage: number;
  /** Whether its storage was another tensor's before. */
  isView: boolean;
  /** Whether autograd knew at its birth where it came from. */
  hasGraph: boolean;
  /** How many tensors it stands for: 1, but in `sample` mode. Its bytes count as many times. */
  weight: number;
  /** As in `Capture.environments`. */
  environment: number;
  /** Into `Capture.processes`. */
  process: number;
  /** Who ends it: the collector, since birth or since it left its scope (`kept`), or a scope. */
  owner: 'unknown' | 'collector' | 'kept' | 'scope';
  /** Number of the scope; 0 where none owns it, or where it is not told. */
  scope: number;
}

/** One process of the capture. The first is the one that `run` started; others with `--follow-children`. */
export interface ProcessInfo {
  pid: number;
  command: string;
  /** ms since the capture's start. */
  startMs: number;
  endMs: number;
  /** 'exit', 'detached', 'abandoned' (by a leak-audit that was killed), or 'killed' when its last packet is missing. */
  ended: string;
  lost: number;
}

/** Where living tensors are kept, with what their ids mean. Of each process one. */
export interface Detail {
  living: LivingTensors;
  shapes: IdMap<readonly number[]>;
  /** Of those that are gone. */
  survivors: Survivors;
  siteId(id: number): number;
  labelId(id: number): number;
  environment(id: number): number;
  startMs: number;
}

/**
 * Rows, ticks and peaks are of all processes together. Where several are joined, ids of sites, labels and environments
 * are given anew, and a process that ended stands in `ended` as its environments.
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
  /** Environments that ended before the capture, with the last round before each freed what it held. */
  readonly ended = new IdMap<number>();
  readonly series = new Map<string, Series>();
  /** By site. */
  readonly graphs = new IdMap<GraphSeries>();
  /** Bytes at the end that are no whole packet: the process was killed while writing. */
  tornBytes = 0;
  /** Packets whose checksum is wrong; what they held is lost, and `lost` counts them. */
  damagedPackets = 0;
  /** Labels by id; without 0. */
  readonly labels = new IdMap<Labels>();
  readonly processes: ProcessInfo[] = [];
  /** Tensors whose detail `--max-size` dropped, though they lived: at most so many are missing in `livingTensors`. */
  droppedDetail = 0;
  /** `--max-size` was reached: rounds were thinned out. */
  capped = false;
  /** The header says that events are missing: the file could not be written to. */
  lostFlag = false;
  readonly details: Detail[] = [];

  /** Events, rounds and packets that are missing. 0: the capture is whole. */
  get lost(): number {
    const counted = Math.max(this.ticks.at(-1)?.lost ?? 0, this.end?.lost ?? 0) + this.damagedPackets;
    return counted === 0 && this.lostFlag ? 1 : counted;
  }

  get durationMs(): number {
    return this.ticks.at(-1)?.ms ?? 0;
  }

  /** Each tensor that was alive at the end. Made as they are asked for: there may be millions. Not in `counters` mode. */
  *livingTensors(): Generator<LivingTensor> {
    for (const process of this.details.keys()) {
      for (let row = 0; row < this.details[process]!.living.size; row++) yield this.livingTensor(process, row);
    }
  }

  /** Those that were born first, the oldest first. */
  oldestTensors(most: number, wanted: (device: string) => boolean): LivingTensor[] {
    return this.details
      .flatMap(({ living }, process) =>
        living.oldest(most, (kind) => wanted(deviceOf(kind))).map((row) => this.livingTensor(process, row)),
      )
      .sort((a, b) => a.birthMs - b.birthMs)
      .slice(0, most);
  }

  /** Each storage that was alive at the end, at the birth of the oldest tensor that lives on it. */
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
