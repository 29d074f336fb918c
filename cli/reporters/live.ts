/** One line per interval while the program runs. */
import type { Tick } from '../capture/records';
import type { Colors } from '../terminal/colors';
import { formatBytes, formatCount } from '../terminal/units';
import { barsFromZero } from '../wording/bars';

const BARS = '▁▂▃▄▅▆▇█';
const HISTORY = 16;
/** Fewer bars show no trend. */
const MIN_BARS = 3;
const TITLES_EVERY = 24;
const USUAL_WIDTH = 80;

/** A range smaller than this share of the highest value is drawn flat, so that noise does not look like growth. */
const MIN_RANGE = 0.1;

/** The last values as bars. The lowest bar stands for the smallest of them, not for zero, so callers print that value too. */
export function sparkline(values: number[]): string {
  const recent = values.slice(-HISTORY);
  const least = Math.min(...recent);
  const most = Math.max(...recent);
  const range = Math.max(most - least, most * MIN_RANGE);
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

export interface LineFigures extends Pick<Tick, 'ms' | 'tensors' | 'storages' | 'bytes' | 'allocatedBytes' | 'rss'> {
  /** Number of processes in the sums; 1 by default. */
  processes?: number;
  /** Recorded processes that are not in the sums. */
  unread?: number;
}

interface Column {
  title: string;
  width: number;
  /** In a narrow terminal, columns are dropped in this order; those without a number stay. */
  dropOrder?: number;
  cell(figures: LineFigures): string;
}

const COLUMNS: Column[] = [
  { title: 'time', width: 7, cell: ({ ms }) => clock(ms) },
  { title: 'tensors', width: 9, cell: ({ tensors }) => formatCount(tensors) },
  { title: 'storages', width: 9, dropOrder: 1, cell: ({ storages }) => formatCount(storages) },
  { title: 'live', width: 10, cell: ({ bytes }) => formatBytes(bytes) },
  { title: 'libtorch', width: 10, dropOrder: 3, cell: ({ allocatedBytes }) => formatBytes(allocatedBytes) },
  {
    title: 'not in JS',
    width: 11,
    dropOrder: 2,
    cell: ({ bytes, allocatedBytes }) => formatBytes(Math.max(0, allocatedBytes - bytes)),
  },
  { title: 'rss', width: 10, dropOrder: 4, cell: ({ rss }) => formatBytes(rss) },
];

/** Shown when there are several processes. */
const PROCESSES: Column = {
  title: 'procs',
  width: 6,
  cell: ({ processes = 1, unread = 0 }) =>
    unread === 0 ? String(processes) : `${processes} of ${formatCount(processes + unread)}`,
};

const widthOf = (columns: Column[]) => columns.reduce((sum, { width }) => sum + width + 1, -1);

const rankOf = ({ dropOrder = Number.POSITIVE_INFINITY }: Column) => dropOrder;

/** The columns that fit `width`. */
function fitting(columns: Column[], width: number): Column[] {
  let shown = columns;
  while (widthOf(shown) > width) {
    const next = shown.reduce((a, b) => (rankOf(b) < rankOf(a) ? b : a));
    if (next.dropOrder === undefined) break;
    shown = shown.filter((column) => column !== next);
  }
  return shown;
}

export class LiveLines {
  private lines = 0;
  private several = false;
  private titles = '';
  private readonly history: number[] = [];

  constructor(
    private readonly write: (text: string) => void,
    private readonly colors: Colors,
    private readonly width: () => number = () => USUAL_WIDTH,
  ) {}

  show(figures: LineFigures): void {
    const { colors } = this;
    const width = this.width();
    this.history.push(figures.bytes);
    if (this.history.length > HISTORY) this.history.shift();
    this.several ||= (figures.processes ?? 1) > 1 || (figures.unread ?? 0) > 0;
    const shown = fitting(this.several ? [...COLUMNS, PROCESSES] : COLUMNS, width);
    const row = (cells: string[]) => fitted(cells, shown, width);
    const line = row(shown.map(({ cell }) => cell(figures)));
    const titles = row(shown.map(({ title }) => title));
    if (titles !== this.titles) this.lines = 0; // the first line, the terminal was resized, or a child started
    this.titles = titles;
    if (this.lines++ % TITLES_EVERY === 0) this.write(`${colors.dim(titles)}\n`);
    const room = width - line.length - 2;
    const bars = room < MIN_BARS ? '' : `  ${colors.cyan(barsFromZero(this.history.slice(-room)))}`;
    this.write(`${line}${bars}\n`);
  }
}

/** Aligned in columns. If a value is too wide, the padding is dropped first, then the line is cut. */
function fitted(cells: string[], columns: Column[], width: number): string {
  const aligned = cells.map((cell, i) => cell.padStart(columns[i]!.width)).join(' ');
  const line = aligned.length <= width ? aligned : cells.join(' ');
  return line.length <= width ? line : `${line.slice(0, width - 1)}…`;
}
