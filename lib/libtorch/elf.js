'use strict';
/**
 * Reads a shared library's properties from its ELF header and dynamic section, without loading it, so that a file that would
 * crash the process can be refused. Linux only.
 */
const fs = require('node:fs');
const { printable } = require('./printable.js');

/** Node's processor names by e_machine. */
const machines = { 3: 'ia32', 8: 'mips', 21: 'ppc64', 22: 's390x', 40: 'arm', 62: 'x64', 183: 'arm64', 243: 'riscv64' };
const [PT_LOAD, PT_DYNAMIC] = [1, 2];
const [DT_NEEDED, DT_STRTAB, DT_STRSZ, DT_SONAME, DT_RPATH, DT_RUNPATH] = [1, 5, 10, 14, 15, 29];
const HEADER_BYTES = 64;
const SEGMENT_BYTES = 56;
/** Above the length of any library name. */
const MAX_NAME_BYTES = 4096;

/** The file is not a shared library that this process can load. The message begins with the file's name. */
class ElfError extends Error {
  constructor(file, problem) {
    super(`${printable(file)} ${problem}`);
    this.problem = problem;
  }
}

/** Bounds-checked reads of an open file. */
class Reader {
  constructor(file) {
    this.file = file;
    try {
      // O_NONBLOCK: opening a FIFO does not wait. Its size then counts as 0.
      this.fd = fs.openSync(file, fs.constants.O_RDONLY | (fs.constants.O_NONBLOCK ?? 0));
    } catch (error) {
      throw new ElfError(file, `cannot be read: ${error.code ?? error.message}`);
    }
    const stat = fs.fstatSync(this.fd);
    this.size = stat.isFile() ? stat.size : 0;
  }
  read(offset, length) {
    if (offset + length > this.size) throw this.truncated(offset + length);
    const bytes = Buffer.alloc(length);
    fs.readSync(this.fd, bytes, 0, length, offset);
    return bytes;
  }
  truncated(wanted) {
    return new ElfError(this.file, `is truncated: it should have ${wanted} bytes or more, and has ${this.size}`);
  }
  close() {
    fs.closeSync(this.fd);
  }
}

/** File offset of a virtual address. */
function offsetOf(segments, address) {
  const at = segments.find((s) => s.type === PT_LOAD && address >= s.address && address < s.address + s.fileBytes);
  return at === undefined ? -1 : address - at.address + at.offset;
}

function readHeader(reader) {
  const { file, size } = reader;
  if (size < HEADER_BYTES) throw new ElfError(file, `is not a shared library: it has ${size} bytes`);
  const header = reader.read(0, HEADER_BYTES);
  if (header.readUInt32BE(0) !== 0x7f454c46)
    throw new ElfError(file, 'is not a shared library of Linux (no ELF header)');
  const little = header[5] === 1;
  const number = little ? header.readUInt16LE(18) : header.readUInt16BE(18);
  const machine = machines[number] ?? `machine ${number}`;
  return { header, bits: header[4] === 2 ? 64 : 32, machine: little ? machine : `${machine}, big-endian` };
}

/**
 * @param {string} file
 * @param {string} [arch] the processor that it must be for, by Node's name; this process's by default
 * @returns {{ machine: string, soname: string | null, needed: string[], runpath: string | null, strings: () => string }}
 *   `strings`: every name in the file's dynamic string table, including symbols
 * @throws {ElfError} also for a truncated file, or one for another processor
 */
function readElf(file, arch = process.arch) {
  const reader = new Reader(file);
  try {
    const { header, bits, machine } = readHeader(reader);
    if (machine !== arch) {
      const wanted = arch === process.arch ? `this Node is for ${arch}` : `expected ${arch}`;
      throw new ElfError(file, `is for another processor: it is for ${machine}, ${wanted}`);
    }
    if (bits !== 64) throw new ElfError(file, 'is a library of 32 bits');
    const far = (offset) => Number(header.readBigUInt64LE(offset));
    const [segmentsAt, segmentBytes, segmentCount] = [far(32), header.readUInt16LE(54), header.readUInt16LE(56)];
    // Linkers write the section table last: a partial copy lacks it.
    const end = far(40) + header.readUInt16LE(58) * header.readUInt16LE(60);
    if (end > reader.size) throw reader.truncated(end);

    if (segmentBytes < SEGMENT_BYTES) throw new ElfError(file, 'is not a shared library: its header is damaged');
    const table = reader.read(segmentsAt, segmentBytes * segmentCount);
    const segments = Array.from({ length: segmentCount }, (_, i) => {
      const at = (offset) => Number(table.readBigUInt64LE(i * segmentBytes + offset));
      return { type: table.readUInt32LE(i * segmentBytes), offset: at(8), address: at(16), fileBytes: at(32) };
    });
    for (const { type, offset, fileBytes } of segments) {
      if (type === PT_LOAD && offset + fileBytes > reader.size) throw reader.truncated(offset + fileBytes);
    }
    const dynamic = segments.find(({ type }) => type === PT_DYNAMIC);
    if (dynamic === undefined) throw new ElfError(file, 'is not a shared library: it has no dynamic section');

    const entries = reader.read(dynamic.offset, dynamic.fileBytes);
    const values = new Map();
    for (let i = 0; i + 16 <= entries.length; i += 16) {
      const tag = Number(entries.readBigInt64LE(i));
      if (tag === 0) break;
      values.set(tag, [...(values.get(tag) ?? []), Number(entries.readBigUInt64LE(i + 8))]);
    }
    const one = (tag) => values.get(tag)?.[0];
    const stringsAt = offsetOf(segments, one(DT_STRTAB) ?? -1);
    if (stringsAt < 0) throw new ElfError(file, 'is not a shared library: it has no names');
    const text = (offset) => {
      if (offset === undefined) return null;
      const from = stringsAt + offset;
      const bytes = reader.read(from, Math.max(0, Math.min(MAX_NAME_BYTES, reader.size - from)));
      return bytes.toString('latin1', 0, bytes.indexOf(0));
    };
    const strings = () => {
      const again = new Reader(file);
      try {
        return again.read(stringsAt, one(DT_STRSZ) ?? 0).toString('latin1');
      } finally {
        again.close();
      }
    };
    return {
      machine,
      soname: text(one(DT_SONAME)),
      needed: (values.get(DT_NEEDED) ?? []).map(text),
      runpath: text(one(DT_RUNPATH) ?? one(DT_RPATH)),
      strings,
    };
  } finally {
    reader.close();
  }
}

module.exports = { readElf, ElfError };
