/**
 * The versions of symbols that an ELF file of 64 bits needs (.gnu.version_r). The loader refuses a file that needs a version
 * which its C library lacks, unless the need is marked weak; a symbol of that version may then come from another library.
 */
import { readFileSync, writeFileSync } from 'node:fs';

const PT_LOAD = 1;
const PT_DYNAMIC = 2;
const DT_STRTAB = 5;
const DT_VERNEED = 0x6ffffffe;
const DT_VERNEEDNUM = 0x6fffffff;
const VER_FLG_WEAK = 2;

const compare = (a, b) => a.localeCompare(b, 'en', { numeric: true });

/** @param {Buffer} bytes @returns {{ file: string, version: string, flagsAt: number, weak: boolean }[]} */
function neededVersions(bytes) {
  const far = (at) => Number(bytes.readBigUInt64LE(at));
  const [table, size, count] = [far(32), bytes.readUInt16LE(54), bytes.readUInt16LE(56)];
  const segments = Array.from({ length: count }, (_, i) => {
    const at = table + i * size;
    return { type: bytes.readUInt32LE(at), offset: far(at + 8), address: far(at + 16), length: far(at + 32) };
  });
  const offsetOf = (address) => {
    const found = segments.find((s) => s.type === PT_LOAD && address >= s.address && address < s.address + s.length);
    return address - found.address + found.offset;
  };
  const dynamic = segments.find(({ type }) => type === PT_DYNAMIC);
  const entries = new Map();
  for (let at = dynamic.offset; at < dynamic.offset + dynamic.length; at += 16) entries.set(far(at), far(at + 8));
  if (!entries.has(DT_VERNEED)) return [];
  const strings = offsetOf(entries.get(DT_STRTAB));
  const text = (offset) => bytes.toString('latin1', strings + offset, bytes.indexOf(0, strings + offset));
  const needs = [];
  let need = offsetOf(entries.get(DT_VERNEED));
  for (let i = 0; i < entries.get(DT_VERNEEDNUM); i++) {
    const file = text(bytes.readUInt32LE(need + 4));
    let aux = need + bytes.readUInt32LE(need + 8);
    for (let j = 0; j < bytes.readUInt16LE(need + 2); j++) {
      const flags = bytes.readUInt16LE(aux + 4);
      const version = text(bytes.readUInt32LE(aux + 8));
      needs.push({ file, version, flagsAt: aux + 4, weak: (flags & VER_FLG_WEAK) !== 0 });
      aux += bytes.readUInt32LE(aux + 12);
    }
    need += bytes.readUInt32LE(need + 12);
  }
  return needs;
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
