/**
 * Leak, cache, or steady?
 *
 * What was alive at some time and is freed later is no leak, so the rule looks at the *floor*: at each round the least
 * that is alive from there on. Sawteeth (garbage between collections, caches that are cleared) have a flat floor. A
 * floor that rises with 99% confidence after warm-up (Theil–Sen), by more than a trifle and in many steps, is a leak,
 * unless it flattens: then it is a cache that fills. The values themselves must rise with the same confidence.
 */
import { theilSen } from './theil_sen';

export type SiteVerdict = 'leak' | 'cache' | 'steady' | 'insufficient';

/** One site, one value per round (interval of the capture). */
export interface SiteHistory {
  ms: number[];
  liveBytes: number[];
  liveTensors: number[];
  /** When the oldest of those that live at the end was born, on the clock of `ms`; optional. */
  oldestBirthMs?: number;
  /** A time surely before the last full collection; optional. */
  lastCollectionMs?: number;
  /** Tensors that the whole program had allocated by then, as a measure of how much it has done; optional. */
  work?: number[];
}

export interface RuleOptions {
  /** Rounds to leave out at the start; the default is a quarter, and at least 8. */
  warmup?: number;
}

export interface Judgement {
  verdict: SiteVerdict;
  growthBytesPerMinute: number;
  growthTensorsPerMinute: number;
}

export const LEAST_WARMUP = 8;
/** Rounds that must follow the warm-up. */
export const LEAST_ROUNDS = 10;
/** Less than this is a trifle, whatever the confidence. */
const LEAST_BYTES = 4096;
const LEAST_TENSORS = 8;
const FEW_TENSORS = 3;
/** A floor that rose in fewer rounds than this may be a few one-time allocations. */
const LEAST_STEPS = 5;
/** Growth that fell below this share of what it was is filling up. */
const SATURATED = 0.45;
/** The same for the last quarter against the average; lower, since few rounds are noisier. */
const STALLED = 0.25;
/** Longer series are condensed: the pairs of a slope grow with the square. */
const MOST_POINTS = 240;
/** Tensors that became larger by this factor after warm-up have grown. */
const GROWN = 1.5;
/** So many blocks of rounds when the least values of blocks are looked at. */
const BLOCKS = 12;
const MINUTE = 60_000;

export function warmupRounds(rounds: number, options: RuleOptions = {}): number {
  return options.warmup ?? Math.max(LEAST_WARMUP, Math.ceil(rounds / 4));
}

/** Whether a capture of so many rounds can be judged at all. */
export function enoughRounds(rounds: number, options: RuleOptions = {}): boolean {
  return rounds - warmupRounds(rounds, options) >= LEAST_ROUNDS;
}

export function judge(history: SiteHistory, options: RuleOptions = {}): Judgement {
  const rounds = history.ms.length;
  const nothing = { growthBytesPerMinute: 0, growthTensorsPerMinute: 0 };
  if ((history.liveTensors.at(-1) ?? 0) === 0 && (history.liveBytes.at(-1) ?? 0) === 0) {
    return { verdict: 'steady', ...nothing };
  }
  if (!enoughRounds(rounds, options)) return { verdict: 'insufficient', ...nothing };

  const warmup = warmupRounds(rounds, options);
  const picked = pickIndices(warmup, rounds);
  const ms = picked.map((i) => history.ms[i]!);
  const work = history.work === undefined ? ms : picked.map((i) => history.work![i]!);
  const bytes = trend(ms, work, history.liveBytes, picked, LEAST_BYTES);
  const tensors = trend(ms, work, history.liveTensors, picked, LEAST_TENSORS);
  const growth = {
    growthBytesPerMinute: bytes.slope * MINUTE,
    growthTensorsPerMinute: tensors.slope * MINUTE,
  };
  if (isGarbage(history, ms) && !tensorsGrow(history, picked, ms)) return { verdict: 'steady', ...growth };
  if (bytes.kind === 'rising' || tensors.kind === 'rising') return { verdict: 'leak', ...growth };
  if (bytes.kind === 'saturated' || tensors.kind === 'saturated' || filled(history)) {
    return { verdict: 'cache', ...growth };
  }
  return { verdict: 'steady', ...growth };
}

/**
 * Many tensors of which none is old, or none survived the last full collection, are garbage since then, however fast
 * they pile up. A few young ones
 * may be replaced by larger ones again and again, which is a leak; see also tensorsGrow.
 */
function isGarbage(history: SiteHistory, ms: number[]): boolean {
  const lastThird = ms[0]! + ((ms.at(-1)! - ms[0]!) * 2) / 3;
  const recent = history.liveTensors.slice(-Math.ceil(ms.length / 4));
  const young = Math.min(lastThird, history.lastCollectionMs ?? lastThird);
  return Math.min(...recent) > FEW_TENSORS && (history.oldestBirthMs ?? 0) > young;
}

