/** Merges several processes into one capture, with their rounds on one clock and their counters added up. */
import { Capture } from './capture';
import { IdMap } from './id-map';
import type { GraphSeries, ProcessInfo, RankMemory, Series, Tick } from './records';
import { newGraphSeries, newSeries, seriesKey } from './rounds';

/** Rounds of different processes that are closer than this share of the interval are merged. */
const SAME_ROUND = 0.5;

interface Part {
  capture: Capture;
  /** Its start on the common clock. */
  startMs: number;
  /** For each of its rounds, the index in the common times. */
  rounds: number[];
  /** Whether it holds its tensors until the end of the whole capture, although its own rounds end before. */
  stays: boolean;
}

/** How captures of separate recordings are merged. */
export interface Merging {
  /** The starts on a common clock in ms. Default: the monotonic clock of the machine. */
  starts: number[];
  /** Whether a process was still running when the last recording ended, by the end of its own in ms on that clock. */
  stays(capture: Capture, endMs: number, lastMs: number): boolean;
}

/** The first capture is that of the started process; the others are those of its children, unless `merging` is given. */
export function mergeProcesses(captures: Capture[], merging?: Merging): Capture {
  const whole = new Capture();
  const [first] = captures as [Capture, ...Capture[]];
  const starts = merging?.starts ?? captures.map(startOf);
  whole.start = first.start;
  whole.end = first.end && { ...first.end, lost: captures.reduce((sum, capture) => sum + (capture.end?.lost ?? 0), 0) };
  whole.tornBytes = first.tornBytes;
  whole.damagedPackets = first.damagedPackets;
  whole.capped = first.capped;
  whole.wasFull = captures.some((capture) => capture.wasFull);
  whole.lostFlag = captures.some((capture) => capture.lostFlag || capture.start === undefined);
  const parts = captures
    .map((capture, i): Part => ({ capture, startMs: starts[i]! - starts[0]!, rounds: [], stays: false }))
    .filter(({ capture }) => capture.start !== undefined);
  const endOf = ({ capture, startMs }: Part) => startMs + capture.durationMs;
  const lastMs = parts.reduce((last, part) => Math.max(last, endOf(part)), 0);
  for (const part of parts) part.stays = merging?.stays(part.capture, endOf(part), lastMs) ?? false;
  const times = commonTimes(parts, first.start?.intervalMs ?? 0);
  for (const part of parts) part.rounds = part.capture.ticks.map((tick) => firstAt(times, part.startMs + tick.ms));
  whole.ticks = addUp(parts, times);
  whole.marks = parts
    .flatMap(({ capture, startMs }) => capture.marks.map(({ ms, name }) => ({ ms: startMs + ms, name })))
    .sort((a, b) => a.ms - b.ms);
  for (const [number, part] of parts.entries()) addPart(whole, part, number);
  return whole;
}

function startOf({ start }: Capture): number {
  return start?.clockMs ?? start?.startedAt ?? 0;
}

/** The times of all rounds in order, without those that nearly coincide; of these, the last is kept. */
function commonTimes(parts: Part[], intervalMs: number): number[] {
  const all = parts.flatMap(({ capture, startMs }) => capture.ticks.map((tick) => startMs + tick.ms));
  all.sort((a, b) => a - b);
  const times: number[] = [];
  for (const [i, time] of all.entries()) {
    if (i === all.length - 1 || all[i + 1]! - (times.at(-1) ?? Number.NEGATIVE_INFINITY) > SAME_ROUND * intervalMs) {
      if (times.at(-1) !== time) times.push(time);
    }
  }
  return times;
}

const SUMMED = ['tensors', 'storages', 'bytes', 'allocatedBytes', 'rss', 'heapUsed', 'external'] as const;
const KEPT = ['lost', 'collections'] as const;

/**
 * The sums over the running processes at each time. Peaks are those of the sums, not sums of peaks. Each process adds only
 * its changes, so the cost is linear in the number of all rounds.
 */
