/** The report for people: the verdict in one sentence, then what it rests on. */
import * as path from 'node:path';
import { type Colors, plainColors } from '../colors';
import type { Report, SiteReport, Summary } from '../report';
import { formatBytes, formatCount, formatDuration } from '../units';
import { renderTable } from './table';

/** Sites in the table; the rest is summed up in a line. */
const MOST_SITES = 20;
const STACK_FRAMES = 6;

export interface TextOptions {
  colors: Colors;
  /** Paths below it are shown relative to it. */
  folder: string;
  /** Of the terminal; without it, lines are as long as they are. */
  columns?: number;
}

export function renderText(report: Report, options: TextOptions): string {
  const { summary } = report;
  const lines = ['', ...verdictLines(report, options), ''];
  if (summary.ended === 'no tensors') return `${lines.join('\n')}\n`;
  lines.push(...leakDetails(report, options));
  if (report.sites.length > 0) lines.push(...siteTable(report.sites, options), '');
  lines.push(...memoryLines(report, options), ...markLines(report, options), ...notes(report, options));
  return `${lines.join('\n').trimEnd()}\n`;
}

/** `src/a.ts`, with slashes; as it is where it lies outside `folder`. */
export function relativeFile({ file }: { file: string }, folder: string): string {
  if (!path.isAbsolute(file)) return file;
  const relative = path.relative(folder, file);
  const outside = relative === '..' || relative.startsWith(`..${path.sep}`) || path.isAbsolute(relative);
  return outside ? file : relative.split(path.sep).join('/');
}

/** `src/a.ts:3:7`, or relative to the working folder where that is shorter. */
export function position(site: { file: string; line: number; column: number }, folder: string): string {
  if (site.line === 0) return site.file;
  const relative = path.isAbsolute(site.file) ? path.relative(folder, site.file) : site.file;
  const file = relative.startsWith('..') ? site.file : relative;
  return `${file}:${site.line}:${site.column}`;
}

/** `more than 99.9%`, `99.4%`. */
export function confidenceText(confidence: number): string {
  if (confidence > 0.999) return 'more than 99.9%';
  return `${(Math.floor(confidence * 1000) / 10).toFixed(1)}%`;
}

/** Longer than this is no forecast any more. */
const FAR_MS = 1000 * 86_400_000;

/** When it is over, at this rate. */
function limitText({ msToMemoryLimit, memoryLimitBytes, memoryLimitFrom }: Summary): string {
  if (msToMemoryLimit === null || msToMemoryLimit > FAR_MS) return '';
  const of = memoryLimitFrom === 'cgroup' ? 'the control group' : 'the machine';
  const when = msToMemoryLimit === 0 ? 'are reached' : `last for ${formatDuration(msToMemoryLimit)}`;
  return ` At this rate the ${formatBytes(memoryLimitBytes)} of ${of} ${when}.`;
}

function sinceText(ms: number | null): string {
  if (ms === null) return '';
  return ms < 1000 ? ', from the start' : `, since ${formatDuration(ms)} after the start`;
}

const isHidden = (site: SiteReport) =>
  site.hiddenGrowthBytesPerMinute > 0 && site.hiddenGrowthBytesPerMinute === site.growthBytesPerMinute;

const rate = (site: SiteReport) =>
  isHidden(site)
    ? `${formatBytes(site.growthBytesPerMinute)} per minute that no tensor shows`
    : site.growthBytesPerMinute > 0
      ? `${formatBytes(site.growthBytesPerMinute)} per minute (${formatCount(site.growthTensorsPerMinute)} tensors)`
      : `${formatCount(site.growthTensorsPerMinute)} tensors per minute`;

/** The verdict in one plain sentence. */
export function verdictSentence(report: Report, folder: string): string {
  return verdictLines(report, { colors: plainColors, folder }).join(' ');
}

function verdictLines({ verdict, summary, sites }: Report, { colors, folder }: TextOptions): string[] {
  const leaks = sites.filter((site) => site.verdict === 'leak');
  const worst = leaks[0];
  if (verdict === 'leak' && worst !== undefined) {
    const where = colors.bold(position(worst, folder)) + (worst.function === '' ? '' : ` (${worst.function})`);
    const sure = worst.confidence === null ? '' : `, with ${confidenceText(worst.confidence)} confidence`;
    const since = sinceText(worst.sinceMs) + sure;
    const keeps = isHidden(worst) ? 'most likely keeps' : 'leaks';
    const more = leaks.length > 1 ? ` ${leaks.length - 1} more ${leaks.length > 2 ? 'sites leak' : 'site leaks'}.` : '';
    return [
      `${colors.red(colors.bold('LEAK'))}  ${where} ${keeps} ${rate(worst)}${since}.${limitText(summary)}${more}`,
    ];
  }
  if (verdict === 'insufficient') {
    return [
      `${colors.yellow(colors.bold('INSUFFICIENT'))}  ${formatCount(summary.liveTensors)} tensors are alive after ` +
        `${formatDuration(summary.durationMs)}, too short to tell a leak from a program that warms up.`,
    ];
  }
  const clean = colors.green(colors.bold('CLEAN'));
  if (summary.ended === 'no tensors') return [`${clean}  The program made no tensors (it never loaded libtorch-node).`];
  if (summary.mode === 'counters')
    return [`${clean}  Only totals were recorded (--mode counters): no site can be judged.`];
  if (sites.length === 0 && summary.peakLiveBytes === 0) return [`${clean}  The program made no tensors.`];
  const caches = sites.filter((site) => site.verdict === 'cache').length;
  const kept =
    caches > 0 ? ` ${caches === 1 ? 'One site grew and then stopped: a cache' : `${caches} caches filled`}.` : '';
  return [
    `${clean}  No site kept growing in ${formatDuration(summary.durationMs)}; ` +
      `${formatCount(summary.liveTensors)} tensors (${formatBytes(summary.liveBytes)}) were alive at the end.${kept}`,
  ];
}

