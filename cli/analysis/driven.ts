/**
 * Lines that a growing site makes work: a hook that is registered anew in each epoch, and computes in every step, makes tensors
 * in proportion to the number of hooks. Measured by such work a leak seems to become ever slower, like a cache that fills. Where
 * hooks are registered in each step, they slow the steps themselves, and their tensors are in proportion to hooks times steps, for
 * which the tensors that the site makes stand.
 */
import type { Series } from '../capture/records';
import { type Group, totalOf } from './sites';

/** The rounds are compared in this many parts. */
const PARTS = 4;
/** A line makes as many tensors per live tensor of the site, and second or step, in all parts, up to this factor. */
const MAX_VARIATION = 1.35;
/** The site must grow more than that from the first part to the last, or any line with a constant pace would be driven by it. */
const MIN_GROWTH = 1.8;
/** A line with fewer tensors in a part varies by chance. */
const MIN_MADE = 16;

/**
 * The tensors made until each round by the lines whose pace is proportional to the live tensors of `site`, in the rounds from
 * `from` to `end`; undefined if there is no such line.
 */
export function drivenWork(
  groups: Group[],
  site: number[],
  ms: number[],
  isOwn: (group: Group) => boolean,
  [from, end]: [number, number],
): number[] | undefined {
  const bounds = Array.from({ length: PARTS + 1 }, (_, k) => from + Math.round((k * (end - 1 - from)) / PARTS));
  const own = groups.filter(isOwn).flatMap(({ members }) => members.map(({ series }) => series));
  const steps = totalOf(own, ms.length, (series) => series.allocatedTensors);
  /** The live tensors of the site by time and by step, in each part, where they grow enough. */
  const measures = [ms, steps].flatMap((at) => {
    const held = parts(bounds, (a, b) => {
      let sum = 0;
      for (let i = a + 1; i <= b; i++) sum += ((site[i]! + site[i - 1]!) / 2) * (at[i]! - at[i - 1]!);
      return sum;
    });
    const passed = parts(bounds, (a, b) => at[b]! - at[a]!);
    const grows = held[0]! > 0 && held.at(-1)! / passed.at(-1)! >= MIN_GROWTH * (held[0]! / passed[0]!);
    return grows ? [held] : [];
  });
  if (measures.length === 0) return undefined;
  const driven: Series[] = [];
  for (const group of groups) {
    if (isOwn(group)) continue;
    const its = group.members.map(({ series }) => series);
    const each = parts(bounds, (a, b) => its.reduce((sum, one) => sum + madeAt(one, b) - madeAt(one, a), 0));
    if (each.some((count) => count < MIN_MADE)) continue;
    const isDriven = measures.some((held) => {
      const paces = each.map((count, k) => count / held[k]!);
      return Math.max(...paces) <= MAX_VARIATION * Math.min(...paces);
    });
    if (isDriven) driven.push(...its);
  }
  return driven.length === 0 ? undefined : totalOf(driven, ms.length, (series) => series.allocatedTensors);
}

const parts = (bounds: number[], of: (begin: number, end: number) => number) =>
  bounds.slice(1).map((bound, k) => of(bounds[k]!, bound));

/** Tensors made until the round; not `totalOf`, because there may be very many lines. */
function madeAt({ ticks, allocatedTensors }: Series, round: number): number {
  let [low, high] = [0, ticks.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ticks[middle]! <= round) low = middle + 1;
    else high = middle;
  }
  return allocatedTensors[low - 1] ?? 0;
}
