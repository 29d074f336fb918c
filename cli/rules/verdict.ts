/**
 * The verdict on a series: leak, cache or steady. docs/verdicts.md describes the method and its error rates.
 *
 * Memory that is freed later is not a leak, so the rule uses the *floor*: at each round, the minimum from there on.
 * Sawteeth (garbage between collections, caches that are cleared) have a flat floor. A floor that rises after warm-up with
 * 99% confidence (Theil–Sen), by a minimum amount and in many steps, is a leak, unless it flattens: then it is a filling
 * cache. The values themselves must rise with the same confidence.
 */
import { floorOf, isSaturated, isUsualWave, steps, teeth } from './statistics/shape';
import { type Slope, theilSen } from './statistics/theil-sen';

export type SiteVerdict = 'leak' | 'cache' | 'steady' | 'insufficient';
/** The verdict in more detail: which cache, which kind of steady. */
export type SiteKind =
  | 'leak'
  | 'filling-cache'
  | 'full-cache'
  | 'sawtooth'
  | 'steady'
  | 'insufficient'
  | 'grew-to-the-end';

/** The series of one site, with one value per round (interval of the capture). */
export interface SiteHistory {
  ms: number[];
  liveBytes: number[];
  liveTensors: number[];
  /** Birth of the oldest tensor that is live at the end, on the clock of `ms`; optional. */
  oldestBirthMs?: number;
  /** A time before the last full collection; optional. */
  lastCollectionMs?: number;
  /** The round that counted that collection; optional. */
  lastCollectionRound?: number;
  /** Tensors that the whole program had made until each round, as a measure of its work; optional. */
  work?: number[];
}

export interface RuleOptions {
  /** Rounds to skip at the start; the default is a quarter, and at least 8. */
  warmup?: number;
  /** Smaller growth is ignored; default 4 KiB. */
  minBytes?: number;
  /** The series is a sum over different objects, some of which survive every collection. */
  mixed?: boolean;
}

export interface Judgement {
  verdict: SiteVerdict;
  kind: SiteKind;
  growthBytesPerMinute: number;
  /** Bounds of the growth, each with 99% confidence. */
  lowBytesPerMinute: number;
  highBytesPerMinute: number;
  growthTensorsPerMinute: number;
  /** For a leak: the p-value of the rise; else 1. */
  p: number;
}

export const MIN_WARMUP = 8;
/** Rounds that must follow the warm-up. */
export const MIN_ROUNDS = 10;
/** The accepted share of false leaks. */
export const ERROR = 0.01;
/** Smaller growth is ignored, whatever the confidence. */
const MIN_BYTES = 4096;
const MIN_TENSORS = 8;
const FEW_TENSORS = 3;
/** A floor that rose in fewer steps may be a few one-time allocations. */
const MIN_STEPS = 5;
/** Share of the maximum before a collection that must survive it. */
const SURVIVED = 0.5;
/** Longer series are thinned out, because the number of pairs for a slope is quadratic. */
const MAX_POINTS = 120;
/** Tensors that became larger by this factor after warm-up count as growing. */
const GROWN = 1.5;
/** For the minima of blocks of rounds: at most this many blocks, each of at least MIN_BLOCK rounds. */
const BLOCKS = 24;
const MIN_BLOCK = 4;
/** A cache that gained this share of its size in the last quarter is still filling. */
const FILLING = 0.02;
const MINUTE = 60_000;

export function warmupRounds(rounds: number, options: RuleOptions = {}): number {
  return options.warmup ?? Math.max(MIN_WARMUP, Math.ceil(rounds / 4));
}

/** Whether a capture of this many rounds can be judged. */
export function enoughRounds(rounds: number, options: RuleOptions = {}): boolean {
  return rounds - warmupRounds(rounds, options) >= MIN_ROUNDS;
}

/** The least number of rounds that can be judged. */
export function roundsNeeded(options: RuleOptions = {}): number {
  let rounds = MIN_ROUNDS;
  while (!enoughRounds(rounds, options)) rounds++;
  return rounds;
}

export const NO_GROWTH = {
  growthBytesPerMinute: 0,
  lowBytesPerMinute: 0,
  highBytesPerMinute: 0,
  growthTensorsPerMinute: 0,
  p: 1,
};

