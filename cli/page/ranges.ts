/** What the page needs to aggregate a part of the recording: counters of stacks and sites at some of its rounds. */
import type { Report } from '../analysis/report';
import type { Group } from '../analysis/sites';
import { type StackTotals, stackKey } from '../analysis/stacks';
import type { Capture } from '../capture/capture';
import type { Series } from '../capture/records';
import { Kept } from './kept';

export interface Ranges {
  /** When a range may begin or end. */
  ms: number[];
  /** The one with the most live bytes. */
  peak: number;
  /** Of the first stacks, by the frames' numbers in `Flame.names`, outermost first; without frames, of all others. */
  stacks: { frames: number[]; live: number[]; allocated: number[]; kept: number[] }[];
  /** Of the first sites of the report, in its order. */
  sites: { liveTensors: number[]; live: number[]; allocatedTensors: number[]; allocated: number[]; kept: number[] }[];
  /** Whether `kept` is known: rows of `Kept.rowsOf`, of what was live at some point. */
  hasKept: boolean;
}

/** Steps of a range; with the counters of each stack and site, they must fit into a page. */
const MAX_POINTS = 64;
const MIN_POINTS = 16;
/** Rows of what was kept, about 20 characters each. */
const MAX_KEPT = 40_000;
const MAX_STACKS = 150;
const MAX_SITES = 150;

export function rangesOf(
  capture: Capture,
  report: Report,
  groups: Group[],
  stacks: StackTotals[],
  framesOf: (stack: StackTotals) => number[],
  groupOf: (site: Report['sites'][number]) => Group | undefined,
): Ranges {
  const { ticks } = capture;
  const highest = ticks.reduce((most, tick, i) => (tick.bytes > ticks[most]!.bytes ? i : most), 0);
  let most = MAX_POINTS;
  let rounds = pointsOf(ticks.length, highest, most);
  const keptAt = () =>
    Kept.of(
      capture,
      rounds.map((i) => ticks[i]!.ms),
    );
  let kept = keptAt();
  while (kept !== undefined && kept.size > MAX_KEPT && most > MIN_POINTS) {
    most /= 2;
    rounds = pointsOf(ticks.length, highest, most);
    kept = keptAt();
  }
  if (kept !== undefined && kept.size > MAX_KEPT) kept = undefined;
  const members = new Map<string, Series[]>();
  for (const group of groups) {
    for (const { series, stack } of group.members) {
      const key = stackKey(stack.length === 0 ? [group.frame] : stack);
      const known = members.get(key);
      if (known === undefined) members.set(key, [series]);
      else known.push(series);
    }
  }
  const at = (all: Series[], values: (series: Series) => number[]) => valuesAt(all, rounds, values);
  const sumOf = (frames: number[], all: Series[]) => ({
    frames,
    live: at(all, (series) => series.liveBytes),
    allocated: at(all, (series) => series.allocatedBytes),
    kept: kept?.rowsOf(all) ?? [],
  });
  const rest = stacks.slice(MAX_STACKS).flatMap((stack) => members.get(stackKey(stack.frames)) ?? []);
  return {
    ms: rounds.map((i) => ticks[i]!.ms),
    peak: rounds.indexOf(highest),
    hasKept: kept !== undefined,
    stacks: [
      ...stacks.slice(0, MAX_STACKS).map((stack) => sumOf(framesOf(stack), members.get(stackKey(stack.frames)) ?? [])),
      ...(rest.length > 0 ? [sumOf([], rest)] : []),
    ],
    sites: report.sites.slice(0, MAX_SITES).map((site) => {
      const all = groupOf(site)?.members.map(({ series }) => series) ?? [];
      return {
        liveTensors: at(all, (series) => series.liveTensors),
        live: at(all, (series) => series.liveBytes),
        allocatedTensors: at(all, (series) => series.allocatedTensors),
        allocated: at(all, (series) => series.allocatedBytes),
        kept: kept?.rowsOf(all) ?? [],
      };
    }),
  };
}

/** Rounds at equal distances, always with the first, the last and the highest. */
function pointsOf(rounds: number, highest: number, most: number): number[] {
  if (rounds === 0) return [];
  const count = Math.min(rounds, most);
  const even = Array.from({ length: count }, (_, k) => Math.round((k * (rounds - 1)) / Math.max(1, count - 1)));
  return [...new Set([...even, highest])].sort((a, b) => a - b);
}

/** The sum of several series at some rounds, which ascend. */
export function valuesAt<S extends { ticks: number[] }>(
  all: S[],
  rounds: number[],
  values: (series: S) => number[],
): number[] {
  const sums = rounds.map(() => 0);
  for (const series of all) {
    const own = values(series);
    let i = -1;
    for (const [k, round] of rounds.entries()) {
      while (i + 1 < series.ticks.length && series.ticks[i + 1]! <= round) i++;
      if (i >= 0) sums[k]! += own[i]!;
    }
  }
  return sums.map(Math.round);
}
