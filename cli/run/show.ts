/** Shows a capture while it is recorded, and reports on it afterwards. */
import { reportOn } from '../analysis/loaded';
import type { Report } from '../analysis/report';
import { condense } from '../capture/condense';
import { FollowedChildren } from '../capture/followed-children';
import type { LoadedCapture } from '../capture/load';
import { type CaptureFollower, withFileName } from '../capture/reader';
import type { Tick } from '../capture/records';
import { LiveLines } from '../reporters/live';
import { type ShowOptions, showReport } from '../reporters/show';
import { colorsFor } from '../terminal/colors';
import { terminalSize } from '../terminal/size';
import { printError } from '../terminal/writers';
import { lostText } from '../wording/sentence';

const FIGURES = ['tensors', 'storages', 'bytes', 'allocatedBytes', 'rss'] as const;

/** Shows the latest round at every interval, including followed children. Returns a function that stops it. */
export function showLive(follower: CaptureFollower, interval: number): () => void {
  const { stderr } = process;
  const width = () => terminalSize(stderr).columns;
  const lines = new LiveLines(printError, colorsFor(stderr), width);
  const children = new FollowedChildren(follower);
  let shown: Tick | undefined;
  const show = (atEnd = false) => {
    withFileName(follower.file, () => follower.poll());
    condense(follower.capture);
    const tick = follower.capture.ticks.at(-1);
    if (tick === undefined || tick.ms === shown?.ms) return;
    if (atEnd && shown !== undefined && isRepetition(tick, shown, interval)) return;
    shown = tick;
    const { running, unread } = children.read();
    const sum = { ...tick, processes: 1 + running.length, unread };
    for (const child of running) for (const figure of FIGURES) sum[figure] += child.ticks.at(-1)![figure];
    lines.show(sum);
  };
  const timer = setInterval(() => {
    try {
      show();
    } catch {
      clearInterval(timer); // not a valid capture any more; the report will say why
    }
  }, interval);
  return () => {
    clearInterval(timer);
    show(true);
    children.close();
  };
}

/** Whether the last round repeats the line above it. */
const isRepetition = (tick: Tick, shown: Tick, interval: number) =>
  tick.ms - shown.ms < interval / 2 && tick.tensors === shown.tensors && tick.bytes === shown.bytes;

/** Prints the report, and lost events on stderr. */
export function reportCapture(loaded: LoadedCapture, options: ShowOptions): Report {
  const report = reportOn(loaded);
  showReport(report, loaded.capture, options);
  if (report.summary.lostEvents > 0) {
    const { red } = colorsFor(process.stderr);
    printError(`${red('leak-audit:')} ${lostText(report.summary)}\n`);
  }
  return report;
}