export function judge(history: SiteHistory, options: RuleOptions = {}): Judgement {
  const rounds = history.ms.length;
  const gone = (history.liveTensors.at(-1) ?? 0) === 0 && (history.liveBytes.at(-1) ?? 0) === 0;
  if (!enoughRounds(rounds, options)) {
    if (gone) return { verdict: 'steady', kind: 'steady', ...NO_GROWTH };
    return { verdict: 'insufficient', kind: 'insufficient', ...youngGrowth(history, options) };
  }
  const warmup = warmupRounds(rounds, options);
  if (gone) return { ...steady(history, warmup), ...NO_GROWTH };

  const picked = pickIndices(warmup, rounds);
  const ms = picked.map((i) => history.ms[i]!);
  const work = history.work === undefined ? ms : picked.map((i) => history.work![i]!);
  const bytes = trend(ms, work, history.liveBytes, picked, options.minBytes ?? MIN_BYTES);
  const tensors = trend(ms, work, history.liveTensors, picked, MIN_TENSORS);
  // If one tensor is repeatedly replaced by a larger one, which leaves garbage, the mean size rises.
  const always = picked.every((i) => history.liveTensors[i]! >= 1);
  const sizes = always && options.mixed !== true ? trend(ms, work, meanSizes(history), picked, MIN_BYTES) : FLAT;
  const rate = bytes.kind !== 'rising' && sizes.kind === 'rising' ? sizes : bytes;
  const growth = {
    growthBytesPerMinute: rate.slope * MINUTE,
    lowBytesPerMinute: rate.low * MINUTE,
    highBytesPerMinute: rate.high * MINUTE,
    growthTensorsPerMinute: tensors.slope * MINUTE,
    p: 1,
  };
  if (isGarbage(history, ms) && !tensorsGrow(history, picked, ms)) return { ...steady(history, warmup), ...growth };
  if ([bytes, tensors, sizes].some(({ kind }) => kind === 'rising')) {
    const held = isProved(history, options) || (options.mixed !== true && tensorsGrow(history, picked, ms));
    if (!held) return { ...steady(history, warmup), ...growth };
    // Three tests: bytes, tensors, sizes.
    return { verdict: 'leak', kind: 'leak', ...growth, p: Math.min(1, 3 * Math.min(bytes.p, tensors.p, sizes.p)) };
  }
  if (bytes.kind === 'saturated' || tensors.kind === 'saturated' || filled(history)) {
    return { verdict: 'cache', kind: isFilling(history) ? 'filling-cache' : 'full-cache', ...growth };
  }
  return { ...steady(history, warmup), ...growth };
}

/**
 * The growth rate of a series that is too short to judge, if it grew in many steps and by a minimum amount: not proof of a
 * leak, but a reason not to call the program clean.
 */
function youngGrowth({ ms, liveBytes, liveTensors }: SiteHistory, options: RuleOptions): typeof NO_GROWTH {
  const perMinute = (values: number[], minRise: number) => {
    const floor = floorOf(values);
    const rise = floor.at(-1)! - floor[0]!;
    const time = ms.at(-1)! - ms[0]!;
    return time > 0 && rise >= minRise && steps(floor) >= MIN_STEPS ? (rise / time) * MINUTE : 0;
  };
  if (ms.length === 0) return NO_GROWTH;
  return {
    growthBytesPerMinute: perMinute(liveBytes, options.minBytes ?? MIN_BYTES),
    growthTensorsPerMinute: perMinute(liveTensors, MIN_TENSORS),
    lowBytesPerMinute: Number.NEGATIVE_INFINITY,
    highBytesPerMinute: Number.POSITIVE_INFINITY,
    p: 1,
  };
}

/** The judgement of a leak that is not significant enough among many sites. */
export function notSignificant(judgement: Judgement): Judgement {
  return { ...judgement, verdict: 'steady', kind: 'steady', p: 1 };
}

/** The judgement of a leak that may instead be a job that collects results and then uses them. */
export function inconclusive(judgement: Judgement): Judgement {
  return { ...judgement, verdict: 'insufficient', kind: 'grew-to-the-end', p: 1 };
}

/**
 * All growth since the last full collection may be garbage. So the series must have grown until that collection, or most of
 * it must have survived the collection.
 */
function isProved(history: SiteHistory, options: RuleOptions): boolean {
  const { lastCollectionRound: round, lastCollectionMs: _, ...rest } = history;
  if (round === undefined || round >= history.ms.length - 1) return true;
  const upTo = (values: number[]) => values.slice(0, round + 1);
  const survived = (values: number[]) =>
    values[round]! > 0 && values[round]! >= SURVIVED * upTo(values).reduce((most, value) => Math.max(most, value), 0);
  if (options.mixed !== true && (survived(history.liveBytes) || survived(history.liveTensors))) return true;
  const until = {
    ...rest,
    ms: upTo(rest.ms),
    liveBytes: upTo(rest.liveBytes),
    liveTensors: upTo(rest.liveTensors),
    ...(rest.work === undefined ? {} : { work: upTo(rest.work) }),
  };
  return judge(until, options).verdict === 'leak';
}

/**
 * Many tensors of which none is old, or none survived the last full collection, are garbage, however fast they accumulate.
 * A few young ones may be repeatedly replaced by larger ones, which is a leak; see tensorsGrow.
 */
function isGarbage(history: SiteHistory, ms: number[]): boolean {
  const lastThird = ms[0]! + ((ms.at(-1)! - ms[0]!) * 2) / 3;
  const recent = history.liveTensors.slice(-Math.ceil(ms.length / 4));
  const young = Math.min(lastThird, history.lastCollectionMs ?? lastThird);
  return least(recent) > FEW_TENSORS && (history.oldestBirthMs ?? 0) > young;
}

