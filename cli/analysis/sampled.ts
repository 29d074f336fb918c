/**
 * Captures of mode `sample` in which some storages were not recorded. The counters of a line are estimates there, but the
 * totals are exact: they are judged by the same rules as a line, and the line is named as far as samples allow.
 */
import type { Capture } from '../capture/capture';
import { IdMap } from '../capture/id-map';
import type { Series } from '../capture/records';
import type { RuleOptions } from '../rules/verdict';
import { warmupRounds } from '../rules/warmup';
import { judgeToEnd, type Program } from './judging';
import type { SiteReport } from './report';
import { rises } from './rising';
import { type Group, totalOf } from './sites';

/** Live samples that a verdict on a line needs. */
const MIN_SAMPLES = 8;
/** Live samples that are needed to name the line, if the growth itself is certain. */
const MIN_NAMED = 3;
/** The share of the total growth that this line must have. */
const MIN_SHARE = 0.25;
/** Bytes that the sampler adds to each storage's own (kHandleBytes in native/audit/sampler.h). */
const HANDLE_BYTES = 64;

/** Whether some storages were not recorded. */
export const isThinned = ({ start, ticks }: Capture): boolean =>
  start?.mode === 'sample' && ticks.some(({ distance }) => distance !== 1);

export interface Sampled {
  /** The bytes of all tensors grow. */
  isGrowing: boolean;
  /** Growth of the totals for which no line has enough samples. */
  unsampled?: Pick<
    SiteReport,
    'growthBytesPerMinute' | 'growthTensorsPerMinute' | 'verdict' | 'kind' | 'freedMs' | 'confidence'
  >;
  /** If samples were too few for a verdict: the distance between samples that would suffice; else null. */
  sufficientBytes: number | null;
}

/** Judges the exact totals, and changes the verdicts of `sites` (those of `program.groups`) accordingly. */
export function judgeSampled(program: Program, sites: SiteReport[], options: RuleOptions): Sampled {
  const { capture, groups } = program;
  const { judgement, freedMs } = judgeTotals(program, options);
  const samples = samplesOf(capture);
  const isLeak = judgement.verdict === 'leak';
  const isGrowing = isLeak || judgement.verdict === 'cache' || judgement.kind === 'grew-to-the-end';
  let sufficientBytes: number | null = null;
  for (const [i, site] of sites.entries()) {
    if (site.verdict !== 'leak' || site.graph !== null) continue;
    if (countOf(groups[i]!, samples) >= (isLeak ? MIN_NAMED : MIN_SAMPLES)) continue;
    Object.assign(site, {
      verdict: 'insufficient',
      kind: 'insufficient',
      confidence: null,
    } satisfies Partial<SiteReport>);
    sufficientBytes = Math.min(
      sufficientBytes ?? Number.POSITIVE_INFINITY,
      sufficientDistance(site, capture.durationMs),
    );
  }
  if (sites.some(({ verdict }) => verdict === 'leak')) return { isGrowing, sufficientBytes: null };
  const grewToEnd = judgement.kind === 'grew-to-the-end';
  if (!isLeak && !grewToEnd && !growsAtCollections(program, options)) return { isGrowing, sufficientBytes };
  if (!isLeak && sites.some(({ verdict }) => verdict === 'insufficient')) return { isGrowing, sufficientBytes };
  const growth = growthOf(program, options);
  const perMinute = 60_000 / Math.max(1, growth.ms);
  const unsampled: Sampled['unsampled'] = {
    growthBytesPerMinute: Math.round(judgement.growthBytesPerMinute || growth.bytes * perMinute),
    growthTensorsPerMinute: Math.round(judgement.growthTensorsPerMinute || growth.tensors * perMinute),
    freedMs,
    verdict: isLeak ? 'leak' : 'insufficient',
    kind: isLeak ? 'leak' : grewToEnd ? 'grew-to-the-end' : 'insufficient',
    confidence: isLeak ? 1 - judgement.p : null,
  };
  const { best } = growth;
  sufficientBytes = isLeak || grewToEnd ? null : sufficientDistance(unsampled, capture.durationMs);
  if (best === undefined || (!grewToEnd && countOf(groups[best]!, samples) < MIN_NAMED))
    return { isGrowing, unsampled, sufficientBytes };
  Object.assign(sites[best]!, unsampled);
  return { isGrowing, sufficientBytes };
}

