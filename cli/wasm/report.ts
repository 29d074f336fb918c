/** Judges what `run --wasm` recorded: each WebAssembly.Memory, and each line that made some. */

import type { Report } from '../analysis/report';
import { NO_STACK, sourceStack } from '../analysis/sites';
import type { WasmMemory, WasmReport, WasmSite } from '../analysis/wasm-report';
import type { Frame } from '../capture/records';
import { SourceMaps } from '../code/source-maps';
import { judge } from '../rules';
import { falseDiscovery } from '../rules/statistics/false-discovery';
import {
  inconclusive,
  type Judgement,
  MAX_FALSE_SHARE,
  notSignificant,
  type SiteHistory,
  type SiteVerdict,
  VERDICT_RANK,
} from '../rules/verdict';
import { roundsNeeded } from '../rules/warmup';
import { demandOf } from './demand';
import type { WasmRecord } from './records';

/** Smaller growth is ignored: four pages. */
const MIN_BYTES = 4 * 65_536;
/** A thread or process that ended so long before the last round has freed its memories. */
const LAST_MS = 2000;
/**
 * A memory that grew after this share of the run may go on growing: too few steps for a verdict. Its first growth counts from
 * when it was made, because modules that are loaded late also grow while they load.
 */
const LATE = 0.5;
/** In the report; the figures of the sites cover all. */
const MAX_MEMORIES = 1000;

interface Site {
  frame: Frame;
  stack: Frame[];
  memories: WasmMemory[];
  bytes: number;
  live: number;
  /** From its first round on. */
  from: number;
  liveBytes: number[];
  liveTensors: number[];
  /** The round after the last collection in a thread that has some of its memories. */
  collected: number | undefined;
  /** How long the run must be for the growths of its memories to be early ones. */
  neededMs: number;
  /** Threads that have some. */
  origins: Set<string>;
}

interface Known {
  memory: WasmMemory;
  site: Site;
  /** When it grew, and its size from then on; the first is its birth. */
  growth: [ms: number, bytes: number][];
}

export function wasmReport(records: WasmRecord[]): WasmReport {
  const begunMs = records[0]?.ms ?? 0;
  const lastMs = records.at(-1)?.ms ?? 0;
  const sites = new Map<string, Site>();
  const memories = new Map<string, Known>();
  const times: number[] = [];
  const maps = new SourceMaps();
  const setSize = (key: string, bytes: number, ms: number) => {
    const known = memories.get(key);
    if (known === undefined || known.memory.freedMs !== null) return;
    const { memory, site } = known;
    site.bytes += Math.max(0, bytes) - memory.bytes;
    if (bytes < 0) {
      site.live--;
      memory.freedMs = ms;
    } else if (memory.bytes !== bytes) {
      memory.bytes = bytes;
      const [, before] = known.growth.at(-1)!;
      const isFirst = known.growth.push([ms, bytes]) === 2;
      const { madeMs } = memory;
      if (!isFirst) site.neededMs = Math.max(site.neededMs, ms / LATE);
      else if (bytes - before >= MIN_BYTES) site.neededMs = Math.max(site.neededMs, madeMs + (ms - madeMs) / LATE);
    }
  };
  for (const record of records) {
    const origin = `${record.pid} ${record.thread}`;
    const ms = record.ms - begunMs;
    if (record.type === 'memory') {
      const site = siteOf(sites, record.stack, maps, times.length);
      const { pid, thread, shared, bytes } = record;
      const size = { initialBytes: bytes, bytes, grownBytes: 0 };
      const memory = { ...place(site.frame), pid, thread, shared: shared === true, madeMs: ms, ...size, freedMs: null };
      site.memories.push(memory);
      site.bytes += bytes;
      site.live++;
      site.origins.add(origin);
      memories.set(`${origin} ${record.id}`, { memory, site, growth: [[ms, bytes]] });
    } else if (record.type === 'round') {
      for (const [id, bytes] of record.sizes) setSize(`${origin} ${id}`, bytes, ms);
      times.push(ms);
      for (const site of sites.values()) {
        site.liveBytes.push(site.bytes);
        site.liveTensors.push(site.live);
        if (record.collected === true && site.origins.has(origin)) site.collected = times.length - 1 - site.from;
      }
    } else if (lastMs - record.ms > LAST_MS) {
      for (const key of memories.keys()) if (key.startsWith(`${origin} `)) setSize(key, -1, ms);
    }
  }
  for (const { memory, site, growth } of memories.values()) {
    memory.grownBytes = memory.bytes - memory.initialBytes;
    const demand = demandOf(growth, memory.freedMs);
    if (demand !== undefined)
      for (let i = 0; i < site.liveBytes.length; i++) site.liveBytes[i]! += demand(times[site.from + i]!);
  }
  const all = [...memories.values()].map(({ memory }) => memory);
  return judged([...sites.values()], times, all, lastMs - begunMs);
}

