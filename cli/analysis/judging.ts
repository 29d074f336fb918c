/** The verdict on one site: at the program's end, before its final phase, and at the end of each worker thread. */
import type { Capture } from '../capture/capture';
import { IdMap } from '../capture/id-map';
import type { Series } from '../capture/records';
import { ownBytes, provedUntil } from '../capture/rounds';
import { firstFrom, Survivors } from '../capture/survivors';
import { judge } from '../rules';
import { risesEvenly } from '../rules/even';
import { MIN_BYTES, MIN_TENSORS } from '../rules/evidence';
import { finalPhase } from '../rules/final-phase';
import {
  inconclusive,
  type Judgement,
  MAX_FALSE_SHARE,
  NO_GROWTH,
  type RuleOptions,
  type SiteHistory,
} from '../rules/verdict';
import { enoughRounds, warmupRounds } from '../rules/warmup';
import { isBusier } from './busier';
import { drivenWork } from './driven';
import { hasFilled } from './filled';
import { mayRise, outlivingRise, rises, risesSteadily } from './rising';
import { firstRound, type Group, lastCollection, lastOf, oldestOf, totalOf } from './sites';

/** Rounds after the mark of this name are not judged, because the program releases what it holds. */
const SHUTDOWN = 'shutdown';
/** Above this share of all allocations, a site is itself the program's work, so growth is measured by time. */
const MIN_OWN_WORK = 0.9;
/** A line that is first active in these last rounds may use results that were collected until then. */
const LAST_ROUNDS = 3;
/** It must make at least this share of the collected bytes, as `torch.stack` and `torch.cat` do. */
const MIN_CONSUMED_SHARE = 0.5;

/** Survivors are not judged with more live tensors than this, which would take long. */
const MAX_LIVE = 2 ** 20;
/** At least this share of the survivors of the last collection must still be live; otherwise they were released. */
const MIN_STILL_LIVE = 0.5;

/** Survivors that grow with this significance are doubtful though their counts at collections do not rise. */
const MAX_ALIASED_P = 0.001;

/** A series is doubtful only if its last collection comes after this share of the rounds. */
const MIN_JUDGED_SHARE = 2 / 3;

/** Rounds after the last collection that show that growth stopped; half of them must be flat. */
const MIN_FLAT = 4;
/** The most change in them, as a share of what growth would have added. */
const MAX_FLAT_CHANGE = 0.1;
/** The program must go on making tensors, at this share of its pace. */
const MIN_PACE = 0.25;
const MINUTE = 60_000;

/** The data that the sites of a capture are judged by. */
export interface Program {
  capture: Capture;
  groups: Group[];
  /** Number of tensors made until each round; in `sample` mode, if it is known, the exact number of storages. */
  work: number[];
  /** Number of judged rounds: all, or those until the mark `shutdown`. */
  rounds: number;
  /** Ended threads with their order. */
  ended: IdMap<number>;
  /** Tensors that are proved to have been held, and until when; undefined if unknown. */
  held: Held | undefined;
}

interface Held {
  parts: Survivors[];
  rounds: number;
  /** The last round before each full collection, at which the held tensors are exactly known. */
  exact: number[];
}

export interface Judged {
  judgement: Judgement;
  /** Birth of the oldest tensor that is held, or was held when its thread ended. */
  oldest: number | null;
  /** If it grew while the program was active: how many ms before the capture's end it was freed; else null. */
  freedMs: number | null;
}

export function programOf(capture: Capture, groups: Group[], wanted: Series[]): Program {
  const ended = new IdMap<number>();
  for (const environment of capture.ended.keys()) ended.set(environment, ended.size);
  const shutdown = capture.marks.filter(({ name }) => name === SHUTDOWN).at(-1);
  const until = shutdown === undefined ? -1 : capture.ticks.findIndex(({ ms }) => ms > shutdown.ms);
  return {
    capture,
    groups,
    work: workOf(capture, wanted),
    rounds: until === -1 ? capture.ticks.length : until,
    ended,
    held: heldOf(capture),
  };
}

