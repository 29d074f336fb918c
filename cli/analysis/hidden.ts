/**
 * Memory that libtorch holds but no JavaScript tensor accounts for: autograd graphs, tokens that no thread takes. Its line
 * is the one that carries a growing graph, else the one that allocated it (graphs.ts); where the capture does not have that,
 * likelyHiddenRoot infers it from the behaviour of the sites.
 */

import { judge } from '../rules';
import { finalPhase } from '../rules/final-phase';
import { inconclusive, type Judgement, type RuleOptions } from '../rules/verdict';
import { enoughRounds, warmupRounds } from '../rules/warmup';
import type { Program } from './judging';
import { rises } from './rising';
import { type Group, lastCollection, totalOf } from './sites';

/** Smaller growth is ignored, because libtorch keeps buffers of its own. */
const MIN_BYTES = 64 * 1024;
/** A line is responsible if it allocates as much as the hidden growth, within this share. */
const MAX_DIFFERENCE = 0.1;
/** A line is active if it allocated in at least this share of the rounds. */
const MIN_ACTIVE_SHARE = 0.25;
/** Lines with few live tensors replace them at once; more tensors may be garbage awaiting collection. */
const MAX_REPLACED = 4;

export interface Hidden {
  judgement: Judgement;
  /** Number of rounds that were judged. */
  rounds: number;
  /** If it grew until the program's final phase and was freed there: how many ms before the capture's end; else null. */
  freedMs: number | null;
}

export const isHeldOrFreed = ({ judgement: { kind } }: Hidden): boolean =>
  kind === 'leak' || kind === 'grew-to-the-end';

export const isFilling = ({ judgement: { kind, growthBytesPerMinute } }: Hidden): boolean =>
  kind === 'filling-cache' && growthBytesPerMinute > 0;

export const doubtful = (hidden: Hidden): Hidden => ({
  ...hidden,
  judgement: { ...hidden.judgement, verdict: 'insufficient', kind: 'insufficient', p: 1 },
});

/**
 * Judges the growth of libtorch's memory minus `explained`, the bytes per round of sites that are known to grow. Tensors
 * awaiting collection are included; otherwise a graph that they hold would be visible only after each collection.
 */
export function judgeHidden(program: Program, explained: number[], options: RuleOptions): Hidden {
  const { capture, work, rounds } = program;
  const { ticks } = capture;
  const hidden = ticks.slice(0, rounds).map((tick, i) => Math.max(0, tick.allocatedBytes - explained[i]!));
  const until = (end: number) => {
    const history = {
      ms: ticks.slice(0, end).map((tick) => tick.ms),
      liveBytes: hidden.slice(0, end),
      liveTensors: hidden.slice(0, end).map(() => 1),
      ...lastCollection(capture, 0, end),
    };
    const how = { ...options, minBytes: MIN_BYTES, mixed: true };
    const byTime = judge(history, how);
    if (byTime.verdict === 'leak' || byTime.kind === 'full-cache') return byTime;
    // Measured by time, a leak of a program that becomes slower looks like a cache that fills, by all rounds or by those
    // until the last collection; so it is also judged by work.
    const byWork = judge({ ...history, work: work.slice(0, end) }, how);
    return byWork.verdict === 'leak' ? byWork : byTime;
  };
  const atEnd = { judgement: until(rounds), rounds, freedMs: null };
  const phase = atEnd.judgement.verdict === 'leak' ? undefined : finalPhase(hidden, work.slice(0, rounds));
  if (phase === undefined) return atEnd;
  const before = until(phase.rounds);
  if (before.verdict !== 'leak') return atEnd;
  const freedMs = phase.fell ? capture.durationMs - ticks[phase.rounds - 1]!.ms : null;
  // As for tensors: a job that collects a graph and then uses it looks the same.
  const judgement = phase.fell || phase.doubtful ? inconclusive(before) : before;
  return { judgement, rounds: phase.rounds, freedMs };
}

/**
 * A short run has few collections. Tensors account for the memory of a graph until they are collected, so memory that only graphs
 * hold rises in as few steps. It is exact right after collections. If it rose at them (see `rises`), that is not proof of a leak,
 * but a reason not to call the program clean.
 */
export function riseAtCollections(
  program: Program,
  { judgement, ...rest }: Hidden,
  options: RuleOptions,
): Hidden | undefined {
  const { ticks } = program.capture;
  if (judgement.verdict !== 'steady' && judgement.kind !== 'filling-cache') return undefined;
  const exact = ticks.flatMap((tick, i) =>
    i > 0 && i < program.rounds && (tick.collectedMs ?? 0) > (ticks[i - 1]!.collectedMs ?? 0) ? [i] : [],
  );
  const hidden = ticks.map(({ allocatedBytes, bytes }) => Math.max(0, allocatedBytes - bytes));
  const [first, last] = [exact[0], exact.at(-1)];
  if (first === undefined || last === undefined || !rises(hidden, exact, 0, options)) return undefined;
  const rise = hidden[last]! - hidden[first]!;
  if (rise < MIN_BYTES) return undefined;
  const growthBytesPerMinute = (rise / (ticks[last]!.ms - ticks[first]!.ms)) * 60_000;
  return {
    ...rest,
    judgement: { ...judgement, verdict: 'insufficient', kind: 'insufficient', growthBytesPerMinute, p: 1 },
  };
}

/**
 * The line that most likely causes hidden growth: the only one that always holds a tensor and often makes new ones (a
 * running sum of losses holds the graph of all earlier ones), else one that allocates as many bytes, else none.
 */
export function likelyHiddenRoot(program: Program, rounds: number, options: RuleOptions): Group | undefined {
  const { capture, groups } = program;
  if (!enoughRounds(rounds, options)) return undefined;
  const begin = warmupRounds(rounds, options);
  const hiddenAt = (i: number) => capture.ticks[i]!.allocatedBytes - capture.ticks[i]!.bytes;
  const growth = hiddenAt(rounds - 1) - hiddenAt(begin);
  const [few, many]: [Group[], Group[]] = [[], []];
  let [maker, closest]: [Group | undefined, number] = [undefined, MAX_DIFFERENCE];
  for (const group of groups) {
    const all = group.members.map(({ series }) => series);
    const live = totalOf(all, capture.ticks.length, (series) => series.liveTensors).slice(begin, rounds);
    const made = totalOf(all, capture.ticks.length, (series) => series.allocatedTensors).slice(begin, rounds);
    const isActive = made.filter((n, i) => i > 0 && n > made[i - 1]!).length >= MIN_ACTIVE_SHARE * (made.length - 1);
    const sorted = live.sort((a, b) => a - b);
    if (isActive && sorted[0]! >= 1) (sorted[sorted.length >> 1]! <= MAX_REPLACED ? few : many).push(group);
    const bytes = totalOf(all, capture.ticks.length, (series) => series.allocatedBytes);
    const off = Math.abs((bytes[rounds - 1]! - bytes[begin]!) / growth - 1);
    if (off < closest) [maker, closest] = [group, off];
  }
  for (const roots of [few, many]) if (roots.length === 1) return roots[0];
  return maker;
}
