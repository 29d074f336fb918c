/** Compares two reports: which sites grew, shrank, are new or gone. */

import type { SiteVerdict } from '../rules/verdict';
import type { Report, SiteReport, Summary } from './report';

const DIFF_VERSION = 1;

export type Change = 'grown' | 'new' | 'shrunk' | 'gone' | 'same';

export interface SiteFigures {
  liveTensors: number;
  liveBytes: number;
  allocatedTensors: number;
  allocatedBytes: number;
  growthBytesPerMinute: number;
  verdict: SiteVerdict;
}

export interface SiteDiff {
  file: string;
  line: number;
  column: number;
  function: string;
  change: Change;
  /** Its position in the first capture if the line moved; matched as the only site of its function in both. */
  movedFrom: { line: number; column: number } | null;
  liveBytesChange: number;
  liveTensorsChange: number;
  /** Null if the capture does not have the site. */
  a: SiteFigures | null;
  b: SiteFigures | null;
}

/** The factor for the second capture's figures, and where it comes from. */
export interface Normalization {
  by: 'allocatedTensors';
  a: number;
  b: number;
  factor: number;
}

export interface Diff {
  version: number;
  a: Summary;
  b: Summary;
  normalized: Normalization | null;
  counts: Record<Change, number>;
  liveBytesChange: number;
  liveTensorsChange: number;
  /** Grown and new first, then shrunk and gone, then the same; in each group the largest changes first. */
  sites: SiteDiff[];
}

/** Changes below these are ignored, as in verdicts, and so are changes by less than MIN_SHARE of the earlier value. */
const MIN_BYTES = 4096;
const MIN_TENSORS = 8;
const MIN_SHARE = 0.05;

const ORDER: Record<Change, number> = { grown: 0, new: 0, shrunk: 1, gone: 1, same: 2 };

export function diffReports(a: Report, b: Report, { normalize = false } = {}): Diff {
  const normalized = normalize ? normalization(a, b) : null;
  const factor = normalized?.factor ?? 1;
  const sites = matchSites(a.sites, b.sites)
    .map((pair) => diffSite(pair, factor))
    .sort(
      (one, other) =>
        ORDER[one.change] - ORDER[other.change] ||
        Math.abs(other.liveBytesChange) - Math.abs(one.liveBytesChange) ||
        Math.abs(other.liveTensorsChange) - Math.abs(one.liveTensorsChange),
    );
  const counts: Record<Change, number> = { grown: 0, new: 0, shrunk: 0, gone: 0, same: 0 };
  for (const { change } of sites) counts[change]++;
  return {
    version: DIFF_VERSION,
    a: a.summary,
    b: b.summary,
    normalized,
    counts,
    liveBytesChange: Math.round(b.summary.liveBytes * factor) - a.summary.liveBytes,
    liveTensorsChange: Math.round(b.summary.liveTensors * factor) - a.summary.liveTensors,
    sites,
  };
}

/**
 * Runs that do more work hold more. Work is measured in tensors made at all sites; without sites (mode `counters`), the
 * factor is 1.
 */
function normalization(a: Report, b: Report): Normalization {
  const made = (report: Report) => report.sites.reduce((sum, site) => sum + site.allocatedTensors, 0);
  const [ofA, ofB] = [made(a), made(b)];
  return { by: 'allocatedTensors', a: ofA, b: ofB, factor: ofA > 0 && ofB > 0 ? ofA / ofB : 1 };
}

interface Pair {
  a?: SiteReport;
  b?: SiteReport;
}

const positionOf = (site: SiteReport) => `${site.file}\0${site.line}\0${site.column}`;
const functionOf = (site: SiteReport) => `${site.file}\0${site.function}`;

/** Matches sites by position; the rest by function, if it has one unmatched site on either side (the line moved). */
function matchSites(a: SiteReport[], b: SiteReport[]): Pair[] {
  const inB = new Map(b.map((site) => [positionOf(site), site]));
  const pairs: Pair[] = [];
  const leftA: SiteReport[] = [];
  for (const site of a) {
    const same = inB.get(positionOf(site));
    if (same === undefined) leftA.push(site);
    else pairs.push({ a: site, b: same });
    inB.delete(positionOf(site));
  }
  const leftB = [...inB.values()];
  const onlyIn = (sites: SiteReport[]) => {
    const only = new Map<string, SiteReport | null>();
    for (const site of sites) only.set(functionOf(site), only.has(functionOf(site)) ? null : site);
    return only;
  };
  const [onlyA, onlyB] = [onlyIn(leftA), onlyIn(leftB)];
  const moved = new Set<SiteReport>();
  for (const site of leftA) {
    const there = onlyB.get(functionOf(site));
    if (site.function === '' || !there || !onlyA.get(functionOf(site))) pairs.push({ a: site });
    else {
      pairs.push({ a: site, b: there });
      moved.add(there);
    }
  }
  for (const site of leftB) if (!moved.has(site)) pairs.push({ b: site });
  return pairs;
}

function diffSite({ a, b }: Pair, factor: number): SiteDiff {
  const place = (b ?? a)!;
  const before = a === undefined ? null : figures(a, 1);
  const after = b === undefined ? null : figures(b, factor);
  const bytes = (after?.liveBytes ?? 0) - (before?.liveBytes ?? 0);
  const tensors = (after?.liveTensors ?? 0) - (before?.liveTensors ?? 0);
  return {
    file: place.file,
    line: place.line,
    column: place.column,
    function: place.function,
    change: changeOf(before, after, bytes, tensors),
    movedFrom: a && b && positionOf(a) !== positionOf(b) ? { line: a.line, column: a.column } : null,
    liveBytesChange: bytes,
    liveTensorsChange: tensors,
    a: before,
    b: after,
  };
}

function changeOf(a: SiteFigures | null, b: SiteFigures | null, bytes: number, tensors: number): Change {
  if (a === null) return 'new';
  if (b === null) return 'gone';
  const isSignificant = (change: number, before: number, least: number) =>
    Math.abs(change) >= least && Math.abs(change) >= MIN_SHARE * before;
  if (isSignificant(bytes, a.liveBytes, MIN_BYTES)) return bytes > 0 ? 'grown' : 'shrunk';
  if (isSignificant(tensors, a.liveTensors, MIN_TENSORS)) return tensors > 0 ? 'grown' : 'shrunk';
  return 'same';
}

const figures = (site: SiteReport, factor: number): SiteFigures => ({
  liveTensors: Math.round(site.liveTensors * factor),
  liveBytes: Math.round(site.liveBytes * factor),
  allocatedTensors: Math.round(site.allocatedTensors * factor),
  allocatedBytes: Math.round(site.allocatedBytes * factor),
  growthBytesPerMinute: site.growthBytesPerMinute,
  verdict: site.verdict,
});
