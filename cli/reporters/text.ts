/** The report as text: the verdict in one sentence, then the figures behind it. */
import { isYoungAndGrowing } from '../analysis/analyse';
import type { Report, SiteReport, Summary } from '../analysis/report';
import { calledName } from '../code/function-names';
import { withoutLibraries } from '../code/libraries';
import { linesAt } from '../code/text';
import { printable } from '../terminal/printable';
import { cutBegin, cutEnd, displayWidth } from '../terminal/size';
import { renderTable } from '../terminal/table';
import { counted, formatBytes, formatCount, formatDuration } from '../terminal/units';
import { wrap } from '../terminal/wrap';
import { barsFromZero } from '../wording/bars';
import { nextCommand } from '../wording/next';
import type { TextOptions } from '../wording/options';
import { position } from '../wording/position';
import { lostText, verdictText } from '../wording/sentence';
import { rankLines } from './ranks';

/** Sites in the table; one line sums up the others. */
const MAX_SITES = 20;
const STACK_FRAMES = 6;
const HISTORY_INDENT = 4;
/** Room for the scale beside the bars. */
const HISTORY_TEXT = 28;
const USUAL_COLUMNS = 80;
const MIN_BARS = 8;
/** Paths are not cut below this width, even in a narrow terminal. */
const MIN_PLACE = 24;

export function renderText(report: Report, options: TextOptions): string {
  const { summary } = report;
  const lines = ['', ...wrap(verdictText(report, options), options.columns), ''];
  if (summary.ended === 'no tensors') return `${lines.join('\n')}\n`;
  lines.push(...leakDetails(report, options));
  if (report.sites.length > 0) lines.push(...siteTable(report.sites, options), '');
  const ranks = rankLines(report, options.colors, options.columns);
  if (ranks.length > 0) lines.push(...ranks, '');
  lines.push(...memoryLines(report, options), ...markLines(report, options), ...notes(report, options));
  const next = options.hasHolders === true ? undefined : nextCommand(report, options.triedWhy);
  if (next !== undefined) lines.push('', `next: ${next}`);
  return `${lines.join('\n').trimEnd()}\n`;
}

function leakDetails({ sites }: Report, options: TextOptions): string[] {
  const lines: string[] = [];
  const shown = sites.filter((s) => s.verdict === 'leak' || isYoungAndGrowing(s)).slice(0, 3);
  for (const [i, site] of shown.entries()) {
    const stack = stackLines(site, options);
    const more = i === 0 ? [...sourceLines(site, options), ...historyLines(site, options)] : [];
    if (more.length > 0 || site.stack.length > 1) lines.push(stack[0]!, ...more, ...stack.slice(1), '');
  }
  return lines;
}

function stackLines(site: SiteReport, { colors, folder, columns, allFrames }: TextOptions): string[] {
  const { frames, hidden } = allFrames ? { frames: site.stack, hidden: 0 } : withoutLibraries(site.stack);
  const lines = frames.slice(0, allFrames ? frames.length : STACK_FRAMES).map((frame, i) => {
    const head = `${i === 0 ? '  made at ' : '     from '}${calledName(frame)}  `;
    // The end of a path is more useful than its beginning.
    const room = Math.max(MIN_PLACE, (columns ?? Number.POSITIVE_INFINITY) - displayWidth(head));
    const text = head + cutBegin(position(frame, folder), room);
    return i === 0 ? text : colors.dim(text);
  });
  if (lines.length === 0) lines.push(`  made at ${position(site, folder)}`);
  if (hidden > 0) lines.push(colors.dim(`          ${counted(hidden, 'frame')} of libraries hidden (--all-frames)`));
  return lines;
}

function sourceLines(site: SiteReport, { colors, columns = Number.POSITIVE_INFINITY }: TextOptions): string[] {
  const lines = linesAt(site.file, site.line);
  const width = String(lines.at(-1)?.line ?? '').length;
  return lines.map(({ line, text }) => {
    const number = `${line === site.line ? '  > ' : '    '}${String(line).padStart(width)} | `;
    const shown = cutEnd(number + printable(text), columns).trimEnd();
    return line === site.line ? shown : colors.dim(shown);
  });
}

/** Its history from zero, with a mark where the growth began. */
function historyLines({ history, onsetMs }: SiteReport, { colors, columns = USUAL_COLUMNS }: TextOptions): string[] {
  if (history === undefined || history.values.length < MIN_BARS) return [];
  const room = Math.max(MIN_BARS, Math.min(history.values.length, columns - HISTORY_INDENT - HISTORY_TEXT));
  const count = history.values.length;
  const values = Array.from({ length: room }, (_, i) => history.values[Math.floor(((i + 1) * count) / room) - 1]!);
  const most = values.reduce((a, b) => Math.max(a, b), 0);
  const inBytes = history.unit !== 'tensors' && history.unit !== 'nodes';
  const scale = inBytes
    ? `0 to ${formatBytes(most)}${history.unit === 'bytes' ? '' : ' outside tensors'}`
    : `0 to ${counted(most, history.unit.slice(0, -1))}`;
  const indent = ' '.repeat(HISTORY_INDENT);
  const bars = `${indent}${colors.cyan(barsFromZero(values))}  ${scale} in ${formatDuration(history.ms)}`;
  if (onsetMs === null) return [bars];
  const at = Math.min(room - 1, Math.floor((onsetMs / Math.max(1, history.ms)) * room));
  return [bars, `${indent}${' '.repeat(at)}^ grows since ${formatDuration(onsetMs)}`];
}