function addUp(parts: Part[], times: number[]): Tick[] {
  const changes = times.map(() => noTick(0));
  for (const { capture, rounds, stays } of parts) {
    let before: Tick | undefined;
    for (const [i, tick] of capture.ticks.entries()) {
      const round = rounds[i]!;
      if (rounds[i + 1] === round) continue; // of those that share a round, the last counts
      const change = changes[round]!;
      for (const key of [...SUMMED, ...KEPT]) change[key] += tick[key] - (before?.[key] ?? 0);
      change.peakAllocatedBytes = Math.max(change.peakAllocatedBytes, tick.peakAllocatedBytes);
      if (tick.made !== undefined) change.made = (change.made ?? 0) + tick.made - (before?.made ?? 0);
      if (tick.cpuMs !== undefined) change.cpuMs = (change.cpuMs ?? 0) + tick.cpuMs - (before?.cpuMs ?? 0);
      if (tick.distance !== undefined) change.distance = Math.max(change.distance ?? 0, tick.distance);
      before = tick;
    }
    const after = changes[(rounds.at(-1) ?? Number.POSITIVE_INFINITY) + 1]; // the process has ended
    if (after !== undefined && before !== undefined && !stays) for (const key of SUMMED) after[key] -= before[key];
  }
  const sum = noTick(0);
  return changes.map((change, round) => {
    for (const key of [...SUMMED, ...KEPT]) sum[key] += change[key];
    sum.peakAllocatedBytes = Math.max(sum.peakAllocatedBytes, change.peakAllocatedBytes, sum.allocatedBytes);
    if (change.made !== undefined) sum.made = (sum.made ?? 0) + change.made;
    if (change.cpuMs !== undefined) sum.cpuMs = (sum.cpuMs ?? 0) + change.cpuMs;
    if (change.distance !== undefined) sum.distance = change.distance;
    return { ...sum, ms: times[round]! };
  });
}

function noTick(ms: number): Tick {
  return {
    ms,
    tensors: 0,
    storages: 0,
    bytes: 0,
    allocatedBytes: 0,
    peakAllocatedBytes: 0,
    rss: 0,
    heapUsed: 0,
    external: 0,
    lost: 0,
    collections: 0,
  };
}

/** Maps ids of one process to ids of the merged capture. */
class Ids {
  private readonly known = new IdMap<number>();

  constructor(private readonly next: { value: number }) {
    this.known.set(0, 0);
  }

  readonly of = (id: number): number => {
    let own = this.known.get(id);
    if (own === undefined) {
      own = this.next.value++;
      this.known.set(id, own);
    }
    return own;
  };
}

function addPart(whole: Capture, part: Part, number: number): void {
  const { capture, startMs, rounds, stays } = part;
  const sites = new Ids({ value: whole.stacks.size + 1 });
  const labels = new Ids({ value: whole.labels.size + 1 });
  // Threads are numbered from 1 in each process, far below this factor.
  const environment = (id: number) => number * 0x10000 + id;
  for (const [id, stack] of capture.stacks) whole.stacks.set(sites.of(id), stack);
  for (const [id, env] of capture.environments) whole.environments.set(sites.of(id), environment(env));
  for (const [id, label] of capture.labels) whole.labels.set(labels.of(id), label);
  for (const [env, round] of capture.ended) whole.ended.set(environment(env), rounds[round] ?? -1);

  /** The first round without the process. */
  const gone = stays ? whole.ticks.length : (rounds.at(-1) ?? -1) + 1;
  const hasEnded = gone > 0 && gone < whole.ticks.length;
  for (const series of capture.series.values()) {
    const moved = moveSeries(whole, series, sites.of(series.siteId), labels.of(series.labelId), rounds, startMs);
    if (hasEnded) endSeries(moved, gone);
  }
  if (hasEnded) {
    for (const env of capture.environments.values()) whole.ended.set(environment(env), gone - 1);
  }
  for (const graphs of capture.graphs.values()) moveGraphs(whole, graphs, sites.of(graphs.siteId), rounds, gone);
  for (const tokens of hasEnded ? [] : capture.tokens.values()) {
    const moved = { ...tokens, siteId: sites.of(tokens.siteId), origin: sites.of(tokens.origin) };
    whole.tokens.set(moved.origin * 2 ** 32 + moved.siteId, moved);
  }
  const { live, shapes, survivors, openings, lifetimes, dtypes } = capture.details[0]!;
  const ids = { siteId: sites.of, labelId: labels.of, environment, startMs };
  whole.details.push({ live, shapes, survivors, openings, lifetimes, dtypes, ...ids });
  whole.droppedDetail += capture.droppedDetail;
  whole.processes.push(processInfo(capture, startMs));
}

