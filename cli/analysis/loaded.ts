/** The report on a loaded capture, the same for every command. */
import type { LoadedCapture } from '../capture/load';
import { type AnalysisOptions, analyse } from './analyse';
import { withRanks } from './ranks';
import type { Report } from './report';

/** Judges the capture, and restores the figures that condensing changed. */
export function reportOn(loaded: LoadedCapture, options: AnalysisOptions = {}): Report {
  const { capture, rounds, peakRss } = loaded;
  const report = analyse(capture, { ...options, ...warmupOf(loaded, options) });
  return withRanks({ ...report, summary: { ...report.summary, rounds, peakRss } }, capture);
}

/** `--warmup` counts rounds of the file, of which condensing keeps some. */
function warmupOf({ capture: { ticks }, rounds }: LoadedCapture, { warmup }: AnalysisOptions): AnalysisOptions {
  if (warmup === undefined || ticks.length === rounds || ticks.length === 0) return {};
  const [first, last] = [ticks[0]!.ms, ticks.at(-1)!.ms];
  const until = first + (warmup * (last - first)) / Math.max(1, rounds - 1);
  return { warmup: ticks.filter(({ ms }) => ms < until).length };
}
