/** Writes the subset of zip that zip.ts reads. */
import { isTensor, type Tensor } from '../tensor/tensor';
import { bytesOfTensor } from './bytes';
import { CENTRAL, Crc32, END, END64, IN_ZIP64, LOCAL, LOCATOR64 } from './zip';

/** A file that a zip is written to. */
export interface FileSink {
  /** Appends the bytes of a flat uint8 tensor from its own memory, and adds them to `sum`. */
  putTensor(tensor: Tensor, sum: Crc32): void;
  /** Replaces bytes that were written. */
  patch(from: number, bytes: Uint8Array): void;
}

/** What a zip is written to. */
export interface Sink {
  /** Appends bytes. */
  put(bytes: Uint8Array): void;
  /** Itself, if it is a file. */
  readonly file?: FileSink;
}

interface Measured {
  readonly size: number;
  readonly crc: number;
}

/** The fields of an entry that both of its headers have. */
interface Fields extends Measured {
  readonly title: Buffer;
  readonly offset: number;
}

/** The offset of the checksum in a local header. */
const CRC_AT = 14;

const isWide = ({ size, offset }: Fields) => size >= IN_ZIP64 || offset >= IN_ZIP64;

/** The zip64 extra field; empty if the sizes fit in 32 bits. */
function wideSizes(fields: Fields): Buffer {
  if (!isWide(fields)) return Buffer.alloc(0);
  const { size, offset } = fields;
  const sizes = Buffer.alloc(28);
  sizes.writeUInt16LE(1, 0);
  sizes.writeUInt16LE(24, 2);
  for (const [i, value] of [size, size, offset].entries()) sizes.writeBigUInt64LE(BigInt(value), 4 + 8 * i);
  return sizes;
}

function head(fields: Fields, local: boolean, extra: number): Buffer {
  const { title, offset, size, crc } = fields;
  const wide = isWide(fields);
  const fixed = Buffer.alloc(local ? 30 : 46);
  const at = local ? 0 : 2;
  fixed.writeUInt32LE(local ? LOCAL : CENTRAL, 0);
  if (!local) fixed.writeUInt16LE(45, 4);
  fixed.writeUInt16LE(wide ? 45 : 20, 4 + at);
  fixed.writeUInt16LE(0x0800, 6 + at); // names are UTF-8
  fixed.writeUInt32LE(0x00210000, 10 + at); // 1 January 1980, so that equal tensors give equal files
  fixed.writeUInt32LE(crc, CRC_AT + at);
  fixed.writeUInt32LE(wide ? IN_ZIP64 : size, 18 + at);
  fixed.writeUInt32LE(wide ? IN_ZIP64 : size, 22 + at);
  fixed.writeUInt16LE(title.length, 26 + at);
  fixed.writeUInt16LE(extra, 28 + at);
  if (!local) fixed.writeUInt32LE(wide ? IN_ZIP64 : offset, 42);
  return fixed;
}

/** Up to the data, which it aligns to 64 bytes. */
function localHeader(fields: Fields): Buffer {
  const { title, offset } = fields;
  const sizes = wideSizes(fields);
  const before = offset + 30 + title.length + sizes.length + 4;
  const padding = Buffer.alloc(4 + ((64 - (before % 64)) % 64), 'Z');
  padding.write('FB', 0, 'latin1');
  padding.writeUInt16LE(padding.length - 4, 2);
  return Buffer.concat([head(fields, true, sizes.length + padding.length), title, sizes, padding]);
}

/** Writes stored entries with their data aligned to 64 bytes, as PyTorch does; zip64 where a size requires it. */
export class ZipWriter {
  readonly #sink: Sink;
  readonly #directory: Buffer[] = [];
  #at = 0;

  constructor(sink: Sink) {
    this.#sink = sink;
  }

  #put(bytes: Uint8Array): void {
    this.#sink.put(bytes);
    this.#at += bytes.length;
  }

  /** An entry of these bytes, one part after the other. A tensor must be flat and of uint8. */
  add(name: string, ...parts: readonly (Uint8Array | Tensor)[]): void {
    const title = Buffer.from(name);
    const offset = this.#at;
    const file = parts.some(isTensor) ? this.#sink.file : undefined;
    const { size, crc } = file === undefined ? this.#addBytes(title, parts) : this.#addTensors(title, parts, file);
    const fields = { title, offset, size, crc };
    const sizes = wideSizes(fields);
    this.#directory.push(Buffer.concat([head(fields, false, sizes.length), title, sizes]));
  }

  #addBytes(title: Buffer, parts: readonly (Uint8Array | Tensor)[]): Measured {
    const bytes = parts.map((part) => (isTensor(part) ? bytesOfTensor(part) : part));
    const sum = new Crc32();
    for (const part of bytes) sum.add(part);
    const measured = { size: bytes.reduce((all, part) => all + part.length, 0), crc: sum.value };
    this.#put(localHeader({ title, offset: this.#at, ...measured }));
    for (const part of bytes) this.#put(part);
    return measured;
  }

  /** The checksum is written after the bytes, so that the memory of tensors is read once and not copied. */
  #addTensors(title: Buffer, parts: readonly (Uint8Array | Tensor)[], file: FileSink): Measured {
    const offset = this.#at;
    const size = parts.reduce((all, part) => all + (isTensor(part) ? part.nbytes : part.length), 0);
    this.#put(localHeader({ title, offset, size, crc: 0 }));
    const sum = new Crc32();
    for (const part of parts) {
      if (isTensor(part)) {
        file.putTensor(part, sum);
        this.#at += part.nbytes;
      } else {
        sum.add(part);
        this.#put(part);
      }
    }
    const crc = Buffer.alloc(4);
    crc.writeUInt32LE(sum.value);
    file.patch(offset + CRC_AT, crc);
    return { size, crc: sum.value };
  }

  end(): void {
    const offset = this.#at;
    const directory = Buffer.concat(this.#directory);
    const count = this.#directory.length;
    this.#put(directory);
    if (offset >= IN_ZIP64 || directory.length >= IN_ZIP64 || count >= 0xffff)
      this.#end64(offset, directory.length, count);
    const end = Buffer.alloc(22);
    end.writeUInt32LE(END, 0);
    for (const at of [8, 10]) end.writeUInt16LE(Math.min(count, 0xffff), at);
    end.writeUInt32LE(Math.min(directory.length, IN_ZIP64), 12);
    end.writeUInt32LE(Math.min(offset, IN_ZIP64), 16);
    this.#put(end);
  }

  #end64(offset: number, size: number, count: number): void {
    const at = this.#at;
    const record = Buffer.alloc(76);
    record.writeUInt32LE(END64, 0);
    record.writeBigUInt64LE(44n, 4);
    for (const field of [12, 14]) record.writeUInt16LE(45, field);
    for (const [i, value] of [count, count, size, offset].entries()) record.writeBigUInt64LE(BigInt(value), 24 + 8 * i);
    record.writeUInt32LE(LOCATOR64, 56);
    record.writeBigUInt64LE(BigInt(at), 64);
    record.writeUInt32LE(1, 72);
    this.#put(record);
  }
}
