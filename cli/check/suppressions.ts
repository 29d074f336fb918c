/** Suppressions: sites that may grow or hold old tensors, each with a reason, committed with the project. */
import type { SiteReport } from '../analysis/report';
import { relativeFile } from '../wording/position';
import { checkObject, date, list, positive, readJson, text, version } from './validate';

export interface Suppression {
  /** Relative to the working folder of the check; `*` matches within a folder, `**` across folders. */
  file: string;
  line?: number;
  function?: string;
  reason: string;
  /** The last day (UTC) on which it applies. */
  until?: string;
}

const FIELDS = { version: { check: version(1) }, suppressions: { check: list } };
const ENTRY_FIELDS = {
  file: { check: text },
  line: { check: positive, optional: true as const },
  function: { check: text, optional: true as const },
  reason: { check: text },
  until: { check: date, optional: true as const },
};

/** @throws {UsageError} with one line, if the file is invalid */
export function readSuppressions(file: string): Suppression[] {
  const object = checkObject(readJson(file), FIELDS, file);
  return (object.suppressions as unknown[]).map(
    (entry, i) => checkObject(entry, ENTRY_FIELDS, `${file}: suppressions[${i}]`) as unknown as Suppression,
  );
}

export const isExpired = ({ until }: Suppression, now: Date): boolean =>
  until !== undefined && now.getTime() >= new Date(`${until}T00:00:00Z`).getTime() + 86_400_000;

export function suppresses(entry: Suppression, site: SiteReport, folder: string): boolean {
  return (
    pattern(entry.file).test(relativeFile(site, folder)) &&
    (entry.line === undefined || entry.line === site.line) &&
    (entry.function === undefined || entry.function === site.function)
  );
}

function pattern(glob: string): RegExp {
  const body = glob.replace(/\*\*\/?|\*|[^*]+/g, (part) => {
    if (part === '**/') return '(?:.*/)?';
    if (part === '**') return '.*';
    if (part === '*') return '[^/]*';
    return part.replace(/[\\^$.|?+()[\]{}]/g, '\\$&');
  });
  return new RegExp(`^${body}$`, 's');
}
