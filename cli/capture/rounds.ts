/** Reads the packets of one process. Rows, births and deaths take effect when the packet of their round has been read. */
import { InvalidData } from '../errors/errors';
import type { Capture } from './capture';
import { checkLength, endInfo, json, Names, rankInfo, shape, startInfo, text } from './fields';
import {
  BIRTH_BYTES,
  deviceName,
  GRAPH_BYTES,
  OLD_ROUND_BYTES,
  OPENING_BYTES,
  PacketType,
  ROUND_BYTES,
  ROW_BYTES,
  SAMPLING_BYTES,
  SCOPE_BYTES,
  TOKEN_BYTES,
} from './format';
import { IdMap } from './id-map';
import type { Lifetimes } from './lifetimes';
import { Budget, MAX_MS, MAX_PENDING_BYTES } from './limits';
import { type Birth, KEPT, LiveTensors } from './live-tensors';
import { Openings } from './openings';
import type { GraphSeries, Series, Tick } from './records';
import { Survivors } from './survivors';

const NONE = -(2n ** 63n);
const U32 = 2 ** 32;
/** The number of tensors that a record in mode `sample` can represent. */
const MAX_WEIGHT = 2 ** 40;
const identity = (id: number) => id;

export class ProcessReader {
  private readonly live = new LiveTensors();
  private readonly shapes = new IdMap<readonly number[]>();
  private readonly survivors = new Survivors();
  private readonly openings: Openings;
  /** Packets of the round whose own packet has not been read yet. */
  private pending: { type: number; payload: Buffer }[] = [];
  private pendingBytes = 0;
  private sampling: Pick<Tick, 'made' | 'distance'> = {};
  /** By label, then by site and device. */
  private readonly series = new IdMap<IdMap<Series>>();

  /** `budget` and `names` are shared by all processes of a file. */
  constructor(
    private readonly capture: Capture,
    private readonly budget = new Budget(),
    private readonly names = new Names(budget),
    private readonly lifetimes?: Lifetimes,
  ) {
    this.openings = new Openings(budget);
    capture.details.push({
      live: this.live,
      shapes: this.shapes,
      survivors: this.survivors,
      openings: this.openings,
      lifetimes: this.lifetimes,
      siteId: identity,
      labelId: identity,
      environment: identity,
      dtypes: [],
      startMs: 0,
    });
  }

  read(type: number, payload: Buffer): void {
    const { capture, budget, names } = this;
    switch (type) {
      case PacketType.Start:
        capture.start = startInfo(payload);
        capture.details[0]!.dtypes = capture.start.dtypes ?? [];
        break;
      case PacketType.Rank:
        if (capture.start !== undefined) Object.assign(capture.start, rankInfo(payload));
        break;
      case PacketType.End:
        capture.end = endInfo(payload);
        break;
      case PacketType.Site: {
        const frames = names.stack(json(payload, 12, 'site'), 'site');
        const id = payload.readUInt32LE(0);
        if (!capture.stacks.has(id)) budget.take('sites');
        capture.environments.set(id, payload.readUInt32LE(8));
        capture.stacks.set(id, frames);
        break;
      }
      case PacketType.Shape: {
        const sizes = shape(payload, budget);
        budget.take('shapes');
        this.shapes.set(payload.readUInt32LE(0), sizes);
        break;
      }
      case PacketType.Label:
        budget.take('sets of labels');
        capture.labels.set(payload.readUInt32LE(0), names.labels(json(payload, 4, 'label'), 'label'));
        break;
      case PacketType.Dropped:
        checkLength(payload, 8, 'detail dropped');
        capture.droppedDetail = u64(payload, 0);
        break;
      case PacketType.Mark:
        checkLength(payload, 8, 'mark');
        budget.take('marks');
        capture.marks.push({ ms: time(payload, 'mark'), name: text(payload.toString('utf8', 8), 'mark') });
        break;
      case PacketType.EnvironmentEnd:
        checkLength(payload, 4, 'end of a thread');
        if (!capture.ended.has(payload.readUInt32LE(0))) budget.take('ends of threads');
        capture.ended.set(payload.readUInt32LE(0), capture.ticks.length - 1);
        break;
      case PacketType.Sampling:
        checkLength(payload, SAMPLING_BYTES, 'sampling');
        this.sampling = { made: u64(payload, 0), distance: u64(payload, 8) };
        break;
      case PacketType.Openings:
        for (let at = 0; at + OPENING_BYTES <= payload.length; at += OPENING_BYTES)
          this.openings.add(payload.readUInt32LE(at), payload.readUInt32LE(at + 4), payload.readUInt32LE(at + 8));
        break;
      case PacketType.Tokens:
        for (let at = 0; at + TOKEN_BYTES <= payload.length; at += TOKEN_BYTES) this.readTokens(payload, at);
        break;
      case PacketType.Rows:
      case PacketType.Births:
      case PacketType.Deaths:
      case PacketType.Scopes:
      case PacketType.Kept:
      case PacketType.Graphs:
        this.pendingBytes += payload.length;
        if (this.pendingBytes > MAX_PENDING_BYTES)
          throw new InvalidData(
            `expected at most ${MAX_PENDING_BYTES} bytes between two round packets, got ${this.pendingBytes}`,
          );
        this.pending.push({ type, payload: Buffer.from(payload) }); // copied, because the buffer is reused
        break;
      case PacketType.Tick:
        this.readRound(payload);
        break;
      default: // of a later version of the same format: skipped
    }
  }

