/** A baseline: known leaks that are not fixed yet. Written by `check --write-baseline` and committed. */

import type { Report, SiteReport } from '../analysis/report';
import { jsonText } from '../terminal/printable';
import { relativeFile } from '../wording/position';
import { amount, anyText, checkObject, factor, list, positive, readJson, text, version } from './validate';

export interface KnownLeak {
  /** Relative to the working folder of the check, with slashes. */
  file: string;
  line: number;
  /** Empty at the top level of a module. */
  function: string;
  growthBytesPerMinute: number;
  growthTensorsPerMinute: number;
}

export interface Baseline {
  version: 1;
  /** A known leak may grow by up to this factor of the recorded rate, because machines differ. */
  tolerance: number;
  sites: KnownLeak[];
}

const TOLERANCE = 2;

const FIELDS = {
  version: { check: version(1) },
  tolerance: { check: factor, optional: true as const },
  sites: { check: list },
};
const SITE_FIELDS = {
  file: { check: text },
  line: { check: positive },
  function: { check: anyText },
  growthBytesPerMinute: { check: amount },
  growthTensorsPerMinute: { check: amount },
};

/** @throws {UsageError} with one line, if the file is invalid */
export function readBaseline(file: string): Baseline {
  const object = checkObject(readJson(file), FIELDS, file);
  const sites = (object.sites as unknown[]).map(
    (site, i) => checkObject(site, SITE_FIELDS, `${file}: sites[${i}]`) as unknown as KnownLeak,
  );
  return { version: 1, tolerance: (object.tolerance as number | undefined) ?? TOLERANCE, sites };
}

/** A baseline of the leaks in a report that have a line. */
export function baselineOf(report: Report, folder: string): Baseline {
  const sites = report.sites
    .filter((site) => site.verdict === 'leak' && site.line > 0)
    .map((site) => ({
      file: relativeFile(site, folder),
      line: site.line,
      function: site.function,
      growthBytesPerMinute: Math.max(0, site.growthBytesPerMinute),
      growthTensorsPerMinute: Math.max(0, site.growthTensorsPerMinute),
    }))
    .sort((a, b) => (a.file < b.file ? -1 : a.file > b.file ? 1 : a.line - b.line));
  return { version: 1, tolerance: TOLERANCE, sites };
}

export const renderBaseline = (baseline: Baseline): string => `${jsonText(baseline, 2)}\n`;

/** The entry for a site: the same line of the file, or if lines have moved, the nearest of the same function. */
export function entryFor({ sites }: Baseline, site: SiteReport, folder: string): KnownLeak | undefined {
  const file = relativeFile(site, folder);
  const distance = (entry: KnownLeak) => Math.abs(entry.line - site.line);
  return sites
    .filter((entry) => entry.file === file)
    .filter((entry) => entry.line === site.line || (entry.function !== '' && entry.function === site.function))
    .reduce<KnownLeak | undefined>((a, b) => (a === undefined || distance(b) < distance(a) ? b : a), undefined);
}

/** Whether the site leaks faster than the entry and the tolerance allow. A rate of 0 in the entry allows no growth. */
export function isFaster(site: SiteReport, known: KnownLeak, { tolerance }: Baseline): boolean {
  const byTensors = known.growthBytesPerMinute === 0;
  return byTensors
    ? site.growthTensorsPerMinute > tolerance * known.growthTensorsPerMinute
    : site.growthBytesPerMinute > tolerance * known.growthBytesPerMinute;
}
