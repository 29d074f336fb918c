/** Validates the fields of JSON packets. Checksums do not protect against crafted files. */
import { InvalidData } from '../errors/errors';
import { type Budget, MAX_CHARACTERS, MAX_DIMENSIONS, MAX_FRAMES, MAX_JSON_BYTES, MAX_MS, MAX_NAMES } from './limits';
import type { EndInfo, Frame, StartInfo } from './records';

/** The maximum of `Date`. */
const MAX_TIME = 8.64e15;
const MODES = ['counters', 'sample', 'full'] as const;
/** The number of a dtype in a birth is a signed byte. */
const MAX_DTYPES = 128;
const MAX_DTYPE_LENGTH = 64;
const MAX_RANK = 2 ** 31 - 1;
const MAX_SHOWN = 60;

type Json = Record<string, unknown>;

function shown(value: unknown): string {
  if (value === undefined) return 'nothing';
  const text = JSON.stringify(value) ?? String(value);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}

function wrong(where: string, expected: string, got: unknown): InvalidData {
  return new InvalidData(`${where}: expected ${expected}, got ${shown(got)}`);
}

/** A number from 0 to `most`. */
export function amount(value: unknown, where: string, most: number = Number.MAX_SAFE_INTEGER): number {
  if (typeof value === 'number' && value >= 0 && value <= most) return value;
  throw wrong(where, `a number from 0 to ${most}`, value);
}

/** An integer from 0 to `most`. */
export function whole(value: unknown, where: string, most: number): number {
  if (Number.isInteger(value) && (value as number) >= 0 && (value as number) <= most) return value as number;
  throw wrong(where, `a whole number from 0 to ${most}`, value);
}

/** A text, shortened if it is too long for a name. */
export function text(value: unknown, where: string): string {
  if (typeof value !== 'string') throw wrong(where, 'a string', value);
  return value.length <= MAX_CHARACTERS ? value : copied(`${value.slice(0, MAX_CHARACTERS)}…`);
}

/** Copies a substring, which would otherwise keep the whole string in memory. */
const copied = (part: string) => Buffer.from(part, 'utf16le').toString('utf16le');

export function object(value: unknown, where: string): Json {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Json;
  throw wrong(where, 'an object', value);
}

export function list(value: unknown, where: string, most: number): unknown[] {
  if (!Array.isArray(value)) throw wrong(where, 'a list', value);
  if (value.length <= most) return value;
  throw new InvalidData(`${where}: expected at most ${most} entries, got ${value.length}`);
}

/** Checks that a packet has at least `least` bytes. */
export function checkLength(payload: Buffer, least: number, where: string): void {
  if (payload.length < least)
    throw new InvalidData(`${where}: expected a packet of at least ${least} bytes, got ${payload.length}`);
}

export function json(payload: Buffer, from: number, where: string): unknown {
  checkLength(payload, from, where);
  if (payload.length > MAX_JSON_BYTES)
    throw new InvalidData(`${where}: expected at most ${MAX_JSON_BYTES} bytes of JSON, got ${payload.length}`);
  try {
    return JSON.parse(payload.toString('utf8', from));
  } catch {
    // Without the parser's message, which quotes the data.
    throw new InvalidData(`${where}: expected JSON, got other text`);
  }
}

export function startInfo(payload: Buffer): StartInfo {
  const where = 'start';
  const given = object(json(payload, 0, where), where);
  const field = (name: string, most?: number) => amount(given[name], `${where}.${name}`, most);
  if (!MODES.includes(given.mode as StartInfo['mode']))
    throw wrong(`${where}.mode`, `one of ${MODES.join(', ')}`, given.mode);
  const start: StartInfo = {
    pid: whole(given.pid, `${where}.pid`, 2 ** 32),
    startedAt: field('startedAt', MAX_TIME),
    mode: given.mode as StartInfo['mode'],
    intervalMs: field('intervalMs', MAX_MS),
    sampleBytes: field('sampleBytes'),
    depth: field('depth'),
    command: text(given.command, `${where}.command`),
  };
  if (given.clockMs !== undefined) start.clockMs = field('clockMs', MAX_TIME);
  if (given.dtypes !== undefined) start.dtypes = dtypesOf(given.dtypes);
  if (given.maxBytes !== undefined) start.maxBytes = field('maxBytes');
  if (given.attached !== undefined) start.attached = given.attached === true;
  Object.assign(start, rankOf(given, where));
  const memoryLimit = limitOf(given.memoryLimit);
  return memoryLimit === undefined ? start : { ...start, memoryLimit };
}

