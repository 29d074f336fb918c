/** The next command to run. */
import * as path from 'node:path';
import { isYoungAndGrowing } from '../analysis/analyse';
import type { Report, SiteReport, Summary } from '../analysis/report';
import { formatDuration } from '../terminal/units';

/** A longer one would hide the command. */
const MAX_PROGRAM = 120;

const programOf = ({ command }: Summary) =>
  command === '' || command.length > MAX_PROGRAM || command === '(redacted)' ? '…' : command;

const again = (options: string, summary: Summary) => `leak-audit run ${options}-- ${programOf(summary)}`;

/** For a process that still runs: recorded by attach until it was detached. */
const runs = ({ attached, ended, pid }: Summary) => attached && pid !== null && ended !== 'exit' && ended !== 'killed';

const atSite = (site: SiteReport) => (site.line > 0 ? ` --site ${path.basename(site.file)}:${site.line}` : '');

/** The command with what it is for; undefined if there is none. */
export function nextCommand({ verdict, summary, sites }: Report): string | undefined {
  const worst = sites[0];
  if (verdict === 'leak') {
    if (worst === undefined || worst.heldBy !== undefined || worst.graph !== null) return undefined;
    const command = runs(summary) ? `leak-audit why ${summary.pid}${atSite(worst)}` : again('--why ', summary);
    return `${command}   (what holds them)`;
  }
  if (verdict !== 'insufficient') return undefined;
  const { insufficient, sufficientMs } = summary;
  if (insufficient === 'counters') return again('--mode full ', summary);
  if (sufficientMs !== null) {
    const time = formatDuration(1000 * Math.ceil(sufficientMs / 1000));
    const flag = `${Math.ceil(sufficientMs / 1000)}s`;
    return runs(summary)
      ? `leak-audit attach ${summary.pid} --duration ${flag}`
      : `${again('', summary)}   (for ${time} or longer)`;
  }
  return worst !== undefined && isYoungAndGrowing(worst) ? again('--why ', summary) : undefined;
}
