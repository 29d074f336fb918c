/**
 * What libtorch holds and no tensor of JavaScript shows: autograd graphs, tokens for other threads that nobody takes. It
 * has no line of its own. Which one is behind it is inferred from what the sites do meanwhile.
 */
import type { Program } from './judging';
import { finalPhase } from './rules/final_fall';
import { enoughRounds, type Judgement, judge, type RuleOptions, warmupRounds } from './rules/verdict';
import { type Group, lastCollection, totalOf } from './sites';

/** Growth by less is a trifle: libtorch keeps buffers of its own. */
const MIN_BYTES = 64 * 1024;
/** A line made what is hidden when it allocates as much, but for this share. */
const SAME = 0.1;
/** A line works on when it allocated in at least this share of the rounds. */
const OFTEN = 0.25;
/** So few tensors at a time are replaced at once; more are garbage for the collector, maybe among one that counts. */
const FEW = 4;

export interface Hidden {
  judgement: Judgement;
  /** The rounds that it was judged by. */
  rounds: number;
}

/**
 * How what libtorch holds grows, less `explained`: bytes per round of sites that are known to grow. Tensors that wait for
 * the collector are counted in, or a graph behind them would only come to light at each collection.
 */
export function judgeHidden({ capture, work, rounds }: Program, explained: number[], options: RuleOptions): Hidden {
  const { ticks } = capture;
  const hidden = ticks.slice(0, rounds).map((tick, i) => Math.max(0, tick.allocatedBytes - explained[i]!));
  const until = (end: number) =>
    judge(
      {
        ms: ticks.slice(0, end).map((tick) => tick.ms),
        liveBytes: hidden.slice(0, end),
        liveTensors: hidden.slice(0, end).map(() => 1),
        ...lastCollection(capture, 0, end),
      },
      { ...options, minBytes: MIN_BYTES, mixed: true },
    );
  const atEnd = { judgement: until(rounds), rounds };
  const phase = atEnd.judgement.verdict === 'leak' ? undefined : finalPhase(hidden, work.slice(0, rounds));
  // What fell may have been given back.
  if (phase === undefined || phase.doubtful || phase.fell) return atEnd;
  const before = until(phase.rounds);
  if (before.verdict !== 'leak') return atEnd;
  return { judgement: before, rounds: phase.rounds };
}

/**
 * The line that most likely keeps hidden memory growing: one that always holds a tensor and always replaces it (a loss
 * that is summed up holds the graph of all before it), else one that allocates just as many bytes; else none.
 */
export function likelyRoot(program: Program, rounds: number, options: RuleOptions): Group | undefined {
  const { capture, groups } = program;
  if (!enoughRounds(rounds, options)) return undefined;
  const begin = warmupRounds(rounds, options);
  const hiddenAt = (i: number) => capture.ticks[i]!.allocatedBytes - capture.ticks[i]!.bytes;
  const growth = hiddenAt(rounds - 1) - hiddenAt(begin);
  const [few, many]: [Group[], Group[]] = [[], []];
  let [maker, closest]: [Group | undefined, number] = [undefined, SAME];
  for (const group of groups) {
    const all = group.members.map(({ series }) => series);
    const live = totalOf(all, capture.ticks.length, (series) => series.liveTensors).slice(begin, rounds);
    const made = totalOf(all, capture.ticks.length, (series) => series.allocatedTensors).slice(begin, rounds);
    const works = made.filter((n, i) => i > 0 && n > made[i - 1]!).length >= OFTEN * (made.length - 1);
    const sorted = live.sort((a, b) => a - b);
    if (works && sorted[0]! >= 1) (sorted[sorted.length >> 1]! <= FEW ? few : many).push(group);
    const bytes = totalOf(all, capture.ticks.length, (series) => series.allocatedBytes);
    const off = Math.abs((bytes[rounds - 1]! - bytes[begin]!) / growth - 1);
    if (off < closest) [maker, closest] = [group, off];
  }
  for (const roots of [few, many]) if (roots.length === 1) return roots[0];
  return maker;
}
