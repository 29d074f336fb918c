/** What the packets of one process say. A round's rows, births and deaths count once its own packet is there. */
import type { Capture, EndInfo, Frame, Labels, Series, StartInfo } from './capture';
import { BIRTH_BYTES, deviceName, PacketType, ROUND_BYTES, ROW_BYTES, SCOPE_BYTES } from './format';
import { KEPT, LivingTensors } from './living';

const NONE = -(2n ** 63n);
const U32 = 2 ** 32;
const same = (id: number) => id;

export class ProcessReader {
  private readonly living = new LivingTensors();
  private readonly shapes = new Map<number, readonly number[]>();
  /** Of the round whose own packet has not come yet. */
  private pending: { type: number; payload: Buffer }[] = [];
  /** By label, then by site and device. */
  private readonly series = new Map<number, Map<number, Series>>();

  constructor(private readonly capture: Capture) {
    capture.details.push({
      living: this.living,
      shapes: this.shapes,
      siteId: same,
      labelId: same,
      environment: same,
      startMs: 0,
    });
  }

  read(type: number, payload: Buffer): void {
    const { capture } = this;
    switch (type) {
      case PacketType.Start:
        capture.start = startInfo(payload);
        break;
      case PacketType.End:
        capture.end = object(payload) as unknown as EndInfo;
        break;
      case PacketType.Site:
        capture.environments.set(payload.readUInt32LE(0), payload.readUInt32LE(8));
        capture.stacks.set(payload.readUInt32LE(0), frames(payload));
        break;
      case PacketType.Shape:
        this.shapes.set(payload.readUInt32LE(0), shape(payload));
        break;
      case PacketType.Label:
        capture.labels.set(payload.readUInt32LE(0), object(payload, 4) as Labels);
        break;
      case PacketType.Dropped:
        capture.droppedDetail = u64(payload, 0);
        break;
      case PacketType.Mark:
        capture.marks.push({ ms: u64(payload, 0), name: payload.toString('utf8', 8) });
        break;
      case PacketType.EnvironmentEnd:
        capture.ended.set(payload.readUInt32LE(0), capture.ticks.length - 1);
        break;
      case PacketType.Rows:
      case PacketType.Births:
      case PacketType.Deaths:
      case PacketType.Scopes:
      case PacketType.Kept:
        this.pending.push({ type, payload: Buffer.from(payload) }); // its memory is used again
        break;
      case PacketType.Tick:
        this.readRound(payload);
        break;
      default: // from a later version of the same format: skipped
    }
  }

  private readRound(payload: Buffer): void {
    if (payload.length < ROUND_BYTES) throw new Error('a round is too short');
    const tick =
      this.capture.ticks.push({
        ms: u64(payload, 0),
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
      }) - 1;
    for (const part of this.pending) {
      if (part.type === PacketType.Rows) this.readRows(part.payload, tick);
      else if (part.type === PacketType.Births) this.readBirths(part.payload);
      else this.readIds(part.type, part.payload);
    }
    this.pending = [];
  }

  private readBirths(payload: Buffer): void {
    for (let at = 0; at + BIRTH_BYTES <= payload.length; at += BIRTH_BYTES) this.living.add(payload, at);
  }

  private readIds(type: number, payload: Buffer): void {
    const { living } = this;
    const step = type === PacketType.Scopes ? SCOPE_BYTES : 4;
    for (let at = 0; at + step <= payload.length; at += step) {
      const id = payload.readUInt32LE(at);
      if (type === PacketType.Scopes) living.setOwner(id, payload.readUInt32LE(at + 4));
      else if (type === PacketType.Kept) living.setOwner(id, KEPT);
      else living.delete(id);
    }
  }

  private readRows(payload: Buffer, tick: number): void {
    for (let at = 0; at + ROW_BYTES <= payload.length; at += ROW_BYTES) {
      const series = this.seriesOf(payload, at);
      const birth = payload.readBigInt64LE(at + 48);
      // A round whose packet was lost leaves its rows to the next: the later ones count.
      const i = series.ticks.at(-1) === tick ? series.ticks.length - 1 : series.ticks.length;
      series.ticks[i] = tick;
      series.liveTensors[i] = u64(payload, at + 16);
      series.liveBytes[i] = u64(payload, at + 24);
      series.allocatedTensors[i] = u64(payload, at + 32);
      series.allocatedBytes[i] = u64(payload, at + 40);
      series.oldestBirthMs[i] = birth === NONE ? Number.NaN : Number(birth);
    }
  }

  private seriesOf(payload: Buffer, at: number): Series {
    const siteId = payload.readUInt32LE(at);
    const labelId = payload.readUInt32LE(at + 4);
    const place = siteId * 0x10000 + payload.readUInt16LE(at + 8);
    let ofLabel = this.series.get(labelId);
    if (ofLabel === undefined) {
      ofLabel = new Map();
      this.series.set(labelId, ofLabel);
    }
    let series = ofLabel.get(place);
    if (series === undefined) {
      const device = deviceName(payload.readInt8(at + 8), payload.readInt8(at + 9));
      series = newSeries(siteId, device, labelId);
      ofLabel.set(place, series);
      this.capture.series.set(seriesKey(series), series);
    }
    return series;
  }
}

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

/** Of `Capture.series`: `1 cpu`, and under label 2 `1 cpu 2`. */
export function seriesKey({ siteId, device, labelId }: Series): string {
  return labelId === 0 ? `${siteId} ${device}` : `${siteId} ${device} ${labelId}`;
}

function u64(payload: Buffer, at: number): number {
  return payload.readUInt32LE(at) + payload.readUInt32LE(at + 4) * U32;
}

function object(payload: Buffer, from = 0): Record<string, unknown> {
  const value: unknown = JSON.parse(payload.toString('utf8', from));
  if (typeof value !== 'object' || value === null) throw new Error('a packet holds no object');
  return value as Record<string, unknown>;
}

function startInfo(payload: Buffer): StartInfo {
  const { memoryLimit, ...start } = object(payload) as unknown as StartInfo;
  const known = (memoryLimit?.bytes ?? 0) > 0 && ['cgroup', 'machine'].includes(memoryLimit!.from);
  return known ? { ...start, memoryLimit: memoryLimit! } : start;
}

function frames(payload: Buffer): Frame[] {
  const list: unknown = JSON.parse(payload.toString('utf8', 12));
  if (!Array.isArray(list)) throw new Error('a site holds no stack');
  return list.map((frame: Partial<Frame> | null) => ({
    file: String(frame?.file ?? ''),
    line: Number(frame?.line ?? 0),
    column: Number(frame?.column ?? 0),
    function: String(frame?.function ?? ''),
  }));
}

function shape(payload: Buffer): number[] {
  const sizes: number[] = [];
  for (let at = 4; at + 8 <= payload.length; at += 8) sizes.push(Number(payload.readBigInt64LE(at)));
  return sizes;
}
