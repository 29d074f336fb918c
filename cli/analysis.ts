/** From a capture to a report: stacks through source maps, sites by position, a verdict for each. */
import type { Capture, Series } from './capture/capture';
import { IdMap } from './capture/id_map';
import { judgeHidden, likelyRoot } from './hidden';
import { REPORT_VERSION, type Report, type Shortfall, type SiteReport } from './report';
import { falseDiscovery } from './rules/false_discovery';
import {
  ERROR,
  enoughRounds,
  type Judgement,
  judge,
  type RuleOptions,
  type SiteVerdict,
  unsure,
} from './rules/verdict';
import {
  deviceMatches,
  firstRound,
  type Group,
  groupByPosition,
  lastCollection,
  lastOf,
  oldestOf,
  stackOf,
  totalOf,
} from './sites';
import { type SummaryOptions, summarise } from './summary';

export interface AnalysisOptions extends SummaryOptions {
  /** Is told how many sites are judged, of how many. */
  seen?: (judged: number, of: number) => void;
}

const RANK: Record<SiteVerdict, number> = { leak: 0, insufficient: 1, cache: 2, steady: 3 };

/** Above this share of all allocations, a site is itself the program's work, which then tells nothing about it. */
const OWN_WORK = 0.9;

export function analyse(capture: Capture, options: AnalysisOptions = {}): Report {
  const wanted = [...capture.series.values()].filter((series) => deviceMatches(series.device, options.device));
  const work = totalOf(wanted, capture.ticks.length, (series) => series.allocatedTensors);
  const groups = groupByPosition(capture, wanted);
  const order = new IdMap<number>();
  for (const environment of capture.ended.keys()) order.set(environment, order.size);
  const judged = groups.map((group, i) => {
    options.seen?.(i, groups.length);
    return judgeGroup(capture, group, work, order, options);
  });
  // The more sites there are, the surer each leak has to be.
  const errors = falseDiscovery(judged.map(({ judgement }) => judgement.p));
  const all = groups.map((group, i) => reportSite(capture, group, judged[i]!, errors[i]!));
  const growing = groups.flatMap((group, i) =>
    all[i]!.verdict === 'leak' || all[i]!.verdict === 'cache' ? group.members.map(({ series }) => series) : [],
  );
  // Where only totals were recorded no site is known to grow, and still tensors show what they hold.
  const explained =
    capture.start?.mode === 'counters'
      ? capture.ticks.map((tick) => tick.bytes)
      : totalOf(growing, capture.ticks.length, (series) => series.liveBytes);
  const hidden = judgeHidden(capture, explained, options);
  if (hidden.verdict === 'leak' && deviceMatches('cpu', options.device)) blame(capture, groups, all, hidden, options);
  const found = all
    .filter((site) => site.allocatedTensors > 0 || site.liveTensors > 0 || site.verdict === 'leak')
    .sort(
      (a, b) =>
        RANK[a.verdict] - RANK[b.verdict] ||
        b.growthBytesPerMinute - a.growthBytesPerMinute ||
        b.growthTensorsPerMinute - a.growthTensorsPerMinute ||
        b.liveBytes - a.liveBytes ||
        b.liveTensors - a.liveTensors ||
        b.allocatedBytes - a.allocatedBytes,
    );
  // Whatever is left out of the table, the verdict is of all.
  const isLeak = found.some((site) => site.verdict === 'leak');
  const insufficient = isLeak ? null : shortfall(capture, found, options);
  const { minAgeMs } = options;
  return {
    version: REPORT_VERSION,
    verdict: isLeak ? 'leak' : insufficient === null ? 'clean' : 'insufficient',
    summary: summarise(capture, { sites: found, hidden, insufficient }, options),
    sites: found.filter(({ oldestMs }) => minAgeMs === undefined || (oldestMs !== null && oldestMs >= minAgeMs)),
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
    marks: capture.marks,
  };
}

/** What is missing for "clean", where nothing leaks. A short capture is enough when nothing lives at its end. */
function shortfall({ start, ticks }: Capture, sites: SiteReport[], options: AnalysisOptions): Shortfall | null {
  if (start === undefined) return 'not-loaded';
  const total = options.device === undefined ? (ticks.at(-1)?.tensors ?? 0) : 0;
  const alive = total > 0 || sites.some((site) => site.liveTensors > 0);
  if (ticks.length === 0 || (alive && !enoughRounds(ticks.length, options))) return 'few-rounds';
  if (start.mode === 'counters' && total > 0) return 'counters';
  return sites.some(isYoungAndGrows) ? 'young-sites' : null;
}

/** It began too late to be judged, and looks like a leak so far. */
export const isYoungAndGrows = (site: SiteReport): boolean =>
  site.verdict === 'insufficient' && (site.growthBytesPerMinute > 0 || site.growthTensorsPerMinute > 0);

interface Judged {
  judgement: Judgement;
  /** Birth of the oldest that it holds, or held when its thread ended. */
  oldest: number | null;
}

