/** A capture while it is recorded: shown meanwhile, reported after. */
import { analyse } from '../analysis';
import type { Capture } from '../capture/capture';
import type { CaptureFollower } from '../capture/reader';
import { colorsFor } from '../colors';
import { type ShowOptions, showReport } from '../output';
import type { Report } from '../report';
import { LiveLines } from '../reporters/live';
import { lostText } from '../reporters/text';

export { reserve } from './reserve';

/** Shows the latest round at every interval; returns what ends it. */
export function showLive(follower: CaptureFollower, interval: number): () => void {
  const lines = new LiveLines((text) => process.stderr.write(text), colorsFor(process.stderr));
  let shown = -1;
  const show = () => {
    follower.poll();
    const tick = follower.capture.ticks.at(-1);
    if (tick === undefined || tick.ms === shown) return;
    shown = tick.ms;
    lines.show(tick);
  };
  const timer = setInterval(show, interval);
  return () => {
    clearInterval(timer);
    show();
  };
}

/** Prints the report, and on stderr what is missing in it. */
export function reportCapture(capture: Capture, options: ShowOptions): Report {
  const report = analyse(capture);
  showReport(report, capture, options);
  if (report.summary.lostEvents > 0) {
    const { red } = colorsFor(process.stderr);
    process.stderr.write(`${red('leak-audit:')} ${lostText(report.summary)}\n`);
  }
  return report;
}
