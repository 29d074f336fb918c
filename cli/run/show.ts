/** A capture while it is recorded: made before, shown meanwhile, reported after. */
import * as fs from 'node:fs';
import { analyse } from '../analysis';
import type { Capture } from '../capture/capture';
import { Flag, fileHeader } from '../capture/format';
import type { CaptureFollower } from '../capture/reader';
import { colorsFor } from '../colors';
import { UsageError } from '../errors';
import { type ShowOptions, showReport } from '../output';
import type { Report } from '../report';
import { LiveLines } from '../reporters/live';
import { lostText } from '../reporters/text';

/**
 * Makes the file that the process claims, for its owner alone. So a disk without room is found before anything is
 * recorded, and a program that could not record is told from one that made no tensors.
 */
export function reserve(file: string): void {
  try {
    fs.rmSync(file, { force: true }); // an old capture
    fs.writeFileSync(file, fileHeader(Flag.reserved), { flag: 'wx', mode: 0o600 });
  } catch (error) {
    throw new UsageError(`cannot write ${file}: ${(error as NodeJS.ErrnoException).code ?? error}`);
  }
}

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