/** `order`: of the threads that ended, in which order. */
function judgeGroup(
  capture: Capture,
  group: Group,
  work: number[],
  order: IdMap<number>,
  options: RuleOptions,
): Judged {
  const all = group.members.map((member) => member.series);
  const rounds = capture.ticks.length;
  const ownWork = lastOf(all, (series) => series.allocatedTensors) >= OWN_WORK * work.at(-1)!;
  const judgeUntil = (end: number, its: Series[]) => {
    const oldest = oldestOf(its, end);
    // A site that joins late has its own beginning; its rounds before it tell nothing.
    const from = Math.max(0, firstRound(its));
    const judgement = judge(
      {
        ms: capture.ticks.slice(from, end).map((tick) => tick.ms),
        liveBytes: totalOf(its, rounds, (series) => series.liveBytes).slice(from, end),
        liveTensors: totalOf(its, rounds, (series) => series.liveTensors).slice(from, end),
        ...(oldest === null ? {} : { oldestBirthMs: oldest }),
        ...lastCollection(capture, from, end),
        ...(ownWork ? {} : { work: work.slice(from, end) }),
      },
      options,
    );
    return { judgement, oldest };
  };
  const atEnd = judgeUntil(rounds, all);
  if (atEnd.judgement.verdict === 'leak') return atEnd;
  // What a worker thread held is freed when it ends; it may have leaked until then all the same.
  const ended: Judged[] = [];
  for (const [environment, its] of endedSeries(capture, all, order)) {
    const { judgement, oldest } = judgeUntil(capture.ended.get(environment)! + 1, its);
    ended.push({ judgement, oldest: atEnd.oldest ?? oldest });
    if (judgement.verdict === 'leak') return ended.at(-1)!;
  }
  // One that ended too soon to tell, and grew until then. Where several came and went, none lives long enough to leak.
  const only = ended.length === 1 ? ended[0]!.judgement : undefined;
  const grew = (only?.growthBytesPerMinute ?? 0) > 0 || (only?.growthTensorsPerMinute ?? 0) > 0;
  return only?.verdict === 'insufficient' && grew ? ended[0]! : atEnd;
}

/** What each thread that ended had of them: there may be as many threads as sites, so neither is gone through for each other. */
function endedSeries(capture: Capture, all: Series[], order: IdMap<number>): [number, Series[]][] {
  const found = new IdMap<Series[]>();
  for (const series of all) {
    const environment = capture.environments.get(series.siteId);
    if (environment === undefined || !order.has(environment)) continue;
    const known = found.get(environment);
    if (known === undefined) found.set(environment, [series]);
    else known.push(series);
  }
  return [...found].sort(([a], [b]) => order.get(a)! - order.get(b)!);
}

/** `error`: the share of false finds among the leaks if this one is taken for one. */
function reportSite(capture: Capture, group: Group, { judgement: first, oldest }: Judged, error: number): SiteReport {
  const all = group.members.map((member) => member.series);
  const judgement = first.verdict === 'leak' && error > ERROR ? unsure(first) : first;
  const atEnd = (values: (series: Series) => number[]) => lastOf(all, values);
  const liveTensors = atEnd((series) => series.liveTensors);
  return {
    ...group.frame,
    stack: stackOf(group),
    devices: [...new Set(all.map((series) => series.device))].sort(),
    liveTensors,
    liveBytes: atEnd((series) => series.liveBytes),
    allocatedTensors: atEnd((series) => series.allocatedTensors),
    allocatedBytes: atEnd((series) => series.allocatedBytes),
    growthBytesPerMinute: Math.round(judgement.growthBytesPerMinute),
    growthLowBytesPerMinute: finite(judgement.lowBytesPerMinute),
    growthHighBytesPerMinute: finite(judgement.highBytesPerMinute),
    growthTensorsPerMinute: Math.round(judgement.growthTensorsPerMinute * 10) / 10,
    hiddenGrowthBytesPerMinute: 0,
    oldestMs: oldest === null || liveTensors === 0 ? null : Math.max(0, capture.durationMs - oldest),
    sinceMs: oldest,
    verdict: judgement.verdict,
    kind: judgement.kind,
    confidence: judgement.verdict === 'leak' ? 1 - error : null,
  };
}

/** JSON has no infinity: too few rounds for a bound. */
const finite = (value: number) => (Number.isFinite(value) ? Math.round(value) : null);

/** Adds hidden growth to the site that most likely causes it: a leak that is seen, an inferred line, or none. */
function blame(capture: Capture, groups: Group[], sites: SiteReport[], hidden: Judgement, options: RuleOptions): void {
  const growth = Math.round(hidden.growthBytesPerMinute);
  const seen = sites
    .filter((site) => site.verdict === 'leak')
    .reduce<SiteReport | undefined>(
      (a, b) => (a === undefined || b.growthTensorsPerMinute > a.growthTensorsPerMinute ? b : a),
      undefined,
    );
  if (seen !== undefined) {
    seen.hiddenGrowthBytesPerMinute = growth;
    seen.growthBytesPerMinute += growth;
    return;
  }
  const root = likelyRoot(capture, groups, options);
  const found = root === undefined ? unknownSite(capture) : sites[groups.indexOf(root)]!;
  if (root === undefined) sites.push(found);
  Object.assign(found, {
    growthBytesPerMinute: growth,
    growthLowBytesPerMinute: finite(hidden.lowBytesPerMinute),
    growthHighBytesPerMinute: finite(hidden.highBytesPerMinute),
    hiddenGrowthBytesPerMinute: growth,
    verdict: 'leak',
    kind: 'leak',
    confidence: 1 - hidden.p,
  } satisfies Partial<SiteReport>);
}

function unknownSite(capture: Capture): SiteReport {
  return {
    file: '(seen by no tensor)',
    line: 0,
    column: 0,
    function: '',
    stack: [],
    devices: ['cpu'],
    liveTensors: 0,
    liveBytes: Math.max(0, (capture.ticks.at(-1)?.allocatedBytes ?? 0) - (capture.ticks.at(-1)?.bytes ?? 0)),
    allocatedTensors: 0,
    allocatedBytes: 0,
    growthBytesPerMinute: 0,
    growthLowBytesPerMinute: 0,
    growthHighBytesPerMinute: 0,
    growthTensorsPerMinute: 0,
    hiddenGrowthBytesPerMinute: 0,
    oldestMs: null,
    sinceMs: null,
    verdict: 'leak',
    kind: 'leak',
    confidence: null,
  };
}
