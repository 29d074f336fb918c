/** The history of a growing site: its values over time, and the time from which it grows. */
import type { Capture } from '../capture/capture';
import { MIN_ROUNDS, MIN_WARMUP } from '../rules/warmup';
import type { Root } from './graphs';
import { onsetOf } from './onset';
import type { History, SiteReport } from './report';
import { firstRound, type Group, totalOf } from './sites';

/** A history has at most this many points, because the report draws it in one line of text. */
const MAX_POINTS = 48;

/** Sets the history and the onset of a site whose growth was judged. `root`: the growing graph that it carries. */
export function addHistory(capture: Capture, site: SiteReport, group: Group | undefined, root: Root | undefined): void {
  const { ticks, durationMs } = capture;
  const freed = site.freedMs === null ? -1 : ticks.findIndex(({ ms }) => ms > durationMs - site.freedMs!);
  const end = freed === -1 ? ticks.length : freed;
  const { unit, values } = growing(capture, site, group, root);
  const its = group?.members.map(({ series }) => series);
  const first = root !== undefined ? values.findIndex((n) => n > 0) : its === undefined ? 0 : firstRound(its);
  const ms = ticks.map((tick) => tick.ms);
  if (first < 0 || end - first < 2) return;
  const at = end - first < MIN_ROUNDS ? null : onsetOf(ms.slice(first, end), values.slice(first, end));
  // A site that first appears after the first rounds of the program grows since then.
  site.onsetMs = at !== null ? ms[first + at]! : first > MIN_WARMUP ? ms[first]! : null;
  site.history = { unit, ms: ms.at(-1)!, values: sampled(ms, values) };
}

/** The figure whose growth was judged. */
function growing(capture: Capture, site: SiteReport, group: Group | undefined, root: Root | undefined) {
  const { ticks } = capture;
  if (root !== undefined) return { unit: 'nodes' as const, values: root.nodes };
  if (group === undefined || 2 * site.hiddenGrowthBytesPerMinute > site.growthBytesPerMinute) {
    const values = ticks.map(({ allocatedBytes, bytes }) => Math.max(0, allocatedBytes - bytes));
    return { unit: 'bytes outside tensors' as const, values };
  }
  const its = group.members.map(({ series }) => series);
  const inBytes = site.growthBytesPerMinute > 0;
  const values = totalOf(its, ticks.length, (series) => (inBytes ? series.liveBytes : series.liveTensors));
  return { unit: inBytes ? ('bytes' as const) : ('tensors' as const), values };
}

/** The last value in each of MAX_POINTS equal times. */
function sampled(ms: readonly number[], values: readonly number[]): History['values'] {
  const count = Math.min(MAX_POINTS, ms.length);
  let i = 0;
  return Array.from({ length: count }, (_, k) => {
    const until = (ms.at(-1)! * (k + 1)) / count;
    while (i + 1 < ms.length && ms[i + 1]! <= until) i++;
    return values[i]!;
  });
}