  private readRound(payload: Buffer): void {
    checkLength(payload, OLD_ROUND_BYTES, 'round');
    const tick =
      this.capture.ticks.push({
        ms: time(payload, 'round'),
        tensors: u64(payload, 8),
        storages: u64(payload, 16),
        bytes: u64(payload, 24),
        allocatedBytes: u64(payload, 32),
        peakAllocatedBytes: u64(payload, 40),
        rss: u64(payload, 48),
        heapUsed: u64(payload, 56),
        external: u64(payload, 64),
        lost: u64(payload, 72),
        collections: payload.readUInt32LE(80),
        collectedMs: payload.readUInt32LE(84),
        ...(payload.length >= ROUND_BYTES ? { cpuMs: u64(payload, OLD_ROUND_BYTES) / 1000 } : {}),
        ...this.sampling,
      }) - 1;
    for (const part of this.pending) {
      if (part.type === PacketType.Rows) this.readRows(part.payload, tick);
      else if (part.type === PacketType.Births) this.readBirths(part.payload);
      else if (part.type === PacketType.Graphs) this.readGraphs(part.payload, tick);
      else this.readIds(part.type, part.payload, tick);
    }
    this.pending = [];
    this.pendingBytes = 0;
  }

  private readBirths(payload: Buffer): void {
    for (let at = 0; at + BIRTH_BYTES <= payload.length; at += BIRTH_BYTES) {
      const weight = payload.readFloatLE(at + 32);
      if (!(weight >= 0 && weight <= MAX_WEIGHT))
        throw new InvalidData(`birth: expected a weight from 0 to ${MAX_WEIGHT}, got ${weight}`);
      this.live.add(payload, at);
      if ((payload[at + 43]! & 1) !== 0)
        this.lifetimes?.born({ id: payload.readUInt32LE(at), storage: payload.readUInt32LE(at + 36), isView: true });
    }
  }

  private readIds(type: number, payload: Buffer, tick: number): void {
    const { live } = this;
    const before = this.capture.ticks[tick - 1];
    const step = type === PacketType.Scopes ? SCOPE_BYTES : 4;
    for (let at = 0; at + step <= payload.length; at += step) {
      const id = payload.readUInt32LE(at);
      if (type === PacketType.Scopes) live.setOwner(id, payload.readUInt32LE(at + 4));
      else if (type === PacketType.Kept) live.setOwner(id, KEPT);
      else {
        const birth = before === undefined ? undefined : live.find(id);
        if (before !== undefined) this.addSurvivor(birth, before);
        if (birth !== undefined) this.lifetimes?.died(birth, this.capture.ticks[tick]!.ms);
        live.delete(id);
      }
    }
  }

  /** Adds a tensor that was live at the round `before` and has died since. */
  private addSurvivor(birth: Birth | undefined, before: Tick): void {
    if (birth === undefined) return;
    const proved = provedUntil(birth, before);
    if (proved < birth.birthMs) return;
    const { siteId, birthMs, weight } = birth;
    this.survivors.add(siteId, this.capture.ticks, birthMs, proved, weight, ownBytes(birth));
  }

  private readGraphs(payload: Buffer, tick: number): void {
    for (let at = 0; at + GRAPH_BYTES <= payload.length; at += GRAPH_BYTES) {
      const series = this.graphsOf(payload.readUInt32LE(at));
      const i = series.ticks.at(-1) === tick ? series.ticks.length - 1 : series.ticks.length;
      series.ticks[i] = tick;
      series.flags[i] = payload.readUInt32LE(at + 4);
      series.tensors[i] = u64(payload, at + 8);
      series.nodes[i] = u64(payload, at + 16);
      series.hiddenStorages[i] = u64(payload, at + 24);
      series.hiddenBytes[i] = u64(payload, at + 32);
    }
  }

