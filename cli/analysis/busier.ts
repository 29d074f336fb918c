/**
 * Growth of a program that became busier, of tensors that live for a limited time: sessions that expire, say, of which more begin
 * per second. Their number rises until the first of these expire, and looks like a leak until then.
 */
import type { Series, Tick } from '../capture/records';
import { firstRound, oldestOf, totalOf } from './sites';

/** The oldest live tensor is at most this many times as old as released ones were before; the longest of many lives varies. */
const MAX_AGE = 1.2;
/** The site makes at least this many times as many tensors per time as before. */
const MIN_BUSIER = 1.2;
/** The number and the bytes of live tensors rose by at most this many times that factor. */
const MAX_UNEXPLAINED = 1.25;

/**
 * Whether more work may be the only cause of the growth until round `end`. Then all earlier tensors were released, at ages that the
 * live ones have hardly exceeded, and the live ones rose about as much as the rate at which they are made. The oldest tensor of a
 * leak becomes ever older.
 */
export function isBusier(ticks: readonly Tick[], its: Series[], end: number): boolean {
  const since = oldestOf(its, end);
  const first = firstRound(its);
  if (since === null || first < 0 || end < 2) return false;
  const roundAt = (ms: number) =>
    Math.max(
      0,
      ticks.findIndex((tick) => tick.ms >= ms),
    );
  const last = end - 1;
  const split = roundAt(since);
  const age = ticks[last]!.ms - since;
  // As much time before the oldest live tensor as since then, after the first round.
  const begin = roundAt(since - age);
  if (since - age < ticks[first]!.ms || begin >= split || split >= last) return false;
  // Not up to the end: in a queue that is served too slowly, each tensor lives longer than the one before.
  if (age > MAX_AGE * oldestAge(ticks, its, (split + last) >> 1)) return false;
  const made = totalOf(its, ticks.length, ({ allocatedTensors }) => allocatedTensors);
  const rate = (from: number, to: number) => (made[to]! - made[from]!) / (ticks[to]!.ms - ticks[from]!.ms);
  const busier = rate(split, last) / rate(begin, split);
  if (!Number.isFinite(busier)) return false; // it made none before
  const rise = (of: (series: Series) => number[]) => {
    const values = totalOf(its, ticks.length, of);
    return values[last]! / values[split]!;
  };
  // Tensors that become larger are not explained by their number.
  const [more, larger] = [rise(({ liveTensors }) => liveTensors), rise(({ liveBytes }) => liveBytes)];
  return busier >= MIN_BUSIER && more >= MIN_BUSIER && ![more, larger].some((by) => by > MAX_UNEXPLAINED * busier);
}

/** The greatest age that a tensor was seen to reach before round `end`. */
function oldestAge(ticks: readonly Tick[], its: Series[], end: number): number {
  let most = 0;
  for (const { ticks: rounds, oldestBirthMs } of its)
    for (let i = 0; i < rounds.length && rounds[i]! < end; i++) {
      const birth = oldestBirthMs[i]!;
      // Each value holds until the next one.
      const until = Math.min(end, rounds[i + 1] ?? end) - 1;
      if (!Number.isNaN(birth)) most = Math.max(most, ticks[until]!.ms - birth);
    }
  return most;
}