function leakDetails({ sites }: Report, { colors, folder }: TextOptions): string[] {
  const lines: string[] = [];
  for (const site of sites.filter((s) => s.verdict === 'leak' && s.stack.length > 1).slice(0, 3)) {
    for (const [i, frame] of site.stack.slice(0, STACK_FRAMES).entries()) {
      const text = `${i === 0 ? '  made at ' : '     from '}${frame.function || '(top level)'}  ${position(frame, folder)}`;
      lines.push(i === 0 ? text : colors.dim(text));
    }
    lines.push('');
  }
  return lines;
}

function siteTable(sites: SiteReport[], { colors, folder, columns }: TextOptions): string[] {
  const paint = {
    leak: colors.red,
    cache: colors.cyan,
    steady: colors.green,
    insufficient: colors.yellow,
  };
  const rows = sites
    .slice(0, MOST_SITES)
    .map((site) => [
      paint[site.verdict](site.kind.replace('-', ' ')),
      formatCount(site.liveTensors),
      formatBytes(site.liveBytes),
      formatCount(site.allocatedTensors),
      formatBytes(site.allocatedBytes),
      site.verdict !== 'leak' || site.growthBytesPerMinute <= 0 ? '-' : formatBytes(site.growthBytesPerMinute),
      site.oldestMs === null ? '-' : formatDuration(site.oldestMs),
      position(site, folder) + (site.function === '' ? '' : colors.dim(` ${site.function}`)),
    ]);
  const right = (title: string, optional = false) => ({ title, align: 'right' as const, optional });
  const lines = renderTable(
    [
      { title: 'verdict', align: 'left' },
      right('live'),
      right('live bytes'),
      right('allocated', true),
      right('bytes', true),
      right('growth/min'),
      right('oldest'),
      { title: 'site', align: 'left' },
    ],
    rows,
    colors.dim,
    columns,
  );
  if (sites.length > MOST_SITES) {
    const rest = sites.slice(MOST_SITES);
    const bytes = rest.reduce((sum, site) => sum + site.liveBytes, 0);
    lines.push(colors.dim(`… and ${formatCount(rest.length)} more sites that hold ${formatBytes(bytes)}`));
  }
  return lines;
}

function memoryLines({ summary }: Report, { colors, columns }: TextOptions): string[] {
  const right = { align: 'right' as const };
  const rows = [
    [
      'seen by JS tensors',
      formatBytes(summary.liveBytes),
      formatBytes(summary.peakLiveBytes),
      `${formatCount(summary.liveTensors)} tensors on ${formatCount(summary.liveStorages)} storages`,
    ],
    ['held by libtorch', formatBytes(summary.allocatedBytes), formatBytes(summary.peakAllocatedBytes), ''],
    ['  seen by no tensor', formatBytes(summary.unexplainedBytes), '', 'autograd graphs, buffers inside libtorch'],
    ['process (RSS)', formatBytes(summary.rss), formatBytes(summary.peakRss), 'with libtorch itself, V8 and code'],
  ];
  return renderTable(
    [
      { title: 'memory', align: 'left' },
      { title: 'at the end', ...right },
      { title: 'peak', ...right },
      { title: '', align: 'left' },
    ],
    rows.map((row) => [...row.slice(0, 3), colors.dim(row[3]!)]),
    colors.dim,
    columns,
  );
}

const MOST_MARKS = 20;

function markLines({ marks }: Report, { colors }: TextOptions): string[] {
  if (marks.length === 0) return [];
  // Names come from programs: a terminal must not be steered by them.
  const plain = (name: string) => name.replace(/[\p{Cc}\p{Cf}]+/gu, ' ');
  const lines = marks.slice(0, MOST_MARKS).map(({ ms, name }) => `${formatDuration(ms).padStart(10)}  ${plain(name)}`);
  if (marks.length > MOST_MARKS) lines.push(colors.dim(`… and ${formatCount(marks.length - MOST_MARKS)} more marks`));
  return ['', colors.dim('  at  mark'.padStart(16)), ...lines];
}

/** What to keep in mind when reading the figures. */
export function notes({ summary }: Report, { colors }: TextOptions): string[] {
  const found: string[] = [];
  if (summary.unexplainedGrowthBytesPerMinute > 0) {
    const growth = formatBytes(summary.unexplainedGrowthBytesPerMinute);
    found.push(`what no tensor sees grows by ${growth} per minute: is a loss with its autograd graph kept?`);
  }
  if (summary.retainedGrowthBytesPerMinute > 0) {
    const growth = formatBytes(summary.retainedGrowthBytesPerMinute);
    found.push(
      `the process grows by ${growth} per minute that neither tensors nor V8 hold: freed memory that malloc keeps ` +
        '(docs/memory-limits.md), or another library',
    );
  }
  if (summary.mode === 'sample') found.push('counts per site are estimates (--mode sample); totals are exact');
  if (summary.ended === 'abandoned') found.push('leak-audit attach was killed: the process detached then');
  if (summary.ended === 'killed') found.push('the program was killed: at most the last interval is missing');
  if (summary.tornBytes > 0) found.push(`${formatCount(summary.tornBytes)} bytes at the end of the capture are torn`);
  if (summary.lostEvents > 0) found.push(`${formatCount(summary.lostEvents)} events were lost: figures are too low`);
  return found.length === 0 ? [] : ['', ...found.map((note) => colors.yellow(`note: ${note}`))];
}
