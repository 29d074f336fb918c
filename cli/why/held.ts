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
    if (heldBy === undefined) return site;
    const openedAt = heldBy.find((holder) => holder.openedAt !== undefined)?.openedAt;
    if (openedAt === undefined || site.cause?.kind !== 'open-scope') return { ...site, heldBy };
    return { ...site, heldBy, cause: { ...site.cause, openedAt } };
  });
  return { ...report, sites };
}
