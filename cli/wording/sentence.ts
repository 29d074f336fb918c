/** The verdict in one sentence: what leaks, since when, how fast, how certain, and when memory runs out. */
import { isYoungAndGrowing } from '../analysis/analyse';
import { GRADIENT_REMEDY } from '../analysis/causes';
import type { GraphReport, Report, SiteReport, Summary } from '../analysis/report';
import { plainColors } from '../terminal/colors';
import { counted, formatBytes, formatDuration } from '../terminal/units';
import { causeSentence } from './cause';
import type { TextOptions } from './options';
import { position } from './position';
import { growsIn } from './ranks';

/** `more than 99.9%`, `99.4%`. */
export function confidenceText(confidence: number): string {
  if (confidence > 0.999) return 'more than 99.9%';
  return `${(Math.floor(confidence * 1000) / 10).toFixed(1)}%`;
}

/** Forecasts beyond this are not shown. */
const FAR_MS = 1000 * 86_400_000;

/** The growth of the process is named if it is that many times faster than the leaks. */
const MUCH_FASTER = 1.25;

/** When memory runs out at this rate. */
function limitText(summary: Summary): string {
  const { msToMemoryLimit, memoryLimitBytes, memoryLimitFrom, rssGrowthBytesPerMinute: rss } = summary;
  if (msToMemoryLimit === null || msToMemoryLimit > FAR_MS) return '';
  const whose = memoryLimitFrom === 'cgroup' ? "the control group's" : "the machine's";
  const when = msToMemoryLimit === 0 ? 'are used up' : `run out in ${rangeText(summary)}`;
  const faster = rss > MUCH_FASTER * summary.leakBytesPerMinute;
  const rate = faster ? ` The process grows by ${formatBytes(rss)} per minute. At that rate,` : ' At this rate,';
  return `${rate} ${whose} ${formatBytes(memoryLimitBytes)} of memory ${when}.`;
}

/** `2 d 18 h`; `5 min 0 s to 7 min 30 s` if the bounds of the rate differ. */
function rangeText({ msToMemoryLimit, earliestMsToMemoryLimit, latestMsToMemoryLimit }: Summary): string {
  const [from, to] = [earliestMsToMemoryLimit ?? msToMemoryLimit!, latestMsToMemoryLimit].map((ms) =>
    ms === null ? '' : formatDuration(ms),
  ) as [string, string];
  if (latestMsToMemoryLimit === null || latestMsToMemoryLimit > FAR_MS) return `${from} at the earliest`;
  return from === to ? from : `${from} to ${to}`;
}

/** Growth that begins that early is not distinguishable from growth since before attaching. */
const EARLY_MS = 1000;

/** Its tensors do not become more but larger: each replaces earlier ones, as a cache of keys does that is concatenated. */
const isReplaced = (site: SiteReport): boolean =>
  site.growthTensorsPerMinute <= 0 && site.growthBytesPerMinute > 0 && site.graph === null && !isHidden(site);

function sinceText(site: SiteReport, { attached }: Summary): string {
  const { sinceMs, onsetMs, cause } = site;
  // The oldest live tensor is younger than the growth, in a queue and where tensors replace smaller ones.
  const ms = onsetMs ?? (cause?.kind === 'slow-consumer' || (sinceMs !== null && isReplaced(site)) ? 0 : sinceMs);
  if (ms === null) return '';
  if (attached && (onsetMs === null || ms < EARLY_MS))
    return `, since before attaching${ms > 0 ? `, or at the latest ${formatDuration(ms)} after it` : ''}`;
  if (ms < EARLY_MS) return ', from the start';
  return `, since ${formatDuration(ms)} after ${attached ? 'attaching' : 'the start'}`;
}

/** A leak is also freed when the program ends. */
const freedText = ({ freedMs }: SiteReport) =>
  freedMs === null ? '' : `, and was freed only in the last ${formatDuration(Math.max(1, freedMs))}`;

/** Whether most of the site's growth is memory that no tensor accounts for, its graph's nodes included. */
function isHidden({ hiddenGrowthBytesPerMinute, growthBytesPerMinute, graph }: SiteReport): boolean {
  const hidden = hiddenGrowthBytesPerMinute + (graph?.processBytesPerMinute ?? 0);
  return hidden > 0 && hidden >= growthBytesPerMinute;
}

/** The number of tensors; nothing where only the bytes were found to grow. */
function countRate({ growthBytesPerMinute, growthTensorsPerMinute }: SiteReport): string[] {
  const tensors = counted(growthTensorsPerMinute, 'tensor');
  if (growthBytesPerMinute <= 0) return [tensors];
  return growthTensorsPerMinute > 0 ? [`(${tensors})`] : [];
}

/** The part of memory that is not in libtorch's allocator. */
const ofNodes = (graph: GraphReport | null) =>
  (graph?.processBytesPerMinute ?? 0) > 0
    ? ` (${formatBytes(graph!.processBytesPerMinute)} of it in nodes of the graph)`
    : '';

