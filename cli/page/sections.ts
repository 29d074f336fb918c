/** The parts of the page that work without scripts: figures, the table of sites, ages, the oldest tensors. */

import type { Report, SiteReport } from '../analysis/report';
import { calledName } from '../code/function-names';
import { linesAt } from '../code/text';
import type { SiteKind } from '../rules/verdict';
import { formatBytes, formatCount, formatDuration } from '../terminal/units';
import { position } from '../wording/position';
import { rankNames, skewText } from '../wording/ranks';
import { confidenceText } from '../wording/sentence';
import type { AgeBin, Ages } from './ages';
import type { OldTensor, PageData, Timeline } from './data';
import { escapeHtml, escapePath } from './escape';

const MAX_ROWS = 300;

const share = (part: number, whole: number) => (whole > 0 ? `${((100 * part) / whole).toFixed(2)}%` : '0%');
const badge = (verdict: string, text: string) => `<span class="badge ${verdict}">${text}</span>`;

export function figures({ summary, verdict }: Report): string {
  const cards: [string, string, string][] = [
    [
      'live at the end',
      formatBytes(summary.liveBytes),
      `${formatCount(summary.liveTensors)} tensors on ${formatCount(summary.liveStorages)} storages`,
    ],
    verdict === 'leak'
      ? [
          'leaking',
          `${formatBytes(summary.leakBytesPerMinute)}/min`,
          `${formatCount(summary.leaks)} ${summary.leaks === 1 ? 'site' : 'sites'}`,
        ]
      : ['highest', formatBytes(summary.peakLiveBytes), 'peak of live bytes'],
    ['held by libtorch', formatBytes(summary.allocatedBytes), `peak ${formatBytes(summary.peakAllocatedBytes)}`],
    ['process', formatBytes(summary.rss), `RSS; peak ${formatBytes(summary.peakRss)}`],
  ];
  return `<dl class="cards">${cards
    .map(([title, value, note]) => `<div><dt>${title}</dt><dd>${value}<small>${note}</small></dd></div>`)
    .join('')}</dl>`;
}

/** A heading that sorts its column. */
const heading = (title: string, kind: 'text' | 'number') =>
  `<th scope="col" class="${kind}"><button type="button">${title}</button></th>`;

export function siteTable({ report, histories }: PageData, folder: string): string {
  const rows = report.sites.slice(0, MAX_ROWS).map((site, i) => siteRow(site, histories.get(i), folder));
  const rest = report.sites.slice(MAX_ROWS);
  const bytes = rest.reduce((sum, site) => sum + site.liveBytes, 0);
  const more =
    rest.length > 0 ? `<p class="note">${formatCount(rest.length)} more sites hold ${formatBytes(bytes)}.</p>` : '';
  return `<div class="tools"><label>Filter <input type="search" id="filter" autocomplete="off"></label>
<output id="found" for="filter"></output></div>
<div class="scroll" role="region" aria-label="Sites, scrollable" tabindex="0"><table id="site-table"><thead><tr>
${heading('verdict', 'text')}${heading('site', 'text')}<th scope="col" class="text">over time</th>${[
    'live',
    'live bytes',
    'allocated',
    'bytes',
    'growth/min',
    'oldest',
  ]
    .map((title) => heading(title, 'number'))
    .join('')}
</tr></thead><tbody>
${rows.join('\n')}
</tbody></table></div>${more}${KINDS}`;
}

const KINDS = `<p class="note">A filling cache grows ever more slowly, a full one no longer grows; a sawtooth is freed
repeatedly. The confidence of a leak is 1 minus the share of false leaks among the reported ones.</p>`;

const RANK: Record<SiteKind, number> = {
  leak: 0,
  'grew-to-the-end': 1,
  insufficient: 1,
  'filling-cache': 2,
  'full-cache': 3,
  sawtooth: 4,
  steady: 5,
};

/** The verdict; for a leak also its confidence. */
function verdictCell({ verdict, kind, confidence }: SiteReport): string {
  const sure =
    verdict === 'leak' && confidence !== null
      ? `<small>${confidenceText(confidence).replace('more than', '&gt;')} sure</small>`
      : '';
  return `<td class="verdict" data-v="${RANK[kind]}">${badge(verdict, kind.replaceAll('-', ' '))}${sure}</td>`;
}

