/** The known cause of a leak in one sentence, with the remedy. */
import type { Cause, SiteReport, Summary } from '../analysis/report';
import { formatDuration } from '../terminal/units';
import { position, shortFile } from './position';

function workerText({ worker }: Cause, folder: string, attached: boolean): string {
  if (worker === undefined) return '';
  const file = worker.file === '' ? '' : `, ${shortFile(worker.file, folder)}`;
  return ` (thread ${worker.thread}${file}, ended ${formatDuration(worker.ms)} after ${attached ? 'attaching' : 'the start'})`;
}

function placeText({ kind, place, openedAt }: Cause, folder: string): string {
  const done = kind === 'tokens' ? 'made' : 'opened';
  if (place === undefined) return openedAt === undefined ? '' : `, ${done} at ${openedAt}`;
  const name = place.function === '' || place.function.startsWith('(') ? '' : ` (${place.function})`;
  return `, ${done} at ${position(place, folder)}${name}`;
}

/** Empty if none is known. A graph is named by the verdict itself. */
export function causeSentence({ cause }: SiteReport, folder: string, { attached }: Summary): string {
  if (cause === undefined || cause.kind === 'graph') return '';
  return `Cause: ${cause.text}${placeText(cause, folder)}${workerText(cause, folder, attached)}; ${cause.remedy}.`;
}