/** Whether the tensors themselves become larger, however many of them are garbage: bytes per tensor rise. */
function tensorsGrow(history: SiteHistory, picked: number[], ms: number[]): boolean {
  const sizes = picked.map((i) => history.liveBytes[i]! / Math.max(1, history.liveTensors[i]!));
  return sizes.at(-1)! > GROWN * sizes[0]! && theilSen(ms, sizes).low > 0;
}

interface Trend {
  kind: 'flat' | 'rising' | 'saturated';
  slope: number;
}

function trend(ms: number[], work: number[], values: number[], picked: number[], least: number): Trend {
  const all = floorOf(values);
  // The floor of the last rounds has no future to be proved by: what is alive there may be gone in the next.
  const proved = picked.slice(0, picked.length - Math.max(1, Math.floor(picked.length / 8)));
  const floor = proved.map((i) => all[i]!);
  const { slope, low } = theilSen(ms.slice(0, proved.length), floor);
  const rise = floor.at(-1)! - floor[0]!;
  if (rise < least || steps(floor) < LEAST_STEPS) return { kind: 'flat', slope };
  // Measured against work, not time: a program that becomes idle does not look like a cache that is full.
  if (isSaturated(work.slice(0, proved.length), floor)) return { kind: 'saturated', slope };
  if (low <= 0) return { kind: 'flat', slope };
  // A floor never falls, so that of mere noise seems to rise: the values themselves have to rise as surely, or, where
  // much garbage comes and goes at the same site, the least of every few rounds.
  const raw = picked.map((i) => values[i]!);
  const surely = theilSen(ms, raw).low > 0 || risingLows(ms, raw);
  return { kind: surely ? 'rising' : 'flat', slope };
}

/** Whether the least values of successive blocks rise. */
function risingLows(ms: number[], values: number[]): boolean {
  const size = Math.max(3, Math.ceil(values.length / BLOCKS));
  const lows: number[] = [];
  const times: number[] = [];
  for (let i = 0; i + size <= values.length; i += size) {
    lows.push(Math.min(...values.slice(i, i + size)));
    times.push(ms[i]!);
  }
  return theilSen(times, lows).low > 0;
}

/** The least of this and all later values. */
export function floorOf(values: number[]): number[] {
  const floor = values.slice();
  for (let i = floor.length - 2; i >= 0; i--) floor[i] = Math.min(floor[i]!, floor[i + 1]!);
  return floor;
}

const steps = (floor: number[]) => floor.reduce((n, value, i) => (i > 0 && value > floor[i - 1]! ? n + 1 : n), 0);

/** True when the growth per work in the last part is far below that in the first. */
function isSaturated(work: number[], floor: number[]): boolean {
  const begin = work[0]!;
  const total = work.at(-1)! - begin;
  if (total <= 0) return false;
  const at = (share: number) => {
    const wanted = begin + total * share;
    const i = work.findIndex((w) => w >= wanted);
    const [w0, w1] = [work[i - 1] ?? begin, work[i]!];
    const part = w1 > w0 ? (wanted - w0) / (w1 - w0) : 1;
    const before = floor[i - 1] ?? floor[0]!;
    return before + (floor[i]! - before) * part;
  };
  const first = at(0.5) - floor[0]!;
  const second = floor.at(-1)! - at(0.5);
  const last = floor.at(-1)! - at(0.75);
  return second < SATURATED * first || last < (STALLED * (floor.at(-1)! - floor[0]!)) / 4;
}

/**
 * True when it grew step by step, most of it before the last quarter, and holds what it got. One-time allocations do
 * not count, nor does garbage since the last collection.
 */
function filled(history: SiteHistory): boolean {
  const grew = (values: number[], least: number) => {
    const floor = floorOf(values);
    const early = floor.slice(0, Math.ceil(floor.length * 0.75));
    const rise = floor.at(-1)! - floor[0]!;
    return rise >= least && early.at(-1)! - floor[0]! >= rise / 2 && steps(early) >= 3;
  };
  return grew(history.liveBytes, LEAST_BYTES) || grew(history.liveTensors, LEAST_TENSORS);
}

/** At most MOST_POINTS indices from `begin` on, evenly spread, the last always among them. */
function pickIndices(begin: number, end: number): number[] {
  const n = end - begin;
  const count = Math.min(n, MOST_POINTS);
  return Array.from({ length: count }, (_, k) => begin + Math.round((k * (n - 1)) / Math.max(1, count - 1)));
}