/** The distance between samples at which this growth has enough samples for certain. */
function sufficientDistance(
  { growthBytesPerMinute, growthTensorsPerMinute }: Pick<SiteReport, 'growthBytesPerMinute' | 'growthTensorsPerMinute'>,
  durationMs: number,
): number {
  const bytes = ((growthBytesPerMinute + HANDLE_BYTES * growthTensorsPerMinute) * durationMs) / 60_000;
  return 2 ** Math.max(0, Math.floor(Math.log2(Math.max(1, bytes / (4 * MIN_SAMPLES)))));
}

function judgeTotals(program: Program, options: RuleOptions) {
  const { ticks } = program.capture;
  const series: Series = {
    siteId: -1,
    device: 'cpu',
    labelId: 0,
    ticks: ticks.map((_, i) => i),
    liveTensors: ticks.map(({ tensors }) => tensors),
    liveBytes: ticks.map(({ bytes }) => bytes),
    allocatedTensors: program.work,
    allocatedBytes: ticks.map(({ bytes }) => bytes),
    oldestBirthMs: ticks.map(() => Number.NaN),
  };
  const whole: Group = {
    frame: { file: '', line: 0, column: 0, function: '' },
    members: [{ series, stack: [] }],
  };
  return judgeToEnd(program, whole, [series], program.rounds, { ...options, mixed: true });
}

/**
 * Whether the number of tensors or of storages that remain after full collections rises from collection to collection (see
 * rises).
 */
function growsAtCollections({ capture: { ticks }, rounds }: Program, options: RuleOptions): boolean {
  const after = ticks.flatMap(({ collections }, i) =>
    i > 0 && i < rounds && collections > ticks[i - 1]!.collections ? [i] : [],
  );
  const least = (of: (i: number) => number) => ticks.map((_, i) => Math.min(of(i), of(Math.min(i + 1, rounds - 1))));
  return [(i: number) => ticks[i]!.tensors, (i: number) => ticks[i]!.storages].some((of) =>
    rises(least(of), after, 0, options),
  );
}

/** Live samples by site. */
function samplesOf({ details }: Capture): IdMap<number> {
  const found = new IdMap<number>();
  for (const { live, siteId } of details) {
    for (let row = 0; row < live.size; row++) {
      const id = siteId(live.at(row).siteId);
      found.set(id, (found.get(id) ?? 0) + 1);
    }
  }
  return found;
}

const countOf = (group: Group, samples: IdMap<number>) =>
  [...new Set(group.members.map(({ series }) => series.siteId))].reduce((sum, id) => sum + (samples.get(id) ?? 0), 0);

/** The growth from the end of the warm-up to the largest total, and the line with the largest share of it. */
function growthOf({ capture: { ticks }, groups, rounds }: Program, options: RuleOptions) {
  const begin = Math.min(warmupRounds(rounds, options), rounds - 1);
  let end = begin;
  for (let i = begin; i < rounds; i++) if (ticks[i]!.bytes >= ticks[end]!.bytes) end = i;
  const bytes = ticks[end]!.bytes - ticks[begin]!.bytes;
  const tensors = ticks[end]!.tensors - ticks[begin]!.tensors;
  const own = groups.map(({ members }) => {
    const live = totalOf(
      members.map(({ series }) => series),
      ticks.length,
      bytes > 0 ? ({ liveBytes }) => liveBytes : ({ liveTensors }) => liveTensors,
    );
    return live[end]! - live[begin]!;
  });
  const best = own.reduce((a, value, i) => (value > (own[a] ?? 0) ? i : a), -1);
  const isNamed = best !== -1 && own[best]! >= MIN_SHARE * (bytes > 0 ? bytes : tensors);
  return { bytes, tensors, ms: ticks[end]!.ms - ticks[begin]!.ms, best: isNamed ? best : undefined };
}
