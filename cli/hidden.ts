/**
 * What libtorch holds and no tensor of JavaScript shows: autograd graphs, tokens for other threads that nobody takes. It
 * has no line of its own. Which one is behind it is inferred from what the sites do meanwhile.
 */
import type { Capture } from './capture/capture';
import { enoughRounds, type Judgement, judge, type RuleOptions, warmupRounds } from './rules/verdict';
import { type Group, lastCollection, totalOf } from './sites';

/** Growth by less is a trifle: libtorch keeps buffers of its own. */
const LEAST_BYTES = 64 * 1024;
/** A line made what is hidden when it allocates as much, but for this share. */
const SAME = 0.1;
/** A line works on when it allocated in at least this share of the rounds. */
const OFTEN = 0.25;
/** So few tensors at a time are replaced at once; more are garbage for the collector, maybe among one that counts. */
const FEW = 4;

/**
 * How what libtorch holds grows, less `explained`: bytes per round of sites that are known to grow. Tensors that wait for
 * the collector are counted in, or a graph behind them would only come to light at each collection.
 */
export function judgeHidden(capture: Capture, explained: number[], options: RuleOptions): Judgement {
  const { ticks } = capture;
  const hidden = ticks.map((tick, i) => Math.max(0, tick.allocatedBytes - explained[i]!));
  return judge(
    {
      ms: ticks.map((tick) => tick.ms),
      liveBytes: hidden,
      liveTensors: hidden.map(() => 1),
      ...lastCollection(capture, 0, ticks.length),
    },
    { ...options, leastBytes: LEAST_BYTES, mixed: true },
  );
}

/**
 * The line that most likely keeps hidden memory growing: one that always holds a tensor and always replaces it (a loss
 * that is summed up holds the graph of all before it), else one that allocates just as many bytes; else none.
 */
export function likelyRoot(capture: Capture, groups: Group[], options: RuleOptions): Group | undefined {
  const rounds = capture.ticks.length;
  if (!enoughRounds(rounds, options)) return undefined;
  const begin = warmupRounds(rounds, options);
  const hiddenAt = (i: number) => capture.ticks[i]!.allocatedBytes - capture.ticks[i]!.bytes;
  const growth = hiddenAt(rounds - 1) - hiddenAt(begin);
  const [few, many]: [Group[], Group[]] = [[], []];
  let [maker, closest]: [Group | undefined, number] = [undefined, SAME];
  for (const group of groups) {
    const all = group.members.map(({ series }) => series);
    const live = totalOf(all, rounds, (series) => series.liveTensors).slice(begin);
    const made = totalOf(all, rounds, (series) => series.allocatedTensors).slice(begin);
    const works = made.filter((n, i) => i > 0 && n > made[i - 1]!).length >= OFTEN * (made.length - 1);
    const sorted = live.sort((a, b) => a - b);
    if (works && sorted[0]! >= 1) (sorted[sorted.length >> 1]! <= FEW ? few : many).push(group);
    const bytes = totalOf(all, rounds, (series) => series.allocatedBytes);
    const off = Math.abs((bytes[rounds - 1]! - bytes[begin]!) / growth - 1);
    if (off < closest) [maker, closest] = [group, off];
  }
  for (const roots of [few, many]) if (roots.length === 1) return roots[0];
  return maker;
}
