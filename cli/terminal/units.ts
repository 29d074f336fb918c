/** Formats and parses bytes and durations. */
import { UsageError } from '../errors/errors';

const BYTE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

/** `1.5 MiB`; never more than 10 characters. */
export function formatBytes(bytes: number): string {
  let value = Math.abs(bytes);
  let unit = 0;
  while (value >= 1023.95 && unit < BYTE_UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  const text = unit === 0 ? String(Math.round(value)) : value.toFixed(1);
  return `${bytes < 0 ? '-' : ''}${text} ${BYTE_UNITS[unit]}`;
}

/** `850 ms`, `12.5 s`, `4 min 10 s`, `3 h 5 min`, `12 d 3 h`. */
export function formatDuration(ms: number): string {
  // Before what rounds to the next unit.
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  const hours = Math.floor(seconds / 3600);
  if (hours >= 48) return `${Math.floor(hours / 24)} d ${hours % 24} h`;
  return `${hours} h ${Math.floor((seconds % 3600) / 60)} min`;
}

/** Digits in groups of three. */
export const formatCount = (n: number): string => Math.round(n).toLocaleString('en-US');

/** `1 tensor`, `2,000 tensors`. */
export const counted = (n: number, unit: string): string =>
  `${formatCount(n)} ${unit}${Math.round(n) === 1 ? '' : 's'}`;

const DURATION_MS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, min: 60_000, h: 3_600_000 };

/** `500ms`, `1s`, `2m`, `1h` in ms. */
export function parseDuration(text: string): number {
  const match = /^(\d+(?:\.\d+)?)\s*(ms|s|m|min|h)$/.exec(text.trim());
  const ms = match === null ? Number.NaN : Number(match[1]) * DURATION_MS[match[2]!]!;
  if (!(ms > 0)) throw new UsageError(`expected a duration such as 500ms, 1s or 2m, got '${text}'`);
  return ms;
}

const BYTES: Record<string, number> = {
  '': 1,
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
};

/** `1000`, `10MB`, `64MiB` in bytes. */
export function parseBytes(text: string): number {
  const match = /^(\d+(?:\.\d+)?)\s*([a-z]*)$/i.exec(text.trim());
  const factor = match === null ? undefined : BYTES[match[2]!.toLowerCase()];
  if (match === null || factor === undefined) {
    throw new UsageError(`expected a size such as 1000000, 10MB or 64MiB, got '${text}'`);
  }
  return Number(match[1]) * factor;
}

export function parseCount(text: string): number {
  const count = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(count)) throw new UsageError(`expected a whole number, got '${text}'`);
  return count;
}
