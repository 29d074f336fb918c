/** The known cause of a leak in one sentence, with the remedy. */
import type { Cause, SiteReport } from '../analysis/report';
import { formatDuration } from '../terminal/units';
import { shortFile } from './position';

function workerText({ worker }: Cause, folder: string): string {
  if (worker === undefined) return '';
  const file = worker.file === '' ? '' : `, ${shortFile(worker.file, folder)}`;
  return ` (thread ${worker.thread}${file}, ended ${formatDuration(worker.ms)} after the start)`;
}

/** Empty if none is known. A graph is named by the verdict itself. */
export function causeSentence({ cause }: SiteReport, folder: string): string {
  if (cause === undefined || cause.kind === 'graph') return '';
  const opened = cause.openedAt === undefined ? '' : `, opened at ${cause.openedAt}`;
  return `Cause: ${cause.text}${opened}${workerText(cause, folder)}; ${cause.remedy}.`;
}
