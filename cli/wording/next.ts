/** The next command to run. */
import * as path from 'node:path';
import { isYoungAndGrowing } from '../analysis/analyse';
import type { Report, SiteReport, Summary } from '../analysis/report';
import { formatDuration } from '../terminal/units';

/** A longer one would hide the command. */
const MAX_PROGRAM = 120;

const programOf = ({ command }: Summary) =>
  command === '' || command.length > MAX_PROGRAM || command === '(redacted)' ? '…' : command;

/** A program and its children, recorded with `--follow-children`. */
const isFamily = ({ processes, summary }: Report) => processes === undefined && summary.processes > 1;

const again = (options: string, report: Report) =>
  `leak-audit run ${options}${isFamily(report) ? '--follow-children ' : ''}-- ${programOf(report.summary)}`;

/** For a process that still runs: recorded by attach until it was detached. */
const runs = ({ attached, ended, pid }: Summary) => attached && pid !== null && ended !== 'exit' && ended !== 'killed';

/** Where the end of the program tells nothing: it was killed, or only its worker threads use the library. */
const WHILE_IT_RUNS = 'leak-audit why PID   (what holds them, while the program runs)';

const atSite = (site: SiteReport) => (site.line > 0 ? ` --site ${path.basename(site.file)}:${site.line}` : '');

/** The command with what it is for; undefined if there is none. `triedWhy`: `run --why` found no heap at the program's end. */
export function nextCommand(report: Report, triedWhy = false): string | undefined {
  const { verdict, summary, sites } = report;
  const worst = sites[0];
  if (verdict === 'leak') {
    if (worst === undefined || worst.heldBy !== undefined || worst.graph !== null) return undefined;
    // At the end only the first process tells what holds its tensors, and the leak may be in another.
    if (isFamily(report))
      return 'leak-audit why PID   (what holds them, while it runs; leak-audit ps lists the processes)';
    if (triedWhy) return WHILE_IT_RUNS;
    const command = runs(summary) ? `leak-audit why ${summary.pid}${atSite(worst)}` : again('--why ', report);
    return `${command}   (what holds them)`;
  }
  if (verdict !== 'insufficient') return undefined;
  const { insufficient, sufficientMs } = summary;
  if (insufficient === 'counters') return again('--mode full ', report);
  if (sufficientMs !== null) {
    const time = formatDuration(1000 * Math.ceil(sufficientMs / 1000));
    const flag = `${Math.ceil(sufficientMs / 1000)}s`;
    return runs(summary)
      ? `leak-audit attach ${summary.pid} --duration ${flag}`
      : `${again('', report)}   (for ${time} or longer)`;
  }
  if (worst === undefined || !isYoungAndGrowing(worst)) return undefined;
  return triedWhy ? WHILE_IT_RUNS : again('--why ', report);
}
