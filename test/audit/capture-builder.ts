/** Captures made by hand, in the format of docs/capture-format.md. */
import { fileHeader, PacketType, packet } from '../../cli/capture/format';

export interface Row {
  site: number;
  liveTensors: number;
  liveBytes: number;
  allocatedTensors?: number;
  allocatedBytes?: number;
  oldestBirthMs?: number;
  deviceType?: number;
  deviceIndex?: number;
  label?: number;
}

export interface BirthInput {
  id: number;
  site: number;
  label?: number;
  shape?: number;
  birthMs?: number;
  bytes?: number;
  weight?: number;
  storage?: number;
  isView?: boolean;
  /** The value in the file: 1 the collector, 2 kept, 3 a scope. */
  owner?: number;
  environment?: number;
  /** The number of its c10::ScalarType; 6 is float32. */
  dtype?: number;
}

export interface GraphInput {
  site: number;
  tensors: number;
  nodes: number;
  /** 1 cut off, 2 carries itself, 4 after a collection. */
  flags?: number;
  hiddenStorages?: number;
  hiddenBytes?: number;
}

export interface TickInput {
  ms: number;
  tensors?: number;
  bytes?: number;
  allocatedBytes?: number;
  peakAllocatedBytes?: number;
  lost?: number;
  collections?: number;
  collectedMs?: number;
  cpuMs?: number;
}

export class CaptureBuilder {
  /** For sites defined from now on. */
  environment = 0;
  private readonly parts: Buffer[] = [];

  constructor(start: object = {}, flags = 0) {
    this.parts.push(fileHeader(flags));
    this.text(PacketType.Start, {
      pid: 42,
      startedAt: 0,
      mode: 'full',
      intervalMs: 250,
      sampleBytes: 0,
      depth: 16,
      command: 'node app.js',
      ...start,
    });
  }

  packet(type: number, payload: Buffer): this {
    this.parts.push(packet(type, payload));
    return this;
  }

  text(type: number, value: object): this {
    return this.packet(type, Buffer.from(JSON.stringify(value)));
  }

  site(id: number, ...frames: [file: string, line: number, column: number, fn?: string][]): this {
    const head = Buffer.alloc(12);
    head.writeUInt32LE(id, 0);
    head.writeUInt32LE(this.environment, 8);
    const json = frames.map(([file, line, column, fn]) => ({ file, line, column, function: fn ?? '' }));
    return this.packet(PacketType.Site, Buffer.concat([head, Buffer.from(JSON.stringify(json))]));
  }

  rows(rows: Row[]): this {
    const payload = Buffer.alloc(56 * rows.length);
    for (const [i, row] of rows.entries()) {
      const at = 56 * i;
      payload.writeUInt32LE(row.site, at);
      payload.writeUInt32LE(row.label ?? 0, at + 4);
      payload.writeInt8(row.deviceType ?? 0, at + 8);
      payload.writeInt8(row.deviceIndex ?? -1, at + 9);
      payload.writeBigUInt64LE(BigInt(row.liveTensors), at + 16);
      payload.writeBigUInt64LE(BigInt(row.liveBytes), at + 24);
      payload.writeBigUInt64LE(BigInt(row.allocatedTensors ?? row.liveTensors), at + 32);
      payload.writeBigUInt64LE(BigInt(row.allocatedBytes ?? row.liveBytes), at + 40);
      const none = row.liveTensors === 0;
      payload.writeBigInt64LE(none ? -(2n ** 63n) : BigInt(row.oldestBirthMs ?? 0), at + 48);
    }
    return rows.length === 0 ? this : this.packet(PacketType.Rows, payload);
  }

  births(...births: BirthInput[]): this {
    const payload = Buffer.alloc(48 * births.length);
    for (const [i, birth] of births.entries()) {
      const at = 48 * i;
      payload.writeUInt32LE(birth.id, at);
      payload.writeUInt32LE(birth.site, at + 4);
      payload.writeUInt32LE(birth.label ?? 0, at + 8);
      payload.writeUInt32LE(birth.shape ?? 0, at + 12);
      payload.writeBigInt64LE(BigInt(birth.birthMs ?? 0), at + 16);
      payload.writeBigUInt64LE(BigInt(birth.bytes ?? 4), at + 24);
      payload.writeFloatLE(birth.weight ?? 1, at + 32);
      payload.writeUInt32LE(birth.storage ?? birth.id, at + 36);
      payload.writeInt8(-1, at + 41);
      payload.writeInt8(birth.dtype ?? 6, at + 42);
      payload.writeUInt8((birth.isView ? 1 : 0) | ((birth.owner ?? 0) << 1), at + 43);
      payload.writeUInt32LE(birth.environment ?? this.environment, at + 44);
    }
    return this.packet(PacketType.Births, payload);
  }

  /** For births owned by scopes from now on. */
  scopes(...entries: [id: number, scope: number][]): this {
    return this.packet(PacketType.Scopes, Buffer.from(Uint32Array.from(entries.flat()).buffer));
  }

  kept(...ids: number[]): this {
    return this.packet(PacketType.Kept, Buffer.from(Uint32Array.from(ids).buffer));
  }