  private readTokens(payload: Buffer, at: number): void {
    const [siteId, origin] = [payload.readUInt32LE(at), payload.readUInt32LE(at + 4)];
    const key = origin * U32 + siteId;
    if (!this.capture.tokens.has(key)) this.budget.take('series of counters');
    this.capture.tokens.set(key, {
      siteId,
      origin,
      made: u64(payload, at + 8),
      taken: u64(payload, at + 16),
      waiting: u64(payload, at + 24),
      waitingBytes: u64(payload, at + 32),
    });
  }

  private graphsOf(siteId: number): GraphSeries {
    let series = this.capture.graphs.get(siteId);
    if (series === undefined) {
      this.budget.take('series of counters');
      series = newGraphSeries(siteId);
      this.capture.graphs.set(siteId, series);
    }
    return series;
  }

  private readRows(payload: Buffer, tick: number): void {
    for (let at = 0; at + ROW_BYTES <= payload.length; at += ROW_BYTES) {
      const series = this.seriesOf(payload, at);
      const birth = payload.readBigInt64LE(at + 48);
      // Rows of a round whose packet was lost are merged into the next round; the later ones count.
      const i = series.ticks.at(-1) === tick ? series.ticks.length - 1 : series.ticks.length;
      series.ticks[i] = tick;
      series.liveTensors[i] = u64(payload, at + 16);
      series.liveBytes[i] = u64(payload, at + 24);
      series.allocatedTensors[i] = u64(payload, at + 32);
      series.allocatedBytes[i] = u64(payload, at + 40);
      series.oldestBirthMs[i] = birth === NONE ? Number.NaN : clamped(Number(birth));
    }
  }

  private seriesOf(payload: Buffer, at: number): Series {
    const siteId = payload.readUInt32LE(at);
    const labelId = payload.readUInt32LE(at + 4);
    const key = siteId * 0x10000 + payload.readUInt16LE(at + 8);
    let ofLabel = this.series.get(labelId);
    if (ofLabel === undefined) {
      ofLabel = new IdMap();
      this.series.set(labelId, ofLabel);
    }
    let series = ofLabel.get(key);
    if (series === undefined) {
      const device = deviceName(payload.readInt8(at + 8), payload.readInt8(at + 9));
      this.budget.take('series of counters');
      series = newSeries(siteId, device, labelId);
      ofLabel.set(key, series);
      this.capture.series.set(seriesKey(series), series);
    }
    return series;
  }
}

export const newGraphSeries = (siteId: number): GraphSeries => ({
  siteId,
  ticks: [],
  tensors: [],
  nodes: [],
  hiddenStorages: [],
  hiddenBytes: [],
  flags: [],
});

/** Until when a tensor that was live at a round is proved to have been held, by its scope or by a collection. */
export const provedUntil = ({ owner, scope }: Birth, { ms, collectedMs }: Tick): number =>
  owner === 'scope' || scope > 0 ? ms : (collectedMs ?? 0);

/** The bytes of a tensor that count for its site: none for a view. */
export const ownBytes = ({ isView, bytes, weight }: Birth): number => (isView ? 0 : bytes * weight);

export function newSeries(siteId: number, device: string, labelId: number): Series {
  return {
    siteId,
    device,
    labelId,
    ticks: [],
    liveTensors: [],
    liveBytes: [],
    allocatedTensors: [],
    allocatedBytes: [],
    oldestBirthMs: [],
  };
}

/** The key in `Capture.series`: `1 cpu`, with label 2 `1 cpu 2`. */
export function seriesKey({ siteId, device, labelId }: Series): string {
  return labelId === 0 ? `${siteId} ${device}` : `${siteId} ${device} ${labelId}`;
}

/** Clamps values of crafted files, so that sums stay finite. No real count is near the limits. */
const clamped = (value: number) => Math.max(-Number.MAX_SAFE_INTEGER, Math.min(value, Number.MAX_SAFE_INTEGER));

function u64(payload: Buffer, at: number): number {
  return clamped(payload.readUInt32LE(at) + payload.readUInt32LE(at + 4) * U32);
}

/** The time at the beginning of a packet. */
function time(payload: Buffer, where: string): number {
  const ms = u64(payload, 0);
  if (ms > MAX_MS) throw new InvalidData(`${where}: expected a time of at most ${MAX_MS} ms, got ${ms}`);
  return ms;
}