const rate = (site: SiteReport) =>
  isHidden(site)
    ? `${formatBytes(site.growthBytesPerMinute)} per minute that no tensor accounts for${ofNodes(site.graph)}`
    : [...(site.growthBytesPerMinute > 0 ? [formatBytes(site.growthBytesPerMinute)] : []), ...countRate(site)].join(
        ' ',
      ) + ' per minute';

/** The verdict without colours. */
export function verdictSentence(report: Report, folder: string): string {
  return verdictText(report, { colors: plainColors, folder });
}

export function verdictText(report: Report, options: TextOptions): string {
  const { verdict, summary } = report;
  const { red, yellow, green, bold } = options.colors;
  const of = summary.device === null ? '' : `Device ${summary.device} only: `;
  if (verdict === 'leak') return `${red(bold('LEAK'))}  ${of}${leakText(report, options)}`;
  if (verdict === 'insufficient')
    return `${yellow(bold('INSUFFICIENT'))}  ${of}${shortfallText(report, options.folder)}.${sufficientText(summary)}`;
  return `${green(bold('CLEAN'))}  ${of}${cleanText(report)}`;
}

function leakText({ summary, sites }: Report, { colors, folder }: TextOptions): string {
  const { leaks } = summary;
  const worst = sites.find((site) => site.verdict === 'leak');
  if (worst === undefined) {
    const fast = `${formatBytes(summary.leakBytesPerMinute)} per minute`;
    return `${counted(leaks, 'site')} ${leaks === 1 ? 'leaks' : 'leak'} ${fast}.${limitText(summary)}`;
  }
  const more = leaks > 1 ? ` ${leaks - 1} more ${leaks > 2 ? 'sites leak' : 'site leaks'}.` : '';
  if (worst.graph !== null)
    return `${graphText(worst, worst.graph, summary, sites, folder, colors.bold)}${limitText(summary)}${more}`;
  const where = colors.bold(position(worst, folder)) + (worst.function === '' ? '' : ` (${worst.function})`);
  const sure = worst.confidence === null ? '' : `, with ${confidenceText(worst.confidence)} confidence`;
  const since = sinceText(worst, summary) + freedText(worst) + sure;
  // Tokens are counted; otherwise the line is inferred from what no tensor holds.
  const isCounted = worst.cause?.kind === 'tokens' && worst.cause.tokens !== undefined;
  const keeps = isHidden(worst) ? (isCounted ? 'retains' : 'most likely retains') : 'leaks';
  const cause = causeSentence(worst, folder, summary);
  return `${where} ${keeps} ${rate(worst)}${growsIn(worst)}${since}.${cause === '' ? '' : ` ${cause}`}${limitText(summary)}${more}`;
}

/** Of the lines that allocated what the graph holds, only the largest are named. */
const MAX_MAKERS = 3;

/** Which value carries the graph, how to fix it, and what the graph holds. */
function graphText(
  site: SiteReport,
  graph: GraphReport,
  summary: Summary,
  sites: SiteReport[],
  folder: string,
  bold: (text: string) => string,
): string {
  const line = (one: SiteReport) => position(one, folder).replace(/:\d+$/, '');
  const name = graph.variable === '' ? site.function : graph.variable;
  const called = name === '' ? '' : ` (${name})`;
  const size = `${graph.atLeast ? 'more than ' : ''}${counted(graph.nodes, 'node')}`;
  const added = (nodes: number, every: string) => `, +${nodes.toLocaleString('en-US')} per ${every}`;
  const step =
    graph.nodesPerStep > 0
      ? added(graph.nodesPerStep, 'step')
      : graph.nodesPerMinute > 0
        ? added(graph.nodesPerMinute, 'minute')
        : '';
  const sure = site.confidence === null ? '' : `, with ${confidenceText(site.confidence)} confidence`;
  const grows = site.growthBytesPerMinute > 0 ? `It retains ${rate(site)}` : 'It grows';
  const held = sites.filter(({ hiddenBytes }) => hiddenBytes > 0).sort((a, b) => b.hiddenBytes - a.hiddenBytes);
  const bytes = held.reduce((sum, { hiddenBytes }) => sum + hiddenBytes, 0);
  const made = [...new Set(held.map(line))].slice(0, MAX_MAKERS).join(', ');
  const of =
    bytes > 0 ? ` ${formatBytes(bytes)} held by graphs ${bytes === 1 ? 'was' : 'were'} allocated at ${made}.` : '';
  const carrier = graph.onGradient ? 'has a gradient that carries' : 'carries';
  const older = graph.onGradient ? 'the tensor whose gradient' : 'the tensor that';
  const carries = graph.isOlder
    ? `allocates memory of a graph of ${size}${step}; ${older} carries it is older than the recording`
    : `${carrier} a graph of ${size}${step}`;
  return (
    `${bold(line(site))}${called} ${carries}; ${graph.onGradient ? GRADIENT_REMEDY : 'use detach() or item()'}. ` +
    `${grows}${growsIn(site)}${sinceText(site, summary)}${freedText(site)}${sure}.${of}`
  );
}

