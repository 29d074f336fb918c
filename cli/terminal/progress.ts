/** Progress of long work, as a line on stderr if it is a terminal. */

import { printable } from './printable';
import { cutBegin, displayWidth } from './size';
import { formatBytes, formatCount } from './units';

/** Shorter work shows no progress. */
const SHOW_AFTER_MS = 1000;
const MIN_MS_BETWEEN = 100;

export interface ProgressStream {
  isTTY?: boolean;
  columns?: number;
  write(text: string): unknown;
}

export class Progress {
  private begun: number | undefined;
  private shownAt = Number.NEGATIVE_INFINITY;
  private shown = '';

  constructor(
    private readonly stream: ProgressStream = process.stderr,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** `reading app.ltna: 42% of 301.0 MiB`; for a pipe, which has no size, the bytes so far. */
  bytes(what: string, done: number, size: number): void {
    this.show(() => `${what}: ${size > 0 ? `${percent(done, size)} of ${formatBytes(size)}` : formatBytes(done)}`);
  }

  /** `judging: 120 of 3,000 sites`. */
  count(what: string, done: number, of: number, unit: string): void {
    this.show(() => `${what}: ${formatCount(done)} of ${formatCount(of)} ${unit}`);
  }

  /** Starts a stage without a known end. */
  stage(what: string): void {
    this.shownAt = Number.NEGATIVE_INFINITY;
    this.show(() => `${what} …`);
  }

  /** Clears the line, before other output to the terminal. */
  end(): void {
    if (this.shown !== '') this.stream.write(`\r${' '.repeat(displayWidth(this.shown))}\r`);
    this.shown = '';
    this.begun = undefined;
    this.shownAt = Number.NEGATIVE_INFINITY;
  }

  private show(text: () => string): void {
    if (this.stream.isTTY !== true) return;
    const now = this.now();
    this.begun ??= now;
    if (now - this.begun < SHOW_AFTER_MS || now - this.shownAt < MIN_MS_BETWEEN) return;
    this.shownAt = now;
    const line = cutBegin(printable(text()), (this.stream.columns || 80) - 1); // the end of a long name says more
    const left = displayWidth(this.shown) - displayWidth(line);
    this.stream.write(`\r${line}${' '.repeat(Math.max(0, left))}`);
    this.shown = line;
  }
}

const percent = (done: number, size: number) => `${Math.min(100, Math.floor((100 * done) / size))}%`;

/** The progress line of this process. */
export const progress = new Progress();

/** The `seen` callback for `analyse`. */
export const showJudged = (done: number, of: number): void => progress.count('judging', done, of, 'sites');
