/** Sites of a capture: the series with the same source position, summed up. */
import type { Capture } from '../capture/capture';
import { IdMap } from '../capture/id-map';
import type { Frame, Series } from '../capture/records';
import { SourceMaps } from '../code/source-maps';

/** Names in place of a file, for what has no line of the program. */
export const UNLOCATED = {
  noStack: '(no JavaScript stack)',
  beforeAttach: '(before attach)',
  outside: '(not in JS tensors)',
  notSampled: '(not sampled)',
} as const;

/** Tensors without a stack: made by native code outside any JS call of the library. */
export const NO_STACK: Frame = { file: UNLOCATED.noStack, line: 0, column: 0, function: '' };

/** Whether the site stands for tensors from before the recording (native/audit/recorder_capture.cpp). */
export const isInventory = ({ file, line }: Pick<Frame, 'file' | 'line'>): boolean =>
  line === 0 && file === UNLOCATED.beforeAttach;

export interface Group {
  frame: Frame;
  members: { series: Series; stack: Frame[] }[];
}

/** A stack in terms of the original source, without Node's own frames. */
export function sourceStack(raw: Frame[], maps: SourceMaps): Frame[] {
  return raw.filter(({ file }) => file !== '' && !file.startsWith('node:')).map((frame) => maps.resolve(frame));
}

export function groupByPosition(capture: Capture, wanted: Series[], maps = new SourceMaps()): Group[] {
  const stacks = new IdMap<Frame[]>();
  const groups = new Map<string, Group>();
  for (const series of wanted) {
    let stack = stacks.get(series.siteId);
    if (stack === undefined) {
      stack = sourceStack(capture.stacks.get(series.siteId) ?? [], maps);
      stacks.set(series.siteId, stack);
    }
    const frame = stack[0] ?? NO_STACK;
    const key = `${frame.file}:${frame.line}:${frame.column}`;
    const group = groups.get(key) ?? { frame, members: [] };
    group.members.push({ series, stack });
    groups.set(key, group);
  }
  return [...groups.values()];
}

/** The stack with most live bytes of those that end at the position. */
export function stackOf({ members }: Group): Frame[] {
  const last = (member: { series: Series }) => member.series.liveBytes.at(-1)!;
  return members.reduce((a, b) => (last(b) > last(a) ? b : a)).stack;
}

/** The first round in which one of the series has a value. */
export function firstRound(all: Series[]): number {
  return all.reduce((first, series) => Math.min(first, series.ticks[0] ?? 0), Number.POSITIVE_INFINITY);
}

/** The earliest birth of the tensors that are live before round `end`; null if there are none. */
export function oldestOf(all: Series[], end: number): number | null {
  let oldest: number | null = null;
  for (const series of all) {
    let i = series.ticks.length - 1;
    while (i >= 0 && series.ticks[i]! >= end) i--;
    const birth = series.oldestBirthMs[i] ?? Number.NaN;
    if (!Number.isNaN(birth)) oldest = Math.min(oldest ?? birth, birth);
  }
  return oldest;
}

/** The sum of several series at every round. */
export function totalOf(all: Series[], rounds: number, values: (series: Series) => number[]): number[] {
  const total = new Array<number>(Math.max(1, rounds)).fill(0);
  for (const series of all) {
    const own = values(series);
    for (let i = 0; i < own.length; i++) {
      const end = series.ticks[i + 1] ?? rounds;
      for (let tick = series.ticks[i]!; tick < end; tick++) total[tick]! += own[i]!;
    }
  }
  return total;
}

/** The last value of that sum. */
export function lastOf(all: Series[], values: (series: Series) => number[]): number {
  return all.reduce((sum, series) => sum + (values(series).at(-1) ?? 0), 0);
}

/** `cuda` matches all CUDA devices. */
export function deviceMatches(device: string, wanted: string | undefined): boolean {
  return wanted === undefined || device === wanted || device.startsWith(`${wanted}:`);
}

/**
 * The last full collection before round `end`, for a series that begins with round `from`: a time before it began (it is
 * counted up to a round late, so two rounds are subtracted), and the round that counted it.
 */
export function lastCollection(
  { ticks }: Capture,
  from: number,
  end: number,
): { lastCollectionMs?: number; lastCollectionRound?: number } {
  for (let i = Math.min(end, ticks.length) - 1; i >= Math.max(2, from); i--) {
    if (ticks[i]!.collections <= ticks[i - 1]!.collections) continue;
    return { lastCollectionMs: ticks[i - 2]!.ms, lastCollectionRound: i - from };
  }
  return {};
}

/** The index of the process that defined a site. Environments of merged captures are numbered by process. */
export const processOf = ({ environments }: Capture, siteId: number): number =>
  Math.floor((environments.get(siteId) ?? 0) / 0x10000);
