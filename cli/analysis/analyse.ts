/** Turns a capture into a report: resolves source maps, groups by position, and judges each site. */
import type { Capture } from '../capture/capture';
import type { Series, Tick } from '../capture/records';
import { variableAt } from '../code/variable';
import { falseDiscovery } from '../rules/statistics/false-discovery';
import {
  inconclusive,
  type Judgement,
  MAX_FALSE_SHARE,
  notSignificant,
  type RuleOptions,
  type SiteKind,
  VERDICT_RANK,
} from '../rules/verdict';
import { enoughRounds, roundsNeeded } from '../rules/warmup';
import { addCauses } from './causes';
import { graphReport, hiddenAllocator, hiddenBytesOf, likelyCarrier, type Root, rootOf } from './graphs';
import { grownTensors } from './grown-tensors';
import {
  doubtful,
  type Hidden,
  isFilling,
  isHeldOrFreed,
  judgeHidden,
  likelyHiddenRoot,
  riseAtCollections,
} from './hidden';
import { addHistory } from './histories';
import { type Judged, judgeGroup, type Program, programOf } from './judging';
import { REPORT_VERSION, type Report, type Shortfall, type SiteReport } from './report';
import { isThinned, judgeSampled, type Sampled } from './sampled';
import {
  deviceMatches,
  firstRound,
  type Group,
  groupByPosition,
  isInventory,
  lastOf,
  stackOf,
  totalOf,
  UNLOCATED,
} from './sites';
import { type ProcessGrowth, processGrowth, type SummaryOptions, summarise } from './summary';

export interface AnalysisOptions extends SummaryOptions {
  /** Called with the number of judged sites and their total. */
  seen?: (judged: number, of: number) => void;
}

/** Sites of these kinds account for growth of libtorch's memory. */
const GROWING: SiteKind[] = ['leak', 'filling-cache', 'full-cache', 'grew-to-the-end'];

/** What the steps of an analysis work on: the sites are in the order of the groups, and may be followed by others. */
interface Sites {
  readonly program: Program;
  readonly groups: Group[];
  readonly judged: readonly Judged[];
  readonly all: SiteReport[];
  /** The site whose value carries a growing graph. */
  readonly root: Root | undefined;
  /** Judged by the estimates of a sampled capture. */
  readonly sampled: Sampled | undefined;
}

export function analyse(capture: Capture, options: AnalysisOptions = {}): Report {
  const wanted = [...capture.series.values()].filter((series) => deviceMatches(series.device, options.device));
  const groups = groupByPosition(capture, wanted);
  const sites = judgeSites(programOf(capture, groups, wanted), groups, options);
  const { all, root, sampled } = sites;
  const { hidden, isHidden } = judgeOutside(sites, options);
  if (sampled?.unsampled !== undefined)
    all.push({ ...unknownSite(capture), file: UNLOCATED.notSampled, liveBytes: 0, ...sampled.unsampled });
  const process = processGrowth(capture, options);
  if (root !== undefined) countNodes(all[groups.indexOf(root.group)]!, root, process);
  explain(sites, wanted, options);
  const found = ranked(all);
  // The verdict covers all sites, including those that the table omits.
  const isLeak = hasLeak(found);
  const sufficientBytes = sampled?.sufficientBytes ?? null;
  const insufficient = isLeak ? null : shortfall(capture, found, options, sufficientBytes);
  const young = groups.filter((_, i) => isYoungAndGrowing(all[i]!));
  // A longer run on a full disk records no more.
  const sufficientMs =
    insufficient === null || capture.wasFull ? null : sufficient(capture, young, insufficient, options);
  const { minAgeMs } = options;
  return {
    version: REPORT_VERSION,
    verdict: isLeak ? 'leak' : insufficient === null ? 'clean' : 'insufficient',
    summary: summarise(
      capture,
      {
        sites: found,
        hidden: isHidden ? hidden.judgement : undefined,
        process,
        insufficient,
        sufficientMs,
        sufficientBytes,
      },
      options,
    ),
    sites: found.filter(({ oldestMs }) => minAgeMs === undefined || (oldestMs !== null && oldestMs >= minAgeMs)),
    timeline: capture.ticks.map(timelineOf),
    marks: capture.marks,
  };
}

