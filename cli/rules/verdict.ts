/** What a rule is asked about a series, and what it answers. docs/verdicts.md describes the method and its error rates. */

export type SiteVerdict = 'leak' | 'cache' | 'steady' | 'insufficient';
/** The order of sites in reports. */
export const VERDICT_RANK: Record<SiteVerdict, number> = { leak: 0, insufficient: 1, cache: 2, steady: 3 };
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

/** The accepted share of false leaks. */
export const MAX_FALSE_SHARE = 0.01;

export const NO_GROWTH = {
  growthBytesPerMinute: 0,
  lowBytesPerMinute: 0,
  highBytesPerMinute: 0,
  growthTensorsPerMinute: 0,
  p: 1,
};

/** Up to this share of false leaks, growth is not called steady either. */
const MAX_DOUBTFUL_SHARE = 0.05;

/** The judgement of a leak that is not significant enough among many sites: with it, a share `error` of leaks would be false. */
export function notSignificant(judgement: Judgement, error: number): Judgement {
  const isDoubtful = error <= MAX_DOUBTFUL_SHARE;
  const kind = isDoubtful ? 'insufficient' : 'steady';
  return { ...judgement, verdict: kind, kind, p: 1 };
}

/** The judgement of a leak that may instead be a job that collects results and then uses them. */
export function inconclusive(judgement: Judgement): Judgement {
  return { ...judgement, verdict: 'insufficient', kind: 'grew-to-the-end', p: 1 };
}
