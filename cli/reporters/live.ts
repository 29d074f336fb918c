/** One line per interval while the program runs. */
import type { Tick } from '../capture/capture';
import type { Colors } from '../colors';
import { formatBytes, formatCount } from '../units';

const BARS = '▁▂▃▄▅▆▇█';
const HISTORY = 16;
const TITLES_EVERY = 24;

/** A range smaller than this part of the highest value is flat: noise must not look like mountains. */
const LEAST_RANGE = 0.1;

/** The last values as bars, the least of them lowest. */
export function sparkline(values: number[]): string {
  const recent = values.slice(-HISTORY);
  const least = Math.min(...recent);
  const most = Math.max(...recent);
  const range = Math.max(most - least, most * LEAST_RANGE);
  return recent.map((v) => BARS[range === 0 ? 0 : Math.round(((v - least) / range) * (BARS.length - 1))]).join('');
}

function clock(ms: number): string {
  const seconds = ms / 1000;
  if (seconds < 60) return `${seconds.toFixed(1)}s`;
  const pad = (n: number) => String(Math.floor(n)).padStart(2, '0');
  return seconds < 3600
    ? `${pad(seconds / 60)}:${pad(seconds % 60)}`
    : `${Math.floor(seconds / 3600)}:${pad((seconds / 60) % 60)}:${pad(seconds % 60)}`;
}

export class LiveLines {
  private lines = 0;
  private readonly history: number[] = [];

  constructor(
    private readonly write: (text: string) => void,
    private readonly colors: Colors,
  ) {}

  show(tick: Pick<Tick, 'ms' | 'tensors' | 'storages' | 'bytes' | 'allocatedBytes' | 'rss'>): void {
    const { colors } = this;
    const unexplained = Math.max(0, tick.allocatedBytes - tick.bytes);
    this.history.push(tick.bytes);
    if (this.history.length > HISTORY) this.history.shift();
    if (this.lines++ % TITLES_EVERY === 0) {
      this.write(
        `${colors.dim(row(['time', 'tensors', 'storages', 'live', 'allocated', 'unexplained', 'rss'], ''))}\n`,
      );
    }
    const cells = [
      clock(tick.ms),
      formatCount(tick.tensors),
      formatCount(tick.storages),
      formatBytes(tick.bytes),
      formatBytes(tick.allocatedBytes),
      formatBytes(unexplained),
      formatBytes(tick.rss),
    ];
    this.write(`${row(cells, colors.cyan(sparkline(this.history)))}\n`);
  }
}

const WIDTHS = [7, 9, 9, 10, 10, 11, 10];

const row = (cells: string[], tail: string) =>
  `${cells.map((cell, i) => cell.padStart(WIDTHS[i]!)).join(' ')}  ${tail}`.trimEnd();
