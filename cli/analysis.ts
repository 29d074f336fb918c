/** From a capture to a report: stacks through source maps, sites by position, a verdict for each. */
import type { Capture, Series } from './capture/capture';
import { REPORT_VERSION, type Report, type SiteReport, type Summary } from './report';
import { enoughRounds, judge, type RuleOptions, type SiteVerdict } from './rules/verdict';
import { deviceMatches, type Group, groupByPosition, oldestOf, totalOf } from './sites';

export interface AnalysisOptions extends RuleOptions {
  /** Leaves out sites whose oldest living tensor is younger. */
  minAgeMs?: number;
  /** Only tensors of this device (`cuda` means all of them). */
  device?: string;
}

const RANK: Record<SiteVerdict, number> = { leak: 0, insufficient: 1, cache: 2, steady: 3 };

/** Above this share of all allocations, a site is itself the program's work, which then tells nothing about it. */
const OWN_WORK = 0.9;

export function analyse(capture: Capture, options: AnalysisOptions = {}): Report {
  const wanted = [...capture.series.values()].filter((series) => deviceMatches(series.device, options.device));
  const work = totalOf(wanted, capture.ticks.length, (series) => series.allocatedTensors);
  const sites = groupByPosition(capture, wanted)
    .map((group) => reportSite(capture, group, work, options))
    .filter((site) => site.allocatedTensors > 0 || site.liveTensors > 0)
    .filter((site) => options.minAgeMs === undefined || (site.oldestMs !== null && site.oldestMs >= options.minAgeMs))
    .sort(
      (a, b) =>
        RANK[a.verdict] - RANK[b.verdict] ||
        b.growthBytesPerMinute - a.growthBytesPerMinute ||
        b.liveBytes - a.liveBytes ||
        b.liveTensors - a.liveTensors ||
        b.allocatedBytes - a.allocatedBytes,
    );
  return {
    version: REPORT_VERSION,
    verdict: overall(capture, sites, options),
    summary: summarise(capture, sites),
    sites,
    timeline: capture.ticks.map((tick) => ({
      ms: tick.ms,
      liveTensors: tick.tensors,
      liveStorages: tick.storages,
      liveBytes: tick.bytes,
      allocatedBytes: tick.allocatedBytes,
      heapUsed: tick.heapUsed,
      external: tick.external,
      rss: tick.rss,
    })),
  };
}

/** A short capture is enough to say "clean" when nothing lives at its end. */
function overall(capture: Capture, sites: SiteReport[], options: RuleOptions): Report['verdict'] {
  if (sites.some((site) => site.verdict === 'leak')) return 'leak';
  const alive = sites.some((site) => site.liveTensors > 0) || (capture.ticks.at(-1)?.tensors ?? 0) > 0;
  return alive && !enoughRounds(capture.ticks.length, options) ? 'insufficient' : 'clean';
}

function reportSite(capture: Capture, group: Group, work: number[], options: AnalysisOptions): SiteReport {
  const all = group.members.map((member) => member.series);
  const rounds = capture.ticks.length;
  const liveBytes = totalOf(all, rounds, (series) => series.liveBytes);
  const liveTensors = totalOf(all, rounds, (series) => series.liveTensors);
  const allocated = totalOf(all, rounds, (series) => series.allocatedTensors);
  // A site that joins late has its own beginning; its rounds before it tell nothing.
  const first = firstRound(all);
  const ownWork = allocated.at(-1)! >= OWN_WORK * work.at(-1)!;
  const judgeUntil = (end: number, from: number, bytes: number[], tensors: number[], birth: number | null) =>
    judge(
      {
        ms: capture.ticks.slice(from, end).map((tick) => tick.ms),
        liveBytes: bytes.slice(from, end),
        liveTensors: tensors.slice(from, end),
        ...(birth === null ? {} : { oldestBirthMs: birth }),
        ...lastCollection(capture, end),
        ...(ownWork ? {} : { work: work.slice(from, end) }),
      },
      options,
    );
  let oldest = oldestOf(all, rounds);
  let judgement = judgeUntil(rounds, first, liveBytes, liveTensors, oldest);
  // What a worker thread held is freed when it ends; it may have leaked until then all the same.
  for (const [environment, lastRound] of judgement.verdict === 'leak' ? [] : capture.ended) {
    const its = all.filter((series) => capture.environments.get(series.siteId) === environment);
    if (its.length === 0) continue;
    const end = lastRound + 1;
    const of = (values: (series: Series) => number[]) => totalOf(its, rounds, values);
    const birth = oldestOf(its, end);
    const from = firstRound(its);
    const endedJudgement = judgeUntil(
      end,
      from,
      of((series) => series.liveBytes),
      of((series) => series.liveTensors),
      birth,
    );
    if (endedJudgement.verdict !== 'leak') continue;
    judgement = endedJudgement;
    oldest ??= birth;
    break;
  }
  const last = (member: { series: Series }) => member.series.liveBytes.at(-1)!;
  return {
    ...group.frame,
    stack: group.members.reduce((a, b) => (last(b) > last(a) ? b : a)).stack,
    devices: [...new Set(all.map((series) => series.device))].sort(),
    liveTensors: liveTensors.at(-1)!,
    liveBytes: liveBytes.at(-1)!,
    allocatedTensors: allocated.at(-1)!,
    allocatedBytes: totalOf(all, rounds, (series) => series.allocatedBytes).at(-1)!,
    growthBytesPerMinute: Math.round(judgement.growthBytesPerMinute),
    growthTensorsPerMinute: Math.round(judgement.growthTensorsPerMinute * 10) / 10,
    oldestMs: oldest === null || liveTensors.at(-1) === 0 ? null : Math.max(0, capture.durationMs - oldest),
    sinceMs: oldest,
    verdict: judgement.verdict,
  };
}

