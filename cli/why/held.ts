/** Adds the holders of its tensors to each site of a report. */
import type { Report } from '../analysis/report';
import type { Answer } from './holder';
import { whyReport } from './report';

export function withHolders(report: Report, answers: readonly Answer[]): Report {
  const holders = new Map(
    whyReport(answers).sites.map(({ file, line, column, heldBy }) => [`${file}:${line}:${column}`, heldBy]),
  );
  const sites = report.sites.map((site) => {
    const heldBy = holders.get(`${site.file}:${site.line}:${site.column}`);
    return heldBy === undefined ? site : { ...site, heldBy };
  });
  return { ...report, sites };
}