/** Not the estimates of `sample` mode, which rise in steps. */
function workOf({ ticks }: Capture, wanted: Series[]): number[] {
  if (ticks.length === 0 || ticks.some(({ made }) => made === undefined))
    return totalOf(wanted, ticks.length, (series) => series.allocatedTensors);
  return ticks.map(({ made }) => made!);
}

/** For one process only: joined processes have separate collections. */
function heldOf({ details, ticks, droppedDetail }: Capture): Held | undefined {
  const [detail] = details;
  const last = ticks.at(-1);
  if (detail === undefined || details.length > 1 || last === undefined || droppedDetail > 0) return undefined;
  const { live, survivors } = detail;
  const collectedMs = last.collectedMs ?? 0;
  if (collectedMs === 0 || live.size > MAX_LIVE || survivors.isFull) return undefined;
  const alive = new Survivors();
  for (let row = 0; row < live.size; row++) {
    const birth = live.at(row);
    const proved = provedUntil(birth, last);
    if (proved >= birth.birthMs) alive.add(birth.siteId, ticks, birth.birthMs, proved, birth.weight, ownBytes(birth));
  }
  const begins = new Set(ticks.map((tick) => tick.collectedMs ?? 0).filter((ms) => ms > 0));
  const exact = [...begins].map((ms) => firstFrom(ticks, ms + 1) - 1).filter((round) => round >= 0);
  return { parts: [survivors, alive], rounds: firstFrom(ticks, collectedMs + 1), exact: [...new Set(exact)] };
}

export function judgeGroup(program: Program, group: Group, options: RuleOptions): Judged {
  const { capture } = program;
  const all = group.members.map((member) => member.series);
  const atEnd = judgeToEnd(program, group, all, program.rounds, options);
  const isLeak = atEnd.judgement.verdict === 'leak';
  // Among many sites it must be that significant; see falseDiscovery.
  if (isLeak && atEnd.judgement.p * program.groups.length <= MAX_FALSE_SHARE) return atEnd;
  const survivors = judgeSurvivors(program, group, atEnd, options);
  if (isLeak) return survivors !== undefined && survivors.judgement.p < atEnd.judgement.p ? survivors : atEnd;
  if (survivors !== undefined) return survivors;
  // The tensors of a worker thread are freed when it ends, but may have leaked until then.
  const ended: Judged[] = [];
  for (const [environment, its] of endedSeries(program, all)) {
    const rounds = Math.min(program.rounds, capture.ended.get(environment)! + 1);
    const { judgement, oldest, freedMs } = judgeToEnd(program, group, its, rounds, options);
    ended.push({ judgement, oldest: atEnd.oldest ?? oldest, freedMs });
    if (judgement.verdict === 'leak') return ended.at(-1)!;
  }
  // A single thread that grew but ended too early to judge. If several came and went, none runs long enough to leak.
  const only = ended.length === 1 ? ended[0]!.judgement : undefined;
  return only?.verdict === 'insufficient' && grew(only) ? ended[0]! : atEnd;
}