/** Of the earliest series. Not by spreading: a damaged or crafted capture may have millions of them. */
function firstRound(all: Series[]): number {
  return all.reduce((first, series) => Math.min(first, series.ticks[0] ?? 0), Number.POSITIVE_INFINITY);
}

/** A time just before the last full collection. It is counted up to a round late, so two rounds are taken off. */
function lastCollection({ ticks }: Capture, end: number): { lastCollectionMs?: number } {
  for (let i = Math.min(end, ticks.length) - 1; i >= 2; i--) {
    if (ticks[i]!.collections > ticks[i - 1]!.collections) return { lastCollectionMs: ticks[i - 2]!.ms };
  }
  return {};
}

/** An autograd graph that is kept alive has no site: libtorch holds it, no tensor shows it. */
function unexplainedGrowth({ ticks }: Capture): number {
  const hidden = ticks.map((tick) => Math.max(0, tick.allocatedBytes - tick.bytes));
  const { verdict, growthBytesPerMinute } = judge({
    ms: ticks.map((tick) => tick.ms),
    liveBytes: hidden,
    liveTensors: hidden.map(() => 1),
  });
  return verdict === 'leak' ? growthBytesPerMinute : 0;
}

function summarise(capture: Capture, sites: SiteReport[]): Summary {
  const { start, end, ticks } = capture;
  const last = ticks.at(-1);
  const leaks = sites.filter((site) => site.verdict === 'leak');
  const peak = (of: (tick: Capture['ticks'][number]) => number) => ticks.reduce((most, t) => Math.max(most, of(t)), 0);
  return {
    command: start?.command ?? '',
    pid: start?.pid ?? null,
    mode: start?.mode ?? null,
    startedAt: start?.startedAt ?? null,
    durationMs: capture.durationMs,
    rounds: ticks.length,
    ended: start === undefined ? 'no tensors' : (end?.reason ?? 'killed'),
    liveTensors: last?.tensors ?? 0,
    liveStorages: last?.storages ?? 0,
    liveBytes: last?.bytes ?? 0,
    peakLiveBytes: peak((tick) => tick.bytes),
    allocatedBytes: last?.allocatedBytes ?? 0,
    peakAllocatedBytes: Math.max(
      last?.peakAllocatedBytes ?? 0,
      peak((tick) => tick.allocatedBytes),
    ),
    unexplainedBytes: last === undefined ? 0 : Math.max(0, last.allocatedBytes - last.bytes),
    unexplainedGrowthBytesPerMinute: Math.round(unexplainedGrowth(capture)),
    rss: last?.rss ?? 0,
    peakRss: peak((tick) => tick.rss),
    collections: last?.collections ?? 0,
    lostEvents: capture.lost,
    tornBytes: capture.tornBytes,
    leaks: leaks.length,
    leakBytesPerMinute: leaks.reduce((sum, site) => sum + site.growthBytesPerMinute, 0),
  };
}