type RankInfo = Pick<StartInfo, 'rank' | 'worldSize'>;

function rankOf(given: Record<string, unknown>, where: string): RankInfo {
  const info: RankInfo = {};
  if (given.rank !== undefined) info.rank = whole(given.rank, `${where}.rank`, MAX_RANK);
  if (given.worldSize !== undefined) info.worldSize = whole(given.worldSize, `${where}.worldSize`, MAX_RANK);
  return info;
}

export const rankInfo = (payload: Buffer): RankInfo => rankOf(object(json(payload, 0, 'rank'), 'rank'), 'rank');

function dtypesOf(value: unknown): string[] {
  const where = 'start.dtypes';
  return list(value, where, MAX_DTYPES).map((name, i) => {
    const one = text(name, `${where}[${i}]`);
    if (one.length <= MAX_DTYPE_LENGTH) return one;
    throw wrong(`${where}[${i}]`, `at most ${MAX_DTYPE_LENGTH} characters`, name);
  });
}

/** Undefined if missing or invalid. */
function limitOf(value: unknown): StartInfo['memoryLimit'] {
  if (typeof value !== 'object' || value === null) return undefined;
  const { bytes, from } = value as Json;
  if (typeof bytes !== 'number' || !(bytes > 0) || !Number.isFinite(bytes)) return undefined;
  return from === 'cgroup' || from === 'machine' ? { bytes, from } : undefined;
}

export function endInfo(payload: Buffer): EndInfo {
  const given = object(json(payload, 0, 'end'), 'end');
  return {
    reason: text(given.reason, 'end.reason'),
    ms: amount(given.ms, 'end.ms', MAX_MS),
    lost: amount(given.lost, 'end.lost'),
  };
}

/** Deduplicates texts and frames. */
export class Names {
  private readonly texts = new Map<string, { text: string; id: number }>();
  private readonly frames = new Map<string, Frame>();

  constructor(private readonly budget: Budget) {}

  text(value: unknown, where: string): string {
    return this.entry(text(value, where)).text;
  }

  /** The stack of a site's packet, or of a peer's answer. */
  stack(value: unknown, where: string): Frame[] {
    const all = list(value, where, MAX_FRAMES);
    this.budget.take('frames in stacks', all.length);
    return all.map((frame, i) => this.frame(object(frame, `${where}[${i}]`), `${where}[${i}]`));
  }

  labels(value: unknown, where: string): Record<string, string> {
    const entries = Object.entries(object(value, where));
    if (entries.length > MAX_NAMES)
      throw new InvalidData(`${where}: expected at most ${MAX_NAMES} names, got ${entries.length}`);
    this.budget.take('labels', entries.length);
    return Object.fromEntries(
      entries.map(([name, value]) => [this.text(name, where), this.text(value, `${where}.${shown(name)}`)]),
    );
  }

  private frame({ file, line, column, function: name }: Json, where: string): Frame {
    const its = {
      file: this.entry(text(file, `${where}.file`)),
      line: whole(line, `${where}.line`, 2 ** 32),
      column: whole(column, `${where}.column`, 2 ** 32),
      function: this.entry(text(name ?? '', `${where}.function`)),
    };
    const key = `${its.file.id}:${its.function.id}:${its.line}:${its.column}`;
    let known = this.frames.get(key);
    if (known === undefined) {
      this.budget.take('positions');
      known = { file: its.file.text, line: its.line, column: its.column, function: its.function.text };
      this.frames.set(key, known);
    }
    return known;
  }

  private entry(value: string): { text: string; id: number } {
    let known = this.texts.get(value);
    if (known === undefined) {
      this.budget.take('characters in names', value.length + 1);
      known = { text: value, id: this.texts.size };
      this.texts.set(value, known);
    }
    return known;
  }
}

export function shape(payload: Buffer, budget: Budget): number[] {
  checkLength(payload, 4, 'shape');
  const count = Math.floor((payload.length - 4) / 8);
  if (count > MAX_DIMENSIONS)
    throw new InvalidData(`shape: expected at most ${MAX_DIMENSIONS} sizes, got ${count.toLocaleString('en-US')}`);
  budget.take('sizes in shapes', count);
  return Array.from({ length: count }, (_, i) => Number(payload.readBigInt64LE(4 + 8 * i)));
}
