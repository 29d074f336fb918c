/** A capture in memory, as read from a file. */

import { deviceName, dtypeName } from './format';
import { IdMap } from './id-map';
import type { Kind } from './kinds';
import type { Lifetimes } from './lifetimes';
import type { LiveTensors } from './live-tensors';
import type { Openings } from './openings';
import type {
  EndInfo,
  Frame,
  GraphSeries,
  Labels,
  LiveTensor,
  Mark,
  ProcessInfo,
  Series,
  StartInfo,
  Tick,
  TokenTotals,
} from './records';
import type { Survivors } from './survivors';

/** The live tensors of one process, with the mapping of their ids. */
export interface Detail {
  live: LiveTensors;
  shapes: IdMap<readonly number[]>;
  /** For tensors that died. */
  survivors: Survivors;
  /** By the process's own numbers. */
  openings: Openings;
  /** Of tensors that died; undefined if they were not collected. */
  lifetimes: Lifetimes | undefined;
  siteId(id: number): number;
  labelId(id: number): number;
  environment(id: number): number;
  /** The names of dtypes, by number. */
  dtypes: readonly string[];
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
  /** Tokens of `share()`, by their site and that of the tensors. */
  readonly tokens = new IdMap<TokenTotals>();
  /** Bytes of an incomplete packet at the end: the process was killed while writing. */
  tornBytes = 0;
  /** Packets with a wrong checksum, which `lost` counts. */
  damagedPackets = 0;
  /** Labels by id, without 0. */
  readonly labels = new IdMap<Labels>();
  readonly processes: ProcessInfo[] = [];
  /** Live tensors whose detail `--max-size` dropped: an upper bound on those missing in `liveTensors`. */
  droppedDetail = 0;
  /** `--max-size` was reached: rounds were thinned out. */
  capped = false;
  /** The disk was full, or the file was not allowed to grow, at the end or for a time. */
  wasFull = false;
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
  *liveTensors(): Generator<LiveTensor> {
    for (const process of this.details.keys()) {
      for (let row = 0; row < this.details[process]!.live.size; row++) yield this.liveTensor(process, row);
    }
  }

  /** The oldest tensors, oldest first. */
  oldestTensors(most: number, wanted: (device: string) => boolean): LiveTensor[] {
    return this.details
      .flatMap(({ live }, process) =>
        live.oldest(most, (kind) => wanted(deviceOf(kind))).map((row) => this.liveTensor(process, row)),
      )
      .sort((a, b) => a.birthMs - b.birthMs)
      .slice(0, most);
  }

  /** Visits each storage that was live at the end, with the birth of its oldest live tensor. */
  eachStorage(wanted: (device: string) => boolean, visit: (birthMs: number, bytes: number) => void): void {
    for (const { live, startMs } of this.details) {
      live.eachStorage(
        (kind) => wanted(deviceOf(kind)),
        (birthMs, bytes) => visit(startMs + birthMs, bytes),
      );
    }
  }

  private liveTensor(process: number, row: number): LiveTensor {
    const detail = this.details[process]!;
    const birth = detail.live.at(row);
    return {
      siteId: detail.siteId(birth.siteId),
      labelId: detail.labelId(birth.labelId),
      device: deviceOf(birth),
      dtype: dtypeName(birth.dtype, detail.dtypes),
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
