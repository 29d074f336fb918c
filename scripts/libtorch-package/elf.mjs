/**
 * Edits ELF files of 64 bits in place: the libraries that a file needs, where it looks for them, and the versions of symbols
 * that it insists on (.gnu.version_r). No section but the table of names moves, because code refers to the others.
 *
 * The loader refuses a file that needs a version which its C library lacks, unless the need is marked weak; a symbol of that
 * version may then come from another library.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { StepError } from '../steps/errors.mjs';

const [ELFCLASS64, ELFDATA2LSB] = [2, 1];
const [PT_LOAD, PT_DYNAMIC, PT_NOTE] = [1, 2, 4];
const [DT_NULL, DT_NEEDED, DT_STRTAB, DT_STRSZ, DT_RPATH, DT_RUNPATH] = [0, 1, 5, 10, 15, 29];
const DT_VERNEED = 0x6ffffffe;
const DT_VERNEEDNUM = 0x6fffffff;
const SHT_STRTAB = 3;
const VER_FLG_WEAK = 2;

const compare = (a, b) => a.localeCompare(b, 'en', { numeric: true });
const up = (value, alignment) => Math.ceil(value / alignment) * alignment;

/** The parts of a file that the loader reads. @param {Buffer} bytes */
function layout(bytes) {
  const isElf = bytes.length >= 64 && bytes.readUInt32BE(0) === 0x7f454c46;
  if (!isElf || bytes[4] !== ELFCLASS64 || bytes[5] !== ELFDATA2LSB)
    throw new StepError('expected an ELF file of 64 bits, little-endian');
  const far = (at) => Number(bytes.readBigUInt64LE(at));
  const [table, size, count] = [far(32), bytes.readUInt16LE(54), bytes.readUInt16LE(56)];
  const segments = Array.from({ length: count }, (_, i) => {
    const at = table + i * size;
    const [offset, address, length, memory, alignment] = [8, 16, 32, 40, 48].map((field) => far(at + field));
    return { at, type: bytes.readUInt32LE(at), offset, address, length, memory, alignment };
  });
  const offsetOf = (address) => {
    const found = segments.find((s) => s.type === PT_LOAD && address >= s.address && address < s.address + s.length);
    return address - found.address + found.offset;
  };
  const { offset: dynamicAt, length: dynamicBytes } = segments.find(({ type }) => type === PT_DYNAMIC);
  const entries = [];
  for (let at = dynamicAt; at < dynamicAt + dynamicBytes && far(at) !== DT_NULL; at += 16) {
    entries.push([far(at), far(at + 8)]);
  }
  const one = (tag) => entries.find(([other]) => other === tag)?.[1];
  const strings = offsetOf(one(DT_STRTAB));
  const text = (offset) => bytes.toString('latin1', strings + offset, bytes.indexOf(0, strings + offset));
  return { segments, offsetOf, dynamicAt, dynamicBytes, entries, one, strings, text };
}

/** @param {Buffer} bytes @returns {{ file: string, fileAt: number, version: string, flagsAt: number, weak: boolean }[]} */
function neededVersions(bytes) {
  const { offsetOf, one, text } = layout(bytes);
  if (one(DT_VERNEED) === undefined) return [];
  const needs = [];
  let need = offsetOf(one(DT_VERNEED));
  for (let i = 0; i < one(DT_VERNEEDNUM); i++) {
    const file = text(bytes.readUInt32LE(need + 4));
    let aux = need + bytes.readUInt32LE(need + 8);
    for (let j = 0; j < bytes.readUInt16LE(need + 2); j++) {
      const flags = bytes.readUInt16LE(aux + 4);
      const version = text(bytes.readUInt32LE(aux + 8));
      needs.push({ file, fileAt: need + 4, version, flagsAt: aux + 4, weak: (flags & VER_FLG_WEAK) !== 0 });
      aux += bytes.readUInt32LE(aux + 12);
    }
    need += bytes.readUInt32LE(need + 12);
  }
  return needs;
}

/** A copy of the file with a segment at its end that holds the table of names with more names, instead of a note. */
function withNames(bytes, names) {
  const { segments, one, strings } = layout(bytes);
  const loads = segments.filter(({ type }) => type === PT_LOAD);
  // The loader wants the segments to load in order of their addresses, so the new one must be the last of them.
  const note = segments.findLast(({ type, at }) => type === PT_NOTE && at > loads.at(-1).at);
  if (note === undefined) throw new StepError('no place for a segment: expected a PT_NOTE after the last PT_LOAD');
  const alignment = Math.max(...loads.map((load) => load.alignment));
  const old = bytes.subarray(strings, strings + one(DT_STRSZ));
  const table = Buffer.concat([old, Buffer.from(`${names.join('\0')}\0`, 'latin1')]);
  const offset = up(bytes.length, alignment);
  const address = up(Math.max(...loads.map((load) => load.address + load.memory)), alignment);
  const copy = Buffer.concat([bytes, Buffer.alloc(offset - bytes.length), table]);
  copy.fill(0, strings, strings + old.length); // unused now
  const write = (at, value) => copy.writeBigUInt64LE(BigInt(value), at);
  copy.writeUInt32LE(PT_LOAD, note.at);
  copy.writeUInt32LE(4, note.at + 4); // readable
  [offset, address, address, table.length, table.length, alignment].forEach((value, i) => {
    write(note.at + 8 + 8 * i, value);
  });
  // Tools find the names by the section.
  const [sections, size, count] = [Number(bytes.readBigUInt64LE(40)), bytes.readUInt16LE(58), bytes.readUInt16LE(60)];
  for (let at = sections; at < sections + size * count; at += size) {
    if (bytes.readUInt32LE(at + 4) !== SHT_STRTAB || Number(bytes.readBigUInt64LE(at + 24)) !== strings) continue;
    write(at + 16, address);
    write(at + 24, offset);
    write(at + 32, table.length);
  }
  return { copy, address, size: table.length, offsets: placesOf(names, old.length) };
}

