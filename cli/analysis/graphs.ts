/**
 * Values that carry an autograd graph from step to step: a running sum of losses, a hidden state that is never detached.
 * The capture has the sizes of the graphs reachable from the live tensors of each line.
 */
import type { Capture } from '../capture/capture';
import { GraphFlag } from '../capture/format';
import type { GraphSeries } from '../capture/records';
import { judge } from '../rules';
import { finalPhase } from '../rules/final-phase';
import { inconclusive, type Judgement, MAX_FALSE_SHARE, type RuleOptions } from '../rules/verdict';
import { warmupRounds } from '../rules/warmup';
import type { Program } from './judging';
import type { GraphReport } from './report';
import { type Group, totalOf } from './sites';

/** A line holds its graph if it had one after at least this share of the collections after which any line had one. */
const MIN_HELD_SHARE = 0.5;
/** Graphs of about the same size are taken for the same graph. */
const MIN_SIZE_RATIO = 0.9;

/** How much larger a graph that grows is in the second half than in the first. */
const MIN_GROWTH = 1.5;

/** Lines that allocated at least this share of the growth of hidden memory explain it. */
const MIN_HIDDEN_SHARE = 0.5;

/** Of more than twice as many candidates, only this many with the largest graphs are compared. */
const MAX_ROOTS = 64;

/** What the graphs of one line hold, at each round. */
export interface Carried {
  group: Group;
  tensors: number[];
  nodes: number[];
  /** Bytes allocated there that no live tensor accounts for but that are still held. */
  hiddenBytes: number[];
  flags: number[];
}

export interface Root extends Carried {
  judgement: Judgement;
  /** Nodes added per tensor that the line makes. */
  nodesPerStep: number;
  /** Number of rounds that were judged. */
  rounds: number;
  freedMs: number | null;
  /** When the line first had a graph, ms. */
  sinceMs: number;
  /** The value is older than the recording, so `group` is the line that allocated most of what its graph holds. */
  isOlder?: boolean;
}

/** Bytes allocated at the lines of `group` that at the end no live tensor accounts for but that are still held. */
export function hiddenBytesOf({ graphs }: Capture, group: Group): number {
  const ids = new Set(group.members.map(({ series }) => series.siteId));
  return [...ids].reduce((sum, id) => sum + (graphs.get(id)?.hiddenBytes.at(-1) ?? 0), 0);
}

function carriedBy({ capture }: Program, group: Group): Carried | undefined {
  const ids = [...new Set(group.members.map(({ series }) => series.siteId))];
  const all = ids.flatMap((id) => capture.graphs.get(id) ?? []);
  if (all.length === 0) return undefined;
  const rounds = capture.ticks.length;
  const sum = (values: (series: GraphSeries) => number[]) => combine(all, rounds, values, (a, b) => a + b);
  return {
    group,
    tensors: sum(({ tensors }) => tensors),
    nodes: combine(all, rounds, ({ nodes }) => nodes, Math.max),
    hiddenBytes: sum(({ hiddenBytes }) => hiddenBytes),
    flags: combine(
      all,
      rounds,
      ({ flags, tensors }) => flags.map((flag, i) => (tensors[i]! > 0 ? flag : 0)),
      (a, b) => a | b,
    ),
  };
}

/** Combines the values of all series at every round with `add`. */
function combine(
  all: GraphSeries[],
  rounds: number,
  values: (series: GraphSeries) => number[],
  add: (a: number, b: number) => number,
): number[] {
  const total = new Array<number>(rounds).fill(0);
  for (const series of all) {
    const own = values(series);
    for (let i = 0; i < own.length; i++) {
      const end = series.ticks[i + 1] ?? rounds;
      for (let round = series.ticks[i]!; round < end; round++) total[round] = add(total[round]!, own[i]!);
    }
  }
  return total;
}

