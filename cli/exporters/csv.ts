/** The sites as comma-separated values (RFC 4180), for spreadsheets and notebooks. */
import { printable } from '../printable';
import type { SiteReport } from '../report';

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

/** What a spreadsheet takes for a formula, which can run programs and send data away. */
const FORMULA = /^[=+\-@\t\r\uff0b\uff0d\uff1d\uff20]/;

/** Where the separator is a semicolon or a tab, as some languages have it, such a cell begins in the middle of ours, too. */
const INNER_FORMULA = /(?:;|(?<!^)\t)(?=[\s"]*[=+\-@\uff0b\uff0d\uff1d\uff20])/g;

const noFormula = (text: string) => (FORMULA.test(text) ? "'" : '') + text.replace(INNER_FORMULA, "$&'");

/** Texts are the program's: they get a quote before them where they would be formulas. Numbers are ours, negative ones too. */
const cell = (value: string | number | null) => {
  if (value === null) return '';
  const text = typeof value === 'number' ? String(value) : printable(noFormula(value));
  return /[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

export function renderCsv(sites: SiteReport[]): string {
  const rows = [COLUMNS.map(([title]) => title), ...sites.map((site) => COLUMNS.map(([, of]) => of(site)))];
  return rows.map((row) => `${row.map(cell).join(',')}\r\n`).join('');
}