/** Only for sites that leak or may leak: other slopes are noise. */
function growthText({ verdict, growthBytesPerMinute: growth }: SiteReport): string {
  return (verdict === 'leak' || verdict === 'insufficient') && growth > 0 ? formatBytes(growth) : '-';
}

/** Where more than one thread or process makes tensors. */
function placesText({ threads, processes }: SiteReport): string {
  if (processes > 1) return ` (${formatCount(processes)} processes)`;
  return threads > 1 ? ` (${counted(threads, 'thread')})` : '';
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
      position(site, folder) + colors.dim(`${site.function === '' ? '' : ` ${site.function}`}${placesText(site)}`),
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
    lines.push(colors.dim(`… and ${counted(rest.length, 'more site')} with ${formatBytes(bytes)} in total`));
  }
  return lines;
}

function memoryLines({ summary }: Report, { colors, columns }: TextOptions): string[] {
  const right = { align: 'right' as const };
  const rows = [
    [
      'held by JS tensors',
      formatBytes(summary.liveBytes),
      formatBytes(summary.peakLiveBytes),
      `${counted(summary.liveTensors, 'tensor')} on ${counted(summary.liveStorages, 'storage')}`,
    ],
    ['held by libtorch', formatBytes(summary.allocatedBytes), formatBytes(summary.peakAllocatedBytes), ''],
    ['  not in JS tensors', formatBytes(summary.unexplainedBytes), '', 'autograd graphs, buffers of libtorch'],
    ['process (RSS)', formatBytes(summary.rss), formatBytes(summary.peakRss), 'includes libtorch, V8 and code'],
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
  // Escaped, because the program chose the names.
  const lines = marks
    .slice(0, MAX_MARKS)
    .map(({ ms, name }) => cutEnd(`${formatDuration(ms).padStart(10)}  ${printable(name)}`, columns));
  if (marks.length > MAX_MARKS) lines.push(colors.dim(`… and ${counted(marks.length - MAX_MARKS, 'more mark')}`));
  return ['', colors.dim('  at  mark'.padStart(16)), ...lines];
}

/** Slower growth beside a leak is noise of allocators. */
const NOTED_SHARE = 0.25;
/** Without a leak, growth is noted if memory runs out that soon. */
const SOON_MS = 7 * 86_400_000;

/** Until then code is compiled and caches fill. */
const START_MS = 60_000;

/** Whether the growth of the process outside tensors changes what to do. */
function retainedMatters({ retainedGrowthBytesPerMinute: rate, ...summary }: Summary): boolean {
  if (rate === 0) return false;
  if (summary.leaks > 0) return rate >= NOTED_SHARE * summary.leakBytesPerMinute;
  return ((summary.memoryLimitBytes - summary.rss) / rate) * 60_000 <= SOON_MS;
}

/** Remarks on the figures. */
export function notes({ summary, sites }: Report, { colors, columns }: TextOptions): string[] {
  const found: string[] = [];
  if (summary.unexplainedGrowthBytesPerMinute > 0) {
    const growth = formatBytes(summary.unexplainedGrowthBytesPerMinute);
    const known = sites.some(
      ({ verdict, graph, cause }) => verdict === 'leak' && (graph !== null || cause !== undefined),
    );
    const asks = known ? '' : ': is a loss kept with its autograd graph?';
    found.push(`memory of libtorch that no tensor accounts for grows by ${growth} per minute${asks}`);
  }
  if (retainedMatters(summary)) {
    const growth = formatBytes(summary.retainedGrowthBytesPerMinute);
    const nodes = sites.some(({ cause }) => cause?.kind === 'kept-graphs') ? 'nodes of the graphs above, ' : '';
    const begins =
      !summary.attached && summary.durationMs < START_MS ? 'what a program allocates in its first minute, ' : '';
    found.push(
      `process memory outside tensors and V8 grows by ${growth} per minute: ${begins}${nodes}freed memory that malloc retains ` +
        '(docs/memory-limits.md), or another library',
    );
  }
  const left = summary.leaks - sites.filter((site) => site.verdict === 'leak').length;
  if (left > 0) found.push(`--min-age hides ${counted(left, 'site')} that ${left === 1 ? 'leaks' : 'leak'}`);
  if (summary.mode === 'sample') found.push('counts per site are estimates (--mode sample); totals are exact');
  if (summary.ended === 'abandoned') found.push('leak-audit attach was killed, so the process detached');
  if (summary.ended === 'killed')
    found.push('the capture has no end: the program was killed, or still runs. At most the last interval is missing');
  if (summary.tornBytes > 0)
    found.push(`the capture is truncated: its last ${counted(summary.tornBytes, 'byte')} cannot be read`);
  if (summary.lostEvents > 0) found.push(lostText(summary));
  if (found.length === 0) return [];
  return ['', ...found.flatMap((note) => wrap(`note: ${note}`, columns, '      ')).map(colors.yellow)];
}
