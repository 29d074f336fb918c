/** The report as one offline page, which loads nothing and has a light and a dark theme. */
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import type { PageData } from '../page/data';
import { embeddedJson, escapeHtml } from '../page/escape';
import type { HiddenMemory } from '../page/hidden';
import {
  ageHistogram,
  figures,
  labelTables,
  oldestTable,
  outsideTensors,
  rankTable,
  siteTable,
} from '../page/sections';
import { plainColors } from '../terminal/colors';
import { formatCount, formatDuration } from '../terminal/units';
import { verdictSentence } from '../wording/sentence';
import { notes } from './text';

const ASSETS = path.join(__dirname, '..', 'page', 'browser');
const asset = (name: string) => fs.readFileSync(path.join(ASSETS, name), 'utf8');
/** In this order: the first defines the colours, the last overrides. */
const STYLES = ['colors.css', 'page.css', 'tables.css', 'chart.css', 'flame.css', 'range.css', 'media.css'];
/** In this order: the first defines what the others use. */
const SCRIPTS = [
  ...['core.js', 'range.js', 'axes.js', 'chart-image.js', 'chart.js', 'charts.js', 'flame.js', 'table.js'],
];

const hashOf = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** Allows only this script and this style; the page cannot load or send anything. */
const policyOf = (style: string, script: string) =>
  `default-src 'none'; style-src ${hashOf(style)}; script-src ${hashOf(script)}; base-uri 'none'; form-action 'none'`;

const BIRTHS = `<section aria-labelledby="h-birth"><h2 id="h-birth">By time of birth</h2>
<div class="chart" id="births"></div><p class="note">What was made in each part of the recording, and what of it is still live.</p>
</section>`;

const hiddenSection = ({ flame }: HiddenMemory) => `<section aria-labelledby="h-hidden">
<h2 id="h-hidden">Memory that no tensor accounts for</h2>
<div class="chart" id="hidden"></div>
${
  flame === undefined
    ? ''
    : `<div class="flame" id="hidden-flame"></div>
<p class="note">By the stacks that allocated it. No tensor of JavaScript refers to it any more, but an autograd graph or a token does.</p>`
}</section>`;

export function renderHtml(data: PageData, folder: string): string {
  const { report, timeline, flame, births, ranges, hidden } = data;
  const { summary } = report;
  // The badge shows the first word.
  const sentence = verdictSentence(report, folder).replace(/^[A-Z]+\s+/, '');
  const facts = [
    summary.command,
    formatDuration(summary.durationMs),
    `${formatCount(summary.rounds)} rounds`,
    summary.mode === null ? '' : `mode ${summary.mode}`,
    summary.ended === 'exit' ? 'ran to completion' : summary.ended,
  ].filter((fact) => fact !== '');
  const remarks = notes(report, { colors: plainColors, folder }).filter((note) => note !== '');
  const style = `\n${STYLES.map(asset).join('\n')}`;
  const script = `\n${SCRIPTS.map(asset).join('\n')}`;
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${policyOf(style, script)}">
<title>leak-audit: ${report.verdict}</title><style>${style}</style></head><body>
<header><p class="brand">leak-audit</p>
<h1><span class="badge ${report.verdict}">${report.verdict}</span> ${escapeHtml(sentence)}</h1>
<p class="facts">${facts.map((fact) => `<span>${escapeHtml(fact)}</span>`).join('')}</p>
${remarks.map((note) => `<p class="remark">${escapeHtml(note.replace(/^note: /, ''))}</p>`).join('\n')}
${figures(report)}</header>
<main>
<noscript><p class="remark">The charts and the flame graph need JavaScript, which is disabled.</p></noscript>
<section aria-labelledby="h-time"><h2 id="h-time">Live bytes by site</h2>
<div class="chart" id="timeline"></div>
<fieldset class="range" id="range"><legend class="hidden">Part of the recording</legend></fieldset></section>
<section aria-labelledby="h-sites"><h2 id="h-sites">Sites</h2>
${siteTable(data, folder)}</section>
<section aria-labelledby="h-flame"><h2 id="h-flame">By allocation stack</h2>
<div class="flame" id="flame"></div>
<p class="note">Callers are above the functions they call; the width is bytes. Growth is the live bytes at the end minus those after
the first quarter. Click or press Enter to zoom in, Escape to zoom out; arrow keys move between frames.</p></section>
${
  data.labels.length > 0
    ? `<section aria-labelledby="h-label"><h2 id="h-label">By label</h2>\n${labelTables(data)}</section>`
    : ''
}
${
  report.ranks === undefined
    ? ''
    : `<section aria-labelledby="h-rank"><h2 id="h-rank">By rank</h2>\n${rankTable(report)}</section>`
}
<section aria-labelledby="h-age"><h2 id="h-age">Age of live tensors</h2>
${ageHistogram(data.ages)}</section>
${births === undefined ? '' : BIRTHS}
<section aria-labelledby="h-oldest"><h2 id="h-oldest">Oldest tensors</h2>
${oldestTable(data, folder)}</section>
${hidden === undefined ? '' : hiddenSection(hidden)}
<section aria-labelledby="h-rest"><h2 id="h-rest">Memory outside tensors</h2>
<div class="chart" id="process"></div>
${outsideTensors(report, timeline)}</section>
</main>
<script type="application/json" id="data">${embeddedJson({ timeline, flame, births, ranges, hidden, peakBytes: summary.peakLiveBytes })}</script>
<script>${script}</script>
</body></html>
`;
}