const hasLeak = (sites: readonly SiteReport[]): boolean => sites.some(({ verdict }) => verdict === 'leak');

const timelineOf = (tick: Tick): Report['timeline'][number] => ({
  ms: tick.ms,
  liveTensors: tick.tensors,
  liveStorages: tick.storages,
  liveBytes: tick.bytes,
  allocatedBytes: tick.allocatedBytes,
  heapUsed: tick.heapUsed,
  external: tick.external,
  rss: tick.rss,
});

/** Judges each site by its tensors, then the one that carries a growing graph, then those of which only samples are known. */
function judgeSites(program: Program, groups: Group[], options: AnalysisOptions): Sites {
  const { capture } = program;
  const judged = groups.map((group, i) => {
    options.seen?.(i, groups.length);
    return judgeGroup(program, group, options);
  });
  // The more sites there are, the more significant each leak must be.
  const errors = falseDiscovery(judged.map(({ judgement }) => judgement.p));
  const all = groups.map((group, i) => reportSite(capture, group, judged[i]!, errors[i]!));
  const root = rootWithLine(program, rootOf(program, options), options);
  const savedBytes = all.reduce((sum, { hiddenBytes }) => sum + hiddenBytes, 0);
  if (root !== undefined) addGraph(all[groups.indexOf(root.group)]!, root, savedBytes);
  const isSampled = isThinned(capture) && options.device === undefined;
  return { program, groups, judged, all, root, sampled: isSampled ? judgeSampled(program, all, options) : undefined };
}

/** The bytes of tensors in each round that account for growth of libtorch's memory. */
function explainedBytes({ program: { capture }, groups, all, sampled }: Sites): number[] {
  // If only totals were recorded, no site is known, but the bytes of all tensors are; and estimates cannot be subtracted.
  if (capture.start?.mode === 'counters' || sampled?.isGrowing === true) return capture.ticks.map(({ bytes }) => bytes);
  const growing = groups.flatMap((group, i) =>
    GROWING.includes(all[i]!.kind) || isYoungAndGrowing(all[i]!) ? group.members.map(({ series }) => series) : [],
  );
  return totalOf(sampled === undefined ? growing : [], capture.ticks.length, (series) => series.liveBytes);
}

/**
 * Judges libtorch's memory outside tensors, and attributes its growth to a site. `isHidden`: whether it is outside of tensors,
 * or else of tensors of which no single site grows.
 */
function judgeOutside(sites: Sites, options: AnalysisOptions): { hidden: Hidden; isHidden: boolean } {
  const { program, all, sampled } = sites;
  const explained = explainedBytes(sites);
  const hidden = judgeHidden(program, explained, options);
  if (!deviceMatches('cpu', options.device)) return { hidden, isHidden: true };
  const attribute = (found: Hidden) => attributeHidden(program, all, found, options);
  const isHidden = !isHeldOrFreed(hidden) || !addGrownTensors(sites, hidden, explained, options);
  if (isHeldOrFreed(hidden) && isHidden) attribute(hidden);
  const rose = hasLeak(all) ? undefined : riseAtCollections(program, hidden, options);
  if (rose !== undefined) attribute(rose);
  const { kind, growthBytesPerMinute } = hidden.judgement;
  const isUnsure = kind === 'insufficient' && growthBytesPerMinute > 0 && enoughRounds(hidden.rounds, options);
  if (isUnsure && !hasLeak(all)) attribute(hidden);
  // Without all samples, a graph that still grows may not have been seen, so that this is not certainly a cache.
  if (sampled !== undefined && isFilling(hidden) && !hasLeak(all)) attribute(doubtful(hidden));
  return { hidden, isHidden };
}

