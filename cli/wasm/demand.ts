/**
 * What a module needs of its memory. Allocators grow a memory by a share of its size (Emscripten: a fifth), so a steady leak is a
 * staircase with ever longer and higher steps, which looks like a cache that fills. But when a memory grows, all that it had
 * is in use: these points lie on the line of what is in use.
 */

/** With fewer growths there is no line. */
const MIN_GROWTHS = 3;

/**
 * `growth`: times and the size from each on; the first is the birth. Returns what to add to the size at a time, or undefined.
 * After the last growth, use goes on at the last known rate until the memory is full.
 */
export function demandOf(
  growth: [ms: number, bytes: number][],
  freedMs: number | null,
): ((ms: number) => number) | undefined {
  const last = growth.length - 1;
  if (last < MIN_GROWTHS) return undefined;
  // When the memory grew for the i-th time, its size before that was in use.
  const used = (i: number) => growth[i - 1]![1];
  const since = Math.max(1, last - MIN_GROWTHS);
  const rate = (used(last) - used(since)) / Math.max(1, growth[last]![0] - growth[since]![0]);
  return (ms) => {
    if (ms < growth[1]![0] || (freedMs !== null && ms >= freedMs)) return 0;
    let i = last;
    while (growth[i]![0] > ms) i--;
    const [begun, size] = growth[i]!;
    if (i === last) return Math.min(size, used(last) + rate * (ms - begun)) - size;
    const share = (ms - begun) / Math.max(1, growth[i + 1]![0] - begun);
    return used(i) + share * (used(i + 1) - used(i)) - size;
  };
}
