/**
 * Leak, cache, or steady? docs/verdicts.md has the method, and how often it errs.
 *
 * What was alive at some time and is freed later is no leak, so the rule looks at the *floor*: at each round the least
 * that is alive from there on. Sawteeth (garbage between collections, caches that are cleared) have a flat floor. A
 * floor that rises with 99% confidence after warm-up (Theil–Sen), by more than a trifle and in many steps, is a leak,
 * unless it flattens: then it is a cache that fills. The values themselves must rise with the same confidence.
 */
import { floorOf, isSaturated, isUsualWave, steps, teeth } from './shape';
import { type Slope, theilSen } from './theil_sen';

export type SiteVerdict = 'leak' | 'cache' | 'steady' | 'insufficient';
/** The same, finer: which cache, which kind of steady. */
export type SiteKind =
  | 'leak'
  | 'filling-cache'
  | 'full-cache'
  | 'sawtooth'
  | 'steady'
  | 'insufficient'
  | 'grew-to-the-end';

/** One site, one value per round (interval of the capture). */
export interface SiteHistory {
  ms: number[];
  liveBytes: number[];
  liveTensors: number[];
  /** When the oldest of those that live at the end was born, on the clock of `ms`; optional. */
  oldestBirthMs?: number;
  /** A time surely before the last full collection; optional. */
  lastCollectionMs?: number;
  /** The round that counted that collection; optional. */
  lastCollectionRound?: number;
  /** Tensors that the whole program had allocated by then, as a measure of how much it has done; optional. */
  work?: number[];
}

export interface RuleOptions {
  /** Rounds to leave out at the start; the default is a quarter, and at least 8. */
  warmup?: number;
  /** Growth by fewer bytes is a trifle; default 4 KiB. */
  minBytes?: number;
  /** The series is a sum over all kinds of things, of which some survive every collection. */
  mixed?: boolean;
}

export interface Judgement {
  verdict: SiteVerdict;
  kind: SiteKind;
  growthBytesPerMinute: number;
  /** The growth is at least, and at most, this with 99% confidence each. */
  lowBytesPerMinute: number;
  highBytesPerMinute: number;
  growthTensorsPerMinute: number;
  /** For a leak: how likely a site without a trend is to rise as surely; else 1. */
  p: number;
}

export const MIN_WARMUP = 8;
/** Rounds that must follow the warm-up. */
export const MIN_ROUNDS = 10;
/** The share of false leaks that is allowed. */
export const ERROR = 0.01;
/** Less than this is a trifle, whatever the confidence. */
const MIN_BYTES = 4096;
const MIN_TENSORS = 8;
const FEW_TENSORS = 3;
/** A floor that rose in fewer rounds than this may be a few one-time allocations. */
const MIN_STEPS = 5;
/** Most of what there was before a collection: */
const SURVIVED = 0.5;
/** Longer series are condensed: the pairs of a slope grow with the square. */
const MAX_POINTS = 120;
/** Tensors that became larger by this factor after warm-up have grown. */
const GROWN = 1.5;
/** At most so many blocks of rounds when the least values of blocks are looked at, and each of at least so many rounds. */
const BLOCKS = 24;
const MIN_BLOCK = 4;
/** A cache that got this share of what it holds in the last quarter still fills. */
const FILLING = 0.02;
const MINUTE = 60_000;

export function warmupRounds(rounds: number, options: RuleOptions = {}): number {
  return options.warmup ?? Math.max(MIN_WARMUP, Math.ceil(rounds / 4));
}

/** Whether a capture of so many rounds can be judged at all. */
export function enoughRounds(rounds: number, options: RuleOptions = {}): boolean {
  return rounds - warmupRounds(rounds, options) >= MIN_ROUNDS;
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
  // One tensor that is replaced by a larger one again and again, among the garbage that it was: the mean size rises.
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
    // Three chances to be wrong.
    return { verdict: 'leak', kind: 'leak', ...growth, p: Math.min(1, 3 * Math.min(bytes.p, tensors.p, sizes.p)) };
  }
  if (bytes.kind === 'saturated' || tensors.kind === 'saturated' || filled(history)) {
    return { verdict: 'cache', kind: isFilling(history) ? 'filling-cache' : 'full-cache', ...growth };
  }
  return { ...steady(history, warmup), ...growth };
}