/** @returns {Map<string, number>} */
function placesOf(names, from) {
  let at = from;
  return new Map(
    names.map((name) => {
      const place = at;
      at += name.length + 1;
      return [name, place];
    }),
  );
}

/**
 * @param {string} file
 * @param {object} change
 * @param {Record<string, string>} [change.replace] libraries by others, also where versions of symbols are asked of them
 * @param {string[]} [change.remove] libraries
 * @param {string[]} [change.add] libraries
 * @param {string | null} change.rpath DT_RPATH; null: none
 */
export function relink(file, { replace = {}, remove = [], add = [], rpath }) {
  const bytes = readFileSync(file);
  const before = layout(bytes);
  const names = [...new Set([...Object.values(replace), ...add, ...(rpath === null ? [] : [rpath])])];
  const { copy, address, size, offsets } = withNames(bytes, names);
  const seen = new Set();
  const entries = before.entries.flatMap(([tag, value]) => {
    if (tag === DT_STRTAB) return [[tag, address]];
    if (tag === DT_STRSZ) return [[tag, size]];
    if (tag === DT_RPATH || tag === DT_RUNPATH) return [];
    if (tag !== DT_NEEDED) return [[tag, value]];
    const name = before.text(value);
    if (remove.includes(name)) return [];
    const by = replace[name] ?? name;
    if (seen.has(by)) return [];
    seen.add(by);
    return [[tag, by === name ? value : offsets.get(by)]];
  });
  for (const name of add) entries.unshift([DT_NEEDED, offsets.get(name)]);
  if (rpath !== null) entries.push([DT_RPATH, offsets.get(rpath)]);
  if (16 * (entries.length + 1) > before.dynamicBytes) {
    throw new StepError(`${file} has no room for ${entries.length} entries in its dynamic section`);
  }
  copy.fill(0, before.dynamicAt, before.dynamicAt + before.dynamicBytes);
  entries.forEach(([tag, value], i) => {
    copy.writeBigUInt64LE(BigInt(tag), before.dynamicAt + 16 * i);
    copy.writeBigUInt64LE(BigInt(value), before.dynamicAt + 16 * i + 8);
  });
  for (const { file: name, fileAt } of neededVersions(bytes)) {
    if (name in replace) copy.writeUInt32LE(offsets.get(replace[name]), fileAt);
  }
  writeFileSync(file, copy);
}

/**
 * Writes shorter names over some of the table of names: of needed libraries, and the file's own (DT_SONAME).
 * @param {string} file
 * @param {Record<string, string>} renames
 */
export function shorten(file, renames) {
  const bytes = readFileSync(file);
  const { one, strings } = layout(bytes);
  const table = bytes.subarray(strings, strings + one(DT_STRSZ));
  for (const [name, by] of Object.entries(renames)) {
    if (by.length > name.length) throw new StepError(`${by} is longer than ${name}`);
    const at = table.indexOf(`\0${name}\0`, 0, 'latin1') + 1;
    if (at > 0) table.fill(0, at, at + name.length).write(by, at, 'latin1');
  }
  writeFileSync(file, bytes);
}

/**
 * Whether a version such as GLIBC_2.38 is newer than the oldest system has.
 * @param {string} version
 * @param {Record<string, string>} oldest by prefix
 */
export function isNewer(version, oldest) {
  const [, prefix, number] = /^([A-Z]+)_([\d.]+)$/.exec(version) ?? [];
  return prefix !== undefined && prefix in oldest && compare(number, oldest[prefix]) > 0;
}

/** @param {string} file @returns {{ file: string, version: string, weak: boolean }[]} */
export const readNeededVersions = (file) => neededVersions(readFileSync(file));

/**
 * Marks the needs that are newer than the oldest system as weak, in place.
 * @param {string} file
 * @param {Record<string, string>} oldest
 * @returns {string[]} the versions
 */
export function weakenNewer(file, oldest) {
  const bytes = readFileSync(file);
  const newer = neededVersions(bytes).filter(({ version }) => isNewer(version, oldest));
  for (const { flagsAt } of newer) bytes.writeUInt16LE(bytes.readUInt16LE(flagsAt) | VER_FLG_WEAK, flagsAt);
  if (newer.length > 0) writeFileSync(file, bytes);
  return newer.map(({ version }) => version);
}