/** The duration that would suffice, rounded up to seconds. */
function sufficientText({ sufficientMs }: Summary): string {
  return sufficientMs === null ? '' : ` ${formatDuration(1000 * Math.ceil(sufficientMs / 1000))} would suffice.`;
}

function fewSamplesText({ sufficientSampleBytes }: Summary, sites: SiteReport[], folder: string): string {
  const worst = sites.find(isYoungAndGrowing);
  const grew =
    worst === undefined ? 'a site hidden by --min-age grew' : `${position(worst, folder)} grew by ${rate(worst)}`;
  const finer = `--sample-bytes ${Math.max(1, sufficientSampleBytes ?? 1)}`;
  return `${grew}, but too few of its storages were sampled to be certain. Use ${finer}, or record for longer`;
}

/** Why the data is insufficient, as a clause. */
export function shortfallText({ summary, sites }: Report, folder: string): string {
  const alive = `${counted(summary.liveTensors, 'tensor')} ${summary.liveTensors === 1 ? 'is' : 'are'} alive`;
  if (summary.insufficient === 'not-loaded')
    return summary.lostEvents > 0
      ? 'nothing could be recorded'
      : 'nothing was recorded: the program never loaded libtorch-node';
  if (summary.insufficient === 'counters')
    return `${alive}, and only totals were recorded (--mode counters): no site can be judged`;
  if (summary.insufficient === 'few-samples') return fewSamplesText(summary, sites, folder);
  if (summary.insufficient === 'young-sites' || summary.insufficient === 'grew-to-the-end') {
    const young = sites.filter(isYoungAndGrowing);
    const worst = young[0];
    if (worst === undefined)
      return 'sites hidden by --min-age grow, but not long enough to distinguish a leak from warm-up';
    const more = young.length > 1 ? ` and ${counted(young.length - 1, 'other')}` : '';
    const nodes = worst.graph === null ? '' : `carries a graph that grew to ${counted(worst.graph.nodes, 'node')}`;
    const grew = `${position(worst, folder)}${more} ${nodes || `grew by ${rate(worst)}`}`;
    return summary.insufficient === 'grew-to-the-end'
      ? `${grew} until the end${freedText(worst)}: a leak, ${worst.freedMs === null ? 'a cache that fills, ' : ''}or results ` +
          "that were collected and then used. Run it longer, or call torch.audit.mark('shutdown') before the program releases what it holds"
      : `${grew}, but not long enough to distinguish a leak from warm-up or a cache that fills`;
  }
  if (summary.rounds === 0 && summary.lostEvents > 0)
    return 'no round could be written: the disk is full, or the file may not grow (ulimit -f)';
  if (summary.rounds === 0) return 'the program ended before the first round';
  const what = summary.liveTensors === 0 && summary.tornBytes > 0 ? 'the capture is truncated' : alive;
  return (
    `${what} after ${formatDuration(summary.durationMs)} (${counted(summary.rounds, 'round')}), which is too short ` +
    'to distinguish a leak from warm-up'
  );
}

function cleanText({ summary, sites }: Report): string {
  if (summary.peakLiveBytes === 0 && sites.length === 0 && summary.device === null)
    return 'The program made no tensors.';
  const count = (kind: SiteReport['kind']) => sites.filter((site) => site.kind === kind).length;
  const [full, filling] = [count('full-cache'), count('filling-cache')];
  const kept =
    (full > 0 ? ` ${full === 1 ? 'One site grew and then stopped: a cache' : `${full} caches filled`}.` : '') +
    (filling > 0
      ? ` ${filling === 1 ? 'One site grows ever more slowly: a cache that fills' : `${filling} caches fill ever more slowly`}.`
      : '');
  const [tensors, bytes] =
    summary.device === null
      ? [summary.liveTensors, summary.liveBytes]
      : [sum(sites, (site) => site.liveTensors), sum(sites, (site) => site.liveBytes)];
  const were = tensors === 1 ? 'was' : 'were';
  return (
    `${summary.device === null ? 'No' : 'no'} site kept growing in ${formatDuration(summary.durationMs)}; ` +
    `${counted(tensors, 'tensor')} (${formatBytes(bytes)}) ${were} alive at the end.${kept}`
  );
}

const sum = (sites: SiteReport[], of: (site: SiteReport) => number) =>
  sites.reduce((total, site) => total + of(site), 0);

/** For a capture with missing events. */
export function lostText({ lostEvents, wasFull, rounds, durationMs, ended }: Summary): string {
  if (wasFull) {
    const last =
      rounds > 0
        ? `the last round that could be written is at ${formatDuration(durationMs)}`
        : 'no round could be written';
    // Where the capture has an end, there was room again.
    const more = ended === 'killed' ? '' : `; at least ${counted(lostEvents, 'event')} were lost`;
    return `the disk was full, or the file could not grow (ulimit -f): ${last}${more}`;
  }
  return `at least ${counted(lostEvents, 'event')} ${lostEvents === 1 ? 'was' : 'were'} lost: the figures are too low`;
}
