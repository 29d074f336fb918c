/** The summary of a capture. */
import type { Capture } from './capture/capture';
import { type MemoryLimit, memoryLimit } from './memory_limit';
import type { Shortfall, SiteReport, Summary } from './report';
import { type Judgement, judge, type RuleOptions } from './rules/verdict';

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

/** The judgements of all sites. */
export interface Findings {
  sites: SiteReport[];
  hidden: Judgement;
  insufficient: Shortfall | null;
  sufficientBytes: number | null;
}

export function summarise(capture: Capture, findings: Findings, options: SummaryOptions): Summary {
  const { sites, hidden, insufficient, sufficientBytes } = findings;
  const { start, end, ticks } = capture;
  const last = ticks.at(-1);
  const leaks = sites.filter((site) => site.verdict === 'leak');
  const leakBytesPerMinute = leaks.reduce((sum, site) => sum + site.growthBytesPerMinute, 0);
  const peak = (of: (tick: Capture['ticks'][number]) => number) => ticks.reduce((most, t) => Math.max(most, of(t)), 0);
  const growthOf = (of: (tick: Capture['ticks'][number]) => number) => growth(capture, of, options);
  const rssGrowth = growthOf((tick) => tick.rss);
  const limit = options.limit ?? start?.memoryLimit ?? memoryLimit();
  // Without leaks on other devices, whose memory does not count against the process's limit.
  const onCpu = leaks.filter((site) => site.devices.includes('cpu') || site.devices.length === 0);
  const rate = onCpu.reduce((sum, site) => sum + site.growthBytesPerMinute, 0) || (leaks.length > 0 ? rssGrowth : 0);
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
    unexplainedGrowthBytesPerMinute: hidden.verdict === 'leak' ? Math.round(hidden.growthBytesPerMinute) : 0,
    rss: last?.rss ?? 0,
    peakRss: peak((tick) => tick.rss),
    rssGrowthBytesPerMinute: rssGrowth,
    retainedGrowthBytesPerMinute: growthOf(retained),
    collections: last?.collections ?? 0,
    lostEvents: capture.lost,
    tornBytes: capture.tornBytes,
    leaks: leaks.length,
    leakBytesPerMinute,
    insufficient,
    sufficientSampleBytes: insufficient === 'few-samples' ? sufficientBytes : null,
    device: options.device ?? null,
    minAgeMs: options.minAgeMs ?? null,
    memoryLimitBytes: limit.bytes,
    memoryLimitFrom: limit.from,
    msToMemoryLimit:
      rate > 0 && last !== undefined ? Math.round((Math.max(0, limit.bytes - last.rss) / rate) * 60_000) : null,
  };
}

/** Process memory outside libtorch, V8's heap and typed arrays. */
function retained(tick: Capture['ticks'][number]): number {
  const typedArrays = Math.max(0, tick.external - tick.bytes);
  return Math.max(0, tick.rss - tick.allocatedBytes - tick.heapUsed - typedArrays);
}

/** The growth rate if it is judged a leak; else 0. */
function growth({ ticks }: Capture, of: (tick: Capture['ticks'][number]) => number, options: RuleOptions): number {
  const judgement = judge(
    { ms: ticks.map((tick) => tick.ms), liveBytes: ticks.map(of), liveTensors: ticks.map(() => 1) },
    { ...options, minBytes: MIN_RSS_BYTES },
  );
  return judgement.verdict === 'leak' ? Math.round(judgement.growthBytesPerMinute) : 0;
}