/** Facts about a process. */
export function processInfo(capture: Capture, startMs: number): ProcessInfo {
  return {
    pid: capture.start?.pid ?? 0,
    command: capture.start?.command ?? '',
    startMs,
    endMs: startMs + (capture.end?.ms ?? capture.durationMs),
    ended: capture.end?.reason ?? 'killed',
    lost: capture.lost,
    ...(capture.start?.rank === undefined ? {} : { rank: rankMemory(capture, capture.start.rank) }),
  };
}

/** Points of a rank's history. */
const HISTORY_POINTS = 48;

function rankMemory({ start, ticks }: Capture, rank: number): RankMemory {
  const last = ticks.at(-1);
  const points = Math.min(HISTORY_POINTS, ticks.length);
  return {
    rank,
    ...(start?.worldSize === undefined ? {} : { worldSize: start.worldSize }),
    liveTensors: last?.tensors ?? 0,
    liveBytes: last?.bytes ?? 0,
    peakLiveBytes: ticks.reduce((most, { bytes }) => Math.max(most, bytes), 0),
    allocatedBytes: last?.allocatedBytes ?? 0,
    rss: last?.rss ?? 0,
    history: Array.from({ length: points }, (_, i) => ticks[Math.ceil(((i + 1) * ticks.length) / points) - 1]!.bytes),
  };
}

function moveSeries(
  whole: Capture,
  own: Series,
  siteId: number,
  labelId: number,
  rounds: number[],
  startMs: number,
): Series {
  const moved = newSeries(siteId, own.device, labelId);
  for (const [i, tick] of own.ticks.entries()) {
    const round = rounds[tick]!;
    const to = moved.ticks.at(-1) === round ? moved.ticks.length - 1 : moved.ticks.length;
    moved.ticks[to] = round;
    for (const key of ['liveTensors', 'liveBytes', 'allocatedTensors', 'allocatedBytes'] as const) {
      moved[key][to] = own[key][i]!;
    }
    moved.oldestBirthMs[to] = own.oldestBirthMs[i]! + startMs;
  }
  whole.series.set(seriesKey(moved), moved);
  return moved;
}

function moveGraphs(whole: Capture, own: GraphSeries, siteId: number, rounds: number[], gone: number): void {
  const moved = newGraphSeries(siteId);
  const keys = ['tensors', 'nodes', 'hiddenStorages', 'hiddenBytes', 'flags'] as const;
  for (const [i, tick] of own.ticks.entries()) {
    const round = rounds[tick]!;
    const to = moved.ticks.at(-1) === round ? moved.ticks.length - 1 : moved.ticks.length;
    moved.ticks[to] = round;
    for (const key of keys) moved[key][to] = own[key][i]!;
  }
  if (gone > 0 && gone < whole.ticks.length && (moved.ticks.at(-1) ?? gone) < gone) {
    moved.ticks.push(gone);
    for (const key of keys) moved[key].push(0);
  }
  whole.graphs.set(siteId, moved);
}

/** Ends a series with its process. */
function endSeries(series: Series, round: number): void {
  if ((series.ticks.at(-1) ?? round) >= round || series.liveTensors.at(-1) === 0) return;
  series.ticks.push(round);
  series.liveTensors.push(0);
  series.liveBytes.push(0);
  series.allocatedTensors.push(series.allocatedTensors.at(-1)!);
  series.allocatedBytes.push(series.allocatedBytes.at(-1)!);
  series.oldestBirthMs.push(Number.NaN);
}

/** The index of the first time at or after `ms`. */
function firstAt(times: number[], ms: number): number {
  let low = 0;
  let high = times.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle]! < ms) low = middle + 1;
    else high = middle;
  }
  return low;
}
