/** Captures of a group of processes (torch.distributed): what each rank holds, and in which ranks a site grows. */
import type { Capture } from '../capture/capture';
import type { Series } from '../capture/records';
import type { RankReport, Report, SiteOnRank } from './report';
import { groupByPosition, processOf } from './sites';

/** Missing ranks that are named. */
const MAX_MISSING = 100;

/** Adds the ranks, if processes of the capture are some. */
export function withRanks(report: Report, capture: Capture): Report {
  const ranks = ranksOf(capture);
  if (ranks.length === 0) return report;
  const sites = sitesOnRanks(capture);
  const missing = missingOf(capture, ranks);
  return {
    ...report,
    ranks,
    ...(missing.length === 0 ? {} : { missingRanks: missing }),
    sites: report.sites.map((site) => ({ ...site, ranks: sites.get(keyOf(site)) ?? [] })),
  };
}

function ranksOf({ processes }: Capture): RankReport[] {
  const last = new Map<number, RankReport & { startMs: number }>();
  for (const { pid, startMs, rank: its } of processes) {
    if (its === undefined || (last.get(its.rank)?.startMs ?? Number.NEGATIVE_INFINITY) > startMs) continue;
    const { worldSize: _size, ...figures } = its;
    last.set(its.rank, { ...figures, pid, skewBytes: 0, startMs });
  }
  const ranks = [...last.values()].sort((a, b) => a.rank - b.rank);
  const middle = medianOf(ranks.map(({ liveBytes }) => liveBytes));
  return ranks.map(({ startMs: _start, ...rank }) => ({ ...rank, skewBytes: rank.liveBytes - middle }));
}

function medianOf(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[half]! : Math.round(((sorted[half - 1] ?? 0) + (sorted[half] ?? 0)) / 2);
}

function missingOf({ processes }: Capture, ranks: RankReport[]): number[] {
  const size = processes.reduce((most, { rank }) => Math.max(most, rank?.worldSize ?? 0), 0);
  const there = new Set(ranks.map(({ rank }) => rank));
  const missing: number[] = [];
  for (let rank = 0; rank < size && missing.length < MAX_MISSING; rank++) if (!there.has(rank)) missing.push(rank);
  return missing;
}

/** By position of the site. */
function sitesOnRanks(capture: Capture): Map<string, SiteOnRank[]> {
  const quarter = Math.floor(capture.ticks.length / 4);
  const found = new Map<string, SiteOnRank[]>();
  for (const { frame, members } of groupByPosition(capture, [...capture.series.values()])) {
    const rows = new Map<number, SiteOnRank>();
    for (const { series } of members) {
      const rank = capture.processes[processOf(capture, series.siteId)]?.rank?.rank;
      if (rank === undefined) continue;
      const row = rows.get(rank) ?? { rank, liveTensors: 0, liveBytes: 0, grownTensors: 0, grownBytes: 0 };
      const [tensors, bytes] = [series.liveTensors.at(-1) ?? 0, series.liveBytes.at(-1) ?? 0];
      row.liveTensors += tensors;
      row.liveBytes += bytes;
      row.grownTensors += tensors - valueAt(series, series.liveTensors, quarter);
      row.grownBytes += bytes - valueAt(series, series.liveBytes, quarter);
      rows.set(rank, row);
    }
    const order = [...rows.values()];
    order.sort((a, b) => b.grownBytes - a.grownBytes || b.grownTensors - a.grownTensors || a.rank - b.rank);
    found.set(keyOf(frame), order);
  }
  return found;
}

/** The value of a series in a round. */
function valueAt({ ticks }: Series, values: number[], round: number): number {
  let i = ticks.length - 1;
  while (i >= 0 && ticks[i]! > round) i--;
  return i < 0 ? 0 : values[i]!;
}

const keyOf = ({ file, line, column }: { file: string; line: number; column: number }) => `${file}:${line}:${column}`;