/** Judges the growth of `counts` until the program's end, or until its final phase begins. */
function judgeCount(program: Program, counts: number[], from: number, options: RuleOptions, bytes = false) {
  const { capture, work, rounds } = program;
  const until = (end: number): Judgement => {
    const part = counts.slice(from, end);
    return judge(
      {
        ms: capture.ticks.slice(from, end).map(({ ms }) => ms),
        liveBytes: bytes ? part : part.map(() => 0),
        liveTensors: bytes ? part.map((n) => Math.min(n, 1)) : part,
        work: work.slice(from, end),
      },
      { ...options, mixed: true },
    );
  };
  const atEnd = { judgement: until(rounds), rounds, freedMs: null as number | null };
  if (atEnd.judgement.verdict === 'leak') return atEnd;
  const phase = finalPhase(counts.slice(0, rounds), work.slice(0, rounds));
  if (phase === undefined || phase.rounds <= from) return atEnd;
  const before = until(phase.rounds);
  if (before.verdict !== 'leak') return atEnd;
  const freedMs = phase.fell ? capture.durationMs - capture.ticks[phase.rounds - 1]!.ms : null;
  return { judgement: phase.fell || phase.doubtful ? inconclusive(before) : before, rounds: phase.rounds, freedMs };
}

/**
 * The line whose value carries a graph that grows from step to step. If several lines lead to the same graph, it is one that
 * remained after collections (so it is not garbage), whose value carries its own earlier values, and then the largest.
 */
export function rootOf(program: Program, options: RuleOptions): Root | undefined {
  let growing: Root[] = [];
  for (const group of program.groups) {
    const carried = carriedBy(program, group);
    const root = carried && grown(program, carried, options);
    if (root === undefined) continue;
    growing.push(root);
    // Each has a value for every round, so of very many only those with large graphs are kept.
    if (growing.length > 2 * MAX_ROOTS) growing = growing.sort((a, b) => sizeOf(b) - sizeOf(a)).slice(0, MAX_ROOTS);
  }
  const certain = growing.filter(({ judgement }) => judgement.verdict === 'leak');
  const found = certain.length > 0 ? certain : growing;
  const collected = program.capture.ticks
    .map((_, i) => i)
    .filter((i) => found.some(({ flags, nodes }) => (flags[i]! & GraphFlag.collected) !== 0 && nodes[i]! > 0));
  const held = found.filter(
    ({ flags, nodes }) =>
      collected.filter((i) => nodes[i]! > 0 && (flags[i]! & GraphFlag.collected) !== 0).length >=
      MIN_HELD_SHARE * collected.length,
  );
  const most = held.reduce((size, root) => Math.max(size, sizeOf(root)), 0);
  const large = held.filter((root) => sizeOf(root) >= MIN_SIZE_RATIO * most);
  const carriers = large.filter(({ flags }) => flags.some((flag) => (flag & GraphFlag.carriesItself) !== 0));
  return (carriers.length > 0 ? carriers : large).reduce<Root | undefined>(
    (a, b) => (a === undefined || sizeOf(b) > sizeOf(a) ? b : a),
    undefined,
  );
}

const sizeOf = ({ nodes, rounds }: Root) => nodes.slice(0, rounds).reduce((a, b) => Math.max(a, b), 0);

function grown(program: Program, carried: Carried, options: RuleOptions): Root | undefined {
  const from = carried.nodes.findIndex((n) => n > 0);
  if (from === -1) return undefined;
  const judged = judgeCount(program, carried.nodes, from, options);
  // Graphs are not among the sites for which false discoveries are controlled, so each must be that significant itself.
  if (judged.judgement.verdict === 'leak' && judged.judgement.p > MAX_FALSE_SHARE)
    judged.judgement = inconclusive(judged.judgement);
  const { verdict, growthTensorsPerMinute } = judged.judgement;
  if ((verdict !== 'leak' && verdict !== 'insufficient') || growthTensorsPerMinute <= 0) return undefined;
  const series = carried.group.members.map((member) => member.series);
  const made = totalOf(series, program.capture.ticks.length, ({ allocatedTensors }) => allocatedTensors);
  const sinceMs = program.capture.ticks[from]!.ms;
  return { ...carried, ...judged, sinceMs, nodesPerStep: perStep(made, carried.nodes, from, judged.rounds) };
}

/**
 * If memory that no tensor accounts for grows: the line whose value carries its own earlier values, in a graph that grew too
 * irregularly to be judged by itself (a census that was rarely affordable).
 */
