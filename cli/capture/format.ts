/** The layout of capture files, which native/audit/capture_file.h writes and docs/capture-format.md specifies. */
import { crc32 } from 'node:zlib';
import { MAGIC } from '../files/recorded';

export { MAGIC };
export const FORMAT_VERSION = 2;
export const HEADER_BYTES = 16;
/** Offsets of the header's flags: those of the owning process, and those that other processes may set. */
export const FLAGS_AT = 12;
export const FOREIGN_FLAGS_AT = 13;

export const Flag = {
  /** Events are missing from the file. */
  lost: 1,
  /** Created by leak-audit and not claimed by a process yet. */
  reserved: 2,
  /** `--max-size` was reached: rounds were thinned out, old detail was dropped. */
  capped: 4,
  /** The disk was full, or the file was not allowed to grow: a write failed. */
  full: 8,
} as const;

/** Flags of a row of graphs. */
export const GraphFlag = {
  /** Counting stopped at a limit. */
  cutOff: 1,
  /** The graph reaches back to an earlier value of the same site. */
  carriesItself: 2,
  /** Counted right after a full collection. */
  collected: 4,
  /** The graph is that of the gradient of a tensor that has no graph itself. */
  onGradient: 8,
} as const;

/** sync u32, length u32, type u8, 3 × 0, crc32 of these 12 bytes u32, crc32 of the payload u32. */
export const PACKET_HEADER_BYTES = 20;
export const SYNC = 0x504e544c;
export const ROUND_BYTES = 96;
/** Of older captures, without the processor time. */
export const OLD_ROUND_BYTES = 88;
export const ROW_BYTES = 56;
export const BIRTH_BYTES = 48;
export const SCOPE_BYTES = 8;
export const GRAPH_BYTES = 40;
export const SAMPLING_BYTES = 16;
export const OPENING_BYTES = 12;
export const TOKEN_BYTES = 40;
/** Far above any packet of the recorder: a larger length is damage. */
export const MAX_PACKET_BYTES = 16 * 1024 * 1024;

export enum PacketType {
  Start = 1,
  Site = 2,
  Tick = 3,
  End = 4,
  EnvironmentEnd = 5,
  Rows = 6,
  Births = 7,
  Deaths = 8,
  Shape = 9,
  Label = 10,
  Process = 11,
  Dropped = 12,
  Mark = 13,
  Scopes = 14,
  Kept = 15,
  Graphs = 16,
  Sampling = 17,
  Openings = 18,
  Tokens = 19,
  Rank = 20,
}

/** A complete packet. */
export function packet(type: PacketType, payload: Buffer): Buffer {
  const header = Buffer.alloc(PACKET_HEADER_BYTES);
  header.writeUInt32LE(SYNC, 0);
  header.writeUInt32LE(payload.length, 4);
  header.writeUInt8(type, 8);
  header.writeUInt32LE(crc32(header.subarray(0, 12)), 12);
  header.writeUInt32LE(crc32(payload), 16);
  return Buffer.concat([header, payload]);
}

/** The header of a file. */
export function fileHeader(flags: number): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.write(MAGIC, 'latin1');
  header.writeUInt32LE(FORMAT_VERSION, MAGIC.length);
  header.writeUInt8(flags, FLAGS_AT);
  return header;
}

/** c10::DeviceType, by number. */
const DEVICE_TYPES = [
  'cpu',
  'cuda',
  'mkldnn',
  'opengl',
  'opencl',
  'ideep',
  'hip',
  'fpga',
  'maia',
  'xla',
  'vulkan',
  'metal',
  'xpu',
  'mps',
  'meta',
  'hpu',
  've',
  'lazy',
  'ipu',
  'mtia',
  'privateuseone',
];

/** `cpu`, `cuda:0`. */
export function deviceName(type: number, index: number): string {
  const name = DEVICE_TYPES[type] ?? `device${type}`;
  return index < 0 ? name : `${name}:${index}`;
}

/** c10::ScalarType, by number, for captures without names; newer recorders write the names. */
const DTYPES = [
  'uint8',
  'int8',
  'int16',
  'int32',
  'int64',
  'float16',
  'float32',
  'float64',
  'complex32',
  'complex64',
  'complex128',
  'bool',
  'qint8',
  'quint8',
  'qint32',
  'bfloat16',
  'quint4x2',
  'quint2x4',
  'bits1x8',
  'bits2x4',
  'bits4x2',
  'bits8',
  'bits16',
  'float8_e5m2',
  'float8_e4m3fn',
  'float8_e5m2fnuz',
  'float8_e4m3fnuz',
  'uint16',
  'uint32',
  'uint64',
];

/** By the names of its capture, if it has some. */
export const dtypeName = (code: number, names: readonly string[]): string =>
  names[code] ?? DTYPES[code] ?? `dtype${code}`;

const ITEM_BYTES = [1, 1, 2, 4, 8, 2, 4, 8, 4, 8, 16, 1, 1, 1, 4, 2, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1, 2, 4, 8];

/** Bytes of an element of c10::ScalarType `code`; undefined if unknown. */
export const itemBytes = (code: number): number | undefined => ITEM_BYTES[code];
