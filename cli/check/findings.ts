/** Checks a report: its findings, some of which are known or suppressed, and the exit status. */

import { type Redaction, redactReport } from '../analysis/redact';
import type { Report, SiteReport } from '../analysis/report';
import { ExitCode } from '../errors/errors';
import { counted, formatBytes, formatDuration } from '../terminal/units';
import { position } from '../wording/position';
import { growsIn } from '../wording/ranks';
import { confidenceText, lostText, shortfallText } from '../wording/sentence';
import { type Baseline, entryFor, isFaster, type KnownLeak } from './baseline';
import { isExpired, type Suppression, suppresses } from './suppressions';

export type Rule = 'leak' | 'max-live' | 'max-age';

export interface Finding {
  rule: Rule;
  /** Null for the whole program. */
  site: SiteReport | null;
  message: string;
  /** Why it does not fail the check; null if it does. */
  excuse: { by: 'baseline' | 'suppression'; reason: string } | null;
  /** In the baseline, but now faster. */
  grown: boolean;
}

export interface CheckOptions {
  maxLive?: number;
  maxAge?: number;
  baseline?: Baseline;
  suppressions?: Suppression[];
  /** Replaces names of the program. */
  redaction?: Redaction;
}

export interface Outcome {
  status: number;
  /** The outcome in one line. */
  text: string;
  findings: Finding[];
  /** Entries that are out of date. */
  notes: string[];
}

export function check(report: Report, options: CheckOptions, folder: string, now = new Date()): Outcome {
  const findings = [...leaks(report, options, folder), ...limits(report, options, folder)];
  const used = new Set<KnownLeak | Suppression>();
  for (const finding of findings) excuse(finding, options, folder, now, used);
  const lost = report.summary.lostEvents > 0 ? [lostText(report.summary)] : [];
  // Redacted last, because baselines and suppressions match sites by name.
  const shown = options.redaction === undefined ? report : redactReport(report, options.redaction);
  return { ...conclude(shown, findings, folder), findings, notes: [...lost, ...notes(options, used, now)] };
}

const placeOf = (site: SiteReport, { redaction }: CheckOptions, folder: string) =>
  position(redaction?.frame(site) ?? site, folder);

function leaks(report: Report, options: CheckOptions, folder: string): Finding[] {
  return report.sites
    .filter((site) => site.verdict === 'leak')
    .map((site) => {
      const sure = site.confidence === null ? '' : ` (confidence ${confidenceText(site.confidence)})`;
      const message =
        `${placeOf(site, options, folder)} grows by ${formatBytes(site.growthBytesPerMinute)} and ` +
        `${counted(site.growthTensorsPerMinute, 'tensor')} per minute${growsIn(site)}${sure}`;
      return { rule: 'leak', site, message, excuse: null, grown: false };
    });
}

function limits({ summary, sites }: Report, options: CheckOptions, folder: string): Finding[] {
  const { maxLive, maxAge } = options;
  const found: Finding[] = [];
  if (maxLive !== undefined && summary.liveBytes > maxLive) {
    const message = `${formatBytes(summary.liveBytes)} are live, more than ${formatBytes(maxLive)}`;
    found.push({ rule: 'max-live', site: null, message, excuse: null, grown: false });
  }
  for (const site of maxAge === undefined ? [] : sites) {
    if (site.oldestMs === null || site.oldestMs <= maxAge!) continue;
    const message = `${placeOf(site, options, folder)} holds a tensor that is ${formatDuration(site.oldestMs)} old`;
    found.push({ rule: 'max-age', site, message, excuse: null, grown: false });
  }
  return found;
}

function excuse(
  finding: Finding,
  { baseline, suppressions = [] }: CheckOptions,
  folder: string,
  now: Date,
  used: Set<KnownLeak | Suppression>,
): void {
  const { site } = finding;
  if (site === null) return;
  const known = baseline === undefined || finding.rule !== 'leak' ? undefined : entryFor(baseline, site, folder);
  if (known !== undefined) {
    used.add(known);
    finding.grown = isFaster(site, known, baseline!);
    if (finding.grown) {
      const before = known.growthBytesPerMinute === 0 ? known.growthTensorsPerMinute : known.growthBytesPerMinute;
      const unit = known.growthBytesPerMinute === 0 ? counted(before, 'tensor') : formatBytes(before);
      finding.message += `; the baseline has ${unit} per minute`;
    } else finding.excuse = { by: 'baseline', reason: 'known leak' };
  }
  for (const entry of suppressions) {
    if (!suppresses(entry, site, folder)) continue;
    used.add(entry);
    if (!isExpired(entry, now)) finding.excuse = { by: 'suppression', reason: entry.reason };
  }
}

/** A capture with lost events is never clean, but it can still show a leak. */
function conclude(report: Report, findings: Finding[], folder: string): { status: number; text: string } {
  const open = findings.filter((finding) => finding.excuse === null);
  // Exceeding a limit is not necessarily a leak, but has the same status.
  const text = open.some(({ rule }) => rule === 'leak') ? 'leak' : 'over the limit';
  if (open.length > 0) return { status: ExitCode.leak, text };
  if (report.summary.lostEvents > 0) {
    const { lostEvents } = report.summary;
    const are = lostEvents === 1 ? 'is' : 'are';
    return { status: ExitCode.lostEvents, text: `lost: at least ${counted(lostEvents, 'event')} ${are} missing` };
  }
  if (report.verdict === 'insufficient')
    return { status: ExitCode.insufficient, text: `insufficient: ${shortfallText(report, folder)}` };
  return { status: ExitCode.clean, text: 'clean' };
}

function notes({ baseline, suppressions = [], redaction }: CheckOptions, used: Set<unknown>, now: Date): string[] {
  const fileOf = (file: string) => redaction?.file(file) ?? file;
  const gone = (baseline?.sites ?? [])
    .filter((entry) => !used.has(entry))
    .map((entry) => `the baseline entry ${fileOf(entry.file)}:${entry.line} no longer leaks: remove it`);
  const idle = suppressions
    .filter((entry) => !used.has(entry))
    .map((entry) => `the suppression of ${fileOf(entry.file)} matches nothing (${entry.reason})`);
  const over = suppressions
    .filter((entry) => used.has(entry) && isExpired(entry, now))
    .map((entry) => `the suppression of ${fileOf(entry.file)} expired after ${entry.until} (${entry.reason})`);
  return [...gone, ...idle, ...over];
}