/** A tooltip with the source, where it can be read here. */
function sourceTitle({ file, line }: { file: string; line: number }): string {
  const lines = linesAt(file, line).map((one) => escapeHtml(`${one.line}  ${one.text}`));
  return lines.length === 0 ? '' : ` title="${lines.join('&#10;')}"`;
}

function siteRow(site: SiteReport, history: number[] | undefined, folder: string): string {
  const leaks = site.verdict === 'leak';
  const numbers: [number, string][] = [
    [site.liveTensors, formatCount(site.liveTensors)],
    [site.liveBytes, formatBytes(site.liveBytes)],
    [site.allocatedTensors, formatCount(site.allocatedTensors)],
    [site.allocatedBytes, formatBytes(site.allocatedBytes)],
    [leaks ? site.growthBytesPerMinute : 0, leaks ? formatBytes(site.growthBytesPerMinute) : '–'],
    [site.oldestMs ?? -1, site.oldestMs === null ? '–' : formatDuration(site.oldestMs)],
  ];
  const place = position(site, folder);
  const path = escapePath(place);
  const name = site.function === '' ? path : `${path} <span class="function">${escapeHtml(site.function)}</span>`;
  const stack = site.stack
    .map((frame) => {
      const line = `${calledName(frame)}  ${position(frame, folder)}`;
      return `<li><code${sourceTitle(frame)}>${escapePath(line)}</code></li>`;
    })
    .join('');
  const devices = site.devices.length > 1 || site.devices[0] !== 'cpu' ? ` · ${site.devices.join(', ')}` : '';
  return (
    `<tr>${verdictCell(site)}` +
    `<td class="site" data-v="${escapeHtml(place)}">${
      stack === ''
        ? `<code${sourceTitle(site)}>${name}</code>`
        : `<details><summary><code${sourceTitle(site)}>${name}</code>${devices}</summary><ol>${stack}</ol></details>`
    }</td><td>${sparkline(history, site.verdict)}</td>` +
    `${numbers.map(([value, text]) => `<td class="number" data-v="${value}">${text}</td>`).join('')}</tr>`
  );
}

const SPARK = { width: 96, height: 20, points: 48 };

function sparkline(history: number[] | undefined, verdict: string): string {
  if (history === undefined || history.length < 2) return '';
  const step = Math.max(1, Math.floor(history.length / SPARK.points));
  const values = history.filter((_, i) => i % step === 0 || i === history.length - 1);
  const most = values.reduce((a, b) => Math.max(a, b), 1);
  const points = values.map((value, i) => {
    const x = (i / (values.length - 1)) * SPARK.width;
    return `${x.toFixed(1)},${(SPARK.height - 1 - (value / most) * (SPARK.height - 3)).toFixed(1)}`;
  });
  const base = `${SPARK.width},${SPARK.height} 0,${SPARK.height}`;
  return (
    `<svg class="spark ${verdict}" viewBox="0 0 ${SPARK.width} ${SPARK.height}" aria-hidden="true">` +
    `<polygon points="${points.join(' ')} ${base}"/><polyline points="${points.join(' ')}"/></svg>`
  );
}

function binTitle({ fromMs, toMs }: AgeBin): string {
  if (toMs === null) return fromMs === 0 ? 'any age' : `${formatDuration(fromMs)} and older`;
  return fromMs === 0 ? `under ${formatDuration(toMs)}` : `${formatDuration(fromMs)} – ${formatDuration(toMs)}`;
}

export function ageHistogram({ bins, exact }: Ages): string {
  const all = bins.reduce((sum, bin) => sum + bin.bytes, 0);
  const most = bins.reduce((max, bin) => Math.max(max, bin.bytes), 0);
  const rows = bins.map((bin) => {
    // SVG elements, because the page's policy allows no style attributes.
    const bar = (kind: string, bytes: number) =>
      `<svg class="${kind}" width="${share(bytes, most)}" height="10" aria-hidden="true"></svg>`;
    const [sure, maybe] = [bar('sure', bin.sureBytes), bar('maybe', bin.bytes - bin.sureBytes)];
    const proved = exact || bin.bytes === 0 ? '' : `<td class="number">${formatBytes(bin.sureBytes)}</td>`;
    return (
      `<tr><th scope="row">${binTitle(bin)}</th><td class="bar">${sure}${maybe}</td>` +
      `<td class="number">${formatBytes(bin.bytes)}</td>${proved || (exact ? '' : '<td class="number">–</td>')}` +
      `<td class="number">${all > 0 ? `${Math.round((100 * bin.bytes) / all)}%` : '–'}</td></tr>`
    );
  });
  const how = exact
    ? 'Each storage counts once, at the age of its oldest live tensor.'
    : 'This capture has counters per site instead of individual tensors, so ages are bounded: the bar assumes that the ' +
      'youngest tensors die first, as in scopes; its solid part is proved.';
  return `<div class="scroll"><table class="ages"><thead><tr><th scope="col">age</th><th scope="col"><span class="hidden">share</span></th>
<th scope="col" class="number">live bytes</th>${exact ? '' : '<th scope="col" class="number">proved</th>'}
<th scope="col" class="number">of all</th></tr></thead><tbody>
${rows.join('\n')}
</tbody></table></div><p class="note">${how}</p>`;
}

