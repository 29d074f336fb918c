/** The report as one offline page: no scripts, nothing loaded, light and dark. */
import type { Report, SiteReport, TimelinePoint } from '../report';
import { formatBytes, formatCount, formatDuration } from '../units';
import { position, verdictSentence } from './text';

const CHART = { width: 960, height: 260, left: 80, bottom: 24 };
/** More points than the chart has pixels would only make the page larger. */
const MOST_POINTS = 960;

const LINES: { title: string; color: string; of: (point: TimelinePoint) => number }[] = [
  { title: 'live bytes of tensors', color: 'var(--live)', of: (point) => point.liveBytes },
  { title: 'held by libtorch', color: 'var(--held)', of: (point) => point.allocatedBytes },
  { title: "V8's heap", color: 'var(--heap)', of: (point) => point.heapUsed },
];

const STYLE = `
:root { color-scheme: light dark; --live: #c2410c; --held: #1d4ed8; --heap: #15803d; --line: #8884; }
@media (prefers-color-scheme: dark) { :root { --live: #fb923c; --held: #93c5fd; --heap: #86efac; } }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 76rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; line-height: 1.3; } h2 { font-size: 1.1rem; margin-top: 2rem; }
svg { width: 100%; height: auto; } svg text { font: 12px system-ui, sans-serif; fill: currentColor; }
table { border-collapse: collapse; width: 100%; } caption { text-align: left; }
th, td { padding: .25rem .6rem; border-bottom: 1px solid var(--line); text-align: right; vertical-align: top; }
th:first-child, td:first-child, th:last-child, td:last-child { text-align: left; }
code { font: 13px ui-monospace, monospace; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; } .leak { color: var(--live); font-weight: bold; }
`;

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const escapeHtml = (text: string) => text.replace(/[&<>"']/g, (character) => ENTITIES[character]!);

export function renderHtml(report: Report, folder: string): string {
  const { summary } = report;
  const facts: [string, string][] = [
    ['command', summary.command],
    ['duration', formatDuration(summary.durationMs)],
    ['alive at the end', `${formatCount(summary.liveTensors)} tensors, ${formatBytes(summary.liveBytes)}`],
    ['held by libtorch', `${formatBytes(summary.allocatedBytes)} (peak ${formatBytes(summary.peakAllocatedBytes)})`],
    ['seen by no tensor', formatBytes(summary.unexplainedBytes)],
    ['process (RSS)', `${formatBytes(summary.rss)} (peak ${formatBytes(summary.peakRss)})`],
    ['ended', summary.ended],
  ];
  const sentence = verdictSentence(report, folder);
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>leak-audit: ${report.verdict}</title><style>${STYLE}</style></head><body>
<h1>${escapeHtml(sentence)}</h1>
${report.timeline.length > 1 ? chart(report.timeline) : ''}
<h2>Sites</h2>
<div class="scroll"><table><thead><tr>${[
    'verdict',
    'live',
    'live bytes',
    'allocated',
    'bytes',
    'growth/min',
    'oldest',
    'site',
  ]
    .map((title) => `<th scope="col">${title}</th>`)
    .join('')}</tr></thead><tbody>
${report.sites.map((site) => siteRow(site, folder)).join('\n')}
</tbody></table></div>
<h2>Process</h2>
<table><tbody>${facts
    .map(([name, value]) => `<tr><th scope="row">${name}</th><td>${escapeHtml(value)}</td></tr>`)
    .join('\n')}</tbody></table>
</body></html>
`;
}

function siteRow(site: SiteReport, folder: string): string {
  const cells = [
    formatCount(site.liveTensors),
    formatBytes(site.liveBytes),
    formatCount(site.allocatedTensors),
    formatBytes(site.allocatedBytes),
    site.verdict === 'leak' ? formatBytes(site.growthBytesPerMinute) : '-',
    site.oldestMs === null ? '-' : formatDuration(site.oldestMs),
  ];
  const stack = site.stack.map((frame) => `${frame.function || '(top level)'} ${position(frame, folder)}`).join('\n');
  return (
    `<tr><td class="${site.verdict}">${site.verdict}</td>${cells.map((cell) => `<td>${cell}</td>`).join('')}` +
    `<td><details><summary><code>${escapeHtml(`${position(site, folder)} ${site.function}`)}</code></summary>` +
    `<pre><code>${escapeHtml(stack)}</code></pre></details></td></tr>`
  );
}

function chart(timeline: TimelinePoint[]): string {
  const step = Math.max(1, Math.ceil(timeline.length / MOST_POINTS));
  const points = timeline.filter((_, i) => i % step === 0 || i === timeline.length - 1);
  const { width, height, left, bottom } = CHART;
  const begin = points[0]!.ms;
  const end = Math.max(points.at(-1)!.ms, begin + 1);
  const most = points.reduce((max, point) => Math.max(max, ...LINES.map((line) => line.of(point))), 1);
  const x = (ms: number) => (left + ((ms - begin) / (end - begin)) * (width - left - 8)).toFixed(1);
  const y = (bytes: number) => (8 + (1 - bytes / most) * (height - bottom - 8)).toFixed(1);
  const grid = [0, 0.25, 0.5, 0.75, 1].map(
    (part) =>
      `<line x1="${left}" x2="${width - 8}" y1="${y(most * part)}" y2="${y(most * part)}" stroke="var(--line)"/>` +
      `<text x="${left - 8}" y="${y(most * part)}" text-anchor="end" dy="4">${formatBytes(most * part)}</text>`,
  );
  const lines = LINES.map(
    (line) =>
      `<polyline fill="none" stroke="${line.color}" stroke-width="2" points="${points
        .map((point) => `${x(point.ms)},${y(line.of(point))}`)
        .join(' ')}"/>`,
  );
  const legend = LINES.map((line) => `<span style="color:${line.color}">━ ${line.title}</span>`).join(' &nbsp; ');
  return `<figure style="margin:0"><svg viewBox="0 0 ${width} ${height}" role="img" aria-label="memory over time">
${[...grid, ...lines].join('\n')}
<text x="${left}" y="${height - 6}">0</text>
<text x="${width - 8}" y="${height - 6}" text-anchor="end">${formatDuration(end)}</text>
</svg><figcaption>${legend}</figcaption></figure>`;
}
