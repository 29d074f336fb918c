/** Bounds the memory of a capture: if it has too many rounds, about half of them are dropped. */
import type { Capture } from './capture';
import type { Series, Tick } from './records';

/** Hours of recording; more points than any rule or chart uses. */
const MAX_ROUNDS = 16_384;
/** Rows of site counters; each takes about 50 bytes. */
const MAX_ROWS = 500_000;
/** Sites times rounds, which the rules iterate over. */
const MAX_POINTS = 2 ** 26;
/** Rounds that verdicts need; not condensed below this, whatever they cost. */
const MIN_ROUNDS = 1024;

export interface Limits {
  rounds: number;
  rows: number;
}

/** The limits of one capture. */
export const WHOLE: Limits = { rounds: MAX_ROUNDS, rows: MAX_ROWS };

/** Drops rounds until the limits hold. Of each four, those with the most and the fewest bytes remain. */
export function condense(capture: Capture, limits = WHOLE): void {
  while (capture.ticks.length > limits.rounds || (capture.ticks.length > MIN_ROUNDS && isLarge(capture, limits)))
    keep(capture, extremes(capture.ticks));
}

const isLarge = (capture: Capture, { rows }: Limits) =>
  capture.ticks.length * (capture.series.size + capture.graphs.size) > MAX_POINTS || rowsOf(capture) > rows;

const rowsOf = ({ series, graphs }: Capture) => {
  let rows = 0;
  for (const one of series.values()) rows += one.ticks.length;
  for (const one of graphs.values()) rows += one.ticks.length;
  return rows;
};

/** Indices of about half of the rounds, keeping peaks and troughs, and always the last round. */
export function extremes(ticks: Pick<Tick, 'bytes'>[]): number[] {
  const kept: number[] = [];
  for (let begin = 0; begin < ticks.length; begin += 4) {
    let [most, least] = [begin, begin];
    for (let i = begin; i < Math.min(begin + 4, ticks.length); i++) {
      if (ticks[i]!.bytes > ticks[most]!.bytes) most = i;
      if (ticks[i]!.bytes <= ticks[least]!.bytes) least = i;
    }
    kept.push(...[...new Set([most, least])].sort((a, b) => a - b));
  }
  if (kept.at(-1) !== ticks.length - 1) kept.push(ticks.length - 1);
  return kept;
}

function keep(capture: Capture, kept: number[]): void {
  const before = capture.ticks.length;
  // Counters of round i move to the first kept round from i on.
  const target = new Int32Array(before + 1);
  for (let i = before, k = kept.length; i >= 0; i--) {
    if (kept[k - 1] === i) k--;
    target[i] = k;
  }
  // In place, because there may be more rounds than a call takes arguments.
  for (const [k, i] of kept.entries()) capture.ticks[k] = capture.ticks[i]!;
  capture.ticks.length = kept.length;
  for (const series of capture.series.values()) thin(series.ticks, columnsOf(series), target);
  for (const series of capture.graphs.values()) {
    const { tensors, nodes, hiddenStorages, hiddenBytes, flags } = series;
    thin(series.ticks, [tensors, nodes, hiddenStorages, hiddenBytes, flags], target);
  }
  // The last kept round that is not after the round before the end.
  for (const [environment, round] of capture.ended) capture.ended.set(environment, target[round + 1]! - 1);
}

const columnsOf = (series: Series) => [
  series.liveTensors,
  series.liveBytes,
  series.allocatedTensors,
  series.allocatedBytes,
  series.oldestBirthMs,
];

/** Counters are absolute, so the last of those that now share a round is kept. */
function thin(ticks: number[], columns: number[][], target: Int32Array): void {
  let count = 0;
  for (let i = 0; i < ticks.length; i++) {
    const round = target[ticks[i]!]!;
    if (count === 0 || ticks[count - 1] !== round) count++;
    ticks[count - 1] = round;
    for (const column of columns) column[count - 1] = column[i]!;
  }
  for (const column of [ticks, ...columns]) column.length = count;
}
