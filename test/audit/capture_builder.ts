/** Captures made by hand, in the format of docs/capture-format.md. */
import { crc32, FORMAT_VERSION, MAGIC, PacketType } from '../../cli/capture/format';

export interface Row {
  site: number;
  liveTensors: number;
  liveBytes: number;
  allocatedTensors?: number;
  allocatedBytes?: number;
  oldestBirthMs?: number;
  deviceType?: number;
  deviceIndex?: number;
}

export interface TickInput {
  ms: number;
  tensors?: number;
  bytes?: number;
  allocatedBytes?: number;
  lost?: number;
}

export class CaptureBuilder {
  /** Of the sites defined from now on. */
  environment = 0;
  private readonly parts: Buffer[] = [];

  constructor(start: object = {}) {
    const header = Buffer.alloc(16);
    header.write(MAGIC, 'latin1');
    header.writeUInt32LE(FORMAT_VERSION, 8);
    this.parts.push(header);
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
    const body = Buffer.concat([Buffer.from([type]), payload]);
    const header = Buffer.alloc(8);
    header.writeUInt32LE(body.length, 0);
    header.writeUInt32LE(crc32(body), 4);
    this.parts.push(header, body);
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

  tick(tick: TickInput, rows: Row[] = []): this {
    const payload = Buffer.alloc(88 + 48 * rows.length);
    const tensors = tick.tensors ?? rows.reduce((sum, row) => sum + row.liveTensors, 0);
    const bytes = tick.bytes ?? rows.reduce((sum, row) => sum + row.liveBytes, 0);
    const fields = [
      tick.ms,
      tensors,
      tensors,
      bytes,
      tick.allocatedBytes ?? bytes,
      bytes,
      1e8,
      1e7,
      1e6,
      tick.lost ?? 0,
    ];
    for (const [i, value] of fields.entries()) payload.writeBigUInt64LE(BigInt(value), i * 8);
    payload.writeUInt32LE(3, 80);
    payload.writeUInt32LE(rows.length, 84);
    for (const [i, row] of rows.entries()) {
      const at = 88 + 48 * i;
      payload.writeUInt32LE(row.site, at);
      payload.writeInt8(row.deviceType ?? 0, at + 4);
      payload.writeInt8(row.deviceIndex ?? -1, at + 5);
      payload.writeBigUInt64LE(BigInt(row.liveTensors), at + 8);
      payload.writeBigUInt64LE(BigInt(row.liveBytes), at + 16);
      payload.writeBigUInt64LE(BigInt(row.allocatedTensors ?? row.liveTensors), at + 24);
      payload.writeBigUInt64LE(BigInt(row.allocatedBytes ?? row.liveBytes), at + 32);
      const none = row.liveTensors === 0;
      payload.writeBigInt64LE(none ? -(2n ** 63n) : BigInt(row.oldestBirthMs ?? 0), at + 40);
    }
    return this.packet(PacketType.Tick, payload);
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