/**
 * How fast too short a series grew, where it did in many steps and by more than a trifle: no proof of anything, but
 * reason not to call the program clean.
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

/** What a leak is called that is not sure enough beside so many other sites. */
export function unsure(judgement: Judgement): Judgement {
  return { ...judgement, verdict: 'steady', kind: 'steady', p: 1 };
}

/** What a leak is called where the same memory may as well be a job that collects results and then uses them. */
export function undecided(judgement: Judgement): Judgement {
  return { ...judgement, verdict: 'insufficient', kind: 'grew-to-the-end', p: 1 };
}

/**
 * What grew since the last full collection may be garbage all of it. So it has to have grown until then, among what that
 * collection left; or most of what there was has to have survived it.
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
 * Many tensors of which none is old, or none survived the last full collection, are garbage since then, however fast
 * they pile up. A few young ones
 * may be replaced by larger ones again and again, which is a leak; see also tensorsGrow.
 */
function isGarbage(history: SiteHistory, ms: number[]): boolean {
  const lastThird = ms[0]! + ((ms.at(-1)! - ms[0]!) * 2) / 3;
  const recent = history.liveTensors.slice(-Math.ceil(ms.length / 4));
  const young = Math.min(lastThird, history.lastCollectionMs ?? lastThird);
  return least(recent) > FEW_TENSORS && (history.oldestBirthMs ?? 0) > young;
}

const meanSizes = ({ liveBytes, liveTensors }: SiteHistory) =>
  liveBytes.map((bytes, i) => bytes / Math.max(1, liveTensors[i]!));

/** Whether the tensors themselves become larger, however many of them are garbage: bytes per tensor rise. */
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
  // The floor of the last rounds has no future to be proved by: what is alive there may be gone in the next.
  const proved = picked.slice(0, picked.length - Math.max(1, Math.floor(picked.length / 8)));
  const floor = proved.map((i) => all[i]!);
  const rise = floor.at(-1)! - floor[0]!;
  if (rise < minRise || steps(floor) < MIN_STEPS) return FLAT;
  const slope = theilSen(ms.slice(0, proved.length), floor);
  // Measured against work, not time: a program that becomes idle does not look like a cache that is full, and one that
  // is now slow, now fast does not look less sure.
  const worked = work.slice(0, proved.length);
  if (isSaturated(worked, floor)) return { ...slope, kind: 'saturated' };
  if (theilSen(worked, floor).low <= 0 || isUsualWave(values, all, picked[0]!, rise)) return { ...slope, kind: 'flat' };
  // A floor never falls, so that of mere noise seems to rise: the values themselves have to rise as surely, or, where
  // much garbage comes and goes at the same site, the least of every few rounds.
  const raw = picked.map((i) => values[i]!);
  const p = Math.min(1, 2 * Math.min(theilSen(work, raw).p, theilSen(...lowsOf(work, raw)).p));
  return { ...slope, kind: p <= ERROR ? 'rising' : 'flat', p };
}

/** The least of each of successive blocks, and where they began. */
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
 * True when it grew step by step, most of it before the last quarter, and holds what it got. One-time allocations do
 * not count, nor does garbage since the last collection.
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

/** Rises and falls of at least half the range, more than once, and of more than a trifle, are a sawtooth. */
function steady(history: SiteHistory, warmup: number): { verdict: 'steady'; kind: 'sawtooth' | 'steady' } {
  const toothed = (values: number[], minHeight: number) => {
    const after = values.slice(warmup);
    const range = after.reduce((a, b) => Math.max(a, b), 0) - least(after);
    return range >= minHeight && teeth(values, range / 2).length >= 2;
  };
  const sawtooth = toothed(history.liveBytes, MIN_BYTES) || toothed(history.liveTensors, MIN_TENSORS);
  return { verdict: 'steady', kind: sawtooth ? 'sawtooth' : 'steady' };
}

// Not Math.min(...values): a long capture has more rounds than a call takes arguments.
const least = (values: readonly number[]) => values.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);

/** At most MAX_POINTS indices from `begin` on, evenly spread, the last always among them. */
function pickIndices(begin: number, end: number): number[] {
  const n = end - begin;
  const count = Math.min(n, MAX_POINTS);
  return Array.from({ length: count }, (_, k) => begin + Math.round((k * (n - 1)) / Math.max(1, count - 1)));
}
