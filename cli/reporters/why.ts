/** What holds the tensors, as text and as JSON. */
import type { Colors } from '../terminal/colors';
import { counted, formatBytes } from '../terminal/units';
import type { WhyReport } from '../why/report';
import { position } from '../wording/position';

const MAX_HOLDERS = 20;
const MAX_SITES = 5;

const amountOf = ({ tensors, bytes }: { tensors: number; bytes: number }) =>
  [...(tensors > 0 ? [counted(tensors, 'tensor')] : []), ...(bytes > 0 ? [formatBytes(bytes)] : [])].join(', ');

export const pathText = (path: readonly string[]): string => path.join(' → ');

export function renderWhy(
  report: WhyReport,
  { colors, folder, site, atEnd }: { colors: Colors; folder: string; site?: string | undefined; atEnd?: boolean },
): string {
  const { heldBy, threads } = report;
  if (heldBy.length === 0 && atEnd === true)
    return 'nothing: the code whose variables held tensors has ended; `leak-audit why PID` shows it while a program runs\n';
  if (heldBy.length === 0)
    return site === undefined
      ? 'no live tensor of this process is held by anything\n'
      : `no live tensor was made at ${site}; lines are known only while the process is recorded\n`;
  const lines: string[] = [];
  const hasProcesses = threads.some(({ pid }) => pid !== undefined);
  for (const { path, sites, pid = report.pid, thread, ...amount } of heldBy.slice(0, MAX_HOLDERS)) {
    const place = hasProcesses ? `process ${pid}` : thread === 0 ? 'main thread' : `worker ${thread}`;
    const where = threads.length > 1 ? ` (${place})` : '';
    const figures = amountOf(amount);
    lines.push(`${figures === '' ? '' : `${colors.bold(figures)}  `}${pathText(path)}${where}`);
    for (const site of sites.slice(0, MAX_SITES)) {
      const name = site.function === '' ? '' : ` (${site.function})`;
      lines.push(`    made at ${position(site, folder)}${name}: ${amountOf(site)}`);
    }
    if (sites.length > MAX_SITES) lines.push(`    and at ${counted(sites.length - MAX_SITES, 'more line')}`);
  }
  if (heldBy.length > MAX_HOLDERS) lines.push(`… and ${counted(heldBy.length - MAX_HOLDERS, 'more holder')}`);
  return `${lines.join('\n')}\n`;
}
