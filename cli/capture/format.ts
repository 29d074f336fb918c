/** The capture file's layout, as native/audit/capture_file.h writes it. docs/capture-format.md is the specification. */

export const MAGIC = 'LTNAUDIT';
export const FORMAT_VERSION = 1;
export const HEADER_BYTES = 16;
/** length u32, crc32 u32; then, counted and checked: type u8 and payload. */
export const PACKET_HEADER_BYTES = 8;
export const TICK_BYTES = 88;
export const ROW_BYTES = 48;
/** Nothing the recorder writes comes near this: a larger length is damage. */
export const MAX_PACKET_BYTES = 256 * 1024 * 1024;

export enum PacketType {
  Start = 1,
  Site = 2,
  Tick = 3,
  End = 4,
  EnvironmentEnd = 5,
}

const CRC_TABLE = Int32Array.from({ length: 256 }, (_, i) => {
  let c = i;
  for (let k = 0; k < 8; k++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
  return c;
});

/** CRC-32 as zlib's. */
export function crc32(bytes: Uint8Array): number {
  let c = -1;
  for (const byte of bytes) c = CRC_TABLE[(c ^ byte) & 0xff]! ^ (c >>> 8);
  return ~c >>> 0;
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
