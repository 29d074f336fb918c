/** The sites as comma-separated values (RFC 4180), for spreadsheets and notebooks. */

import type { SiteReport } from '../analysis/report';
import { printable } from '../terminal/printable';
import type { Format } from './format';

const COLUMNS: [string, (site: SiteReport) => string | number | null][] = [
  ['verdict', (site) => site.verdict],
  ['file', (site) => site.file],
  ['line', (site) => site.line],
  ['column', (site) => site.column],
  ['function', (site) => site.function],
  ['devices', (site) => site.devices.join(' ')],
  ['liveTensors', (site) => site.liveTensors],
  ['liveBytes', (site) => site.liveBytes],
  ['allocatedTensors', (site) => site.allocatedTensors],
  ['allocatedBytes', (site) => site.allocatedBytes],
  ['growthBytesPerMinute', (site) => site.growthBytesPerMinute],
  ['growthTensorsPerMinute', (site) => site.growthTensorsPerMinute],
  ['oldestMs', (site) => site.oldestMs],
];

/** The beginning of a formula in a spreadsheet, which could run programs or send data. */
const FORMULA = /^[=+\-@\t\r\uff0b\uff0d\uff1d\uff20]/;

/** In locales whose separator is a semicolon or a tab, a formula can also begin inside a cell. */
const INNER_FORMULA = /(?:;|(?<!^)\t)(?=[\s"]*[=+\-@\uff0b\uff0d\uff1d\uff20])/g;

const noFormula = (text: string) => (FORMULA.test(text) ? "'" : '') + text.replace(INNER_FORMULA, "$&'");

/** Prefixes a quote to texts that would be formulas. Numbers are our own and stay unchanged, even if negative. */
const cell = (value: string | number | null) => {
  if (value === null) return '';
  const text = typeof value === 'number' ? String(value) : printable(noFormula(value));
  return /[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

export function renderCsv(sites: SiteReport[]): string {
  const rows = [COLUMNS.map(([title]) => title), ...sites.map((site) => COLUMNS.map(([, of]) => of(site)))];
  return rows.map((row) => `${row.map(cell).join(',')}\r\n`).join('');
}

export const csv: Format = {
  name: 'csv',
  description: 'table of sites',
  render: ({ report }) => renderCsv(report.sites),
};