/** The oldest tensors, or the oldest of each site if the capture has no individual tensors. */
export function oldestTable({ report, oldest }: PageData, folder: string): string {
  if (oldest !== undefined) return tensorTable(oldest, report);
  const sites = report.sites
    .filter((site) => site.oldestMs !== null)
    .sort((a, b) => b.oldestMs! - a.oldestMs!)
    .slice(0, 10);
  if (sites.length === 0) return '<p class="note">No tensor was live at the end.</p>';
  const rows = sites.map(
    (site) =>
      `<tr><td class="number">${formatDuration(site.oldestMs!)}</td><td class="site"><code>${escapePath(position(site, folder))} ` +
      `<span class="function">${escapeHtml(site.function)}</span></code></td><td class="number">` +
      `${formatCount(site.liveTensors)}</td><td class="number">${formatBytes(site.liveBytes)}</td></tr>`,
  );
  return `<div class="scroll"><table><thead><tr><th scope="col" class="number">oldest</th><th scope="col">site</th>
<th scope="col" class="number">tensors of the site</th><th scope="col" class="number">bytes of the site</th></tr></thead>
<tbody>${rows.join('\n')}</tbody></table></div>
<p class="note">By site, because this capture has no individual tensors.</p>`;
}

function ownerOf({ owner, scope }: OldTensor): string {
  if (owner === 'unknown') return '?';
  return owner === 'scope' && scope > 0 ? `scope ${scope & SCOPE_MASK}` : owner;
}

/** The bits of a scope's number that distinguish it from other open scopes. */
const SCOPE_MASK = 0xfffff;

function objectOf({ owner, reached }: OldTensor): string {
  if (owner === 'unknown') return '?';
  if (reached === undefined) return 'held by the scope';
  return reached ? 'referenced' : 'perhaps garbage';
}

function tensorTable(oldest: OldTensor[], { summary }: Report): string {
  const rows = oldest.map((tensor) => {
    const many = tensor.count > 1 ? `${formatCount(tensor.count)} × ` : '';
    const shape = tensor.shape === undefined ? '?' : `${many}[${tensor.shape.join(', ')}]`;
    const age = formatDuration(Math.max(0, summary.durationMs - tensor.birthMs));
    return (
      `<tr><td class="number">${age}</td><td><code>${shape}</code></td><td>${escapeHtml(tensor.dtype)}</td>` +
      `<td>${escapeHtml(tensor.device)}</td><td class="number">${formatBytes(tensor.bytes)}` +
      `${tensor.isView ? ' <small>(view)</small>' : ''}</td><td>${ownerOf(tensor)}</td><td>${objectOf(tensor)}</td><td class="site"><code>${escapePath(tensor.site)}</code></td></tr>`
    );
  });
  return `<div class="scroll"><table><thead><tr><th scope="col" class="number">age</th><th scope="col">shape</th>
<th scope="col">dtype</th><th scope="col">device</th><th scope="col" class="number">bytes</th><th scope="col">owner</th>
<th scope="col">its object</th><th scope="col">made at</th>
</tr></thead><tbody>${rows.join('\n')}</tbody></table></div>
<p class="note">Tensors of the same site and shape are one row, with the age and the
bytes of the oldest; of more than 262,144 live tensors, the oldest 2,000 are compared. The owner frees a tensor: the collector together with its JS object, or a scope when the scope ends. Kept: it
left its scope and belongs to the collector. Referenced: the last full collection that began after its birth reached the
object. If none has begun since, it may be garbage.</p>`;
}