const meanSizes = ({ liveBytes, liveTensors }: SiteHistory) =>
  liveBytes.map((bytes, i) => bytes / Math.max(1, liveTensors[i]!));

/** Whether the tensors become larger: bytes per tensor rise, however many of them are garbage. */
function tensorsGrow(history: SiteHistory, picked: number[], ms: number[]): boolean {
  const all = meanSizes(history);
  const sizes = picked.map((i) => all[i]!);
  return sizes.at(-1)! > GROWN * sizes[0]! && theilSen(ms, sizes).low > 0;
}

interface Trend extends Slope {
  kind: 'flat' | 'rising' | 'saturated';
}

const FLAT: Trend = { kind: 'flat', slope: 0, low: 0, high: 0, p: 1 };

function trend(ms: number[], work: number[], values: number[], picked: number[], minRise: number): Trend {
  const all = floorOf(values);
  // The floor of the last rounds is not proved by later rounds: it may be freed in the next one.
  const proved = picked.slice(0, picked.length - Math.max(1, Math.floor(picked.length / 8)));
  const floor = proved.map((i) => all[i]!);
  const rise = floor.at(-1)! - floor[0]!;
  if (rise < minRise || steps(floor) < MIN_STEPS) return FLAT;
  const slope = theilSen(ms.slice(0, proved.length), floor);
  // Measured against work, not time, so that a program that becomes idle does not look like a full cache, and a varying
  // speed does not lower the confidence.
  const worked = work.slice(0, proved.length);
  if (isSaturated(worked, floor)) return { ...slope, kind: 'saturated' };
  if (theilSen(worked, floor).low <= 0 || isUsualWave(values, all, picked[0]!, rise)) return { ...slope, kind: 'flat' };
  // A floor never falls, so even the floor of noise seems to rise. The values themselves must rise as significantly, or,
  // if the site has much garbage, the minima of blocks of rounds.
  const raw = picked.map((i) => values[i]!);
  const p = Math.min(1, 2 * Math.min(theilSen(work, raw).p, theilSen(...lowsOf(work, raw)).p));
  return { ...slope, kind: p <= ERROR ? 'rising' : 'flat', p };
}

/** The minima of successive blocks, and the x at which the blocks begin. */
function lowsOf(x: number[], values: number[]): [number[], number[]] {
  const size = Math.max(MIN_BLOCK, Math.ceil(values.length / BLOCKS));
  const lows: number[] = [];
  const begins: number[] = [];
  for (let i = 0; i + size <= values.length; i += size) {
    lows.push(least(values.slice(i, i + size)));
    begins.push(x[i]!);
  }
  return [begins, lows];
}

/**
 * Whether the series grew step by step, mostly before the last quarter, and did not fall. One-time allocations do not
 * count, nor does garbage since the last collection.
 */
function filled(history: SiteHistory): boolean {
  const grew = (values: number[], minRise: number) => {
    const floor = floorOf(values);
    const early = floor.slice(0, Math.ceil(floor.length * 0.75));
    const rise = floor.at(-1)! - floor[0]!;
    return rise >= minRise && early.at(-1)! - floor[0]! >= rise / 2 && steps(early) >= 3;
  };
  return grew(history.liveBytes, MIN_BYTES) || grew(history.liveTensors, MIN_TENSORS);
}

function isFilling(history: SiteHistory): boolean {
  const grows = (values: number[]) => {
    const floor = floorOf(values);
    const begin = floor[Math.floor(floor.length * 0.75)]!;
    return floor.at(-1)! - begin > FILLING * floor.at(-1)!;
  };
  return grows(history.liveBytes) || grows(history.liveTensors);
}

/** A series is a sawtooth if it rises and falls at least twice by half its range and by a minimum amount. */
function steady(history: SiteHistory, warmup: number): { verdict: 'steady'; kind: 'sawtooth' | 'steady' } {
  const toothed = (values: number[], minHeight: number) => {
    const after = values.slice(warmup);
    const range = after.reduce((a, b) => Math.max(a, b), 0) - least(after);
    return range >= minHeight && teeth(values, range / 2).length >= 2;
  };
  const sawtooth = toothed(history.liveBytes, MIN_BYTES) || toothed(history.liveTensors, MIN_TENSORS);
  return { verdict: 'steady', kind: sawtooth ? 'sawtooth' : 'steady' };
}

// Not Math.min(...values), because a long capture has more rounds than a call takes arguments.
const least = (values: readonly number[]) => values.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);

/** At most MAX_POINTS indices from `begin` on, evenly spread, always including the last. */
function pickIndices(begin: number, end: number): number[] {
  const n = end - begin;
  const count = Math.min(n, MAX_POINTS);
  return Array.from({ length: count }, (_, k) => begin + Math.round((k * (n - 1)) / Math.max(1, count - 1)));
}