/** If what leaks are tensors of many sites that do not grow by themselves, the likeliest site is called the leak. */
function addGrownTensors(
  { program, groups, judged, all }: Sites,
  hidden: Hidden,
  explained: number[],
  options: RuleOptions,
): boolean {
  if (hidden.judgement.verdict !== 'leak') return false;
  const grown = grownTensors(program, judged, explained, hidden.rounds, options);
  if (grown === undefined) return false;
  const growthTensorsPerMinute = Math.round(grown.tensorsPerMinute * 10) / 10;
  const judgement = grown.isGradual ? hidden.judgement : inconclusive(hidden.judgement);
  Object.assign(all[groups.indexOf(grown.group)]!, asJudged(judgement), { growthTensorsPerMinute });
  return true;
}

/** Adds to the sites that grow when that began, and what is the likely cause. */
function explain({ program: { capture }, groups, all, root }: Sites, wanted: Series[], options: AnalysisOptions): void {
  for (const [i, site] of all.entries()) {
    if (site.verdict !== 'leak' && !isYoungAndGrowing(site)) continue;
    addHistory(capture, site, groups[i], root?.group === groups[i] ? root : undefined);
  }
  if (options.device !== undefined) return;
  const leaks = groups.flatMap((group, i) => (all[i]!.verdict === 'leak' ? [{ site: all[i]!, group }] : []));
  const seen = totalOf(wanted, capture.ticks.length, (series) => series.liveBytes).at(-1)!;
  addCauses(capture, leaks, Math.max(0, (capture.ticks.at(-1)?.bytes ?? 0) - seen));
}

/** The sites that made tensors or are suspected, in the order of the report. */
const ranked = (sites: readonly SiteReport[]): SiteReport[] =>
  sites
    .filter(
      (site) =>
        site.allocatedTensors > 0 || site.liveTensors > 0 || VERDICT_RANK[site.verdict] <= VERDICT_RANK.insufficient,
    )
    .sort(
      (a, b) =>
        VERDICT_RANK[a.verdict] - VERDICT_RANK[b.verdict] ||
        b.growthBytesPerMinute - a.growthBytesPerMinute ||
        b.growthTensorsPerMinute - a.growthTensorsPerMinute ||
        b.liveBytes - a.liveBytes ||
        b.liveTensors - a.liveTensors ||
        b.allocatedBytes - a.allocatedBytes,
    );

/** Without a leak: why the verdict is not `clean`, or null. A short capture is enough if no tensor is live at its end. */
function shortfall(
  { start, ticks, tornBytes }: Capture,
  sites: SiteReport[],
  options: AnalysisOptions,
  sufficientBytes: number | null,
): Shortfall | null {
  if (start === undefined) return 'not-loaded';
  const total = options.device === undefined ? (ticks.at(-1)?.tensors ?? 0) : 0;
  const alive = total > 0 || sites.some((site) => site.liveTensors > 0);
  // What came after the end of a truncated file is not known.
  const isOpen = alive || tornBytes > 0;
  if (ticks.length === 0 || (isOpen && !enoughRounds(ticks.length, options))) return 'few-rounds';
  if (start.mode === 'counters' && total > 0) return 'counters';
  const growing = sites.filter(isYoungAndGrowing);
  if (growing.length === 0) return null;
  if (sufficientBytes !== null) return 'few-samples';
  return growing[0]!.kind === 'grew-to-the-end' ? 'grew-to-the-end' : 'young-sites';
}

/** Looks like a leak, but began too late to be judged, or may have been used and freed at the end. */
export const isYoungAndGrowing = (site: SiteReport): boolean =>
  site.verdict === 'insufficient' &&
  (site.growthBytesPerMinute > 0 || site.growthTensorsPerMinute > 0 || site.graph !== null);