function judged(sites: Site[], times: number[], memories: WasmMemory[], durationMs: number): WasmReport {
  const judgements = sites.map((site): Judgement => {
    const live = site.memories.filter(({ freedMs }) => freedMs === null);
    const oldest = live.reduce((least, { madeMs }) => Math.min(least, madeMs), Number.POSITIVE_INFINITY);
    const { liveBytes, liveTensors, from } = site;
    const history = { ms: times.slice(from), liveBytes, liveTensors };
    const born = Number.isFinite(oldest) ? { oldestBirthMs: oldest } : {};
    const judgement = judgeSeries({ ...history, ...born }, site.collected);
    return judgement.verdict === 'steady' && live.length > 0 && site.neededMs > durationMs
      ? { ...judgement, verdict: 'insufficient', kind: 'insufficient' }
      : judgement;
  });
  const sufficient = judgements.map(({ kind }, i) => (kind === 'insufficient' ? neededMs(sites[i]!, times) : 0));
  const errors = falseDiscovery(judgements.map(({ p }) => p));
  const reports = sites.map((site, i): WasmSite => {
    const first = judgements[i]!;
    const { verdict, kind, growthBytesPerMinute } =
      first.verdict === 'leak' && errors[i]! > MAX_FALSE_SHARE ? notSignificant(first, errors[i]!) : first;
    return {
      ...place(site.frame),
      stack: site.stack,
      liveMemories: site.live,
      madeMemories: site.memories.length,
      liveBytes: site.bytes,
      growthBytesPerMinute: Math.round(growthBytesPerMinute),
      verdict,
      kind,
      confidence: verdict === 'leak' ? 1 - errors[i]! : null,
      grewLate: verdict === 'insufficient' && site.neededMs > durationMs,
    };
  });
  reports.sort((a, b) => VERDICT_RANK[a.verdict] - VERDICT_RANK[b.verdict] || b.liveBytes - a.liveBytes);
  const has = (verdict: SiteVerdict) => reports.some((site) => site.verdict === verdict && site.liveMemories > 0);
  // Also what grew until it was freed at the end.
  const isUncertain = has('insufficient') || reports.some(({ kind }) => kind === 'grew-to-the-end');
  const verdict = has('leak') ? 'leak' : isUncertain ? 'insufficient' : 'clean';
  const sufficientMs = Math.ceil(sufficient.reduce((most, ms) => Math.max(most, ms), 0));
  return {
    verdict,
    rounds: times.length,
    durationMs,
    sufficientMs: verdict === 'insufficient' && sufficientMs > durationMs ? sufficientMs : null,
    sites: reports,
    memories: memories.sort((a, b) => b.bytes - a.bytes).slice(0, MAX_MEMORIES),
  };
}

/** The duration of a run that has enough rounds of the site, all of them early enough. */
function neededMs({ from, neededMs: ms }: Site, times: number[]): number {
  if (times.length - from < 2) return ms;
  const interval = (times.at(-1)! - times[from]!) / (times.length - 1 - from);
  return Math.max(ms, times[from]! + roundsNeeded() * interval);
}

/** Memory that was freed at the end may have leaked until then, or served a job that has ended. */
function judgeSeries(given: SiteHistory, collected: number | undefined): Judgement {
  const options = { minBytes: MIN_BYTES };
  const history = collected === undefined ? given : { ...given, lastCollectionRound: collected };
  const atEnd = judge(history, options);
  // Without a collection, a rising number of memories may be garbage.
  const more = given.liveTensors.at(-1)! > 1 && given.liveTensors.at(-1)! > given.liveTensors[0]!;
  if (atEnd.verdict === 'leak' && more && collected === undefined)
    return { ...atEnd, verdict: 'insufficient', kind: 'insufficient', p: 1 };
  const { ms, liveBytes, liveTensors } = history;
  let last = liveBytes.length - 1;
  while (last > 0 && liveBytes[last]! <= liveBytes[last - 1]!) last--;
  if (atEnd.verdict === 'leak' || liveBytes[last] === liveBytes.at(-1)) return atEnd;
  const upTo = (values: number[]) => values.slice(0, last + 1);
  const before = judge({ ms: upTo(ms), liveBytes: upTo(liveBytes), liveTensors: upTo(liveTensors) }, options);
  return before.verdict === 'leak' ? inconclusive(before) : atEnd;
}

const place = ({ file, line, column, function: name }: Frame) => ({ file, line, column, function: name });

/** The site of a stack: the innermost line of the program itself, or of a package if no other is there. */
function siteOf(sites: Map<string, Site>, raw: Frame[], maps: SourceMaps, from: number): Site {
  const stack = sourceStack(raw, maps);
  const frame = stack.find(({ file }) => !/(^|[\\/])node_modules[\\/]/.test(file)) ?? stack[0] ?? NO_STACK;
  const key = `${frame.file}:${frame.line}:${frame.column}`;
  let site = sites.get(key);
  if (site === undefined) {
    site = {
      ...{ frame, stack, memories: [], bytes: 0, live: 0, from, liveBytes: [], liveTensors: [] },
      ...{ collected: undefined, neededMs: 0, origins: new Set() },
    };
    sites.set(key, site);
  }
  return site;
}

/** The JSON report with `wasm`. Its verdict covers both; without libtorch-node in the program it is that of WebAssembly. */
export function withWasm(report: Report, wasm: WasmReport): Report {
  const isAlone = report.summary.insufficient === 'not-loaded' && wasm.sites.length > 0;
  if (isAlone) {
    const grewLate = wasm.sites.some((site) => site.grewLate);
    const shortfall = grewLate ? ('young-sites' as const) : ('few-rounds' as const);
    const insufficient = wasm.verdict === 'insufficient' ? shortfall : null;
    const { sufficientMs } = wasm;
    return { ...report, verdict: wasm.verdict, summary: { ...report.summary, insufficient, sufficientMs }, wasm };
  }
  const rank = { leak: 0, insufficient: 1, clean: 2 };
  return { ...report, verdict: rank[wasm.verdict] < rank[report.verdict] ? wasm.verdict : report.verdict, wasm };
}