export function likelyCarrier(program: Program): Group | undefined {
  let [carrier, most]: [Group | undefined, number] = [undefined, 0];
  for (const group of program.groups) {
    const carried = carriedBy(program, group);
    if (carried === undefined || !carried.flags.some((flag) => (flag & GraphFlag.carriesItself) !== 0)) continue;
    const nodes = carried.nodes.slice(0, program.rounds);
    const largest = (part: number[]) => part.reduce((a, b) => Math.max(a, b), 0);
    const size = largest(nodes.slice(nodes.length >> 1));
    if (size > most && size >= MIN_GROWTH * largest(nodes.slice(0, nodes.length >> 1))) [carrier, most] = [group, size];
  }
  return carrier;
}

/**
 * The line that allocated most of the growing memory that no tensor accounts for: of lines whose share grows by the rules, else,
 * if collections were too few for that, of those that together account for most of it.
 */
export function hiddenAllocator(program: Program, rounds: number, options: RuleOptions): Group | undefined {
  const growing: Growing[] = [];
  for (const group of program.groups) {
    const hiddenBytes = carriedBy(program, group)?.hiddenBytes ?? [];
    const from = hiddenBytes.findIndex((n) => n > 0);
    if (from === -1) continue;
    const { judgement } = judgeCount(program, hiddenBytes, from, options, true);
    const grew = judgement.verdict === 'leak' || judgement.kind === 'grew-to-the-end';
    if (grew) growing.push({ group, bytes: judgement.growthBytesPerMinute });
  }
  return fastest(program, growing) ?? largestShare(program, rounds, options);
}

interface Growing {
  group: Group;
  bytes: number;
}

/**
 * The group that grows fastest. A storage that a token of `share()` brought to another line is counted there too, so a line whose
 * tensors were shared comes before one that grows little faster.
 */
function fastest({ capture }: Program, growing: Growing[]): Group | undefined {
  const origins = new Set([...capture.tokens.values()].map(({ origin }) => origin));
  const sorted = growing.filter(({ bytes }) => bytes > 0).sort((a, b) => b.bytes - a.bytes);
  const isOrigin = ({ group }: Growing) => group.members.some(({ series }) => origins.has(series.siteId));
  const shared = sorted.find(isOrigin);
  return (shared !== undefined && shared.bytes >= MIN_HIDDEN_SHARE * sorted[0]!.bytes ? shared : sorted[0])?.group;
}

function largestShare(program: Program, rounds: number, options: RuleOptions): Group | undefined {
  const { ticks } = program.capture;
  const [begin, last] = [warmupRounds(rounds, options), rounds - 1];
  if (begin >= last) return undefined;
  const hiddenAt = (i: number) => ticks[i]!.allocatedBytes - ticks[i]!.bytes;
  const growing: Growing[] = program.groups.map((group) => {
    const { hiddenBytes } = carriedBy(program, group) ?? {};
    return { group, bytes: hiddenBytes === undefined ? 0 : hiddenBytes[last]! - hiddenBytes[begin]! };
  });
  const sum = growing.reduce((total, { bytes }) => total + Math.max(0, bytes), 0);
  return sum >= MIN_HIDDEN_SHARE * (hiddenAt(last) - hiddenAt(begin)) ? fastest(program, growing) : undefined;
}

function perStep(made: number[], nodes: number[], from: number, rounds: number): number {
  const steps = made[rounds - 1]! - made[from]!;
  return steps > 0 ? Math.max(0, (nodes[rounds - 1]! - nodes[from]!) / steps) : 0;
}

export function graphReport(root: Root, variable: string, savedBytes: number): GraphReport {
  const last = root.rounds - 1;
  return {
    variable,
    isOlder: root.isOlder === true,
    onGradient: (root.flags[last]! & GraphFlag.onGradient) !== 0,
    tensors: root.tensors[last]!,
    nodes: root.nodes[last]!,
    atLeast: (root.flags[last]! & GraphFlag.cutOff) !== 0,
    nodesPerStep: root.nodesPerStep >= 1 ? Math.round(root.nodesPerStep) : Math.round(root.nodesPerStep * 100) / 100,
    nodesPerMinute: Math.round(root.judgement.growthTensorsPerMinute),
    savedBytes,
    processBytesPerMinute: 0,
  };
}