/** `error`: the false discovery rate if this site is called a leak. */
function reportSite(capture: Capture, group: Group, judged: Judged, error: number): SiteReport {
  const { judgement: first, oldest, freedMs } = judged;
  const all = group.members.map((member) => member.series);
  const judgement = first.verdict === 'leak' && error > MAX_FALSE_SHARE ? notSignificant(first, error) : first;
  const atEnd = (values: (series: Series) => number[]) => lastOf(all, values);
  const liveTensors = atEnd((series) => series.liveTensors);
  return {
    ...group.frame,
    stack: stackOf(group),
    devices: [...new Set(all.map((series) => series.device))].sort(),
    ...placesOf(capture, all),
    liveTensors,
    liveBytes: atEnd((series) => series.liveBytes),
    allocatedTensors: atEnd((series) => series.allocatedTensors),
    allocatedBytes: atEnd((series) => series.allocatedBytes),
    growthBytesPerMinute: Math.round(judgement.growthBytesPerMinute),
    growthLowBytesPerMinute: finite(judgement.lowBytesPerMinute),
    growthHighBytesPerMinute: finite(judgement.highBytesPerMinute),
    growthTensorsPerMinute: Math.round(judgement.growthTensorsPerMinute * 10) / 10,
    hiddenGrowthBytesPerMinute: 0,
    hiddenBytes: hiddenBytesOf(capture, group),
    graph: null,
    oldestMs: oldest === null || liveTensors === 0 ? null : Math.max(0, capture.durationMs - oldest),
    sinceMs: oldest,
    onsetMs: null,
    freedMs: judgement.verdict === 'leak' || judgement.verdict === 'insufficient' ? freedMs : null,
    verdict: judgement.verdict,
    kind: judgement.kind,
    confidence: judgement.verdict === 'leak' ? 1 - error : null,
  };
}

/** How many threads and processes made tensors at the lines of the series. */
function placesOf({ environments }: Capture, all: Series[]): { threads: number; processes: number } {
  const known = all.map(({ siteId }) => environments.get(siteId)).filter((thread) => thread !== undefined);
  const threads = new Set(known.length === 0 ? [0] : known);
  // The numbers of threads of joined processes have that of their process in their upper bits.
  return { threads: threads.size, processes: new Set([...threads].map((thread) => thread >>> 16)).size };
}

/** Memory of one node of a graph, with the objects that only it holds; larger growth of the process has other causes. */
const MAX_NODE_BYTES = 4096;

/** Counts growth of the process that goes with a growing graph to its line: nodes are not in libtorch's allocator. */
function countNodes(site: SiteReport, { judgement }: Root, process: ProcessGrowth): void {
  const { retained } = process;
  if (site.graph === null || site.verdict !== 'leak' || retained.rate === 0) return;
  const most = judgement.growthTensorsPerMinute * MAX_NODE_BYTES;
  const share = Math.min(1, most / retained.rate);
  site.graph.processBytesPerMinute = Math.round(share * retained.rate);
  site.growthBytesPerMinute += site.graph.processBytesPerMinute;
  if (site.growthLowBytesPerMinute !== null) site.growthLowBytesPerMinute += Math.round(share * retained.low);
  if (site.growthHighBytesPerMinute !== null) site.growthHighBytesPerMinute += Math.round(share * retained.high);
  const rest = Math.round(retained.rate * (1 - share));
  process.retained = { rate: rest, low: Math.min(rest, retained.low), high: Math.max(rest, retained.high) };
}

/** The duration of a capture with enough rounds: of all sites, or of a site that began late. */
function sufficient(capture: Capture, groups: Group[], insufficient: Shortfall, options: RuleOptions): number | null {
  const { start, ticks } = capture;
  if (start === undefined || (insufficient !== 'few-rounds' && insufficient !== 'young-sites')) return null;
  const since =
    insufficient === 'few-rounds'
      ? 0
      : groups.reduce((last, group) => {
          const first = firstRound(group.members.map(({ series }) => series));
          return Number.isFinite(first) ? Math.max(last, ticks[first]?.ms ?? 0) : last;
        }, 0);
  const interval = ticks.length > 1 ? (ticks.at(-1)!.ms - ticks[0]!.ms) / (ticks.length - 1) : start.intervalMs;
  const enough = Math.ceil(since + roundsNeeded(options) * Math.max(interval, start.intervalMs));
  const ms = ticks.at(-1)?.ms ?? 0;
  if (enough > ms) return enough;
  return insufficient === 'few-rounds' ? null : Math.ceil(2 * ms); // growth in doubt shows in twice the time
}

/** A tensor from before attaching has no line: the line that allocated most of what its graph holds stands for it. */
function rootWithLine(program: Program, root: Root | undefined, options: RuleOptions): Root | undefined {
  if (root === undefined || !isInventory(root.group.frame)) return root;
  const group = hiddenAllocator(program, root.rounds, options);
  return group === undefined || isInventory(group.frame) ? root : { ...root, group, isOlder: true };
}

