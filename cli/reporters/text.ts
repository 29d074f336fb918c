/** The report for people: the verdict in one sentence, then what it rests on. */
import type { Colors } from '../colors';
import { printable } from '../printable';
import type { Report, SiteReport, Summary } from '../report';
import { cutBegin, cutEnd, displayWidth } from '../terminal';
import { counted, formatBytes, formatCount, formatDuration } from '../units';
import { position } from './position';
import { verdictText } from './sentence';
import { renderTable } from './table';
import { wrap } from './wrap';

/** Sites in the table; the rest is summed up in a line. */
const MAX_SITES = 20;
const STACK_FRAMES = 6;
/** Less of a path says too little, in however narrow a terminal. */
const MIN_PLACE = 24;

export interface TextOptions {
  colors: Colors;
  /** Paths below it are shown relative to it. */
  folder: string;
  /** Of the terminal; without it, lines are as long as they are. */
  columns?: number;
}

export function renderText(report: Report, options: TextOptions): string {
  const { summary } = report;
  const lines = ['', ...wrap(verdictText(report, options), options.columns), ''];
  if (summary.ended === 'no tensors') return `${lines.join('\n')}\n`;
  lines.push(...leakDetails(report, options));
  if (report.sites.length > 0) lines.push(...siteTable(report.sites, options), '');
  lines.push(...memoryLines(report, options), ...markLines(report, options), ...notes(report, options));
  return `${lines.join('\n').trimEnd()}\n`;
}

function leakDetails({ sites }: Report, { colors, folder, columns = Number.POSITIVE_INFINITY }: TextOptions): string[] {
  const lines: string[] = [];
  for (const site of sites.filter((s) => s.verdict === 'leak' && s.stack.length > 1).slice(0, 3)) {
    for (const [i, frame] of site.stack.slice(0, STACK_FRAMES).entries()) {
      const head = `${i === 0 ? '  made at ' : '     from '}${frame.function || '(top level)'}  `;
      // Of a path the end says more.
      const text = head + cutBegin(position(frame, folder), Math.max(MIN_PLACE, columns - displayWidth(head)));
      lines.push(i === 0 ? text : colors.dim(text));
    }
    lines.push('');
  }
  return lines;
}

/** Of what leaks, and of what may: other slopes are noise. */
function growthText({ verdict, growthBytesPerMinute: growth }: SiteReport): string {
  return (verdict === 'leak' || verdict === 'insufficient') && growth > 0 ? formatBytes(growth) : '-';
}

function siteTable(sites: SiteReport[], { colors, folder, columns }: TextOptions): string[] {
  const paint = {
    leak: colors.red,
    cache: colors.cyan,
    steady: colors.green,
    insufficient: colors.yellow,
  };
  const rows = sites
    .slice(0, MAX_SITES)
    .map((site) => [
      paint[site.verdict](site.kind.replaceAll('-', ' ')),
      formatCount(site.liveTensors),
      formatBytes(site.liveBytes),
      formatCount(site.allocatedTensors),
      formatBytes(site.allocatedBytes),
      growthText(site),
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
  if (sites.length > MAX_SITES) {
    const rest = sites.slice(MAX_SITES);
    const bytes = rest.reduce((sum, site) => sum + site.liveBytes, 0);
    lines.push(colors.dim(`… and ${counted(rest.length, 'more site')}, of ${formatBytes(bytes)} in all`));
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
      `${counted(summary.liveTensors, 'tensor')} on ${counted(summary.liveStorages, 'storage')}`,
    ],
    ['held by libtorch', formatBytes(summary.allocatedBytes), formatBytes(summary.peakAllocatedBytes), ''],
    ['  seen by no tensor', formatBytes(summary.unexplainedBytes), '', 'autograd graphs, buffers of libtorch'],
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

const MAX_MARKS = 20;

function markLines({ marks }: Report, { colors, columns = Number.POSITIVE_INFINITY }: TextOptions): string[] {
  if (marks.length === 0) return [];
  // Names come from programs: a terminal must not be steered by them.
  const lines = marks
    .slice(0, MAX_MARKS)
    .map(({ ms, name }) => cutEnd(`${formatDuration(ms).padStart(10)}  ${printable(name)}`, columns));
  if (marks.length > MAX_MARKS) lines.push(colors.dim(`… and ${counted(marks.length - MAX_MARKS, 'more mark')}`));
  return ['', colors.dim('  at  mark'.padStart(16)), ...lines];
}

/** What to keep in mind when reading the figures. */
export function notes({ summary, sites }: Report, { colors, columns }: TextOptions): string[] {
  const found: string[] = [];
  if (summary.unexplainedGrowthBytesPerMinute > 0) {
    const growth = formatBytes(summary.unexplainedGrowthBytesPerMinute);
    const known = sites.some(({ verdict, graph }) => verdict === 'leak' && graph !== null);
    const asks = known ? '' : ': is a loss with its autograd graph kept?';
    found.push(`what no tensor sees grows by ${growth} per minute${asks}`);
  }
  if (summary.retainedGrowthBytesPerMinute > 0) {
    const growth = formatBytes(summary.retainedGrowthBytesPerMinute);
    found.push(
      `the process grows by ${growth} per minute that neither tensors nor V8 hold: freed memory that malloc keeps ` +
        '(docs/memory-limits.md), or another library',
    );
  }
  const left = summary.leaks - sites.filter((site) => site.verdict === 'leak').length;
  if (left > 0) found.push(`--min-age leaves out ${counted(left, 'site')} that ${left === 1 ? 'leaks' : 'leak'}`);
  if (summary.mode === 'sample') found.push('counts per site are estimates (--mode sample); totals are exact');
  if (summary.ended === 'abandoned') found.push('leak-audit attach was killed: the process detached then');
  if (summary.ended === 'killed') found.push('the program was killed: at most the last interval is missing');
  if (summary.tornBytes > 0)
    found.push(`the capture is torn: its last ${counted(summary.tornBytes, 'byte')} cannot be read`);
  if (summary.lostEvents > 0) found.push(lostText(summary));
  if (found.length === 0) return [];
  return ['', ...found.flatMap((note) => wrap(`note: ${note}`, columns, '      ')).map(colors.yellow)];
}

/** Of a capture that could not hold all that happened. */
export function lostText({ lostEvents }: Summary): string {
  return `${counted(lostEvents, 'event')} or more ${lostEvents === 1 ? 'was' : 'were'} lost: figures are too low`;
}