/** Judges only tensors that are proved to have been held: a line may make much garbage and hold a few for good. */
function judgeSurvivors(program: Program, group: Group, atEnd: Judged, options: RuleOptions): Judged | undefined {
  const { capture, work, held, rounds: most } = program;
  if (held === undefined || atEnd.judgement.verdict === 'insufficient') return undefined;
  const all = group.members.map((member) => member.series);
  const end = Math.min(held.rounds, most);
  const from = Math.max(0, firstRound(all));
  if (from >= end) return undefined;
  const ids = new Set(all.map(({ siteId }) => siteId));
  const parts = held.parts.map((part) => part.series(ids, capture.ticks));
  const sum = (values: number[][]) => capture.ticks.map((_, i) => values.reduce((total, own) => total + own[i]!, 0));
  const liveTensors = sum(parts.map(({ tensors }) => tensors));
  const liveBytes = sum(parts.map(({ bytes }) => bytes));
  const judgement = judge(
    {
      ms: capture.ticks.slice(from, end).map(({ ms }) => ms),
      liveBytes: liveBytes.slice(from, end),
      liveTensors: liveTensors.slice(from, end),
      work: work.slice(from, end),
    },
    { ...options, mixed: true },
  );
  const rising = (...how: (typeof rises)[]) =>
    [liveTensors, liveBytes].some((counts) => how.some((rise) => rise(counts, held.exact, from, options)));
  if (judgement.verdict !== 'leak' || !rising(rises, outlivingRise)) {
    // Without a collection for long, nothing has grown since the last one.
    if (end < MIN_JUDGED_SHARE * most) return undefined;
    const of = (values: (series: Series) => number[]) => totalOf(all, capture.ticks.length, values).slice(0, most);
    const live = of((series) => series.liveTensors);
    const liveRises = () => {
      const ms = capture.ticks.slice(from, most).map((tick) => tick.ms);
      const bytes = of((series) => series.liveBytes);
      const history = { ms, liveTensors: live.slice(from), liveBytes: bytes.slice(from) };
      return judge(history, { ...options, mixed: true }).verdict === 'leak';
    };
    // They grow beyond doubt, but their counts right before collections do not rise, as where a list that is emptied about as
    // often as collections come has few tensors at one of them and many at the next.
    if (judgement.verdict === 'leak' && judgement.p <= MAX_ALIASED_P && !hasStopped(program, all, from, end, judgement))
      return { judgement: inconclusive(judgement), oldest: atEnd.oldest, freedMs: null };
    const isDoubtful = atEnd.judgement.verdict === 'steady';
    const mayBe = isDoubtful && mayRise(liveTensors, live, held.exact, from, options, liveRises);
    const isSteady = (counts: number[], least: number) => risesSteadily(counts, held.exact, from, options, least);
    if (!mayBe && !isSteady(liveTensors, MIN_TENSORS) && !isSteady(liveBytes, options.minBytes ?? MIN_BYTES))
      return undefined;
    const [first, last] = [from, end - 1].map((round) => capture.ticks[round]!.ms) as [number, number];
    const growthTensorsPerMinute = (liveTensors[end - 1]! / Math.max(1, last - first)) * 60_000;
    const doubtful = {
      ...judgement,
      verdict: 'insufficient',
      kind: 'insufficient',
      growthTensorsPerMinute,
      p: 1,
    } as const;
    return { judgement: doubtful, oldest: atEnd.oldest, freedMs: null };
  }
  if (hasStopped(program, all, from, end, judgement)) return undefined;
  const stays = lastOf(all, (series) => series.liveTensors) >= MIN_STILL_LIVE * liveTensors[end - 1]!;
  const isSure = stays && !isConsumed(program, group, program.rounds - LAST_ROUNDS, program.rounds);
  // A second test of the same site.
  const found = isSure ? { ...judgement, p: Math.min(1, 2 * judgement.p) } : inconclusive(judgement);
  return { judgement: found, oldest: atEnd.oldest, freedMs: atEnd.freedMs };
}

/**
 * Whether the growth until `end` stopped later, without another collection: all live tensors are an upper limit of those that
 * are held, and their number stayed the same while the program went on making tensors. A cache that filled is like this.
 */
