import type { LoadedCapture } from '../capture/load';
import type { Report } from './report';

/** Restores the figures in the report that condensing changed. */
export function withExactFigures(report: Report, { rounds, peakRss }: LoadedCapture): Report {
  return { ...report, summary: { ...report.summary, rounds, peakRss } };
}
