/** Zip archives whose entries are deflated: the library reads these but does not write them. */
import { crc32, deflateRawSync } from 'node:zlib';

export function packed(entries: Record<string, Uint8Array>): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  const known = new Map<Uint8Array, [Buffer, number]>();
  for (const [name, bytes] of Object.entries(entries)) {
    if (!known.has(bytes)) known.set(bytes, [deflateRawSync(bytes), crc32(bytes)]);
    const [data, sum] = known.get(bytes)!;
    const head = Buffer.alloc(46);
    head.writeUInt32LE(0x02014b50, 0);
    head.writeUInt16LE(8, 10);
    head.writeUInt32LE(sum, 16);
    head.writeUInt32LE(data.length, 20);
    head.writeUInt32LE(bytes.length, 24);
    head.writeUInt16LE(name.length, 28);
    head.writeUInt32LE(at, 42);
    const local = Buffer.alloc(30);
    local.writeUInt32LE(0x04034b50, 0);
    head.copy(local, 8, 10, 12);
    head.copy(local, 14, 16, 28);
    local.writeUInt16LE(name.length, 26);
    parts.push(local, Buffer.from(name), data);
    directory.push(Buffer.concat([head, Buffer.from(name)]));
    at += 30 + name.length + data.length;
  }
  const all = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  for (const field of [8, 10]) end.writeUInt16LE(directory.length, field);
  end.writeUInt32LE(all.length, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...parts, all, end]);
}