/** Marks the site whose value carries a growing graph. */
function addGraph(site: SiteReport, root: Root, savedBytes: number): void {
  const { judgement, freedMs, sinceMs } = root;
  site.graph = graphReport(root, root.isOlder === true ? '' : variableAt(site), savedBytes);
  if (site.verdict === 'leak') return;
  const { verdict, kind, p } = judgement;
  Object.assign(site, {
    verdict,
    kind,
    freedMs,
    sinceMs,
    confidence: verdict === 'leak' ? 1 - p : null,
  } satisfies Partial<SiteReport>);
}

/** Null for infinity, which JSON cannot represent and which means too few rounds for a bound. */
const finite = (value: number) => (Number.isFinite(value) ? Math.round(value) : null);

/** Attributes hidden growth to the most likely site: a known leak, an inferred line, or an unknown site. */
function attributeHidden(program: Program, sites: SiteReport[], found: Hidden, options: RuleOptions): void {
  const { judgement: hidden, rounds, freedMs } = found;
  const growth = Math.round(hidden.growthBytesPerMinute);
  const root = sites.find(({ graph, verdict }) => graph !== null && verdict === 'leak');
  const leak = sites
    .filter((site) => site.verdict === 'leak')
    .reduce<SiteReport | undefined>(
      (a, b) => (a === undefined || b.growthTensorsPerMinute > a.growthTensorsPerMinute ? b : a),
      undefined,
    );
  const seen = root ?? leak ?? (hidden.verdict === 'leak' ? undefined : sites.find(isYoungAndGrowing));
  if (seen !== undefined) {
    seen.hiddenGrowthBytesPerMinute = growth;
    seen.growthBytesPerMinute += growth;
    const [low, high] = [finite(hidden.lowBytesPerMinute), finite(hidden.highBytesPerMinute)];
    if (seen.growthLowBytesPerMinute !== null && low !== null) seen.growthLowBytesPerMinute += low;
    if (seen.growthHighBytesPerMinute !== null && high !== null) seen.growthHighBytesPerMinute += high;
    return;
  }
  const maker =
    likelyCarrier(program) ?? hiddenAllocator(program, rounds, options) ?? likelyHiddenRoot(program, rounds, options);
  const site = maker === undefined ? unknownSite(program.capture) : sites[program.groups.indexOf(maker)]!;
  if (maker === undefined) sites.push(site);
  Object.assign(site, asJudged(hidden), { hiddenGrowthBytesPerMinute: growth, freedMs });
}

const asJudged = (judgement: Judgement) =>
  ({
    growthBytesPerMinute: Math.round(judgement.growthBytesPerMinute),
    growthLowBytesPerMinute: finite(judgement.lowBytesPerMinute),
    growthHighBytesPerMinute: finite(judgement.highBytesPerMinute),
    verdict: judgement.verdict,
    kind: judgement.kind,
    confidence: judgement.verdict === 'leak' ? 1 - judgement.p : null,
  }) satisfies Partial<SiteReport>;

function unknownSite(capture: Capture): SiteReport {
  return {
    file: UNLOCATED.outside,
    line: 0,
    column: 0,
    function: '',
    stack: [],
    devices: ['cpu'],
    threads: 0,
    processes: 0,
    liveTensors: 0,
    liveBytes: Math.max(0, (capture.ticks.at(-1)?.allocatedBytes ?? 0) - (capture.ticks.at(-1)?.bytes ?? 0)),
    allocatedTensors: 0,
    allocatedBytes: 0,
    growthBytesPerMinute: 0,
    growthLowBytesPerMinute: 0,
    growthHighBytesPerMinute: 0,
    growthTensorsPerMinute: 0,
    hiddenGrowthBytesPerMinute: 0,
    hiddenBytes: 0,
    graph: null,
    oldestMs: null,
    sinceMs: null,
    onsetMs: null,
    freedMs: null,
    verdict: 'leak',
    kind: 'leak',
    confidence: null,
  };
}
