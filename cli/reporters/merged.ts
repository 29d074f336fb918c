/** The processes of a merged report as text. */

import type { Report } from '../analysis/report';
import type { Colors } from '../terminal/colors';
import { printable } from '../terminal/printable';
import { renderTable } from '../terminal/table';
import { counted, formatBytes, formatDuration } from '../terminal/units';
import { position } from '../wording/position';

/** Sites and processes that are shown; the JSON has all. */
const MAX_SITES = 10;
const MAX_PROCESSES = 20;
const MAX_PER_SITE = 4;

/** Names must be escaped already. */
export function renderProcesses({ processes = [], sites }: Report, colors: Colors, folder: string): string {
  const number = (index: number) => `#${index + 1}`;
  const rows = processes
    .slice(0, MAX_PROCESSES)
    .map(({ file, pid, startMs, endMs, ended, command, rank }, i) => [
      rank === undefined ? number(i) : `${number(i)} (rank ${rank})`,
      String(pid),
      formatDuration(startMs),
      formatDuration(endMs - startMs),
      ended,
      `${file}  ${colors.dim(printable(command))}`,
    ]);
  const right = (title: string) => ({ title, align: 'right' as const });
  const left = (title: string) => ({ title, align: 'left' as const });
  const lines = renderTable(
    [left('process'), right('pid'), right('began'), right('for'), left('ended'), left('capture')],
    rows,
    colors.dim,
  );
  if (processes.length > MAX_PROCESSES) lines.push(`and ${processes.length - MAX_PROCESSES} more processes`);
  lines.push('');
  for (const site of sites.slice(0, MAX_SITES)) {
    const its = site.inProcesses ?? [];
    if (its.length === 0) continue;
    const shown = its
      .slice(0, MAX_PER_SITE)
      .map(({ process, liveBytes }) => `${number(process)} ${formatBytes(liveBytes)}`);
    if (its.length > MAX_PER_SITE) shown.push('…');
    lines.push(`${position(site, folder)}  in ${its.length} of ${processes.length} processes: ${shown.join(', ')}`);
  }
  if (sites.length > MAX_SITES) lines.push(colors.dim(`and ${counted(sites.length - MAX_SITES, 'more site')}`));
  return `\n${lines.join('\n').trimEnd()}\n`;
}