/** A table per label, with the totals of each of its values. */
export function labelTables({ labels }: PageData): string {
  return labels
    .map(({ name, rows, more }) => {
      const cells = rows.map(
        (row) =>
          `<tr><th scope="row">${row.value === undefined ? 'without' : `<code>${escapeHtml(row.value)}</code>`}</th>` +
          `<td class="number">${formatCount(row.liveTensors)}</td><td class="number">${formatBytes(row.liveBytes)}</td>` +
          `<td class="number">${formatCount(row.allocatedTensors)}</td>` +
          `<td class="number">${formatBytes(row.allocatedBytes)}</td></tr>`,
      );
      return `<div class="scroll"><table><thead><tr><th scope="col">${escapeHtml(name)}</th>${[
        'live',
        'live bytes',
        'allocated',
        'bytes',
      ]
        .map((title) => `<th scope="col" class="number">${title}</th>`)
        .join('')}</tr></thead>
<tbody>${cells.join('\n')}</tbody></table></div>${more > 0 ? `<p class="note">and ${formatCount(more)} more values</p>` : ''}`;
    })
    .join('\n');
}

/** Memory outside tensors, at the end and at its peak. */
export function outsideTensors({ summary }: Report, timeline: Timeline): string {
  const most = (values: number[]) => values.reduce((a, b) => Math.max(a, b), 0);
  const hidden = timeline.allocated.map((bytes, i) => Math.max(0, bytes - timeline.live[i]!));
  const outside = timeline.rss.map((bytes, i) => Math.max(0, bytes - timeline.allocated[i]!));
  const rows: [string, number, number, string][] = [
    ['live tensors', summary.liveBytes, summary.peakLiveBytes, 'storages of JS tensors, each counted once'],
    [
      'libtorch, not in JS tensors',
      summary.unexplainedBytes,
      most(hidden),
      'allocator minus tensors: autograd graphs, buffers of libtorch',
    ],
    [
      "process, outside libtorch's allocators",
      outside.at(-1) ?? 0,
      most(outside),
      "RSS minus allocator: libraries, V8's heap, code; does not include GPU memory",
    ],
  ];
  return `<div class="scroll"><table><thead><tr><th scope="col">memory</th><th scope="col" class="number">at the end</th>
<th scope="col" class="number">peak</th><th scope="col">what it is</th></tr></thead><tbody>${rows
    .map(
      ([title, end, peak, note]) =>
        `<tr><th scope="row">${title}</th><td class="number">${formatBytes(end)}</td>` +
        `<td class="number">${formatBytes(peak)}</td><td class="what">${note}</td></tr>`,
    )
    .join('\n')}</tbody></table></div>`;
}

/** What each rank of a group holds. */
export function rankTable({ ranks = [], missingRanks = [] }: Report): string {
  const most = ranks.reduce((max, { liveBytes }) => Math.max(max, liveBytes), 0);
  const rows = ranks.slice(0, MAX_ROWS).map((rank) => {
    const numbers = [
      formatCount(rank.liveTensors),
      formatBytes(rank.liveBytes),
      formatBytes(rank.peakLiveBytes),
      skewText(rank, ranks.length),
      formatBytes(rank.allocatedBytes),
      formatBytes(rank.rss),
    ];
    const bar = `<svg class="sure" width="${share(rank.liveBytes, most)}" height="10" aria-hidden="true"></svg>`;
    return (
      `<tr><th scope="row">${rank.rank}</th><td>${sparkline(rank.history, 'steady')}</td><td class="bar">${bar}</td>` +
      `${numbers.map((text) => `<td class="number">${text}</td>`).join('')}</tr>`
    );
  });
  const notes = [
    ranks.length > MAX_ROWS ? `and ${formatCount(ranks.length - MAX_ROWS)} more ranks` : '',
    missingRanks.length > 0 ? `There is no capture of ${rankNames(missingRanks)}.` : '',
  ].filter((note) => note !== '');
  return `<div class="scroll"><table class="ages ranks"><thead><tr><th scope="col">rank</th><th scope="col">over time</th>
<th scope="col"><span class="hidden">share</span></th>${[
    'live',
    'live bytes',
    'peak',
    'against the median',
    'libtorch',
    'RSS',
  ]
    .map((title) => `<th scope="col" class="number">${title}</th>`)
    .join('')}</tr></thead><tbody>
${rows.join('\n')}
</tbody></table></div>${notes.map((note) => `<p class="note">${note}</p>`).join('\n')}`;
}