function hasStopped({ capture, work, rounds }: Program, its: Series[], from: number, end: number, growth: Judgement) {
  const { ticks } = capture;
  const [begin, last] = [end + ((rounds - end) >> 1), rounds - 1];
  if (last - begin < MIN_FLAT) return false;
  const elapsed = (a: number, b: number) => ticks[b]!.ms - ticks[a]!.ms;
  const pace = (a: number, b: number) => (work[b]! - work[a]!) / Math.max(1, elapsed(a, b));
  if (pace(begin, last) < MIN_PACE * pace(from, end - 1)) return false;
  const isFlat = (of: (series: Series) => number[], perMinute: number) => {
    const live = totalOf(its, ticks.length, of).slice(begin, rounds);
    return Math.max(...live) - Math.min(...live) <= MAX_FLAT_CHANGE * (perMinute / MINUTE) * elapsed(begin, last);
  };
  return growth.growthTensorsPerMinute > 0
    ? isFlat((series) => series.liveTensors, growth.growthTensorsPerMinute)
    : isFlat((series) => series.liveBytes, growth.growthBytesPerMinute);
}

const grew = ({ growthBytesPerMinute, growthTensorsPerMinute }: Judgement) =>
  growthBytesPerMinute > 0 || growthTensorsPerMinute > 0;

/** Judges the rounds until `rounds`; if nothing is found, those before the final phase of the program. */
export function judgeToEnd(
  program: Program,
  group: Group,
  its: Series[],
  rounds: number,
  options: RuleOptions,
): Judged {
  const { capture } = program;
  const atEnd = { ...judgeUntil(program, its, rounds, options), freedMs: null };
  if (atEnd.judgement.verdict === 'leak') {
    if (isBusier(capture.ticks, its, rounds) || hasFilled(capture.ticks, its, rounds, options))
      return { ...atEnd, judgement: { ...atEnd.judgement, verdict: 'insufficient', kind: 'insufficient', p: 1 } };
    return isConsumed(program, group, rounds - LAST_ROUNDS, rounds)
      ? { ...atEnd, judgement: inconclusive(atEnd.judgement) }
      : atEnd;
  }
  const [bytes, tensors] = [(one: Series) => one.liveBytes, (one: Series) => one.liveTensors].map((of) =>
    finalPhase(totalOf(its, capture.ticks.length, of).slice(0, rounds), program.work.slice(0, rounds)),
  );
  // Bytes first; views have none of their own.
  const phase = bytes?.fell ? bytes : (tensors ?? bytes);
  if (phase === undefined) return atEnd;
  const before = judgeUntil(program, its, phase.rounds, options);
  if (!grew(before.judgement) || !['leak', 'insufficient'].includes(before.judgement.verdict)) return atEnd;
  const freedMs = phase.fell ? capture.durationMs - capture.ticks[phase.rounds - 1]!.ms : null;
  // A job that collects results, uses and releases them looks the same, and so does garbage that is finally collected.
  const doubtful = phase.doubtful || phase.fell;
  // If it did not fall, all rounds were judged: only a leak overrides their verdict.
  if (!phase.fell && before.judgement.verdict !== 'leak') return atEnd;
  return { judgement: doubtful ? inconclusive(before.judgement) : before.judgement, oldest: before.oldest, freedMs };
}

function judgeUntil(program: Program, its: Series[], end: number, options: RuleOptions) {
  const { capture, work } = program;
  const rounds = capture.ticks.length;
  const oldest = oldestOf(its, end);
  // The estimates of older captures in `sample` mode rise in steps, so growth is measured by time there too.
  const isEstimate = capture.start?.mode === 'sample' && capture.ticks[0]?.made === undefined;
  const ownWork = isEstimate || lastOf(its, (series) => series.allocatedTensors) >= MIN_OWN_WORK * work.at(-1)!;
  // A site that starts late is judged from its own first round.
  const from = Math.max(0, firstRound(its));
  if (from >= end) return { judgement: { verdict: 'steady', kind: 'steady', ...NO_GROWTH } as Judgement, oldest };
  const history = {
    ms: capture.ticks.slice(from, end).map((tick) => tick.ms),
    liveBytes: totalOf(its, rounds, (series) => series.liveBytes).slice(from, end),
    liveTensors: totalOf(its, rounds, (series) => series.liveTensors).slice(from, end),
    ...(oldest === null ? {} : { oldestBirthMs: oldest }),
    ...lastCollection(capture, from, end),
  };
  const judgement = ownWork ? judge(history, options) : judgeByWork(program, its, history, [from, end], options);
  if (judgement.kind !== 'filling-cache') return { judgement, oldest };
  // Measured by time, a leak of a program that becomes slower looks like a cache that fills. Processor time
  // distinguishes them. Measured by work, what a timer keeps looks like one if the program becomes faster.
  const cpu = capture.ticks.slice(from, end).map(({ cpuMs }) => cpuMs ?? 0);
  const isMeasured = ownWork ? (cpu[0] ?? 0) > 0 : risesEvenly(history, options);
  if (!isMeasured) return { judgement, oldest };
  const again = judge(ownWork ? { ...history, work: cpu } : history, options);
  return { judgement: again.verdict === 'leak' ? inconclusive(again) : judgement, oldest };
}

