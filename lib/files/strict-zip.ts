/**
 * Zip archives that libtorch reads after this check, with a reader that trusts them: both readers must see the same data. So
 * an archive must be unambiguous: a single directory at its end, entries that share no bytes, and headers that match it.
 */
import type { Budget } from './limits';
import { type Bytes, type ZipEntry, ZipReader } from './zip';

type Fail = (what: string) => Error;

const LOCAL_BYTES = 30;
const END_BYTES = 22;
const END = 0x06054b50;
const END64 = 0x06064b50;
const LOCATOR64 = 0x07064b50;
const END64_BYTES = 56;
const LOCATOR64_BYTES = 20;

/** Unpacked size of all compressed entries: code and small files. Tensors are stored uncompressed. */
const MAX_UNPACKED = 256 * 2 ** 20;

const view = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** The entries of the archive; their data is not read yet. Throws `fail(…)` for the first problem. */
export function openStrictly(bytes: Bytes, fail: Fail, budget: Budget): ZipReader {
  const directory = examineEnd(bytes, fail);
  const zip = new ZipReader(bytes, fail, budget);
  const entries = [...zip.entries.values()];
  examinePlaces(entries, bytes, directory, zip, fail);
  examineSizes(entries, fail);
  return zip;
}

/**
 * Checks the end of the archive, where libtorch's reader finds it too: the last 22 bytes, without a comment, consistent with
 * the zip64 record if there is one. Returns the offset of the directory.
 */
function examineEnd(bytes: Bytes, fail: Fail): number {
  if (bytes.size < END_BYTES) throw fail('not a zip archive, or a truncated one');
  const at = bytes.size - END_BYTES;
  const end = view(bytes.read(at, END_BYTES));
  if (end.getUint32(0, true) !== END || end.getUint16(20, true) !== 0) {
    throw fail('not a zip archive, or a truncated one');
  }
  if (end.getUint16(4, true) !== 0 && end.getUint16(4, true) !== 0xffff)
    throw fail('multi-part archives are not supported');
  const plain = [end.getUint16(10, true), end.getUint32(12, true), end.getUint32(16, true)] as const;
  const wide = examineEnd64(bytes, at, fail);
  const limits = [0xffff, 0xffffffff, 0xffffffff];
  if (wide === null) {
    if (plain[2] + plain[1] !== at) throw fail('the directory does not end where the archive does');
    return plain[2];
  }
  for (const [i, value] of plain.entries()) {
    if (value !== limits[i] && value !== wide.fields[i]) throw fail('the archive has two different directories');
  }
  if (wide.fields[2]! + wide.fields[1]! !== wide.at) throw fail('the directory does not end where the archive does');
  return wide.fields[2]!;
}

/** Number of entries, and size and offset of the directory, from the zip64 record; null without one. */
function examineEnd64(bytes: Bytes, end: number, fail: Fail): { at: number; fields: number[] } | null {
  const at = end - LOCATOR64_BYTES - END64_BYTES;
  if (end < LOCATOR64_BYTES) return null;
  const locator = view(bytes.read(end - LOCATOR64_BYTES, LOCATOR64_BYTES));
  if (locator.getUint32(0, true) !== LOCATOR64) return null;
  if (at < 0 || locator.getBigUint64(8, true) !== BigInt(at))
    throw fail('the zip64 record is not where its locator says');
  const record = view(bytes.read(at, END64_BYTES));
  if (record.getUint32(0, true) !== END64) throw fail('the zip64 record is missing');
  const fields = [32, 40, 48].map((field) => Number(record.getBigUint64(field, true)));
  return { at, fields };
}

/** Entries must not overlap, must precede the directory, and their local headers must match it. */
function examinePlaces(
  entries: readonly ZipEntry[],
  bytes: Bytes,
  directory: number,
  zip: ZipReader,
  fail: Fail,
): void {
  let end = 0;
  for (const entry of [...entries].sort((a, b) => a.offset - b.offset)) {
    if (entry.offset < end) throw fail(`${entry.name}: shares its bytes with another entry`);
    const start = zip.start(entry);
    const local = view(bytes.read(entry.offset, LOCAL_BYTES));
    if (local.getUint16(8, true) !== (entry.deflated ? 8 : 0)) {
      throw fail(`${entry.name}: its local header does not match the directory`);
    }
    end = start + entry.packed;
    if (end > directory) throw fail(`${entry.name}: overlaps the directory`);
  }
}

function examineSizes(entries: readonly ZipEntry[], fail: Fail): void {
  let unpacked = 0;
  for (const entry of entries) {
    if (entry.deflated) unpacked += entry.size;
    if (unpacked > MAX_UNPACKED)
      throw fail(`expected at most ${MAX_UNPACKED} bytes unpacked from compressed entries, got more`);
  }
}
