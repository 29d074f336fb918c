/** The summary of a capture. */
import { SNAPSHOT_BEGINS, SNAPSHOT_ENDS } from '../../lib/observe/audit/marks';
import type { Capture } from '../capture/capture';
import { type MemoryLimit, memoryLimit } from '../machine/memory-limit';
import { judge } from '../rules';
import { theilSen } from '../rules/statistics/theil-sen';
import { pickIndices } from '../rules/statistics/trend';
import type { Judgement, RuleOptions } from '../rules/verdict';
import type { Shortfall, SiteReport, Summary } from './report';

const MINUTE_MS = 60_000;
/** Smaller growth of the process is ignored: code, stacks, the heap's own pages. */
const MIN_RSS_BYTES = 4 * 2 ** 20;

export interface SummaryOptions extends RuleOptions {
  /** The memory limit; by default that in the capture, else this machine's. */
  limit?: MemoryLimit;
  /** Hides sites whose oldest live tensor is younger. */
  minAgeMs?: number;
  /** Only tensors of this device (`cuda` for all CUDA devices). */
  device?: string;
}

/** A rate in bytes per minute with its bounds; all 0 if it was not judged a leak. */
export interface Growth {
  rate: number;
  low: number;
  high: number;
}

const NONE: Growth = { rate: 0, low: 0, high: 0 };

/** The sustained growth of the process, and that of its memory outside tensors and V8. */
export interface ProcessGrowth {
  rss: Growth;
  retained: Growth;
}

/** The judgements of all sites. */
export interface Findings {
  sites: SiteReport[];
  /** Undefined if tensors account for the growth. */
  hidden: Judgement | undefined;
  process: ProcessGrowth;
  insufficient: Shortfall | null;
  sufficientMs: number | null;
  sufficientBytes: number | null;
}

export const processGrowth = (capture: Capture, options: RuleOptions): ProcessGrowth => ({
  rss: growth(capture, (tick) => tick.rss, options),
  retained: growth(capture, retained, options),
});

/**
 * The larger of the rate of the leaks and the growth of the process, which may be more than the tensors. Leaks on other
 * devices are left out, because their memory does not count against the process's limit.
 */
function forecast(leaks: SiteReport[], rss: Growth): Growth {
  if (leaks.length === 0) return NONE;
  const onCpu = leaks.filter((site) => site.devices.includes('cpu') || site.devices.length === 0);
  const sum = (of: (site: SiteReport) => number) => onCpu.reduce((total, site) => total + of(site), 0);
  const leak: Growth = {
    rate: sum((site) => site.growthBytesPerMinute),
    low: sum((site) => site.growthLowBytesPerMinute ?? site.growthBytesPerMinute),
    high: sum((site) => site.growthHighBytesPerMinute ?? site.growthBytesPerMinute),
  };
  const faster = rss.rate > leak.rate ? rss : leak;
  const { rate } = faster;
  return { rate, low: Math.min(Math.max(leak.low, rss.low), rate), high: Math.max(leak.high, rss.high, rate) };
}

export function summarise(capture: Capture, findings: Findings, options: SummaryOptions): Summary {
  const { sites, hidden, insufficient, sufficientMs, sufficientBytes, process } = findings;
  const { start, end, ticks } = capture;
  const last = ticks.at(-1);
  const leaks = sites.filter((site) => site.verdict === 'leak');
  const leakBytesPerMinute = leaks.reduce((sum, site) => sum + site.growthBytesPerMinute, 0);
  const peak = (of: (tick: Capture['ticks'][number]) => number) => ticks.reduce((most, t) => Math.max(most, of(t)), 0);
  const limit = options.limit ?? start?.memoryLimit ?? memoryLimit();
  const { rate, low, high } = forecast(leaks, process.rss);
  const msAt = (bytesPerMinute: number) =>
    bytesPerMinute > 0 && last !== undefined
      ? Math.round((Math.max(0, limit.bytes - last.rss) / bytesPerMinute) * MINUTE_MS)
      : null;
  return {
    command: start?.command ?? '',
    pid: start?.pid ?? null,
    processes: capture.processes.length,
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
    unexplainedGrowthBytesPerMinute: hidden?.verdict === 'leak' ? Math.round(hidden.growthBytesPerMinute) : 0,
    rss: last?.rss ?? 0,
    peakRss: peak((tick) => tick.rss),
    rssGrowthBytesPerMinute: process.rss.rate,
    retainedGrowthBytesPerMinute: process.retained.rate,
    collections: last?.collections ?? 0,
    lostEvents: capture.lost,
    wasFull: capture.wasFull,
    tornBytes: capture.tornBytes,
    leaks: leaks.length,
    leakBytesPerMinute,
    insufficient,
    sufficientSampleBytes: insufficient === 'few-samples' ? sufficientBytes : null,
    device: options.device ?? null,
    minAgeMs: options.minAgeMs ?? null,
    memoryLimitBytes: limit.bytes,
    memoryLimitFrom: limit.from,
    msToMemoryLimit: msAt(rate),
    earliestMsToMemoryLimit: msAt(high),
    latestMsToMemoryLimit: msAt(low),
    attached: start?.attached === true,
    sufficientMs,
  };
}

/** Process memory outside libtorch, V8's heap and typed arrays. */
function retained(tick: Capture['ticks'][number]): number {
  const typedArrays = Math.max(0, tick.external - tick.bytes);
  return Math.max(0, tick.rss - tick.allocatedBytes - tick.heapUsed - typedArrays);
}

/**
 * The growth if it is judged a leak. A process grows most at its start, so the rate is that of the second half where that is
 * smaller. Growth in a few large steps may have a slope of 0 in the second half; then the rate of all rounds is used.
 */
function growth(capture: Capture, of: (tick: Capture['ticks'][number]) => number, options: RuleOptions): Growth {
  const ticks = undisturbed(capture);
  const [ms, bytes] = [ticks.map((tick) => tick.ms), ticks.map(of)];
  const judgement = judge(
    { ms, liveBytes: bytes, liveTensors: ticks.map(() => 1) },
    { ...options, minBytes: MIN_RSS_BYTES },
  );
  if (judgement.verdict !== 'leak') return NONE;
  const { growthBytesPerMinute: rate, lowBytesPerMinute: low, highBytesPerMinute: high } = judgement;
  const half = pickIndices(ticks.length >> 1, ticks.length);
  const late = theilSen(
    half.map((i) => ms[i]! / MINUTE_MS),
    half.map((i) => bytes[i]!),
  );
  return late.slope > 0 && late.slope < rate ? rounded(late.slope, late.low, late.high) : rounded(rate, low, high);
}

/**
 * The rounds of the longest time without a heap snapshot of `leak-audit why`, which needs memory in the process, and leaves it
 * larger: some hundred megabytes at once, which are neither a leak nor a rate.
 */
function undisturbed({ ticks, marks }: Capture): Capture['ticks'] {
  const snapshots = marks.filter(({ name }) => name === SNAPSHOT_BEGINS || name === SNAPSHOT_ENDS);
  let longest: Capture['ticks'] = [];
  let from = 0;
  for (const { ms } of [...snapshots, { ms: Number.POSITIVE_INFINITY }]) {
    let until = from;
    while (until < ticks.length && ticks[until]!.ms <= ms) until++;
    if (until - from > longest.length) longest = ticks.slice(from, until);
    from = until;
  }
  return longest;
}

function rounded(rate: number, low: number, high: number): Growth {
  const finite = (bound: number) => Math.round(Number.isFinite(bound) ? bound : rate);
  return { rate: Math.round(rate), low: finite(low), high: finite(high) };
}