/** By the work of the program, without the work that the growing site itself causes. */
function judgeByWork(
  { capture, groups, work }: Program,
  its: Series[],
  history: SiteHistory,
  [from, end]: [number, number],
  options: RuleOptions,
): Judgement {
  const judgement = judge({ ...history, work: work.slice(from, end) }, options);
  const isSlowing = grew(judgement) && judgement.verdict !== 'leak' && enoughRounds(end - from, options);
  if (!isSlowing || capture.start?.mode === 'sample') return judgement;
  const ms = capture.ticks.map((tick) => tick.ms);
  const live = totalOf(its, ms.length, (series) => series.liveTensors);
  const isOwn = (group: Group) => group.members.some(({ series }) => its.includes(series));
  const begin = from + warmupRounds(end - from, options);
  const driven = drivenWork(groups, live, ms, isOwn, [begin, end]);
  if (driven === undefined) return judgement;
  const rest = work.map((made, i) => made - driven[i]!);
  // As in judgeUntil: without other work, growth can only be measured by time.
  const own = lastOf(its, (series) => series.allocatedTensors) >= MIN_OWN_WORK * rest.at(-1)!;
  const again = judge(own ? history : { ...history, work: rest.slice(from, end) }, options);
  return again.verdict === 'leak' ? { ...again, p: Math.min(1, 2 * again.p) } : judgement;
}

/**
 * Whether another line was first active from round `begin` on, after `group` made its last tensor, and made a comparable
 * number of bytes: a job may have collected results and then used them.
 */
function isConsumed({ groups }: Program, group: Group, begin: number, end: number): boolean {
  const of = (one: Group) => one.members.map(({ series }) => series);
  const bytes = (its: Series[]) => lastOf(its, (series) => series.allocatedBytes);
  const collected = of(group);
  return groups.some((other) => {
    const its = of(other);
    const first = firstRound(its);
    if (other === group || first < begin || first >= end || first < lastRoundOf(collected)) return false;
    return bytes(its) >= MIN_CONSUMED_SHARE * bytes(collected);
  });
}

/** The last round in which tensors were made there. */
function lastRoundOf(its: Series[]): number {
  return its.reduce((last, { ticks, allocatedTensors }) => {
    let i = ticks.length - 1;
    while (i > 0 && allocatedTensors[i] === allocatedTensors[i - 1]) i--;
    return Math.max(last, ticks[i] ?? 0);
  }, 0);
}

/** Series by ended thread. Linear, because there may be as many threads as sites. */
function endedSeries({ capture, ended }: Program, all: Series[]): [number, Series[]][] {
  const found = new IdMap<Series[]>();
  for (const series of all) {
    const environment = capture.environments.get(series.siteId);
    if (environment === undefined || !ended.has(environment)) continue;
    const known = found.get(environment);
    if (known === undefined) found.set(environment, [series]);
    else known.push(series);
  }
  return [...found].sort(([a], [b]) => ended.get(a)! - ended.get(b)!);
}