  deaths(...ids: number[]): this {
    const payload = Buffer.alloc(4 * ids.length);
    for (const [i, id] of ids.entries()) payload.writeUInt32LE(id, 4 * i);
    return this.packet(PacketType.Deaths, payload);
  }

  graphs(...rows: GraphInput[]): this {
    const payload = Buffer.alloc(40 * rows.length);
    for (const [i, row] of rows.entries()) {
      const at = 40 * i;
      payload.writeUInt32LE(row.site, at);
      payload.writeUInt32LE(row.flags ?? 0, at + 4);
      const fields = [row.tensors, row.nodes, row.hiddenStorages ?? 0, row.hiddenBytes ?? 0];
      for (const [k, value] of fields.entries()) payload.writeBigUInt64LE(BigInt(value), at + 8 + 8 * k);
    }
    return this.packet(PacketType.Graphs, payload);
  }

  /** Lines that opened scopes. */
  openings(...entries: [environment: number, scope: number, site: number][]): this {
    return this.packet(PacketType.Openings, Buffer.from(Uint32Array.from(entries.flat()).buffer));
  }

  tokens(row: { site: number; origin: number; made: number; taken: number; waiting: number; bytes: number }): this {
    const payload = Buffer.alloc(40);
    payload.writeUInt32LE(row.site, 0);
    payload.writeUInt32LE(row.origin, 4);
    for (const [k, value] of [row.made, row.taken, row.waiting, row.bytes].entries())
      payload.writeBigUInt64LE(BigInt(value), 8 + 8 * k);
    return this.packet(PacketType.Tokens, payload);
  }

  /** For the next round. */
  sampling(made: number, distance: number): this {
    const payload = Buffer.alloc(16);
    payload.writeBigUInt64LE(BigInt(made), 0);
    payload.writeBigUInt64LE(BigInt(distance), 8);
    return this.packet(PacketType.Sampling, payload);
  }

  shape(id: number, sizes: number[]): this {
    const payload = Buffer.alloc(4 + 8 * sizes.length);
    payload.writeUInt32LE(id, 0);
    for (const [i, size] of sizes.entries()) payload.writeBigInt64LE(BigInt(size), 4 + 8 * i);
    return this.packet(PacketType.Shape, payload);
  }

  label(id: number, labels: Record<string, string>): this {
    const head = Buffer.alloc(4);
    head.writeUInt32LE(id, 0);
    return this.packet(PacketType.Label, Buffer.concat([head, Buffer.from(JSON.stringify(labels))]));
  }

  mark(ms: number, name: string): this {
    const head = Buffer.alloc(8);
    head.writeBigUInt64LE(BigInt(ms));
    return this.packet(PacketType.Mark, Buffer.concat([head, Buffer.from(name)]));
  }

  tick(tick: TickInput, rows: Row[] = []): this {
    const payload = Buffer.alloc(tick.cpuMs === undefined ? 88 : 96);
    if (tick.cpuMs !== undefined) payload.writeBigUInt64LE(BigInt(Math.round(tick.cpuMs * 1000)), 88);
    const tensors = tick.tensors ?? rows.reduce((sum, row) => sum + row.liveTensors, 0);
    const bytes = tick.bytes ?? rows.reduce((sum, row) => sum + row.liveBytes, 0);
    const fields = [
      tick.ms,
      tensors,
      tensors,
      bytes,
      tick.allocatedBytes ?? bytes,
      tick.peakAllocatedBytes ?? bytes,
      1e8,
      1e7,
      1e6,
      tick.lost ?? 0,
    ];
    for (const [i, value] of fields.entries()) payload.writeBigUInt64LE(BigInt(value), i * 8);
    payload.writeUInt32LE(tick.collections ?? 3, 80);
    payload.writeUInt32LE(tick.collectedMs ?? 0, 84);
    return this.rows(rows).packet(PacketType.Tick, payload);
  }

  environmentEnd(environment: number): this {
    const payload = Buffer.alloc(12);
    payload.writeUInt32LE(environment, 0);
    return this.packet(PacketType.EnvironmentEnd, payload);
  }

  end(reason = 'exit'): this {
    return this.text(PacketType.End, { reason, ms: 0, lost: 0 });
  }

  build(): Buffer {
    return Buffer.concat(this.parts);
  }
}

/** A capture in which site 1 (app.js:10:5) grows by one 1 KiB tensor a round and site 2 (app.js:20:5) keeps one. */
export function leakyCapture(rounds = 48): CaptureBuilder {
  const builder = new CaptureBuilder()
    .site(1, ['/srv/app.js', 10, 5, 'handle'], ['/srv/app.js', 30, 1, 'main'])
    .site(2, ['/srv/app.js', 20, 5, 'load']);
  for (let i = 1; i <= rounds; i++) {
    builder.tick({ ms: i * 250 }, [
      { site: 1, liveTensors: i, liveBytes: i * 1024, oldestBirthMs: 100 },
      { site: 2, liveTensors: 1, liveBytes: 4096, allocatedTensors: 5 * i },
    ]);
  }
  return builder;
}
